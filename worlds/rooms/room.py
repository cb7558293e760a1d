"""The values of rooms: points, poses, boxes, kinds of things, rooms and the known state of one; and ways on a floor.

Lengths are in metres; at yaw 0, x is to the right, y up and z ahead. ALFRED walks a grid of quarter metres, and AI2-THOR's ids
have coordinates. The sizes of kinds are medians over AI2's asset database (``assets``) and over the boxes of the iTHOR scenes
(``iTHOR``), both in procthor 0.0.1.dev2 (allenai/procthor, Apache-2.0), else our own estimates (``own``).
"""

from __future__ import annotations

import json
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import atan2, ceil, cos, degrees, floor, radians, sin
from pathlib import Path
from typing import Literal, NamedTuple

from housequest.worlds.household.belief import Belief, Openness

GRID = 0.25  # the length of a step, in metres
EYE = 1.576  # the height of a standing player's camera, in metres
FAR = 50.0  # coordinates beyond this are no room's
_COUNT = r"(?:_(?P<{0}sign>plus|minus)_)?(?P<{0}>\d{{1,4}})"
_METRES = r"(?:_(?P<{0}sign>plus|minus)_)?(?P<{0}>\d{{1,4}}_dot_\d{{1,4}})"
_THING = re.compile(rf"[a-z0-9]+_bar_{'_bar_'.join(map(_METRES.format, 'xyz'))}(?:_bar_\w{{1,60}})?", re.ASCII)
_PLACE = re.compile(rf"loc_bar_{'_bar_'.join(map(_COUNT.format, 'xzrh'))}", re.ASCII)


class Point(NamedTuple):
    """A point of a room, in metres."""

    x: float
    y: float
    z: float


@dataclass(frozen=True, slots=True)
class Pose:
    """A player's place and view: ``yaw`` clockwise from +z and ``pitch`` downwards, in degrees."""

    x: float
    z: float
    yaw: float = 0.0
    pitch: float = 0.0

    @property
    def cell(self) -> tuple[int, int]:
        """The nearest cell of the grid."""
        return round(self.x / GRID), round(self.z / GRID)

    @property
    def quarter(self) -> int:
        """The nearest quarter turn: 0 for +z, 1 for +x, 2 for -z, 3 for -x."""
        return round(self.yaw / 90) % 4


def read_point(id: str) -> Point | None:
    """The coordinates in the id of a thing, as PDDL writes it in lower case; None if it has none that a room could have."""
    found = _THING.fullmatch(id)
    if found is None:
        return None
    x, y, z = (_signed(found, axis) for axis in "xyz")
    return Point(x, y, z) if max(abs(x), abs(y), abs(z)) <= FAR else None


def read_place(id: str) -> Pose | None:
    """The pose in the id of a place; None if it has none that a room could have."""
    found = _PLACE.fullmatch(id)
    if found is None:
        return None
    x, z, turns, pitch = (_signed(found, part) for part in "xzrh")
    pose = Pose(x * GRID, z * GRID, turns * 90, pitch)
    return pose if max(abs(pose.x), abs(pose.z)) <= FAR and 0 <= turns < 4 and abs(pitch) <= 60 else None


def _signed(found: re.Match[str], part: str) -> float:
    size = float(found[part].replace("_dot_", "."))
    # Adding zero turns a negative zero into zero.
    return (-size if found[f"{part}sign"] == "minus" else size) + 0.0


Form = Literal["solid", "table", "counter", "cupboard", "drawer", "basin"]
"""``cupboard`` opens at its front, ``drawer`` slides out, ``basin`` is open above; the others hold things on top."""
Stands = Literal["floor", "wall", "counter", "anywhere"]
Colour = tuple[int, int, int]
Fractions = tuple[float, float, float, float, float, float]
_PALE = 90


@dataclass(frozen=True, slots=True)
class Kind:
    """The properties of all things of a kind. ``width``, ``height`` and ``depth`` are in metres, ``pivot`` the share of the
    height that is below the point in an id, and ``surface`` the share of the height at which things are put. ``parts`` are
    boxes as shares of the whole from left, below and behind to right, above and in front, each with its colour. ``scenery`` is
    in no goal and is drawn before it is seen."""

    width: float
    height: float
    depth: float
    source: str
    form: Form = "solid"
    colour: Colour = (128, 128, 128)
    pivot: float = 0.0
    stands: Stands = "anywhere"
    surface: float = 1.0
    scenery: bool = False
    known: bool = True
    parts: tuple[tuple[Fractions, Colour], ...] = ()


