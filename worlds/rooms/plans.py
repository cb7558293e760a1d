"""Floor plans for houses without coordinates in their ids: made-up ones, and other people's games.

A plan depends only on names and shared places, so it is the same for a house every time and changes no game. Receptacles stand
in columns along the walls, low ones below hanging ones; tables stand in the middle.

A home of several rooms has one plan of its known rooms: rectangles of one size, open to each other at their corners. It depends
only on what is known, so it tells neither furniture nor size of an unseen room; the rectangles grow only once a seen room needs
more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import atan2, ceil, degrees
from random import Random
from typing import NamedTuple

from housequest.worlds.household.belief import Belief, by_name
from housequest.worlds.rooms.furnish import MAX_FIXTURES, WALLS
from housequest.worlds.rooms.room import AHEAD, EYE, GRID, MAX_CELLS, Box, Fixture, Pose, Room, kind_of, reached, uncovered

VERSION = 1  # increased whenever a house would get another plan
_ISLANDS = ["diningtable", "kitchentable", "coffeetable", "ottoman"]
# Pictures of published games know a sink as a part of a counter.
_SORTS: dict[str, str] = {**dict.fromkeys(_ISLANDS, "island"), "stoveburner": "burner", "sink": "top"}
_COUNTER = 0.94
_DEEP = 0.62
_HUNG = 1.4
_CORNER = 1.0
_GAP = 0.01
_AISLE = 1.0
_STAND = 0.45
_DRAWS = 60
_DRAWERS = 3
_TURNED = 1.2
_REACHED = 12
#: A box of a column: name, from and to along the wall, from and to upwards, from and to away from the wall.
_Local = tuple[str, float, float, float, float, float, float]
_Placed = tuple[Fixture, bool]  # with whether it is a receptacle of the game; a worktop is not
_Placing = Callable[[float, float, float, float, float, float], Box]


@dataclass(slots=True)
class _Column:
    """The things along a stretch of wall: each box with the place from which it is reached, None for a worktop."""

    width: float = 0.0
    depth: float = 0.0
    boxes: list[tuple[int | None, _Local]] = field(default_factory=list[tuple[int | None, _Local]])
    base: float = 0.0
    hung: bool = False
    topped: bool = False

    def add(
        self, place: int, name: str, left: float, width: float, low: float, high: float, depth: float, back: float = 0.0
    ) -> None:
        self.boxes.append((place, (name, left, left + width, low, high, back, back + depth)))
        self.width, self.depth = max(self.width, left + width), max(self.depth, back + depth)


def make_up(names: Sequence[str], places: Sequence[int]) -> Room:
    """A room for receptacles of these names; equal numbers in ``places`` share a place, and a negative one is none. The first
    `MAX_FIXTURES` are in the room, or as many as fit into ``MAX_CELLS``."""
    first: dict[str, int] = {}
    for name, place in zip(names, places, strict=True):
        first.setdefault(name, place)
    wanted = list(first.items())[:MAX_FIXTURES]
    dice = _dice(wanted)
    while True:
        columns, islands = _columns(wanted, dice)
        for draw in range(_DRAWS + 1):
            order = sorted(columns, key=lambda _: dice.random())
            walls = _walls(order, islands, draw * 0.25, lined=draw == _DRAWS)
            room = _laid(order, islands, walls, lined=draw == _DRAWS)
            if room is not None:
                return room
        # Too much for any room, such as hundreds of beds; an empty list always fits.
        wanted = wanted[: len(wanted) // 2]


def fit(names: Sequence[str], size: tuple[float, float]) -> Room | None:
    """A room of this size, x and z, for receptacles with a place of their own, with free corners; None if they do not fit."""
    wanted = [(name, place) for place, name in enumerate(names)]
    dice = _dice(wanted)
    columns, islands = _columns(wanted, dice)
    least = _least(columns, islands)
    if size[0] < least[0] or size[1] < least[1]:
        return None
    walls = Box(0.0, 0.0, 0.0, size[0], WALLS, size[1])
    tries = (_laid(sorted(columns, key=lambda _: dice.random()), islands, walls) for _ in range(_DRAWS))
    return next((room for room in tries if room is not None), None)


def _dice(wanted: Sequence[tuple[str, int]]) -> Random:
    text = "\n".join(f"{name} {place}" for name, place in wanted)
    return Random(f"plan {VERSION} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}")


def _columns(wanted: Sequence[tuple[str, int]], dice: Random) -> tuple[list[_Column], list[_Column]]:
    """The columns along the walls, and those that stand free."""
    columns: list[_Column] = []
    islands: list[_Column] = []
    loose: dict[str, list[tuple[int, list[str]]]] = {"drawer": [], "burner": [], "top": [], "hung": []}
    groups: dict[int, list[str]] = {}
    for number, (name, place) in enumerate(wanted):
        groups.setdefault(place if place >= 0 else -1 - number, []).append(name)
    # A place holds only as many as somebody there can reach.
    parts = ((place, some[at : at + _REACHED]) for place, some in groups.items() for at in range(0, len(some), _REACHED))
    for place, members in parts:
        sorts = {name: _sort(name, dice) for name in members}
        if standing := [name for name, sort in sorts.items() if sort in ("floor", "island")]:
            column = _standing(place, standing, [name for name in members if name not in standing], sorts)
            (islands if all(sorts[name] == "island" for name in standing) else columns).append(column)
            continue
        for sort, found in loose.items():
            if some := [name for name, its in sorts.items() if its == sort]:
                found.append((place, some))
        if low := [(place, name) for name, sort in sorts.items() if sort == "low"]:
            columns.append(_under_worktop(low, "low"))
    for sort, most in (("drawer", _DRAWERS), ("burner", 4)):
        every = [(place, name) for place, members in loose[sort] for name in members]
        columns += (_under_worktop(every[start : start + most], sort) for start in range(0, len(every), most))
    for sort in ("top", "hung"):
        for place, members in loose[sort]:
            _put_up(columns, place, members, hung=sort == "hung")
    return columns, islands


def _sort(name: str, dice: Random) -> str:
    kind, word = kind_of(name), name.rpartition(" ")[0] or name
    if word == "cabinet":
        return "low" if dice.random() < 0.5 else "hung"
    usual = "drawer" if kind.form == "drawer" else {"counter": "top", "wall": "hung"}.get(kind.stands, "floor")
    return _SORTS.get(word, usual)


def _size(name: str) -> tuple[float, float, float]:
    kind = kind_of(name)
    width, height, depth = (kind.width, kind.height, kind.depth) if kind.known else (0.6, 0.8, 0.5)
    return (depth, height, width) if depth > _TURNED else (width, height, depth)


def _standing(place: int, standing: list[str], others: list[str], sorts: dict[str, str]) -> _Column:
    """A column of furniture side by side on the floor, with the receptacles on, in and above it that share its place."""
    column = _Column()
    for name in standing:
        width, height, depth = _size(name)
        if kind_of(name).form == "counter":
            width = max(width, sum(_size(one)[0] + 0.1 for one in others if sorts[one] in ("top", "burner")))
        column.add(place, name, column.width, width, 0.0, height, depth)
        column.base = max(column.base, height)
    low = iter(range(len(others)))
    left = 0.05
    for name in others:
        width, height, depth = _size(name)
        back, reach = max(0.0, column.depth - depth), min(depth, column.depth) + 0.012
        match sorts[name]:
            case "drawer":
                number = next(low)
                top = max(0.25, column.base - 0.08 - 0.24 * (number % 3))
                width = min(width, column.width * 0.9)
                at = min(0.03 + (width + 0.03) * (number // 3), max(0.0, column.width - width))
                column.add(place, name, at, width, top - 0.19, top, reach, back)
            case "low":
                width = min(width, column.width * 0.9)
                column.add(place, name, 0.03, width, 0.08, min(0.74, column.base), reach, back)
            case "hung":
                column.add(place, name, 0.0, width, _HUNG, _HUNG + height, depth)
                column.hung = True
            case _:
                column.add(place, name, left, width, *_rest(name, column.base), depth, 0.1)
                left += width + 0.08
                column.topped = True
    return column


def _rest(name: str, top: float) -> tuple[float, float]:
    """Bottom and top of a thing on a counter; a basin is let into it."""
    kind = kind_of(name)
    return (max(0.0, top - 0.22), top + 0.02) if kind.form == "basin" else (top, top + kind.height)


def _under_worktop(members: Sequence[tuple[int, str]], sort: str) -> _Column:
    """Cupboards side by side, a chest of drawers, or a stove."""
    column = _Column(base=_COUNTER, topped=sort == "burner")
    for number, (place, name) in enumerate(members):
        row, of_two = divmod(number, 2)
        top = 0.84 - 0.26 * number
        match sort:
            case "drawer":
                column.add(place, name, 0.02, 0.49, top - 0.2, top, 0.4, _DEEP - 0.38)
            case "burner":
                column.add(place, name, 0.03 + 0.33 * of_two, 0.28, _COUNTER, _COUNTER + 0.02, 0.26, 0.04 + 0.29 * row)
            case _:
                column.add(place, name, column.width + 0.02, 0.42, 0.08, 0.78, 0.4, _DEEP - 0.38)
    return _topped(column)


def _topped(column: _Column) -> _Column:
    """The column under a worktop that is no receptacle."""
    column.width += 0.02
    column.depth = max(column.depth, _DEEP)
    column.boxes.append((None, ("countertop", 0.0, column.width, 0.0, _COUNTER, 0.0, _DEEP)))
    return column


def _put_up(columns: list[_Column], place: int, members: list[str], *, hung: bool) -> None:
    """Put things on the first free column, or hang them over the first low one; else make a column for them."""
    apart, tight, lowest = (0.03, 0.1, -1.0) if hung else (0.06, 0.15, 0.8)
    wide = sum(_size(name)[0] + apart for name in members)
    free = (one for one in columns if not (one.hung if hung else one.topped) and lowest < one.base < 1.0)
    column = next((one for one in free if one.width >= wide - tight), None)
    if column is None:
        column = _Column(width=wide, depth=0.2) if hung else _topped(_Column(width=wide, base=_COUNTER))
        columns.append(column)
    column.hung, column.topped = column.hung or hung, column.topped or not hung
    left = max(0.0, (column.width - wide) / 2)
    for number, name in enumerate(members):
        width, height, depth = _size(name)
        if hung:
            low = _HUNG + 0.02 * (number % 2)
            column.add(place, name, left, width, low, low + max(height, 0.03), depth)
        else:
            column.add(place, name, left, width, *_rest(name, column.base), depth, 0.1)
        left += width + apart


def _walls(columns: list[_Column], islands: list[_Column], more: float, *, lined: bool) -> Box:
    """Walls with room for all, and for ``more``; if ``lined``, for all columns along one of them."""
    total = sum(column.width + _GAP for column in columns)
    corner = _corner(columns)
    least = _least(columns, islands)
    wide = max(3.5, total * 0.28 + 2 * corner, least[0]) + more
    long = max(3.0, total * 0.2 + 2 * corner, least[1]) + more
    if lined:
        wide = max(wide, total + 2 * corner)
    wide, long = (ceil(length / GRID) * GRID for length in (wide, long))
    return Box(0.0, 0.0, 0.0, wide, WALLS, long)


def _least(columns: list[_Column], islands: list[_Column]) -> tuple[float, float]:
    """The size that the islands need with aisles round them, between columns along the walls."""
    depth, (per_row, across, deep) = _depth(columns), _rows(islands)
    return 2 * depth + per_row * across, 2 * depth + ceil(len(islands) / per_row) * deep


def _depth(columns: list[_Column]) -> float:
    return max((column.depth for column in columns), default=0.5)


def _corner(columns: list[_Column]) -> float:
    """The free length of a wall at its corners."""
    return max(_CORNER, _depth(columns) + 0.1)


def _rows(islands: list[_Column]) -> tuple[int, float, float]:
    """The number of islands in a row, and their distances within it and from row to row."""
    across = max((column.width for column in islands), default=0.0) + 2 * _AISLE
    deep = max((column.depth for column in islands), default=0.0) + 2 * _AISLE
    return max(1, ceil(len(islands) ** 0.5)), across, deep


def _laid(columns: list[_Column], islands: list[_Column], walls: Box, *, lined: bool = False) -> Room | None:
    """The columns along the ``walls``, or along one, and islands in the middle; None if they do not fit or cannot be
    reached."""
    if walls.x1 * walls.z1 > MAX_CELLS * GRID * GRID:
        return None
    corner, (per_row, across, deep) = _corner(columns), _rows(islands)
    placed: list[_Placed] = []
    queue = list(columns)
    for side in (0,) if lined else (0, 1, 2, 3):
        length = walls.x1 if side % 2 == 0 else walls.z1
        at = corner
        while queue and at + queue[0].width <= length - corner + 1e-9:
            column = queue.pop(0)
            placed += _against(walls, side, at, column)
            at += column.width + _GAP
    if queue:
        return None
    for number, column in enumerate(islands):
        row, place = divmod(number, per_row)
        x = walls.x1 / 2 + (place - (min(per_row, len(islands) - row * per_row) - 1) / 2) * across - column.width / 2
        z = walls.z1 / 2 + (row - (ceil(len(islands) / per_row) - 1) / 2) * deep + column.depth / 2
        placed += _free(column, x, z)
    stood = {one.place.cell for one, _ in placed if one.place}
    free = uncovered(walls.grown(-0.2), (one for one, _ in placed))
    if not free:
        return None
    middle = walls.centre
    start = min(free, key=lambda cell: ((cell[0] * GRID - middle.x) ** 2 + (cell[1] * GRID - middle.z) ** 2, cell))
    floor = reached(free, start)
    if not stood <= floor:
        return None
    fixtures, worktops = (tuple(one for one, of_game in placed if of_game is which) for which in (True, False))
    pose = Pose(start[0] * GRID, start[1] * GRID, 0.0, 30.0)
    return Room(walls, fixtures, worktops, pose, frozenset(floor), {}, made_up=True)


def _against(walls: Box, side: int, at: float, column: _Column) -> Iterator[_Placed]:
    """A column with its back to the wall on ``side``."""
    front = (side + 2) % 4

    def placed(left: float, right: float, low: float, high: float, back: float, out: float) -> Box:
        sides = (
            (at + left, low, walls.z1 - out, at + right, high, walls.z1 - back),
            (walls.x1 - out, low, at + left, walls.x1 - back, high, at + right),
            (walls.x1 - at - right, low, back, walls.x1 - at - left, high, out),
            (back, low, walls.z1 - at - right, out, high, walls.z1 - at - left),
        )
        return Box(*sides[side])

    middle = placed(column.width / 2, column.width / 2, 0, 0, column.depth, column.depth)
    yield from _fixtures(column, front, middle.x0, middle.z0, placed)


def _free(column: _Column, x: float, z: float) -> Iterator[_Placed]:
    """A column that stands free, its front to -z."""

    def placed(left: float, right: float, low: float, high: float, back: float, out: float) -> Box:
        return Box(x + left, low, z - out, x + right, high, z - back)

    yield from _fixtures(column, 2, x + column.width / 2, z - column.depth, placed)


def _fixtures(column: _Column, front: int, x: float, z: float, placed: _Placing) -> Iterator[_Placed]:
    """The fixtures of a column whose front has its middle at (x, z), with the standing place before that."""
    dx, dz = AHEAD[front]
    # The first cell that is far enough.
    cell = tuple(
        ceil((at + step * _STAND) / GRID) if step > 0 else int((at + step * _STAND) // GRID) if step < 0 else round(at / GRID)
        for at, step in ((x, dx), (z, dz))
    )
    here_x, here_z = cell[0] * GRID, cell[1] * GRID
    yaw = (front + 2) % 4 * 90.0
    kinds = [(kind_of(box[0]), box) for _, box in column.boxes]
    holes = [placed(*box[1:]) for kind, box in kinds if kind.form == "basin" and kind.stands == "counter"]
    for place, (name, *where) in column.boxes:
        box = placed(*where)
        middle = box.centre
        away = max(0.3, abs((middle.x - here_x) * dx) + abs((middle.z - here_z) * dz))
        pitch = min(60.0, max(-30.0, round(degrees(atan2(EYE - middle.y, away)) / 15) * 15.0))
        pieces: tuple[Box, ...] = (box,) if kind_of(name).form == "counter" else ()
        for hole in holes if pieces else ():
            pieces = tuple(left for piece in pieces for left in piece.without(hole))
        pose = Pose(here_x, here_z, yaw, pitch) if place is not None and place >= 0 else None
        yield Fixture(name, box, front, pose, pieces), place is not None


MAX_ROOMS = 24  # rooms that are drawn
WALL = "wall"
_SIZE = (5.5, 5.0)  # metres of a room, x and z: enough for every made-up apartment's
_MORE = 0.5
_MOST_MORE = 40
_DOOR = 1.0
_THIN = 0.05
_FLOOR = 0.01
_KEPT = 64


class Furnished(NamedTuple):
    """A room with its furniture, empty if that is not known."""

    name: str
    furniture: tuple[str, ...]


def as_known(room: Room, belief: Belief) -> Room:
    """The ``room`` as far as a belief knows it: the whole, except in a home of several rooms."""
    if not belief.rooms:
        return room
    places = {one.name for one in belief.receptacles} - {*belief.rooms}
    known = (belief.receptacle(name) for name in belief.rooms)
    return apartment(tuple(Furnished(one.name, tuple(n for n in one.contents or () if n in places)) for one in known if one))


def apartment(rooms: Sequence[Furnished]) -> Room:
    """The plan of an apartment. Rooms and furniture in another order have the same plan."""
    furnished = (Furnished(name, tuple(sorted(sorted(has), key=by_name))) for name, has in rooms)
    return _planned(tuple(sorted(furnished, key=lambda one: (by_name(one.name), one.name))))


@lru_cache(_KEPT)
def _planned(rooms: tuple[Furnished, ...]) -> Room:
    """The plan whose rectangles have the least size that all rooms fit into."""
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
    """The walls between the rooms, open at the corners where rooms meet; and a block in place of a missing room."""
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
    return Fixture(WALL, Box(x0 - _THIN, 0.0, z0 - _THIN, x1 + _THIN, WALLS, z1 + _THIN))
