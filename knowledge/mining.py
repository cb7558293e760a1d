"""Learns rules by counting, without a model: where things lie, and what each command needs; and states them in plain sentences.

A command needs a fact without which it was always refused, and with which it was accepted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from types import MappingProxyType

from housequest.knowledge.judging import FactReader, Moment, command_pattern, compile_fact, distinct
from housequest.knowledge.rules import (
    LONGEST_STATEMENT,
    WITNESSES,
    Check,
    Evidence,
    Fact,
    Interval,
    Origin,
    Rule,
    RuleScope,
    Term,
    wilson,
)
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.base import CommandForm, Commands
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.counts import Counts
from housequest.worlds.text import percentage, with_article

FEWEST = 10
"""Least number of counted objects of a kind for a rule about where they lie in any house."""
HABIT, SIGHTINGS = 0.15, 2
"""A place in a home is a habit if so large a share of a kind of thing was there, and so many of them."""
PLACES, PLACES_AT_HOME = 3, 12
"""The most places that a rule names, about any house and about one home."""
LOOKED = "looked-into"
"""The id of the rule that says on how many days each place in a home was looked into."""
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


def looked_rule(looks: Mapping[str, int], origin: Origin) -> Rule:
    """The rule that says on how many days each place in a home was looked into, so that "not there" is known too."""
    by_days: dict[int, list[str]] = {}
    for place, days in looks.items():
        by_days.setdefault(days, []).append(place)
    each = sorted(by_days.items(), reverse=True)
    said = [f"on {days:,} day{'s' * (days > 1)}: {', '.join(_spans(places))}" for days, places in each]
    while len(statement := f"Looked into {'; '.join(said)}.") > LONGEST_STATEMENT:
        said.pop()  # in a very large home, where was looked least is as good as unknown
    seen = Evidence(sum(looks.values()))
    return Rule(LOOKED, statement, "location", status="candidate", origin=origin, scope="household", evidence=seen)


def _spans(places: Iterable[str]) -> Iterator[str]:
    """Names of places, those that follow each other as one: ``shelf 2 to 6``."""
    numbers: dict[str, list[int]] = {}
    for place in places:
        numbers.setdefault(kind(place), []).append(int(place.rpartition(" ")[2]))
    for named, of in numbers.items():
        for _, run in groupby(enumerate(sorted(of)), lambda one: one[1] - one[0]):
            first, *more = (number for _, number in run)
            yield f"{named} {first}" + (f" to {more[-1]}" if more else "")


@lru_cache(256)  # a game asks at every step
def read_looked(statement: str) -> Mapping[str, int]:
    """The days on which each place was looked into, as `looked_rule` says them; none for any other statement."""
    if not _LOOKED.fullmatch(statement):
        return {}
    parts = (part.partition(": ") for part in statement.removeprefix("Looked into ").removesuffix(".").split("; "))
    return {
        place: int(days.split()[1].replace(",", ""))
        for days, _, spans in parts
        for span in spans.split(", ")
        for place in _places(span)
    }


def looked_into(rules: Iterable[Rule]) -> dict[str, int]:
    """The days on which each place was looked into, as the ``rules`` of a home say."""
    return {place: days for rule in rules for place, days in read_looked(rule.statement).items()}


def _places(span: str) -> Iterator[str]:
    found = _SPAN.fullmatch(span)
    if found is None:
        return
    first, last = int(found["first"]), int(found["last"] or found["first"])
    yield from (f"{found['kind']} {number}" for number in range(first, min(last, first + _LONGEST_SPAN) + 1))


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
                yield _at_home(thing, days, looked, steps)
            else:
                yield _location(
                    thing, seen_at, {place: seen_at[place] * standing[place] / looked[place] for place in seen_at}, steps
                )


def _at_home(
    thing: str, days: Counter[tuple[str, str]], looked: Counter[str], steps: Mapping[str, Sequence[str | None]]
) -> Location:
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


_PLACE = r"an? (\S+) (?:first )?\((\d{1,3}) %"
_SENTENCE = re.compile(
    rf"To find an? (?P<thing>\S+), try {_PLACE} are there\).*; (?P<number>\d[\d,]{{0,14}}) were counted\.", re.ASCII
)
_PLACE_AT_HOME = r"(\S+ \d+) (?:first )?\((?:there on )?(\d{1,6}) of (\d{1,6})(?: days)?(?:, (\d{1,6}) in all)?\)"
_SENTENCE_AT_HOME = re.compile(
    rf"To find an? (?P<thing>\S+), try {_PLACE_AT_HOME}(?:, then {_PLACE_AT_HOME}(?: or {_PLACE_AT_HOME})*)?\.", re.ASCII
)
_LOOKED_PART = r"on \d[\d,]{0,9} days?: [^;:,.]+(?:, [^;:,.]+)*"
_SPAN = re.compile(r"(?P<kind>\S+) (?P<first>\d{1,6})(?: to (?P<last>\d{1,6}))?", re.ASCII)
_LONGEST_SPAN = 200
_LOOKED = re.compile(rf"Looked into {_LOOKED_PART}(?:; {_LOOKED_PART})*\.", re.ASCII)


@dataclass(frozen=True, slots=True)
class PlaceShare:
    """The number of a kind ``seen`` in a kind of receptacle, the estimated share, and the first steps that showed one. In a
    home these are the days on which one was there, and their share of the ``looks``, the days on which it was looked into;
    ``things`` are how many that were."""

    receptacle: str
    seen: int
    share: float
    interval: Interval
    witnesses: tuple[str, ...] = ()
    looks: int = 0
    things: int = 0

    @property
    def more(self) -> str:
        """In words, how many things there were if not one a day."""
        return f", {self.things} in all" if self.things > self.seen else ""


@dataclass(frozen=True, slots=True)
class Location:
    """The places of objects of one kind, the likeliest first; ``number`` objects were counted."""

    thing: str
    number: int
    places: tuple[PlaceShare, ...]

    @property
    def likeliest(self) -> tuple[PlaceShare, ...]:
        """The first few places; after the first, one with a share near zero is of no use. Of a home, all that can be named."""
        if self.places[0].looks:
            return self.places[:PLACES_AT_HOME]
        first, *others = self.places[:PLACES]
        return (first, *(place for place in others if place.share >= 0.05))

    def is_habit(self, place: PlaceShare) -> bool:
        """True if the thing is kept at a ``place`` in a home, as far as was seen: often enough, and two of them at least."""
        total = sum(one.share for one in self.places)
        return place.share / total >= HABIT and place.things >= SIGHTINGS

    def counted(self, place: PlaceShare) -> int:
        """The part of the things counted that lies in ``place`` by its share."""
        return round(place.share / sum(one.share for one in self.places) * self.number)

    @property
    def leads(self) -> bool:
        """True if the first place is the likeliest, with 95 % confidence."""
        first, second = (sum(map(self.counted, self.places[at : at + 1])) for at in (0, 1))
        return wilson(first, first + second).low > 0.5

    @property
    def short(self) -> str:
        """The first places with their shares in per cent: ``apple: fridge 34 · countertop 26``."""
        # A numbered place ends with a number itself.
        told = (f"{one.receptacle}{':' * bool(one.looks)} {percentage(one.share)}" for one in self.likeliest[:PLACES])
        return f"{self.thing}: {' · '.join(told)}"

    @property
    def sentence(self) -> str:
        first, *others = self.likeliest
        if first.looks:
            then = " or ".join(f"{each.receptacle} ({each.seen} of {each.looks}{each.more})" for each in others)
            try_first = f"try {first.receptacle} first (there on {first.seen} of {first.looks} days{first.more})"
            counted = "."
        else:
            then = " or ".join(f"{with_article(each.receptacle)} ({percentage(each.share)} %)" for each in others)
            try_first = f"try {with_article(first.receptacle)} first ({percentage(first.share)} % are there)"
            counted = f"; {self.number:,} were counted."
        return f"To find {with_article(self.thing)}, {try_first}{f', then {then}' if then else ''}{counted}"

    def __str__(self) -> str:
        listed = (
            f"{each.receptacle} {percentage(each.share)} % ({percentage(each.interval.low)}-{percentage(each.interval.high)})"
            for each in self.likeliest
        )
        return f"{', '.join(listed)}, n={self.number}"


def read_sentence(statement: str) -> Location | None:
    """The likeliest places in a `Location.sentence`, with shares in whole per cent; None for any other statement."""
    if (found := _SENTENCE_AT_HOME.fullmatch(statement)) is not None:
        told = [
            (at, int(days), int(looks), int(all_ or days)) for at, days, looks, all_ in re.findall(_PLACE_AT_HOME, statement)
        ]
        if any(not 0 < days <= looks for _, days, looks, _ in told):
            return None
        places = (PlaceShare(at, days, days / looks, wilson(days, looks), (), looks, all_) for at, days, looks, all_ in told)
        read = Location(found["thing"], sum(things for *_, things in told), tuple(places))
        return read if read.sentence == statement else None
    if (found := _SENTENCE.fullmatch(statement)) is None:
        return None
    number = int(found["number"].replace(",", ""))
    shares = [(place, int(share) / 100) for place, share in re.findall(_PLACE, statement)]
    if number == 0 or max(share for _, share in shares) > 1:
        return None
    seen = [round(share * number) for _, share in shares]
    placed = (PlaceShare(place, each, share, wilson(each, number)) for (place, share), each in zip(shares, seen, strict=True))
    read = Location(found["thing"], number, tuple(placed))
    return read if read.sentence == statement else None


_NOUNS = {"object": "a thing", "receptacle": "a place", "thing": "a thing", "tool": "a tool"}
_WITH = "something"
"""The word for a place that is used as a tool: nobody heats an egg "with a place"."""
_VARIABLE = re.compile(r"\{([a-z]+)\}")


def refusal(pattern: str, fact: Fact, *, whole: bool = False) -> str:
    """The sentence, without a full stop, that commands of this ``pattern`` are refused while ``fact`` is false.

    What follows the thing that the fact is about is left out, unless the ``whole`` command is to be said.
    """
    nouns = {name: _WITH if f"with {{{name}}}" in pattern else noun for name, noun in _NOUNS.items()}
    variables: list[str] = _VARIABLE.findall(pattern)
    about = [term.words[0] for term in (fact.subject, fact.other) if term is not None and term.shape == "variable"]
    if about:
        last = max(about, key=variables.index)
        place = pattern.index(f"{{{last}}}") + len(last) + 2
        there = nouns[last] == "a place" and fact.relation == "at"
        clause = f" where you {'already are' if fact.negated else 'are not'}" if there else f" that {_clause(fact)}"
        said = pattern[:place] + clause + (pattern[place:] if whole else "")
    else:
        said = (pattern if whole else pattern[: pattern.index("}") + 1]) + f" while {_state(fact)}"
    return "You cannot " + _VARIABLE.sub(lambda found: nouns.get(found[1], found[1]), said)


def _clause(fact: Fact) -> str:
    """The words for a thing while ``fact`` is false."""
    no = "" if fact.negated else "not "
    match fact.relation:
        case "holding":
            return f"you are {no}holding"
        case "at":
            return f"you are {'already' if fact.negated else 'not'} at"
        case "in":
            return f"it is {no}in"
        case "kind":
            *first, last = fact.other.words if fact.other else ("",)
            return f"is {no}{with_article(' or '.join(filter(None, (', '.join(first), last))))}"
        case _ if fact.text == "surface":
            return f"can{'not' if fact.negated else ''} be opened"
        case _ if fact.text == "known":
            return f"you have {no}seen"
        case _:
            return f"is {no}{fact.text}"


def _state(fact: Fact) -> str:
    if fact.relation == "free":
        return f"{'a' if fact.negated else 'no'} hand is free"
    if fact.relation == "holding" and fact.subject == Term("nothing"):
        return f"you hold {'nothing' if fact.negated else 'something'}"
    return str(fact) if fact.negated else f"it is not so that {fact}"
