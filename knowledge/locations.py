"""Where things of one kind lie, as counted, and the sentence of a rule that says so and can be read back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from housequest.knowledge.phrasing import with_article
from housequest.knowledge.rules import WITNESSES
from housequest.knowledge.statistics import Interval, wilson
from housequest.worlds.text import percentage

PLACES = 3
"""Most places that a rule names."""

_PLACE = r"an? (\S+) (?:first )?\((\d{1,3}) %"
_SENTENCE = re.compile(
    rf"To find an? (?P<thing>\S+), try {_PLACE} are there\).*; (?P<number>\d[\d,]{{0,14}}) were counted\.", re.ASCII
)


@dataclass(frozen=True, slots=True)
class PlaceShare:
    """How many objects of a kind were ``seen`` in a kind of receptacle.

    ``share`` is the estimated share of all such objects, in [0, 1], with its 95 % interval. ``witnesses`` are the first
    recorded steps, as run/task/step, that showed one there.
    """

    receptacle: str
    seen: int
    share: float
    interval: Interval
    witnesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Location:
    """Where objects of one kind lie, the likeliest place first; ``number`` objects were counted."""

    thing: str
    number: int
    places: tuple[PlaceShare, ...]

    @property
    def likeliest(self) -> tuple[PlaceShare, ...]:
        """The first few places; after the first, one with a share near zero is of no use."""
        first, *others = self.places[:PLACES]
        return (first, *(place for place in others if place.share >= 0.05))

    @property
    def witnesses(self) -> tuple[str, ...]:
        """Steps that showed such an object in the likeliest places, of each place in turn."""
        turns = zip_longest(*(place.witnesses for place in self.likeliest))
        return tuple(dict.fromkeys(step for turn in turns for step in turn if step is not None))[:WITNESSES]

    @property
    def sentence(self) -> str:
        """What a rule says of the likeliest places."""
        first, *others = self.likeliest
        then = " or ".join(f"{with_article(each.receptacle)} ({percentage(each.share)} %)" for each in others)
        try_first = f"try {with_article(first.receptacle)} first ({percentage(first.share)} % are there)"
        tried = f"{try_first}, then {then}" if then else try_first
        return f"To find {with_article(self.thing)}, {tried}; {self.number:,} were counted."

    def shown_by(self, steps: Mapping[tuple[str, str], tuple[str, ...]]) -> Location:
        """The location with other witnesses, given by thing and place."""
        places = (replace(each, witnesses=steps.get((self.thing, each.receptacle), ())) for each in self.places)
        return replace(self, places=tuple(places))

    def __str__(self) -> str:
        listed = (
            f"{each.receptacle} {percentage(each.share)} % ({percentage(each.interval.low)}-{percentage(each.interval.high)})"
            for each in self.likeliest
        )
        return f"{', '.join(listed)}, n={self.number}"


def read_sentence(statement: str) -> Location | None:
    """The likeliest places that a `Location.sentence` tells, with shares to the per cent; None for any other statement."""
    found = _SENTENCE.fullmatch(statement)
    if found is None:
        return None
    number = int(found["number"].replace(",", ""))
    told = [(place, int(share) / 100) for place, share in re.findall(_PLACE, statement)]
    if number == 0 or max(share for _, share in told) > 1:
        return None
    seen = [round(share * number) for _, share in told]
    places = (PlaceShare(place, each, share, wilson(each, number)) for (place, share), each in zip(told, seen, strict=True))
    read = Location(found["thing"], number, tuple(places))
    return read if read.sentence == statement else None
