"""Evidence for rules from recorded play: counts and names the transitions that support or contradict each rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from knowledge.checks import Check
from knowledge.judging import command_pattern, occasions, verdict
from knowledge.moments import Moment
from knowledge.rules import WITNESSES, Evidence, Rule, Standing


@dataclass(frozen=True, slots=True)
class Finding:
    """The evidence found for a rule. A rule without a check gets none and is undecided."""

    rule: Rule
    evidence: Evidence

    @property
    def standing(self) -> Standing:
        """The verdict of the evidence."""
        return replace(self.rule, evidence=self.evidence).standing


def examine(rules: Sequence[Rule], moments: Iterable[Moment]) -> tuple[Finding, ...]:
    """Evaluate each of ``rules``, in order, on ``moments``; equal origins count once."""
    # By verb, then by command pattern, which is matched once for all checks that share it.
    forms: dict[str, dict[str, list[tuple[str, Check]]]] = {}
    for rule in rules:
        if rule.check:
            command = rule.check.command
            forms.setdefault(command.partition(" ")[0], {}).setdefault(command, []).append((rule.id, rule.check))
    supports, contradicts = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for now in occasions(moments):
        command = now.moment.command.strip()
        for form, alike in forms.get(command.partition(" ")[0], {}).items():
            if found := command_pattern(form).fullmatch(command):
                names = found.groupdict()
                for name, check in alike:
                    said = verdict(check, now, names)
                    if said != "undecided":
                        (supports if said == "supports" else contradicts)[name].append(now.moment.origin)
    return tuple(Finding(rule, _evidence(supports[rule.id], contradicts[rule.id])) for rule in rules)


def _evidence(supports: Sequence[str], contradicts: Sequence[str]) -> Evidence:
    return Evidence(len(supports), len(contradicts), tuple(supports[:WITNESSES]), tuple(contradicts[:WITNESSES]))
