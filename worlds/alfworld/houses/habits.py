"""Habits: the weights from which generated houses are drawn (rooms, receptacles, objects and goals).

The habits of ``train`` are the table of counts read as weights. ``placing`` changes where a kind of thing is found, which makes
a world whose rules must be learned again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import gcd
from pathlib import Path
from typing import cast, get_args

from housequest.worlds.alfworld.data.counts import load_counts
from housequest.worlds.alfworld.engine.pddl import PREDICATES
from housequest.worlds.documents import read_yaml
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.household.counts import Counts, RoomCount
from housequest.worlds.household.goals import Goal, TaskType


@dataclass(frozen=True, slots=True)
class Ratio:
    """``part`` of ``whole``."""

    part: int
    whole: int


@dataclass(frozen=True, slots=True)
class Room:
    """The habits of one kind of room, as weights in a fixed order that is part of them.

    ``weight`` is how often it is drawn, and the total for ``together`` (receptacles at one place) and ``nested`` (an object in
    a movable receptacle, the receptacle's kind first). ``receptacles`` and ``objects`` weigh how many there are of each kind,
    ``places`` where an object is; ``cool`` is, by task type, the share of objects in the fridge that are cool.
    """

    weight: int
    goals: tuple[tuple[Goal, int], ...]
    receptacles: Mapping[str, Mapping[int, int]]
    openable: Mapping[str, Ratio]
    together: Mapping[tuple[str, ...], int]
    objects: Mapping[str, Mapping[int, int]]
    places: Mapping[str, Mapping[str, int]]
    nested: Mapping[tuple[str, str], int]
    cool: Mapping[str, Ratio]


@dataclass(frozen=True, slots=True)
class Habits:
    """The rooms by name, the predicates of each kind of object, and what each kind of receptacle takes."""

    rooms: Mapping[str, Room]
    can: Mapping[str, tuple[str, ...]]
    accepts: Mapping[str, tuple[str, ...]]

    def placing(self, thing: str, places: Mapping[str, int]) -> Habits:
        """These habits with objects of kind ``thing`` in ``places``, by weight, in every room.

        A room gets one of each receptacle that it lacks; these receptacles now take such objects. Raises
        ``ConfigurationError`` for an unknown object or receptacle and an invalid weight.
        """
        known = tuple(sorted({kind for room in self.rooms.values() for kind in room.places}))
        if thing not in known:
            raise ConfigurationError(f"The habits have no object named {shown(thing)}.{nearest(thing, known)}")
        for place, weight in places.items():
            if place not in self.accepts:
                raise ConfigurationError(
                    f"The habits have no receptacle named {shown(place)}.{nearest(place, tuple(self.accepts))}"
                )
            if weight <= 0:
                raise ConfigurationError(f"A {thing} cannot lie in the {place} with weight {weight}; give 1 or more.")
        if not places:
            raise ConfigurationError(f"Say where a {thing} lies: at least one receptacle with its weight.")
        rooms = {
            name: self._placing(room, thing, places) if thing in room.places else room for name, room in self.rooms.items()
        }
        accepts = {kind: tuple(sorted({*taken, thing})) if kind in places else taken for kind, taken in self.accepts.items()}
        return replace(self, rooms=rooms, accepts=accepts)

    def _placing(self, room: Room, thing: str, places: Mapping[str, int]) -> Room:
        receptacles, openable = dict(room.receptacles), dict(room.openable)
        for place in places:
            some = {number: weight for number, weight in receptacles.get(place, {}).items() if number}
            receptacles[place] = some or {1: 1}
            if place not in openable:
                openable[place] = next(one.openable[place] for one in self.rooms.values() if place in one.openable)
        return replace(room, receptacles=receptacles, openable=openable, places={**room.places, thing: dict(places)})

    @property
    def digest(self) -> str:
        """A SHA-256 over everything."""
        tables = [
            {**asdict(room), "together": list(room.together.items()), "nested": list(room.nested.items())}
            for room in self.rooms.values()
        ]
        return hashlib.sha256(json.dumps([list(self.rooms), tables, self.can, self.accepts]).encode()).hexdigest()


@cache
def counted_habits() -> Habits:
    """The habits of the ``train`` games, from the shipped table."""
    return habits_of(load_counts())


def habits_of(counts: Counts) -> Habits:
    """The habits in a table of counts. Raises ``ConfigurationError`` if it counts no goals."""
    rooms = {name: _room(room) for name, room in counts.rooms.items() if room.goals}
    if not rooms or not counts.can or not counts.accepts:
        raise ConfigurationError(
            "This table of counts says nothing of goals or kinds; make it again with scripts/count_locations.py."
        )
    unary = tuple(predicate for predicate, kinds in PREDICATES.items() if kinds == ("object",))
    for predicate in (predicate for said in counts.can.values() for predicate in said):
        if predicate not in unary:
            raise ConfigurationError(
                f"No object can be {shown(predicate)}; known: {', '.join(unary)}.{nearest(predicate, unary)}"
            )
    return Habits(rooms, counts.can, counts.accepts)


def _room(room: RoomCount) -> Room:
    return Room(
        weight=room.games,
        goals=tuple(
            (_goal(task_type, thing, target), number)
            for task_type, things in room.goals.items()
            for thing, targets in things.items()
            for target, number in targets.items()
        ),
        receptacles={kind: count.each for kind, count in room.receptacles.items()},
        openable={kind: Ratio(count.openable, count.number) for kind, count in room.receptacles.items()},
        together={tuple(kinds.split("+")): number for kinds, number in room.together.items()},
        objects={kind: count.lying for kind, count in room.objects.items() if count.places},
        places={
            kind: {place: placement.instances for place, placement in count.places.items()}
            for kind, count in room.objects.items()
            if count.places
        },
        nested={(outer, inner): number for outer, inside in room.nested.items() for inner, number in inside.items()},
        cool={task_type: Ratio(count.cool, count.number) for task_type, count in room.fridge.items()},
    )


def _goal(task_type: str, thing: str, target: str) -> Goal:
    types = get_args(TaskType)
    if task_type not in types:
        raise ConfigurationError(f"The table of counts has goals of the type {shown(task_type)}.{nearest(task_type, types)}")
    known = cast("TaskType", task_type)
    if known == "look_at_obj_in_light":
        return Goal(known, thing, lamp=target)
    return Goal(known, thing, target, count=2 if known == "pick_two_obj_and_place" else 1)


_LARGEST_FILE = 100_000
_SMALLEST, _LARGEST = 0.001, 1_000_000


def read_habits(path: Path) -> Habits:
    """The habits of ``train`` with the changes in a YAML file: for each kind of thing, its places by weight.

    ``book: {fridge: 3, bed: 1}`` puts three books in four in the fridge. Weights are relative, from 0.001 to 1,000,000. Raises
    ``ConfigurationError`` naming the file and what is wrong in it.
    """
    name = f"The file of habits {shown(str(path), 400)}"
    content = read_yaml(path, name, _LARGEST_FILE)
    habits = counted_habits()
    try:
        said = _entries(content)
        for thing, places in said:
            habits = habits.placing(thing, _read_weights(thing, places))
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from None
    if not said:
        raise ConfigurationError(f"{name} names no kind of thing; a line of it is, for example, mug: {{safe: 1}}")
    return habits


def _entries(value: object) -> list[tuple[str, object]]:
    """The entries of a mapping, sorted so that their order in the file does not matter; none for anything else."""
    said = cast("dict[object, object]", value) if isinstance(value, dict) else {}
    if odd := [name for name in said if not isinstance(name, str)]:
        raise ConfigurationError(f"{shown(odd[0])} is not the name of a kind; write it as a word.")
    return sorted(cast("dict[str, object]", said).items())


def _read_weights(thing: str, places: object) -> dict[str, int]:
    """The weight of each place, as the smallest possible integers."""
    said = _entries(places)
    if not said:
        raise ConfigurationError(
            f"{shown(thing)} has {shown(places)} instead of places; give each place its weight, for example {{safe: 1}}."
        )
    weights: dict[str, int] = {}
    for place, weight in said:
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not _SMALLEST <= weight <= _LARGEST:
            raise ConfigurationError(
                f"{shown(thing)} lies in {shown(place)} with the weight {shown(weight)}; give a number from {_SMALLEST} to "
                f"{_LARGEST:,}."
            )
        weights[place] = round(weight / _SMALLEST)
    shared = gcd(*weights.values())
    return {place: weight // shared for place, weight in weights.items()}