@lru_cache(maxsize=1024)
def kind_of(name: str) -> Kind:
    """The kind of a thing or receptacle by its name, such as "drawer 2"; an unknown one is a box with a colour of its own."""
    word = name.rpartition(" ")[0] or name
    if (known := _kinds().get(word)) is not None:
        return known
    mixed = zlib.crc32(word.encode("utf-8", "surrogatepass"))
    red, green, blue = (_PALE + (mixed >> shift & 127) for shift in (0, 8, 16))
    return Kind(0.2, 0.2, 0.2, "own", colour=(red, green, blue), known=False)


@cache
def _kinds() -> Mapping[str, Kind]:
    found: dict[str, Kind] = {}
    for word, row in json.loads(Path(__file__).with_name("kinds.json").read_text("utf-8")).items():
        colour, (width, height, depth) = _colour(row.pop("colour")), row.pop("size")
        parts = tuple((tuple(part[:6]), _colour(part[6]) if len(part) > 6 else colour) for part in row.pop("parts", ()))
        found[word] = Kind(width, height, depth, colour=colour, parts=parts, **row)
    return found


def _colour(code: str) -> Colour:
    red, green, blue = bytes.fromhex(code[1:])
    return red, green, blue


Side = int  # a quarter turn: 0 for +z, 1 for +x, 2 for -z, 3 for -x
Cell = tuple[int, int]  # a cell of the grid, (x, z) in steps
AHEAD: tuple[tuple[int, int], ...] = ((0, 1), (1, 0), (0, -1), (-1, 0))  # the step (x, z) towards each side


