"""Counts of where things are at the start of a game, over a training split, for each kind of room (kitchen, living room,
bedroom, bathroom). The expert, generated houses and mining use them. Kinds are names as the game writes them, without a
number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal, Protocol

from housequest.worlds.errors import KnowledgeError, shown
from housequest.worlds.household.belief import kind
from housequest.worlds.paths import read_bounded
from housequest.worlds.validation import Before, Invalid, read_json

SearchPrior = Literal["counts", "random", "name"]
"""``counts``: the likeliest place first, counted over a training split; ``random``: in a drawn order; ``name``: by name."""


def salt_of(seed: int, places: Iterable[str]) -> str:
    """The seed of a random search order in the house that has these ``places``; the wording of the task does not change it."""
    return "\n".join((str(seed), *places))


def drawn(salt: str, name: str) -> str:
    """A key that sorts names into an order drawn by ``salt``, whatever was searched before."""
    return sha256(f"{salt}\n{name}".encode("utf-8", "replace")).hexdigest()


class Prior(Protocol):
    """Chances of finding things, by which places are searched in order: the table of counts, or what is known of a home."""

    def chance(self, thing: str, place: str, room: str) -> float:
        """The probability that the receptacle named ``place`` holds a ``thing``, if the house has one; above 0.

        Args:
            thing: A kind of thing.
            place: A receptacle's name, such as "drawer 7".
            room: The kind of room, as `Counts.room_of` reads it from the opening.
        """
        ...


MAX_FILE = 2_000_000
_MOST = 10**9
_LONGEST_WORD = 200


def _count(value: object) -> object:
    if type(value) is not int or not 0 <= value <= _MOST:
        raise ValueError(f"this is {shown(value)}, not a count")
    return value


def _word(value: object) -> object:
    if isinstance(value, str) and (not value.isprintable() or len(value) > _LONGEST_WORD):
        raise ValueError(f"this is {shown(value)}, not a word")
    return value


Count = Annotated[int, Before(_count)]
Word = Annotated[str, Before(_word)]


@dataclass(frozen=True, slots=True)
class Placement:
    """Objects of one kind in receptacles of one kind, in ``holding`` of those ``available`` where there is such an object."""

    instances: Count
    holding: Count
    available: Count


@dataclass(frozen=True, slots=True)
class ObjectCount:
    """One kind of object: games, objects, where they were, and games by how many of them were in some receptacle."""

    games: Count
    number: Count
    places: Mapping[str, Placement] = field(metadata={"validation_alias": "in"})
    lying: Mapping[int, Count] = field(default_factory=dict[int, int])


@dataclass(frozen=True, slots=True)
class ReceptacleCount:
    """One kind of receptacle: games, receptacles, openable ones, fewest and most in a game, and games by how many."""

    games: Count
    number: Count
    openable: Count
    fewest: Count
    most: Count
    each: Mapping[int, Count] = field(default_factory=dict[int, int])


@dataclass(frozen=True, slots=True)
class FridgeCount:
    """Coolable objects in a fridge at the start: how many, and how many of them are cool."""

    number: Count
    cool: Count


@dataclass(frozen=True, slots=True)
class RoomCount:
    """One kind of room: the numbers of games and floor plans, and of the receptacles and objects in them. ``goals`` counts
    games by task type, object, and receptacle or lamp; ``together`` counts places by their receptacles (kinds joined by ``+``);
    ``nested`` counts objects in a movable receptacle, by its kind and theirs; ``fridge`` is by task type."""

    games: Count
    scenes: Count
    receptacles: Mapping[str, ReceptacleCount]
    objects: Mapping[str, ObjectCount]
    goals: Mapping[str, Mapping[str, Mapping[str, Count]]] = field(default_factory=dict[str, dict[str, dict[str, int]]])
    together: Mapping[str, Count] = field(default_factory=dict[str, int])
    nested: Mapping[str, Mapping[str, Count]] = field(default_factory=dict[str, dict[str, int]])
    fridge: Mapping[str, FridgeCount] = field(default_factory=dict[str, FridgeCount])


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a table: 0 ``games`` if it was written by hand."""

    split: Word
    games: Count
    script: Word


