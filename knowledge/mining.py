"""Learns rules by counting, without a model: where things lie, and what each command needs.

A command needs a fact without which it was always refused, and with which it was accepted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from housequest.knowledge.checks import Check, Fact, Term
from housequest.knowledge.judging import FactReader, Occasion, command_pattern, compile_fact, occasions
from housequest.knowledge.locations import Location, PlaceShare
from housequest.knowledge.moments import Moment
from housequest.knowledge.phrasing import refusal
from housequest.knowledge.rules import WITNESSES, Evidence, Origin, Rule
from housequest.knowledge.statistics import wilson
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.commands import CommandForm, Commands
from housequest.worlds.household.counts import Counts

FEWEST = 10
"""Least number of counted objects of a kind for a rule about where they lie."""

MOST_KINDS = 12
_EMPTY, _FREE = Fact("holding", Term("nothing")), Fact("free")


@dataclass(frozen=True, slots=True)
class Mined:
    """The counts; ``rules`` puts them in words."""

    locations: tuple[Location, ...] = ()
    preconditions: tuple[Rule, ...] = ()

    def rules(self, name: str) -> tuple[Rule, ...]:
        """The counts as candidate rules; ``name`` is that of the run they come from."""
        origin = Origin("run", name)
        lying = (place_rule(each, origin) for each in self.locations if each.number >= FEWEST)
        return (*lying, *(replace(rule, origin=origin) for rule in self.preconditions))

    def shown_by(self, records: Mined) -> Mined:
        """The same counts; the witnesses of a thing in a place are those that ``records`` have of it there."""
        steps = {(one.thing, place.receptacle): place.witnesses for one in records.locations for place in one.places}
        return replace(self, locations=tuple(one.shown_by(steps) for one in self.locations))


def mine(moments: Iterable[Moment], commands: Commands, least: int = 5) -> Mined:
    """Count over ``moments``, each origin once, what ``commands`` need; a need takes at least ``least`` refusals."""
    seen = Sightings()
    forms = [CommandCounts(form) for form in commands.forms]
    by_verb: dict[str, list[CommandCounts]] = {}
    for form in forms:
        by_verb.setdefault(_verb(form.form.pattern), []).append(form)
    for now in occasions(moments):
        seen.add(now.moment)
        for form in by_verb.get(_verb(now.moment.command.strip()), ()):
            form.add(now)
    needs = (need for alike in by_verb.values() for form in alike for need in form.needs(least, alone=len(alike) == 1))
    return Mined(seen.locations(), tuple(needs))


def mine_table(counts: Counts) -> Mined:
    """Take locations from a table of counts, over all kinds of room; it has every receptacle of every game but no commands."""
    found: dict[str, Counter[str]] = {}
    for room in counts.rooms.values():
        for thing, entry in room.objects.items():
            for place, placement in entry.places.items():
                found.setdefault(thing, Counter())[place] += placement.instances
    listed = ((thing, seen) for thing, seen in sorted(found.items()) if seen.total())
    return Mined(tuple(_location(thing, seen, {place: float(seen[place]) for place in seen}) for thing, seen in listed))


def place_rule(location: Location, origin: Origin) -> Rule:
    """A location as a rule: the likeliest places, the share of each, and the number of objects counted.

    Objects seen in these places support it, and the steps that showed them are its witnesses. Objects elsewhere do not
    contradict it, because it states their share.
    """
    return Rule(
        id=f"where-{location.thing}",
        statement=location.sentence,
        kind="location",
        objects=(location.thing,),
        status="candidate",
        origin=origin,
        evidence=Evidence(sum(place.seen for place in location.likeliest), witnesses=location.witnesses),
    )


def need_rule(form: CommandForm, fact: Fact, witnesses: Sequence[str], name: str) -> Rule:
    """The rule that commands of this ``form`` are refused unless ``fact`` holds; its id begins with ``name``.

    While the fact was false, they were refused by all ``witnesses`` and never accepted. The rule's id comes from the fact, so
    that counting again finds it again.
    """
    refused = len(witnesses)
    named = f"kind of {fact.subject}" if fact.relation == "kind" else str(fact)
    words = "-".join(re.findall("[a-z]+", named))
    said = refusal(form.pattern, fact, whole="-" in name)
    return Rule(
        id=f"{name}-needs-{words}",
        statement=f"{said}: refused {refused:,} of {refused:,} times.",
        kind="mechanic",
        types=form.types,
        status="candidate",
        check=Check(form.pattern, (replace(fact, negated=not fact.negated),), (Fact("refused"),)),
        evidence=Evidence(refused, 0, tuple(witnesses[:WITNESSES])),
    )


def _verb(command: str) -> str:
    return command.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class _Sighting:
    """The kind of place where an object lay, and the step that showed it; the opening is no step."""

    receptacle: str
    step: str | None


@dataclass
class _House:
    """The receptacles in a house by name, with their kinds; those looked into; and where each object lay.

    An object counts once a house, where it was first seen, which may be the opening; later sightings and moves are ignored.
    """

    standing: dict[str, str] = field(default_factory=dict[str, str])
    looked: set[str] = field(default_factory=set[str])
    found: dict[str, _Sighting] = field(default_factory=dict[str, _Sighting])

    def add(self, moment: Moment) -> None:
        """Count what a command showed, and before the first one what the opening did."""
        if not self.standing:
            self._see(Belief(), moment.before, None)
        self._see(moment.before, moment.after, moment.origin)

    def _see(self, before: Belief, after: Belief, step: str | None) -> None:
        for receptacle in after.receptacles:
            self.standing[receptacle.name] = receptacle.kind
        if before.receptacles is after.receptacles:
            return
        known = {item.name for item in before.items}
        seen = {one.name for one in before.receptacles if one.contents is not None}
        for receptacle in after.receptacles:
            if receptacle.contents is not None and receptacle.name not in seen:
                self.looked.add(receptacle.name)
                for name in receptacle.contents:
                    if name not in known:
                        self.found.setdefault(name, _Sighting(receptacle.kind, step))


class Sightings:
    """Where things were seen to lie, over moments of many houses."""

    def __init__(self) -> None:
        self._houses: dict[str, _House] = {}

    def add(self, moment: Moment) -> None:
        """Count what one moment showed; the same one again counts nothing."""
        self._houses.setdefault(moment.house, _House()).add(moment)

    def locations(self) -> tuple[Location, ...]:
        """Where each kind of object lies, by name.

        Players look where they expect things, so raw sightings are biased. To correct this, receptacles looked into are counted
        too, once a house: the number of objects per receptacle looked into, times the receptacles of that kind in the houses,
        estimates how many there are. This holds if, among receptacles of one kind, the choice of where to look did not depend
        on what was inside.
        """
        standing: Counter[str] = Counter()
        looked: Counter[str] = Counter()
        found: dict[str, dict[str, list[str | None]]] = {}
        for house in self._houses.values():
            standing.update(house.standing.values())
            looked.update(house.standing[name] for name in house.looked)
            for name, sighting in house.found.items():
                found.setdefault(kind(name), {}).setdefault(sighting.receptacle, []).append(sighting.step)
        locations: list[Location] = []
        for thing, steps in sorted(found.items()):
            seen = Counter({place: len(each) for place, each in steps.items()})
            likely = {place: seen[place] * standing[place] / looked[place] for place in seen}
            locations.append(_location(thing, seen, likely, steps))
        return tuple(locations)


def _location(
    thing: str, seen: Counter[str], likely: dict[str, float], steps: Mapping[str, Iterable[str | None]] = MappingProxyType({})
) -> Location:
    """Turn the estimates in ``likely`` into shares, with intervals as for that many independent objects as were seen.

    ``steps`` showed them, by place.
    """
    number, total = seen.total(), sum(likely.values())
    shares = {place: amount / total for place, amount in likely.items()}
    ranked = sorted(shares, key=lambda place: (-shares[place], place))

    def placed(place: str) -> PlaceShare:
        witnesses = dict.fromkeys(step for step in steps.get(place, ()) if step is not None)
        share = shares[place]
        return PlaceShare(place, seen[place], share, wilson(round(share * number), number), tuple(witnesses)[:WITNESSES])

    return Location(thing, number, tuple(map(placed, ranked)))


@dataclass
class _Tried:
    """The counts of one fact for one form of command; ``without`` lists the refusals while it was false, by number."""

    fact: Fact
    read: FactReader
    taken: int = 0
    spoilt: bool = False
    without: list[int] = field(default_factory=list[int])


class CommandCounts:
    """Counts what one form of command needs: its refusals, by origin and by the kinds that it named, and the kinds accepted."""

    def __init__(self, form: CommandForm) -> None:
        self.form = form
        self.pattern = command_pattern(form.pattern)
        self.tried = [_Tried(fact, compile_fact(fact)) for fact in _candidates(tuple(self.pattern.groupindex))]
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
            holds = tried.read(now.before, names)
            if holds is None:
                continue
            if not refused:
                tried.taken += holds
                tried.spoilt |= not holds
            elif not holds:
                tried.without.append(number)

    def needs(self, least: int, *, alone: bool) -> Iterator[Rule]:
        """What the command needs, by ``least`` refusals and as many accepted commands.

        Where it is not ``alone`` with its verb, all its words go into the ids.
        """
        words = [word for word in self.form.pattern.split(" ") if not word.startswith("{")]
        name = words[0] if alone else "-".join(words)
        needed = [each for each in self.tried if not each.spoilt and min(each.taken, len(each.without)) >= least]
        needed = _with_free_hands(needed, frozenset(filter(self._unfit, range(len(self.refused)))))
        needed = [tried for number, tried in enumerate(needed) if not _implied(number, needed)]
        for tried in needed:
            witnesses = [self.origins[number] for number in tried.without]
            yield need_rule(self.form, tried.fact, witnesses, name)
        # A refusal says something about a kind only if nothing else was wrong.
        unexplained = set(range(len(self.origins))).difference(*(tried.without for tried in needed))
        for variable, kinds in self.taken.items():
            without = [self.origins[number] for number in sorted(unexplained) if self.refused[number][variable] not in kinds]
            # A kind that was accepted only once may not be the only one.
            if 0 < len(kinds) <= MOST_KINDS and min(kinds.values()) > 1 and len(without) >= least:
                fact = Fact("kind", Term("variable", (variable,)), Term("kinds", tuple(sorted(kinds))))
                yield need_rule(self.form, fact, without, name)

    def _unfit(self, number: int) -> bool:
        """Whether a refused command named a kind of thing with which none was accepted."""
        return any(kind not in self.taken[variable] for variable, kind in self.refused[number].items())


def _with_free_hands(needed: list[_Tried], unfit: frozenset[int]) -> list[_Tried]:
    """``needed`` without that nothing is held, where a free hand of several, and what else was wrong, explains each refusal.

    ``unfit`` are the refusals of commands that named a wrong kind of thing.
    """
    free = next((tried for tried in needed if tried.fact == _FREE), None)
    empty = next((tried for tried in needed if tried.fact == _EMPTY), None)
    if free is None or empty is None or len(free.without) == len(empty.without):
        return needed
    others = unfit.union(*(tried.without for tried in needed if tried is not empty))
    return [tried for tried in needed if tried is not empty or not others.issuperset(empty.without)]


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
    yield from (_EMPTY, replace(_EMPTY, negated=True), _FREE)
    for variable, term in terms.items():
        if variable in {"receptacle", "thing"}:
            yield from (Fact("at", term, negated=negated) for negated in (False, True))
            for state in ("open", "closed", "surface", "lit"):
                yield from (Fact("state", term, text=state, negated=negated) for negated in (False, True))
        if variable != "receptacle":
            yield Fact("state", term, text="here")
        yield Fact("state", term, text="known")
    if {"object", "receptacle"} <= terms.keys():
        yield Fact("in", terms["object"], terms["receptacle"])
