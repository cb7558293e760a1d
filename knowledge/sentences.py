"""The sentences of counted rules, written for people and read back by code: where things are kept, where was looked, and what a
command needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from housequest.knowledge.checks import Fact, Term
from housequest.knowledge.rules import LONGEST_STATEMENT, Evidence, Interval, Origin, Rule, wilson
from housequest.worlds.household.belief import kind
from housequest.worlds.text import percentage, with_article

HABIT, SIGHTINGS = 0.15, 2
"""A place in a home is a habit if so large a share of a kind of thing was there, and so many of them."""
PLACES, PLACES_AT_HOME = 3, 12
"""The most places that a rule names, about any house and about one home."""
LOOKED = "looked-into"
"""The id of the rule that says on how many days each place in a home was looked into."""

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
_KINDS = r"[a-z]+(?:, [a-z]+)*"
_KEPT = re.compile(rf"Kept in (\S+ \d{{1,6}}): (?:({_KINDS})(?:; |(?=\.)))?(?:sometimes ({_KINDS}))?\.", re.ASCII)
USUALLY, SOMETIMES = 0.75, 0.25
"""The share of a kind of thing that is in a place of a home where it usually is, and where it sometimes is."""
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


@dataclass(frozen=True, slots=True)
class KeptThings:
    """The kinds of thing that are kept in one ``place`` of a home, as a group: those that ``usually`` and ``sometimes`` are."""

    place: str
    usually: tuple[str, ...]
    sometimes: tuple[str, ...] = ()

    @property
    def shares(self) -> dict[str, float]:
        return dict.fromkeys(self.sometimes, SOMETIMES) | dict.fromkeys(self.usually, USUALLY)

    @property
    def sentence(self) -> str:
        parts = (", ".join(self.usually), f"sometimes {', '.join(self.sometimes)}" * bool(self.sometimes))
        return f"Kept in {self.place}: {'; '.join(filter(None, parts))}."


@lru_cache(4096)  # a game asks about the same rules at every step
def read_kept(statement: str) -> KeptThings | None:
    """Read a `KeptThings.sentence`; None for any other statement."""
    if (found := _KEPT.fullmatch(statement)) is None:
        return None
    place, *said = found.groups()
    usually, sometimes = (tuple(each.split(", ")) if each else () for each in said)
    read = KeptThings(place, usually, sometimes)
    return read if read.shares and read.sentence == statement else None


def looked_into(rules: Iterable[Rule]) -> dict[str, int]:
    """The days on which each place was looked into, as the ``rules`` of a home say."""
    return {place: days for rule in rules for place, days in read_looked(rule.statement).items()}


def _places(span: str) -> Iterator[str]:
    found = _SPAN.fullmatch(span)
    if found is None:
        return
    first, last = int(found["first"]), int(found["last"] or found["first"])
    yield from (f"{found['kind']} {number}" for number in range(first, min(last, first + _LONGEST_SPAN) + 1))