@dataclass(frozen=True, slots=True)
class Counts:
    """The whole table, with the properties of objects (``can``) and the kinds that receptacles take (``accepts``)."""

    source: Source
    rooms: Mapping[str, RoomCount]
    can: Mapping[str, tuple[Word, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    accepts: Mapping[str, tuple[Word, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def objects(self) -> tuple[str, ...]:
        """The kinds of object, sorted."""
        return tuple(sorted({thing for room in self.rooms.values() for thing in room.objects}))

    def room_of(self, receptacles: Iterable[str]) -> str:
        """The kind of room that most likely has these kinds of receptacle (naive Bayes); absent kinds do not count, as houses
        may be small."""
        likely = self._likely(receptacles)
        return max(sorted(self.rooms), key=lambda name: likely[name])

    def sure_of_room(self, receptacles: Iterable[str]) -> str | None:
        """The kind of room with these kinds of receptacle, if it is more than ten times as likely as any other; else None."""
        likely = sorted(self._likely(receptacles).items(), key=lambda one: (-one[1], one[0]))
        (name, best), *others = likely
        return None if others and others[0][1] > best - math.log(10) else name

    def _likely(self, receptacles: Iterable[str]) -> dict[str, float]:
        """The log-likelihood of each kind of room; kinds that are receptacles nowhere say nothing."""
        there = [kind for kind in sorted(set(receptacles)) if any(kind in room.receptacles for room in self.rooms.values())]

        def likelihood(room: RoomCount) -> float:
            found = (room.receptacles[kind].games if kind in room.receptacles else 0 for kind in there)
            return sum(math.log((games + 0.5) / (room.games + 1)) for games in found)

        return {name: likelihood(room) for name, room in self.rooms.items()}

    def chance(self, thing: str, place: str, room: str) -> float:
        """The probability that one receptacle of the kind of ``place`` holds a ``thing`` (`Prior`); smoothed, so never 0."""
        receptacle = kind(place)
        found = self.rooms[room].objects.get(thing)
        if found is None:
            everywhere = [one.objects[thing].places for one in self.rooms.values() if thing in one.objects]
            found_there = [places[receptacle] for places in everywhere if receptacle in places]
            return (sum(one.holding for one in found_there) + 0.1) / (sum(one.available for one in found_there) + 100)
        placement = found.places.get(receptacle)
        return (placement.holding + 0.1) / (placement.available + 1) if placement else 0.1 / (found.games + 1)

    def takes(self, place: str, thing: str) -> bool:
        """False if a place of this name or kind is known to take no such thing."""
        return kind(place) not in self.accepts or kind(thing) in self.accepts[kind(place)]

    def openable(self, receptacle: str) -> float:
        """The share of receptacles of this kind that can be opened, over all rooms; 0 for a kind that was never seen."""
        found = [room.receptacles[receptacle] for room in self.rooms.values() if receptacle in room.receptacles]
        return sum(one.openable for one in found) / max(1, sum(one.number for one in found))


def read_counts(path: Path) -> Counts:
    """The table at ``path``. Raises ``KnowledgeError`` naming the file."""
    return parse_counts(read_bounded(path, MAX_FILE, KnowledgeError), str(path))


def parse_counts(content: bytes, origin: str) -> Counts:
    """Read a table; ``origin`` names it in errors. Raises ``KnowledgeError``."""
    try:
        counts = read_json(Counts, content)
        if not counts.rooms:
            raise Invalid("it counts no room")
    except Invalid as wrong:
        way_out = "Make it again with scripts/count_locations.py."
        raise KnowledgeError(f"{shown(origin)}: this is not a table of counts: {wrong.with_path} {way_out}") from None
    return counts
