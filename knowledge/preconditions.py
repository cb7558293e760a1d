"""Finds by counting what each command needs: facts without which it was always refused, and with which it was accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from knowledge.checks import Check, Fact, Term
from knowledge.judging import Occasion, command_pattern, truth
from knowledge.rules import WITNESSES
from worlds.household.belief import kind

FORMS = (
    "go to {receptacle}",
    "open {receptacle}",
    "close {receptacle}",
    "take {object} from {receptacle}",
    "move {object} to {receptacle}",
    "examine {thing}",
    "use {object}",
    "heat {object} with {receptacle}",
    "cool {object} with {receptacle}",
    "clean {object} with {receptacle}",
    "slice {object} with {tool}",
)
"""The commands that name something; the others are always accepted."""

MOST_KINDS = 12


@dataclass(frozen=True, slots=True)
class Precondition:
    """A command is refused unless ``fact`` holds.

    While the fact was false, it was refused ``refused`` times and never accepted; while true, it was accepted ``taken`` times.
    """

    command: str
    fact: Fact
    refused: int
    taken: int
    witnesses: tuple[str, ...]

    @property
    def check(self) -> Check:
        """The precondition as a check."""
        return Check(self.command, (replace(self.fact, negated=not self.fact.negated),), (Fact("refused"),))


@dataclass
class _Tried:
    """The counts of one fact for one form of command; ``without`` lists the refusals while it was false, by number."""

    fact: Fact
    taken: int = 0
    spoilt: bool = False
    without: list[int] = field(default_factory=list[int])


class CommandCounts:
    """Counts what one form of command needs: its refusals, by origin and by the kinds that it named, and the kinds accepted."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.pattern = command_pattern(command)
        self.tried = [_Tried(fact) for fact in _candidates(tuple(self.pattern.groupindex))]
        self.origins: list[str] = []
        self.refused: list[dict[str, str]] = []
        self.taken = {variable: Counter[str]() for variable in self.pattern.groupindex}

    def add(self, now: Occasion) -> None:
        """Count one moment, if its command has this form."""
        found = self.pattern.fullmatch(now.moment.command.strip())
        if found is None:
            return
        names, number, refused = found.groupdict(), len(self.origins), now.moment.refused
        if refused:
            self.origins.append(now.moment.origin)
            self.refused.append({variable: kind(name) for variable, name in names.items()})
        else:
            for variable, name in names.items():
                self.taken[variable][kind(name)] += 1
        for tried in self.tried:
            holds = truth(tried.fact, now.before, names)
            if holds is None:
                continue
            if not refused:
                tried.taken += holds
                tried.spoilt |= not holds
            elif not holds:
                tried.without.append(number)

    def preconditions(self, least: int) -> Iterator[Precondition]:
        """What the command needs, by ``least`` refusals and as many accepted commands."""
        needed = [each for each in self.tried if not each.spoilt and min(each.taken, len(each.without)) >= least]
        needed = [tried for number, tried in enumerate(needed) if not _implied(number, needed)]
        for tried in needed:
            yield self._found(tried.fact, tried.without, tried.taken)
        # A refusal says something about a kind only if nothing else was wrong.
        unexplained = set(range(len(self.origins))).difference(*(tried.without for tried in needed))
        for variable, kinds in self.taken.items():
            without = [number for number in sorted(unexplained) if self.refused[number][variable] not in kinds]
            # A kind that was accepted only once may not be the only one.
            if 0 < len(kinds) <= MOST_KINDS and min(kinds.values()) > 1 and len(without) >= least:
                fact = Fact("kind", Term("variable", (variable,)), Term("kinds", tuple(sorted(kinds))))
                yield self._found(fact, without, kinds.total())

    def _found(self, fact: Fact, without: list[int], taken: int) -> Precondition:
        witnesses = tuple(self.origins[number] for number in without[:WITNESSES])
        return Precondition(self.command, fact, len(without), taken, witnesses)


def _implied(number: int, needed: list[_Tried]) -> bool:
    """Whether another fact explains every refusal that this one does."""
    mine = set(needed[number].without)
    for other, tried in enumerate(needed):
        theirs = set(tried.without)
        if other != number and mine <= theirs and (mine != theirs or other < number):
            return True
    return False


def _candidates(variables: tuple[str, ...]) -> Iterator[Fact]:
    """The facts that a command with these variables may need, the most informative first."""
    terms = {variable: Term("variable", (variable,)) for variable in variables}
    for variable, term in terms.items():
        yield Fact("holding", term)
        if variable != "tool":
            yield Fact("holding", term, negated=True)
    yield from (Fact("holding", Term("nothing"), negated=negated) for negated in (False, True))
    for variable, term in terms.items():
        if variable in {"receptacle", "thing"}:
            yield from (Fact("at", term, negated=negated) for negated in (False, True))
            for state in ("open", "closed", "surface"):
                yield from (Fact("state", term, text=state, negated=negated) for negated in (False, True))
        if variable != "receptacle":
            yield Fact("state", term, text="here")
        yield Fact("state", term, text="known")
    if {"object", "receptacle"} <= terms.keys():
        yield Fact("in", terms["object"], terms["receptacle"])
