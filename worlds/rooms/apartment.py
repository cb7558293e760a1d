"""Plans of homes of several rooms, of which somebody knows some: all in a made-up plan, which grows with what is known.

Each room has a rectangle of one size, and all open onto each other where their corners meet. A plan depends on nothing but what
is known, so it tells neither furniture nor size of a room that nobody was in. The rectangles grow only once a room is seen that
needs more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from housequest.worlds.household.belief import Belief
from housequest.worlds.rooms.floor import MAX_CELLS, reached, uncovered
from housequest.worlds.rooms.furnish import MAX_FIXTURES, WALLS
from housequest.worlds.rooms.plans import fit
from housequest.worlds.rooms.poses import GRID, Pose
from housequest.worlds.rooms.room import Box, Fixture, Room

MAX_ROOMS = 24
"""Rooms that are drawn."""
WALL = "wall"
_SIZE = (5.5, 5.0)
"""Metres of a room, x and z: enough for every made-up apartment's."""
_MORE = 0.5
_MOST_MORE = 40
_DOOR = 1.0
_THIN = 0.05
_FLOOR = 0.01
_KEPT = 64


class Furnished(NamedTuple):
    """A room, and what stands in it; none where that is not known."""

    name: str
    furniture: tuple[str, ...]


def as_known(room: Room, belief: Belief) -> Room:
    """The ``room`` as far as a belief knows it: all of it, but for a home of several rooms, of which it knows some."""
    if not belief.rooms:
        return room
    places = {one.name for one in belief.receptacles} - {*belief.rooms}
    known = (belief.receptacle(name) for name in belief.rooms)
    return apartment(tuple(Furnished(one.name, tuple(n for n in one.contents or () if n in places)) for one in known if one))


def apartment(rooms: Sequence[Furnished]) -> Room:
    """The plan of an apartment. Rooms and furniture in another order have the same plan."""
    furnished = (Furnished(name, tuple(sorted(has, key=_by_name))) for name, has in rooms)
    return _planned(tuple(sorted(furnished, key=lambda one: _by_name(one.name))))


def _by_name(name: str) -> tuple[str, int, str]:
    stem, _, number = name.rpartition(" ")
    return stem, int(number) if number.isdecimal() and len(number) < 10 else 0, name


@lru_cache(_KEPT)
def _planned(rooms: tuple[Furnished, ...]) -> Room:
    """The plan in which the rectangles have the least size that all rooms fit into."""
    rooms = rooms[:MAX_ROOMS] or (Furnished("room 1", ()),)
    most = MAX_FIXTURES // len(rooms)
    rooms = tuple(Furnished(one.name, one.furniture[:most]) for one in rooms)
    while True:
        for step in range(_MOST_MORE):
            size = _SIZE[0] + step * _MORE, _SIZE[1] + step * _MORE
            if len(rooms) * size[0] * size[1] > MAX_CELLS * GRID * GRID / 2:
                break
            laid = [fit(one.furniture, size) for one in rooms]
            if (whole := _joined(rooms, [one for one in laid if one], size)) is not None:
                return whole
        # Too much for any rectangle; empty ones always fit.
        rooms = tuple(Furnished(one.name, one.furniture[: len(one.furniture) // 2]) for one in rooms)


def _joined(rooms: Sequence[Furnished], laid: Sequence[Room], size: tuple[float, float]) -> Room | None:
    """The rooms side by side in two rows; None if one is missing, or if a place cannot be reached."""
    if len(laid) < len(rooms):
        return None
    rows = 1 if len(rooms) < 3 else 2
    columns = ceil(len(rooms) / rows)
    walls = Box(0.0, 0.0, 0.0, columns * size[0], WALLS, rows * size[1])
    floors: list[Fixture] = []
    fixtures: list[Fixture] = []
    scenery = list(_partitions(columns, rows, len(rooms), size))
    for number, (one, room) in enumerate(zip(rooms, laid, strict=True)):
        x, z = number % columns * size[0], number // columns * size[1]
        # In the middle, one looks at an outer wall.
        middle = Pose(room.start.x + x, room.start.z + z, 180.0 if number < columns else 0.0)
        floors.append(Fixture(one.name, Box(x, 0.0, z, x + size[0], _FLOOR, z + size[1]), 2, middle))
        fixtures += (_moved(fixture, x, z) for fixture in room.fixtures)
        scenery += (_moved(fixture, x, z) for fixture in room.scenery)
    start = floors[0].place
    assert start is not None
    floor = reached(uncovered(walls.grown(-0.2), (*fixtures, *scenery)), start.cell)
    if not {one.place.cell for one in (*floors, *fixtures) if one.place} <= floor:
        return None
    names = tuple(one.name for one in floors)
    return Room(walls, (*floors, *fixtures), tuple(scenery), start, frozenset(floor), {}, made_up=True, rooms=names)


def _moved(one: Fixture, x: float, z: float) -> Fixture:
    place = one.place and replace(one.place, x=one.place.x + x, z=one.place.z + z)
    return Fixture(one.name, one.box.moved(x, 0.0, z), one.front, place, tuple(piece.moved(x, 0.0, z) for piece in one.pieces))


def _partitions(columns: int, rows: int, number: int, size: tuple[float, float]) -> Iterator[Fixture]:
    """The walls between the rooms, which leave their corners free where they meet; and a block where there is no room."""
    x, z = size
    for column in range(1, columns):
        at = column * x
        yield _wall(at, 0.0 if rows == 2 else _DOOR, at, z - _DOOR if rows == 2 else z)
        if rows == 2:
            yield _wall(at, z + _DOOR, at, 2 * z)
    if rows == 2:
        for column in range(columns):
            left, right = (_DOOR if inner else 0.0 for inner in (column > 0, column < columns - 1))
            yield _wall(column * x + left, z, (column + 1) * x - right, z)
    if number < columns * rows:
        yield Fixture(WALL, Box((columns - 1) * x, 0.0, z, columns * x, WALLS, 2 * z))


def _wall(x0: float, z0: float, x1: float, z1: float) -> Fixture:
    """A wall from one point to another."""
    return Fixture(WALL, Box(x0 - _THIN, 0.0, z0 - _THIN, x1 + _THIN, WALLS, z1 + _THIN))
