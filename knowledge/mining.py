"""Learns rules by counting, without a model: where things lie, and what each command needs; and states them in plain sentences.

A command needs a fact without which it was always refused, and with which it was accepted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from housequest.knowledge.checks import Check, Fact, Term
from housequest.knowledge.judging import FactReader, Moment, command_pattern, compile_fact, distinct
from housequest.knowledge.rules import WITNESSES, Evidence, Origin, Rule, RuleScope, wilson
from housequest.knowledge.sentences import Location, PlaceShare, looked_rule, refusal
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.base import CommandForm, Commands
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.counts import Counts

FEWEST = 10
"""Least number of counted objects of a kind for a rule about where they lie in any house."""
MOST_KINDS = 12
_EMPTY, _FREE = Fact("holding", Term("nothing")), Fact("free")


@dataclass(frozen=True, slots=True)
class Mined:
    """The counts; ``rules`` puts them in words. Of a home, ``looked`` are the days on which each place was looked into."""

    locations: tuple[Location, ...] = ()
    preconditions: tuple[Rule, ...] = ()
    scope: RuleScope = "world"
    looked: Mapping[str, int] = field(default_factory=dict[str, int])

    def rules(self, name: str, splits: tuple[str, ...] = ()) -> tuple[Rule, ...]:
        """The counts as candidate rules; ``name`` is that of the run they come from, over tasks of ``splits``."""
        origin = Origin("run", name, splits)
        least = FEWEST if self.scope == "world" else 1
        lying = (replace(place_rule(each, origin), scope=self.scope) for each in self.locations if each.number >= least)
        looked = (looked_rule(self.looked, origin),) if self.looked else ()
        return (*lying, *looked, *(replace(rule, origin=origin) for rule in self.preconditions))

    @property
    def habits(self) -> Mined:
        """The habits alone of what was counted in a home: the places that keep a thing, and nothing of where it was not."""
        kept = (replace(one, places=tuple(filter(one.is_habit, one.places))) for one in self.locations)
        return replace(self, locations=tuple(one for one in kept if one.places), looked={})

    def shown_by(self, records: Mined) -> Mined:
        """The same counts; the witnesses of a thing in a place are those that ``records`` have of it there."""
        steps = {(one.thing, place.receptacle): place.witnesses for one in records.locations for place in one.places}

        def shown(one: Location) -> Location:
            places = (replace(each, witnesses=steps.get((one.thing, each.receptacle), ())) for each in one.places)
            return replace(one, places=tuple(places))

        return replace(self, locations=tuple(map(shown, self.locations)))


def mine(moments: Iterable[Moment], commands: Commands, least: int = 5, *, scope: RuleScope = "world") -> Mined:
    """Count over ``moments``, each origin once, what ``commands`` need; a need takes at least ``least`` refusals. With the
    ``scope`` of a household they are days of one home, whose places are counted by name."""
    seen = Sightings(by_name=scope == "household")
    forms = [_CommandCounts(form) for form in commands.forms]
    by_verb: dict[str, list[_CommandCounts]] = {}
    for form in forms:
        by_verb.setdefault(_verb(form.form.pattern), []).append(form)
    for now in distinct(moments):
        seen.add(now)
        for form in by_verb.get(_verb(now.command.strip()), ()):
            form.add(now)
    needs = (need for alike in by_verb.values() for form in alike for need in form.needs(least, alone=len(alike) == 1))
    return Mined(tuple(seen.locations()), tuple(needs), scope, seen.looks if scope == "household" else {})


def scope_of(splits: Iterable[str], homes: Collection[str]) -> RuleScope:
    """The scope of what is counted over tasks of these ``splits``, given the names of a world's kinds of home.

    Raises:
        ConfigurationError: They mix a home with something else, so that its habits would be mistaken for the world's.
    """
    found = dict.fromkeys(splits)
    at_home = [split for split in found if split.partition(":")[0] in homes]
    if at_home and len(found) > 1:
        raise ConfigurationError(
            f"{at_home[0]} is a home with habits of its own; count its days alone, apart from other games."
        )
    return "household" if at_home else "world"


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
    """A location as a rule. Its evidence says if the place to try first is the likeliest: what lay there is for it, what lay
    in the next place against it, in numbers that estimate the whole as shares do. Other places decide nothing, and in a home
    the days on which a thing was there speak for themselves."""
    first, at_home = location.places[0], location.places[0].looks > 0
    second = () if at_home else location.places[1:2]
    return Rule(
        id=f"where-{location.thing}",
        statement=location.sentence,
        kind="location",
        objects=(location.thing,),
        status="candidate",
        origin=origin,
        evidence=Evidence(
            first.seen if at_home else location.counted(first),
            sum(map(location.counted, second)),
            first.witnesses,
            tuple(step for each in second for step in each.witnesses),
        ),
    )


def _need_rule(form: CommandForm, fact: Fact, witnesses: Sequence[str], name: str) -> Rule:
    """The rule that commands of this ``form`` need ``fact``. Its id comes from the fact, so counting again finds it again."""
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


@dataclass
class _House:
    """The receptacles in a house by name, with their kinds; those looked into; and the receptacle where each object lay.

    An object counts once a house, where it was first seen, which may be the opening; later sightings and moves are ignored.
    With its place goes the step that showed it; the opening is no step.
    """

    standing: dict[str, str] = field(default_factory=dict[str, str])
    looked: set[str] = field(default_factory=set[str])
    found: dict[str, tuple[str, str | None]] = field(default_factory=dict[str, tuple[str, str | None]])

    def see(self, before: Belief, after: Belief, step: str | None) -> None:
        self.standing |= {receptacle.name: receptacle.kind for receptacle in after.receptacles}
        if before.receptacles is after.receptacles:
            return
        known = {item.name for item in before.items}
        seen = {one.name for one in before.receptacles if one.contents is not None}
        for receptacle in after.receptacles:
            if receptacle.contents is not None and receptacle.name not in seen:
                self.looked.add(receptacle.name)
                for name in receptacle.contents:
                    if name not in known:
                        self.found.setdefault(name, (receptacle.name, step))


class Sightings:
    """The places where things were seen, over moments of many houses; ``by_name`` over days of one home."""

    def __init__(self, *, by_name: bool = False) -> None:
        self._houses: dict[str, _House] = {}
        self._by_name = by_name

    def add(self, moment: Moment) -> None:
        house = self._houses.setdefault(moment.house, _House())
        if not house.standing:
            house.see(Belief(), moment.before, None)
        house.see(moment.before, moment.after, moment.origin)

    @property
    def looks(self) -> dict[str, int]:
        """The days on which each receptacle of a home was looked into, by name."""
        standing = dict.fromkeys(name for house in self._houses.values() for name in house.standing)
        looked = Counter(name for house in self._houses.values() for name in house.looked)
        return {name: looked[name] for name in standing if looked[name]}

    @property
    def last_seen(self) -> Iterator[tuple[str, int, str]]:
        """Each kind of thing with the last day, from 1, on which one was seen, and the first place where it was."""
        last: dict[str, tuple[int, str]] = {}
        for day, house in enumerate(self._houses.values(), start=1):
            of_day = {kind(name): place for name, (place, _) in reversed(house.found.items())}
            last |= {thing: (day, place) for thing, place in of_day.items()}
        yield from ((thing, *seen) for thing, seen in sorted(last.items()))

    def locations(self) -> Iterator[Location]:
        """The places of each kind of object, by name.

        Players look where they expect things, so raw sightings are biased. To correct this, receptacles looked into are counted
        too, once a house: the number of objects per receptacle looked into, times the receptacles of that kind in the houses,
        estimates how many there are. This holds if, among receptacles of one kind, the choice of where to look did not depend
        on what was inside. In a home it is the share of the days on which a receptacle was looked into.
        """
        standing, looked, days = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
        found: dict[str, dict[str, list[str | None]]] = {}
        for house in self._houses.values():
            called = {name: name if self._by_name else kind for name, kind in house.standing.items()}
            standing.update(called.values())
            looked.update(called[name] for name in house.looked)
            for name, (place, step) in house.found.items():
                found.setdefault(kind(name), {}).setdefault(called[place], []).append(step)
            days.update({(kind(name), place) for name, (place, _) in house.found.items()})
        for thing, steps in sorted(found.items()):
            seen_at = Counter({place: len(each) for place, each in steps.items()})
            if self._by_name:
                yield home_location(thing, days, looked, steps)
            else:
                yield _location(
                    thing, seen_at, {place: seen_at[place] * standing[place] / looked[place] for place in seen_at}, steps
                )


def home_location(
    thing: str, days: Counter[tuple[str, str]], looked: Counter[str], steps: Mapping[str, Sequence[str | None]]
) -> Location:
    """The places of a ``thing`` in a home, given the ``days`` by thing and place, the days on which each place was ``looked``
    into, and for each thing that was seen the step, if there was one, by place."""

    def placed(place: str) -> PlaceShare:
        seen, looks = days[thing, place], looked[place]
        witnesses = dict.fromkeys(step for step in steps[place] if step is not None)
        return PlaceShare(
            place, seen, seen / looks, wilson(seen, looks), tuple(witnesses)[:WITNESSES], looks, len(steps[place])
        )

    ranked = sorted(map(placed, steps), key=lambda one: (-one.share, -one.things, one.receptacle))
    return Location(thing, sum(place.things for place in ranked), tuple(ranked))


def _location(
    thing: str, seen: Counter[str], likely: dict[str, float], steps: Mapping[str, Iterable[str | None]] = MappingProxyType({})
) -> Location:
    """The estimates in ``likely`` as shares, with intervals for as many independent objects as were seen."""
    number, total = seen.total(), sum(likely.values())
    shares = {place: amount / total for place, amount in likely.items()}
    ranked = sorted(shares, key=lambda place: (-shares[place], place))

    def placed(place: str) -> PlaceShare:
        witnesses = dict.fromkeys(step for step in steps.get(place, ()) if step is not None)
        share = shares[place]
        return PlaceShare(place, seen[place], share, wilson(round(share * number), number), tuple(witnesses)[:WITNESSES])

    return Location(thing, number, tuple(map(placed, ranked)))


class _CommandCounts:
    """Counts for one form of command: its refusals, by origin and by the kinds that it named, and the kinds accepted."""

    def __init__(self, form: CommandForm) -> None:
        self.form = form
        self.pattern = command_pattern(form.pattern)
        self.tried = [_Tried(fact, compile_fact(fact)) for fact in _candidates(tuple(self.pattern.groupindex))]
        self.origins: list[str] = []
        self.refused: list[dict[str, str]] = []
        self.taken = {variable: Counter[str]() for variable in self.pattern.groupindex}

    def add(self, now: Moment) -> None:
        """Count one moment, if its command has this form."""
        found = self.pattern.fullmatch(now.command.strip())
        if found is None:
            return
        names, number, refused = found.groupdict(), len(self.origins), now.refused
        if refused:
            self.origins.append(now.origin)
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
        """The needs that at least ``least`` refusals and as many accepted commands show. A form that is ``alone`` with its verb
        is named by that in ids."""
        words = [word for word in self.form.pattern.split(" ") if not word.startswith("{")]
        name = words[0] if alone else "-".join(words)
        needed = [each for each in self.tried if not each.spoilt and min(each.taken, len(each.without)) >= least]
        # Refusals of commands that named a kind of thing with which none was accepted.
        unfit = {
            number for number, kinds in enumerate(self.refused) if any(one not in self.taken[of] for of, one in kinds.items())
        }
        needed = _with_free_hands(needed, frozenset(unfit))
        needed = [tried for number, tried in enumerate(needed) if not _implied(number, needed)]
        for tried in needed:
            witnesses = [self.origins[number] for number in tried.without]
            yield _need_rule(self.form, tried.fact, witnesses, name)
        # A refusal says something about a kind only if nothing else was wrong.
        unexplained = set(range(len(self.origins))).difference(*(tried.without for tried in needed))
        for variable, kinds in self.taken.items():
            without = [self.origins[number] for number in sorted(unexplained) if self.refused[number][variable] not in kinds]
            # A kind that was accepted only once may not be the only one.
            if 0 < len(kinds) <= MOST_KINDS and min(kinds.values()) > 1 and len(without) >= least:
                fact = Fact("kind", Term("variable", (variable,)), Term("kinds", tuple(sorted(kinds))))
                yield _need_rule(self.form, fact, without, name)


@dataclass
class _Tried:
    """The counts of one fact for one form of command; ``without`` lists the refusals while it was false, by number."""

    fact: Fact
    read: FactReader
    taken: int = 0
    spoilt: bool = False
    without: list[int] = field(default_factory=list[int])


def _with_free_hands(needed: list[_Tried], unfit: frozenset[int]) -> list[_Tried]:
    """``needed`` without "nothing is held", if a free hand of several and other faults explain every refusal (``unfit`` are
    refusals of commands that named a wrong kind of thing)."""
    by_fact = {tried.fact: tried for tried in needed}
    free, empty = by_fact.get(_FREE), by_fact.get(_EMPTY)
    if free is None or empty is None or len(free.without) == len(empty.without):
        return needed
    rest = [tried for tried in needed if tried is not empty]
    return rest if unfit.union(*(tried.without for tried in rest)).issuperset(empty.without) else needed


def _implied(number: int, needed: list[_Tried]) -> bool:
    mine, others = set(needed[number].without), ((other, set(tried.without)) for other, tried in enumerate(needed))
    return any(mine <= theirs and (mine != theirs or other < number) for other, theirs in others if other != number)


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
