"""What recorded play says about rules: each transition asked once, supports and contradictions counted, the first named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from knowledge.judging import Judge, Scene, command_pattern, pair
from knowledge.moments import Moment, distinct
from knowledge.rules import USUAL, WITNESSES, Evidence, Rule, Standing, standing


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found for a rule. One without a check has no evidence of this kind, and is undecided."""

    rule: Rule
    evidence: Evidence

    @property
    def standing(self) -> Standing:
        """What the evidence says."""
        return standing(self.evidence, usual=self.rule.kind in USUAL)


@dataclass
class _Tally:
    judge: Judge
    supports: int = 0
    contradicts: int = 0
    witnesses: list[str] = field(default_factory=list[str])
    against: list[str] = field(default_factory=list[str])


@dataclass
class _Form:
    """The checks of one pattern of commands, which is matched once for all of them."""

    pattern: re.Pattern[str]
    tallies: list[_Tally]


def examine(rules: Sequence[Rule], moments: Iterable[Moment]) -> tuple[Finding, ...]:
    """What ``moments`` say about each of ``rules``, in their order; equal origins count once."""
    tallies = {rule.id: _Tally(Judge(rule.check)) for rule in rules if rule.check}
    forms = _forms(tallies.values())
    scene: Scene | None = None
    for moment in distinct(moments):
        command = moment.command.strip()
        asked = [
            (form, found.groupdict())
            for form in forms.get(command.partition(" ")[0], ())
            if (found := form.pattern.fullmatch(command))
        ]
        if not asked:
            continue
        both = pair(moment, scene)
        scene = both.after
        for form, names in asked:
            for tally in form.tallies:
                match tally.judge.verdict(both, names):
                    case "supports":
                        _count_for(tally, moment.origin)
                    case "contradicts":
                        _count_against(tally, moment.origin)
                    case "undecided":
                        pass
    return tuple(_finding(rule, tallies.get(rule.id)) for rule in rules)


def _forms(tallies: Iterable[_Tally]) -> dict[str, list[_Form]]:
    """The tallies by verb, and by pattern of commands."""
    by_command: dict[str, _Form] = {}
    by_verb: dict[str, list[_Form]] = {}
    for tally in tallies:
        check = tally.judge.check
        if check.command not in by_command:
            form = by_command[check.command] = _Form(command_pattern(check.command), [])
            by_verb.setdefault(check.verb, []).append(form)
        by_command[check.command].tallies.append(tally)
    return by_verb


def _count_for(tally: _Tally, origin: str) -> None:
    tally.supports += 1
    if len(tally.witnesses) < WITNESSES:
        tally.witnesses.append(origin)


def _count_against(tally: _Tally, origin: str) -> None:
    tally.contradicts += 1
    if len(tally.against) < WITNESSES:
        tally.against.append(origin)


def _finding(rule: Rule, tally: _Tally | None) -> Finding:
    if tally is None:
        return Finding(rule, Evidence())
    return Finding(rule, Evidence(tally.supports, tally.contradicts, tuple(tally.witnesses), tuple(tally.against)))
