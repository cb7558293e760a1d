"""The values: a box, a room, and what somebody knows of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from housequest.worlds.household.belief import Belief, Openness
from housequest.worlds.rooms.kinds import Kind, kind_of
from housequest.worlds.rooms.poses import Point, Pose

Side = int
"""A quarter turn: 0 for +z, 1 for +x, 2 for -z, 3 for -x."""
Cell = tuple[int, int]
"""A cell of the grid, (x, z) in steps."""
AHEAD: tuple[tuple[int, int], ...] = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""The step (x, z) towards each side."""


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
        """Whether the point is within the box as seen from above."""
        return self.x0 < x < self.x1 and self.z0 < z < self.z1

    def meets(self, other: Box) -> bool:
        """Whether the boxes overlap as seen from above."""
        return self.x0 < other.x1 and other.x0 < self.x1 and self.z0 < other.z1 and other.z0 < self.z1

    def overlaps(self, other: Box) -> bool:
        """Whether the boxes have room in common."""
        return self.y0 < other.y1 and other.y0 < self.y1 and self.meets(other)

    def united(self, other: Box) -> Box:
        return Box(*map(min, self[:3], other[:3]), *map(max, self[3:], other[3:]))

    def without(self, hole: Box) -> tuple[Box, ...]:
        """What is left beside ``hole``, as seen from above: up to four boxes."""
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
        """What is left of the box outside of ``hole``: up to six boxes."""
        if not self.overlaps(hole):
            return (self,)
        low, high = max(self.y0, hole.y0), min(self.y1, hole.y1)
        above = (self._replace(y1=low), self._replace(y0=high))
        between = self._replace(y0=low, y1=high).without(hole)
        return (*(box for box in above if box.y1 - box.y0 > 1e-6), *between)

    def spans(self, side: Side) -> tuple[float, float]:
        """How wide and how deep a box is that faces ``side``."""
        x, z = self.x1 - self.x0, self.z1 - self.z0
        return (x, z) if side % 2 == 0 else (z, x)

    def ahead(self, side: Side) -> float:
        """How far the box reaches towards ``side``."""
        return (self.z1, self.x1, -self.z0, -self.x0)[side]

    def extended(self, side: Side, by: float) -> Box:
        """The box with ``by`` more on that side."""
        name = ("z1", "x1", "z0", "x0")[side]
        return self._replace(**{name: getattr(self, name) + (by if side < 2 else -by)})

    def part(self, side: Side, left: float, low: float, back: float, right: float, high: float, front: float) -> Box:
        """A part of the box that faces ``side``, by shares of its width, height and depth."""
        dx, dy, dz = self.x1 - self.x0, self.y1 - self.y0, self.z1 - self.z0
        y0, y1 = self.y0 + low * dy, self.y0 + high * dy
        # For somebody who looks at its front, left of a box that faces +z is +x.
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
    """A thing that stays where it is: a receptacle, or scenery such as a window.

    ``front`` is the side to which its front faces, and ``place`` where one stands before it. ``pieces`` are the boxes of a
    counter, which may go round a corner and has holes for basins; others have none.
    """

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
    """A room: walls, what stands in it, and the floor.

    ``homes`` is hidden: where each thing lies at the start in each receptacle that holds it; a drawing looks up only what is
    known to be there. ``floor`` are the cells on which one can stand. ``made_up``: the game says nothing of where things are.
    ``rooms`` are the fixtures that are rooms, each a floor, where this is a home of several
    (`housequest.worlds.rooms.apartment`).
    """

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
        """Where one stands before the receptacle of this name; where one starts if it has no place."""
        found = self.fixture(at)
        return found.place if found and found.place else self.start


@dataclass(frozen=True, slots=True)
class Holder:
    """A receptacle as far as it is known: ``openness`` is None if unknown, and contents count only if it is not closed."""

    name: str
    seen: bool = False
    openness: Openness | None = None
    contents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Situation:
    """All of a room's state that a drawing depends on: the agent's pose, what it holds, receptacles, and lamps that are on.

    ``at`` is the receptacle before which it stands; ``held`` is what was taken last, and ``also`` what is in another hand. Made
    of a belief it has what a player knows, made of a state (`World.situation`) all there is.
    """

    pose: Pose
    at: str | None = None
    holders: tuple[Holder, ...] = ()
    held: str | None = None
    lit: frozenset[str] = frozenset()
    also: tuple[str, ...] = ()

    @property
    def carried(self) -> tuple[str, ...]:
        """All that is held, what was taken last first."""
        return (*(() if self.held is None else (self.held,)), *self.also)


def believed(room: Room, belief: Belief) -> Situation:
    """What a player knows."""
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
    lit = frozenset(item.name for item in belief.items if item.lit)
    return Situation(room.pose(belief.at), belief.at, tuple(holders), belief.held, lit, belief.also)
