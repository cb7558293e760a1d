"""Finds by counting what each command needs: facts without which it was always refused, and with which it was accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from knowledge.checks import Check, Fact, Term
from knowledge.judging import FactReader, Occasion, command_pattern, compile_fact
from knowledge.moments import Moment
from knowledge.rules import WITNESSES
from knowledge.statistics import Interval, wilson
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

_HANDS = Term("nothing")


@dataclass(frozen=True, slots=True)
class Precondition:
    """A command is refused unless ``fact`` holds.

    While the fact was false, it was refused ``refused`` times and never accepted; while true, it was accepted ``taken`` times.
    ``interval`` is the 95 % interval of the rate of refusals while the fact is false.
    """

    command: str
    fact: Fact
    refused: int
    taken: int
    interval: Interval
    witnesses: tuple[str, ...]

    @property
    def check(self) -> Check:
        """The precondition as a check."""
        return Check(self.command, (replace(self.fact, negated=not self.fact.negated),), (Fact("refused"),))


@dataclass
class _Tried:
    """The counts of one fact for one form; ``without`` lists the refusals while it was false, by number."""

    fact: Fact
    read: FactReader
    taken: int = 0
    spoilt: bool = False
    without: list[int] = field(default_factory=list[int])


@dataclass
class _Form:
    command: str
    variables: tuple[str, ...]
    tried: list[_Tried]
    origins: list[str] = field(default_factory=list[str])
    refused: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    taken: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])


class Needs:
    """Counts what commands need; a precondition takes ``least`` refusals and as many accepted commands."""

    def __init__(self, least: int = 5) -> None:
        self.least = least
        self._forms: dict[str, list[_Form]] = {}
        self._patterns = {command: command_pattern(command) for command in FORMS}
        for command, pattern in self._patterns.items():
            variables = tuple(pattern.groupindex)
            tried = [_Tried(fact, compile_fact(fact)) for fact in _candidates(variables)]
            self._forms.setdefault(command.partition(" ")[0], []).append(_Form(command, variables, tried))

    def add(self, moment: Moment, occasion: Occasion) -> None:
        """Count one moment; ``occasion`` is the same moment prepared for checks."""
        command = moment.command.strip()
        for form in self._forms.get(command.partition(" ")[0], ()):
            found = self._patterns[form.command].fullmatch(command)
            if found is None:
                continue
            names: dict[str, str] = found.groupdict()
            number = len(form.origins)
            if occasion.refused:
                form.origins.append(moment.origin)
                form.refused.append({variable: kind(name) for variable, name in names.items()})
            else:
                for variable, name in names.items():
                    form.taken.setdefault(variable, Counter())[kind(name)] += 1
            for tried in form.tried:
                truth = tried.read(occasion.before, names)
                if truth is None:
                    continue
                if not occasion.refused:
                    tried.taken += truth
                    tried.spoilt |= not truth
                elif not truth:
                    tried.without.append(number)

    def preconditions(self) -> tuple[Precondition, ...]:
        """The preconditions of each command, in the order of ``FORMS``."""
        return tuple(found for forms in self._forms.values() for form in forms for found in self._of(form))

    def _of(self, form: _Form) -> Iterator[Precondition]:
        needed = [
            tried for tried in form.tried if not tried.spoilt and tried.taken >= self.least and len(tried.without) >= self.least
        ]
        needed = [tried for number, tried in enumerate(needed) if not _implied(number, needed)]
        for tried in needed:
            yield self._found(form, tried.fact, tried.without, tried.taken)
        # A refusal says something about a kind only if nothing else was wrong.
        unexplained = set(range(len(form.origins))).difference(*(tried.without for tried in needed))
        for variable in form.variables:
            kinds = form.taken.get(variable, Counter())
            without = [number for number in sorted(unexplained) if form.refused[number][variable] not in kinds]
            # A kind that was accepted only once may not be the only one.
            if 0 < len(kinds) <= MOST_KINDS and min(kinds.values()) > 1 and len(without) >= self.least:
                fact = Fact("kind", Term("variable", (variable,)), Term("kinds", tuple(sorted(kinds))))
                yield self._found(form, fact, without, kinds.total())

    @staticmethod
    def _found(form: _Form, fact: Fact, without: list[int], taken: int) -> Precondition:
        refused = len(without)
        witnesses = tuple(form.origins[number] for number in without[:WITNESSES])
        return Precondition(form.command, fact, refused, taken, wilson(refused, refused), witnesses)


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
    for variable in variables:
        term = Term("variable", (variable,))
        yield Fact("holding", term)
        if variable != "tool":
            yield Fact("holding", term, negated=True)
    yield Fact("holding", _HANDS)
    yield Fact("holding", _HANDS, negated=True)
    for variable in variables:
        term = Term("variable", (variable,))
        if variable in {"receptacle", "thing"}:
            yield Fact("at", term)
            yield Fact("at", term, negated=True)
            for state in ("open", "closed", "surface"):
                yield Fact("state", term, text=state)
                yield Fact("state", term, text=state, negated=True)
        if variable != "receptacle":
            yield Fact("state", term, text="here")
        yield Fact("state", term, text="known")
    if {"object", "receptacle"} <= set(variables):
        yield Fact("in", Term("variable", ("object",)), Term("variable", ("receptacle",)))
