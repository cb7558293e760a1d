"""Evidence for rules from recorded play: counts and names the transitions that support or contradict each rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

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


@dataclass
class _Tally:
    check: Check
    supports: list[str] = field(default_factory=list[str])
    contradicts: list[str] = field(default_factory=list[str])

    def evidence(self) -> Evidence:
        named = (tuple(origins[:WITNESSES]) for origins in (self.supports, self.contradicts))
        return Evidence(len(self.supports), len(self.contradicts), *named)


def examine(rules: Sequence[Rule], moments: Iterable[Moment]) -> tuple[Finding, ...]:
    """Evaluate each of ``rules``, in order, on ``moments``; equal origins count once."""
    tallies = {rule.id: _Tally(rule.check) for rule in rules if rule.check}
    # By verb, then by command pattern, which is matched once for all checks that share it.
    forms: dict[str, dict[str, list[_Tally]]] = {}
    for tally in tallies.values():
        command = tally.check.command
        forms.setdefault(command.partition(" ")[0], {}).setdefault(command, []).append(tally)
    for now in occasions(moments):
        command = now.moment.command.strip()
        for form, alike in forms.get(command.partition(" ")[0], {}).items():
            found = command_pattern(form).fullmatch(command)
            if found is None:
                continue
            names = found.groupdict()
            for tally in alike:
                match verdict(tally.check, now, names):
                    case "supports":
                        tally.supports.append(now.moment.origin)
                    case "contradicts":
                        tally.contradicts.append(now.moment.origin)
                    case "undecided":
                        pass
    return tuple(Finding(rule, tallies[rule.id].evidence() if rule.id in tallies else Evidence()) for rule in rules)
