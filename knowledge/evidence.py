"""Evidence for rules from recorded play: counts and names the transitions that support or contradict each rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from knowledge.judging import BeliefView, CompiledCheck, command_pattern, occasion
from knowledge.moments import Moment, distinct
from knowledge.rules import USUAL, WITNESSES, Evidence, Rule, Standing, standing


@dataclass(frozen=True, slots=True)
class Finding:
    """The evidence found for a rule. A rule without a check gets none and is undecided."""

    rule: Rule
    evidence: Evidence

    @property
    def standing(self) -> Standing:
        """The verdict of the evidence."""
        return standing(self.evidence, usual=self.rule.kind in USUAL)


@dataclass
class _Tally:
    check: CompiledCheck
    supports: list[str] = field(default_factory=list[str])
    contradicts: list[str] = field(default_factory=list[str])

    def evidence(self) -> Evidence:
        named = (tuple(origins[:WITNESSES]) for origins in (self.supports, self.contradicts))
        return Evidence(len(self.supports), len(self.contradicts), *named)


@dataclass
class _Form:
    """The checks that share a command pattern, which is matched once for all of them."""

    pattern: re.Pattern[str]
    tallies: list[_Tally]


def examine(rules: Sequence[Rule], moments: Iterable[Moment]) -> tuple[Finding, ...]:
    """Evaluate each of ``rules``, in order, on ``moments``; equal origins count once."""
    tallies = {rule.id: _Tally(CompiledCheck(rule.check)) for rule in rules if rule.check}
    forms = _forms(tallies.values())
    view: BeliefView | None = None
    for moment in distinct(moments):
        command = moment.command.strip()
        asked = [
            (form, found.groupdict())
            for form in forms.get(command.partition(" ")[0], ())
            if (found := form.pattern.fullmatch(command))
        ]
        if not asked:
            continue
        now = occasion(moment, view)
        view = now.after
        for form, names in asked:
            for tally in form.tallies:
                match tally.check.verdict(now, names):
                    case "supports":
                        tally.supports.append(moment.origin)
                    case "contradicts":
                        tally.contradicts.append(moment.origin)
                    case "undecided":
                        pass
    return tuple(Finding(rule, tallies[rule.id].evidence() if rule.id in tallies else Evidence()) for rule in rules)


def _forms(tallies: Iterable[_Tally]) -> dict[str, list[_Form]]:
    """Group the tallies by verb and command pattern."""
    by_command: dict[str, _Form] = {}
    by_verb: dict[str, list[_Form]] = {}
    for tally in tallies:
        check = tally.check.check
        if check.command not in by_command:
            form = by_command[check.command] = _Form(command_pattern(check.command), [])
            by_verb.setdefault(check.verb, []).append(form)
        by_command[check.command].tallies.append(tally)
    return by_verb