class Box(NamedTuple):
    """A box along the axes, in metres."""

    x0: float
    y0: float
    z0: float
    x1: float
    y1: float
    z1: float

    @property
    def centre(self) -> Point:
        return Point((self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2, (self.z0 + self.z1) / 2)

    def moved(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Box:
        return Box(self.x0 + x, self.y0 + y, self.z0 + z, self.x1 + x, self.y1 + y, self.z1 + z)

    def grown(self, by: float) -> Box:
        """The box with ``by`` more on all sides but above and below."""
        return self._replace(x0=self.x0 - by, z0=self.z0 - by, x1=self.x1 + by, z1=self.z1 + by)

    def over(self, x: float, z: float) -> bool:
        """True if the point is within the box as seen from above."""
        return self.x0 < x < self.x1 and self.z0 < z < self.z1

    def meets(self, other: Box) -> bool:
        """True if the boxes overlap as seen from above."""
        return self.x0 < other.x1 and other.x0 < self.x1 and self.z0 < other.z1 and other.z0 < self.z1

    def overlaps(self, other: Box) -> bool:
        """True if the boxes overlap."""
        return self.y0 < other.y1 and other.y0 < self.y1 and self.meets(other)

    def united(self, other: Box) -> Box:
        return Box(*map(min, self[:3], other[:3]), *map(max, self[3:], other[3:]))

    def without(self, hole: Box) -> tuple[Box, ...]:
        """The rest beside ``hole``, as seen from above: up to four boxes."""
        if not self.meets(hole):
            return (self,)
        x0, x1 = max(self.x0, hole.x0), min(self.x1, hole.x1)
        z0, z1 = max(self.z0, hole.z0), min(self.z1, hole.z1)
        beside = (
            self._replace(x1=x0),
            self._replace(x0=x1),
            self._replace(x0=x0, x1=x1, z1=z0),
            self._replace(x0=x0, x1=x1, z0=z1),
        )
        return tuple(box for box in beside if box.x1 - box.x0 > 1e-6 and box.z1 - box.z0 > 1e-6)

    def outside(self, hole: Box) -> tuple[Box, ...]:
        """The rest of the box outside ``hole``: up to six boxes."""
        if not self.overlaps(hole):
            return (self,)
        low, high = max(self.y0, hole.y0), min(self.y1, hole.y1)
        above = (self._replace(y1=low), self._replace(y0=high))
        between = self._replace(y0=low, y1=high).without(hole)
        return (*(box for box in above if box.y1 - box.y0 > 1e-6), *between)

    def spans(self, side: Side) -> tuple[float, float]:
        """Width and depth of the box, if it faces ``side``."""
        x, z = self.x1 - self.x0, self.z1 - self.z0
        return (x, z) if side % 2 == 0 else (z, x)

    def ahead(self, side: Side) -> float:
        """The reach of the box towards ``side``."""
        return (self.z1, self.x1, -self.z0, -self.x0)[side]

    def extended(self, side: Side, by: float) -> Box:
        """The box with ``by`` more on that side."""
        name = ("z1", "x1", "z0", "x0")[side]
        return self._replace(**{name: getattr(self, name) + (by if side < 2 else -by)})

    def part(self, side: Side, left: float, low: float, back: float, right: float, high: float, front: float) -> Box:
        """A part of the box, which faces ``side``, by shares of its width, height and depth."""
        dx, dy, dz = self.x1 - self.x0, self.y1 - self.y0, self.z1 - self.z0
        y0, y1 = self.y0 + low * dy, self.y0 + high * dy
        # Seen from its front, left of a box that faces +z is +x.
        match side:
            case 0:
                return Box(self.x1 - right * dx, y0, self.z0 + back * dz, self.x1 - left * dx, y1, self.z0 + front * dz)
            case 2:
                return Box(self.x0 + left * dx, y0, self.z1 - front * dz, self.x0 + right * dx, y1, self.z1 - back * dz)
            case 1:
                return Box(self.x0 + back * dx, y0, self.z0 + left * dz, self.x0 + front * dx, y1, self.z0 + right * dz)
            case _:
                return Box(self.x1 - front * dx, y0, self.z1 - right * dz, self.x1 - back * dx, y1, self.z1 - left * dz)


@dataclass(frozen=True, slots=True)
class Fixture:
    """A thing that stays where it is: a receptacle, or scenery such as a window. ``front`` is the side that it faces, and
    ``place`` the standing place before it. ``pieces`` are the boxes of a counter, which may go round a corner and has holes for
    basins; others have none."""

    name: str
    box: Box
    front: Side = 0
    place: Pose | None = None
    pieces: tuple[Box, ...] = ()

    @property
    def kind(self) -> Kind:
        return kind_of(self.name)

    @property
    def boxes(self) -> tuple[Box, ...]:
        """Its pieces, or its one box."""
        return self.pieces or (self.box,)


@dataclass(frozen=True, slots=True)
class Room:
    """A room: walls, fixtures, scenery, and the ``floor``, the cells to stand on. ``homes`` is hidden: the point of each thing
    at the start in each receptacle; a drawing looks up only things known to be there. ``made_up``: the game gives no
    coordinates. ``rooms`` are the fixtures that are rooms, in a home of several (`housequest.worlds.rooms.plans`)."""

    walls: Box
    fixtures: tuple[Fixture, ...]
    scenery: tuple[Fixture, ...]
    start: Pose
    floor: frozenset[Cell]
    homes: Mapping[tuple[str, str], Point]
    made_up: bool = False
    rooms: tuple[str, ...] = ()

    def fixture(self, name: str | None) -> Fixture | None:
        """The receptacle of this name."""
        return next((one for one in self.fixtures if one.name == name), None)

    def pose(self, at: str | None) -> Pose:
        """The standing place before the receptacle of this name; the start if it has none."""
        found = self.fixture(at)
        return found.place if found and found.place else self.start


@dataclass(frozen=True, slots=True)
class Holder:
    """A receptacle as far as it is known: ``openness`` is None if unknown; what is in a closed one is not drawn."""

    name: str
    seen: bool = False
    openness: Openness | None = None
    contents: tuple[str, ...] = ()


class Bystander(NamedTuple):
    """Another player in sight: where it stands, what it carries, and the receptacle it is at."""

    name: str
    pose: Pose
    carried: tuple[str, ...] = ()
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """The state that a drawing shows: the agent's pose, receptacles, the things in its hands (``carried``, the last taken
    first), and ``states``: things with a word, as of `Item.state`. ``at`` is the receptacle where it stands. From a belief
    (`believed`) it has a player's knowledge, from a state (`Drawable.situation`) everything. ``others`` are players whose place
    is known."""

    pose: Pose
    at: str | None = None
    holders: tuple[Holder, ...] = ()
    carried: tuple[str, ...] = ()
    states: frozenset[tuple[str, str]] = frozenset()
    others: tuple[Bystander, ...] = ()

    def named(self, thing: str) -> str:
        """The name of a thing, followed by its states, such as "egg 2 (hot)"."""
        words = ", ".join(sorted(word for name, word in self.states if name == thing))
        return f"{thing} ({words})" if words else thing


def believed(room: Room, belief: Belief) -> Situation:
    """The part of a room's state that a player knows."""
    standing = frozenset(one.name for one in belief.receptacles)
    holders = (
        Holder(
            one.name,
            one.visited or one.contents is not None,
            one.openness,
            tuple(name for name in belief.inside(one) if name not in standing),
        )
        for one in belief.receptacles
    )
    states = frozenset((item.name, word) for item in belief.items for word in item.state)
    stood, others = [room.pose(belief.at)], list[Bystander]()
    for one in belief.others:
        if one.at is not None:
            # Players at one place stand side by side.
            pose = room.pose(one.at)
            aside = BESIDE * sum(each.cell == pose.cell for each in stood)
            stood.append(pose)
            right, back = cos(radians(pose.yaw)), sin(radians(pose.yaw))
            stands = replace(pose, x=pose.x + aside * right, z=pose.z - aside * back)
            others.append(Bystander(one.name, stands, one.carried, one.at))
    return Situation(room.pose(belief.at), belief.at, tuple(holders), belief.carried, states, tuple(others))


BESIDE = 0.45  # metres between players at one place
LOW = 1.2  # things that hang higher are walked under, in metres
MAX_CELLS = 40_000  # cells of a room at most: 50 by 50 metres
_FLAT = 0.1


def walkable(reach: Box, fixtures: Iterable[Fixture], stood: frozenset[Cell], start: Cell) -> frozenset[Cell]:
    """The cells in ``reach`` that can be reached from ``start``, including all of ``stood``: somebody did stand there, so if
    furniture blocks the way, its box is too large, and the way through the least of it counts as free."""
    inside = set(_cells(reach)) | stood
    free = uncovered(reach, fixtures) | stood
    came = _ways(free, inside, start)
    for cell in stood:
        free.update(_back(came, cell))
    return frozenset(_ways(free, free, start))


def uncovered(reach: Box, fixtures: Iterable[Fixture]) -> set[Cell]:
    """The cells in ``reach`` where no furniture stands. Boxes are a little too large, so nothing is added for a body."""
    covered: set[Cell] = set()
    for one in fixtures:
        for box in one.boxes:
            if box.y0 < LOW and box.y1 > _FLAT:
                covered.update(_cells(box))
    return set(_cells(reach)) - covered


def with_way(floor: frozenset[Cell], walls: Box, cell: Cell) -> frozenset[Cell]:
    """``floor`` with a ``cell`` where somebody stands, and a way to it within ``walls`` that adds the fewest cells."""
    if cell in floor or not floor:
        return floor
    at = walls.united(Box(cell[0] * GRID, 0.0, cell[1] * GRID, cell[0] * GRID, 0.0, cell[1] * GRID))
    came = _ways({*floor, cell}, {*floor, *_cells(at), cell}, min(floor))
    return floor.union(_back(came, cell))


def reached(free: set[Cell], start: Cell) -> set[Cell]:
    """The cells among ``free`` that can be reached from ``start``."""
    return set(_ways(free, free, start))


def _ways(free: set[Cell], inside: set[Cell], start: Cell) -> dict[Cell, Cell | None]:
    """For each cell ``inside``, the one before it on the way from ``start`` that has the fewest cells that are not free."""
    came: dict[Cell, Cell | None] = {start: None}
    cost = {start: 0}
    waiting = deque([start])
    done: set[Cell] = set()
    while waiting:
        here = waiting.popleft()
        if here in done:
            continue
        done.add(here)
        for cell in _around(here):
            if cell not in inside:
                continue
            extra = cell not in free
            if cell not in cost or cost[here] + extra < cost[cell]:
                cost[cell], came[cell] = cost[here] + extra, here
                (waiting.append if extra else waiting.appendleft)(cell)
    return came


def way(free: frozenset[Cell], start: Cell, end: Cell) -> tuple[Cell, ...]:
    """A shortest way over free cells, with both ends; empty if there is none."""
    came: dict[Cell, Cell | None] = {start: None}
    waiting = deque([start])
    while waiting and end not in came:
        here = waiting.popleft()
        for cell in _around(here):
            if cell in free and cell not in came:
                came[cell] = here
                waiting.append(cell)
    return tuple(_back(came, end))[::-1] if end in came else ()


def strides(room: Room, start: Pose, end: Pose, most: int) -> tuple[Pose, ...]:
    """At most so many poses on a shortest way between two, evenly spaced, each looking ahead; none if there is no way."""
    cells = way(room.floor, start.cell, end.cell)
    number = min(most, len(cells) - 2)
    places = [round((len(cells) - 1) * (step + 1) / (number + 1)) for step in range(number)]
    return tuple(_towards(cells[place], cells[place + 1]) for place in places)


def _towards(cell: Cell, ahead: Cell) -> Pose:
    return Pose(cell[0] * GRID, cell[1] * GRID, degrees(atan2(ahead[0] - cell[0], ahead[1] - cell[1])) % 360)


def _back(came: Mapping[Cell, Cell | None], end: Cell | None) -> Iterator[Cell]:
    """The way to a cell, backwards."""
    while end is not None:
        yield end
        end = came.get(end)


def _cells(box: Box) -> Iterator[Cell]:
    """The cells whose middle is in the box, ``MAX_CELLS`` at most."""
    xs = range(ceil(box.x0 / GRID), floor(box.x1 / GRID) + 1)
    zs = range(ceil(box.z0 / GRID), floor(box.z1 / GRID) + 1)
    if len(xs) * len(zs) <= MAX_CELLS:
        for x in xs:
            for z in zs:
                yield x, z


def _around(cell: Cell) -> Iterator[Cell]:
    for x, z in AHEAD:
        yield cell[0] + x, cell[1] + z
