"""Where somebody can walk by the semantic map, where to stand before a thing, the next move towards that, and where to look.

Moves are a quarter metre along the axes, so ways lead over a grid of *stands*, counted from where the episode began. How far it
is to the nearest goal over free cells is measured by the fast marching method (Sethian 1996), first order: a front spreads from
the goals, and a cell's distance solves ``|grad d| = 1`` from those of its neighbours that the front has passed. So ways are
measured at any angle, and not by the turns of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from math import atan2, degrees, hypot, inf, sqrt
from typing import Any

import numpy as np
from numpy import bool_, float64, floating
from numpy.typing import NDArray

from housequest.agent.alfred.seeing.semantic_map import CELL, SIDE, SemanticMap
from housequest.worlds.alfred.simulator.base import VISIBLE
from housequest.worlds.rooms.room import AHEAD, EYE, GRID, Pose

Stand = tuple[int, int]  # A place to stand, in steps (x, z) from where the episode began.
REACH = 23  # Stands to each side of the start: as many as the map has room for.
BODIES = (0.2, 0.1, 0.04)
"""How far from what is in the way one stands, in metres: as far as there is a way, since maps are not exact."""
NEAREST, FURTHEST = 0.3, 1.2
"""From how far away one acts on a thing, in metres (FILM's and OPEx's policies choose among such stands)."""
TILT = 15
PITCHES = (-30, 60)
WALKING = 30  # Degrees by which one tilts, from where to where, and how one looks while walking.
Look = tuple[int, int]  # A side and a pitch to look at.
_STEP = round(GRID / CELL)
_PATH = 0.2  # What a metre of path costs beside a metre of distance from the thing.
_ASIDE = 0.03
"""What each degree costs by which a thing stands aside from straight ahead, beyond those in which it is well in the picture."""
_AHEAD = 18.0
_TURN = 0.5
_UNKNOWN = 0.5  # What it costs to stand where nothing was seen yet.
_MARGIN = 2
_MOST_POINTS = 300


@dataclass(frozen=True, slots=True)
class Aim:
    """To stand at ``stand`` and look at the point (x, z) at a ``height``, in metres; without a point, to stand there alone."""

    stand: Stand
    x: float = 0.0
    z: float = 0.0
    height: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """Where one can stand, by the map, what was bumped into and where one stood; arrays by stand, from ``-REACH`` on."""

    free: NDArray[bool_]
    known: NDArray[bool_]
    far: NDArray[float64]
    """How far each stand is from ``at``, in steps."""
    at: Stand

    def reached(self, stand: Stand) -> bool:
        """Whether there is a way to this stand."""
        x, z = stand[0] + REACH, stand[1] + REACH
        return 0 <= x <= 2 * REACH and 0 <= z <= 2 * REACH and bool(self.far[x, z] < inf)

    def stands(self, *, frontier: bool = False) -> list[Stand]:
        """All stands that can be reached, or those of them next to which is something that was not seen yet; sorted."""
        there = np.isfinite(self.far)
        if frontier:
            unknown = np.pad(~self.known, 1, constant_values=False)
            there &= unknown[:-2, 1:-1] | unknown[2:, 1:-1] | unknown[1:-1, :-2] | unknown[1:-1, 2:]
        return [(x - REACH, z - REACH) for x, z in np.argwhere(there).tolist()]


def stand_of(pose: Pose, origin: Pose) -> Stand:
    """The stand of somebody at ``pose``."""
    return round((pose.x - origin.x) / GRID), round((pose.z - origin.z) / GRID)


def distances(free: NDArray[bool_], goals: Iterable[tuple[int, int]]) -> NDArray[float64]:
    """The distance of each cell to the nearest of ``goals`` over cells that are ``free``, in cells; infinite where no way is.
    Goals that are not free, or outside, do not count."""
    rows: int = free.shape[0]
    columns: int = free.shape[1]
    # A border that is never free saves asking where the grid ends.
    width = columns + 2
    bordered = np.zeros((rows + 2, width), bool)
    bordered[1:-1, 1:-1] = free
    passable: list[bool] = bordered.ravel().tolist()
    far = [inf] * len(passable)
    passed = [inf] * len(passable)
    front: list[tuple[float, int]] = []
    for row, column in goals:
        cell = (row + 1) * width + column + 1
        if 0 <= row < rows and 0 <= column < columns and passable[cell]:
            far[cell] = 0.0
            heappush(front, (0.0, cell))
    while front:
        distance, cell = heappop(front)
        if passed[cell] <= distance:
            continue
        passed[cell] = distance
        for beside in (cell - 1, cell + 1, cell - width, cell + width):
            if passable[beside] and passed[beside] == inf:
                across = min(passed[beside - 1], passed[beside + 1])
                along = min(passed[beside - width], passed[beside + width])
                apart = across - along
                # The greater solution d of (d - across)^2 + (d - along)^2 = 1, of the terms that are less than d.
                found = (across + along + sqrt(2 - apart * apart)) / 2 if -1 < apart < 1 else min(across, along) + 1
                if found < far[beside]:
                    far[beside] = found
                    heappush(front, (found, beside))
    return np.array(passed).reshape(rows + 2, width)[1:-1, 1:-1]


def ground(
    seen: SemanticMap, at: Stand, stood: Collection[Stand], bumped: Collection[Stand], *, voted: bool, body: float
) -> Ground:
    """The ground around ``at`` for somebody who keeps ``body`` metres away from what is in the way. What was not seen yet
    counts as free, up to a little beyond what was."""
    blocked, explored = seen.grid(voted=voted)
    edge = 2 * _STEP
    blocked, explored = np.pad(blocked, edge), np.pad(explored, edge)
    start, count = edge + SIDE // 2 - REACH * _STEP, 2 * REACH + 1
    shape = (count, count)
    near, known = np.zeros(shape, bool), np.zeros(shape, bool)
    # Stands lie on the edges of cells: the middle of the next cell is half a cell away.
    for a in range(-_STEP, _STEP):
        for b in range(-_STEP, _STEP):
            part = np.s_[start + a : start + a + count * _STEP : _STEP, start + b : start + b + count * _STEP : _STEP]
            if (a + 0.5) ** 2 + (b + 0.5) ** 2 <= (body / CELL) ** 2 + 0.5:
                near |= blocked[part]
            known |= explored[part]
    # What is known, in its rectangle with a margin.
    within, (rows, columns) = np.zeros_like(known), (np.flatnonzero(known.any(axis=axis)) for axis in (1, 0))
    if len(rows):
        first = max(0, int(rows[0]) - _MARGIN), max(0, int(columns[0]) - _MARGIN)
        within[first[0] : int(rows[-1]) + _MARGIN + 1, first[1] : int(columns[-1]) + _MARGIN + 1] = True
    free = ~near & within
    for cells, way in ((bumped, False), (stood, True), ((at,), True)):
        for x, z in cells:
            if abs(x) <= REACH and abs(z) <= REACH:
                free[x + REACH, z + REACH] = way
    return Ground(free, known, distances(free, [(at[0] + REACH, at[1] + REACH)]), at)


def approach(
    around: Ground, origin: Pose, targets: NDArray[floating[Any]], tried: Collection[Stand], *, traversable: bool
) -> Aim | None:
    """Where to go to act on the nearest of ``targets``, rows of x, z and height in metres. With ``traversable`` it is a stand
    that can be reached and from which the target is well in the picture, or if there is none the nearest, without a point to
    look at; else it is the target's own place, whatever is in the way."""
    if not len(targets):
        return None
    targets = targets[:: max(1, len(targets) // _MOST_POINTS)]
    if not traversable:
        here = np.array((origin.x + around.at[0] * GRID, origin.z + around.at[1] * GRID))
        x, z, height = targets[int(np.hypot(*(targets[:, :2] - here).T).argmin())].tolist()
        stand = stand_of(Pose(x, z), origin)
        return None if stand in tried else Aim(stand, x, z, height)
    stands = np.argwhere(np.isfinite(around.far))
    if tried:
        left = np.array([(x - REACH, z - REACH) not in tried for x, z in stands.tolist()], bool)
        stands = stands[left]
    if not len(stands):
        return None
    places = (stands - REACH) * GRID + np.array((origin.x, origin.z))
    apart = targets[None, :, :2] - places[:, None, :]
    away = np.hypot(apart[..., 0], apart[..., 1])
    aside = np.degrees(np.arctan2(apart[..., 0], apart[..., 1]))
    aside = np.abs(aside - 90 * np.round(aside / 90))
    walk = around.far[stands[:, 0], stands[:, 1]][:, None] * GRID
    cost = away + _PATH * walk + _ASIDE * np.maximum(0, aside - _AHEAD)
    cost += _UNKNOWN * ~around.known[stands[:, 0], stands[:, 1]][:, None]
    # Not quite as near, or nearer than one wants to be, only if there is nothing else.
    cost += np.where((away < NEAREST) | (away > FURTHEST), 10 + 10 * away, 0)
    stand, target = divmod(int(cost.argmin()), len(targets))
    x, z, height = targets[target].tolist()
    chosen = int(stands[stand, 0]) - REACH, int(stands[stand, 1]) - REACH
    return Aim(chosen, x, z, height) if away[stand, target] <= VISIBLE else Aim(chosen)


def next_move(around: Ground, quarter: int, goal: Stand) -> str | None:
    """The action that leads towards ``goal``; None if one is there, or no way leads there. A goal that is not free is walked at
    all the same."""
    if goal == around.at:
        return None
    left = _left(around, goal)
    costs = {turn: left(around.at, AHEAD[(quarter + turn) % 4]) + _TURN * abs((turn + 1) % 4 - 1) for turn in (0, 1, 3, 2)}
    best = min(costs, key=lambda turn: costs[turn])
    return turned(best) or "MoveAhead" if costs[best] < float("inf") else None


def way_to(around: Ground, goal: Stand) -> tuple[Stand, ...]:
    """The stands on the way to ``goal``, both ends included; only where one stands if no way leads there. A goal that is not
    free is walked at all the same."""
    left = _left(around, goal)
    way = [around.at]
    while left(way[-1]):
        side = min(AHEAD, key=lambda side: left(way[-1], side))
        if left(way[-1], side) >= left(way[-1]):
            break
        way.append((way[-1][0] + side[0], way[-1][1] + side[1]))
    return tuple(way)


def _left(around: Ground, goal: Stand) -> Callable[..., float]:
    """How far ``goal`` is from a stand, or from the one beside it: in steps, infinite where no way leads there."""
    free = around.free.copy()
    x, z = (min(max(part + REACH, 0), 2 * REACH) for part in goal)
    free[x, z] = True
    far = np.pad(distances(free, [(x, z)]), 1, constant_values=np.inf)

    def left(stand: Stand, beside: tuple[int, int] = (0, 0)) -> float:
        return float(far[stand[0] + beside[0] + REACH + 1, stand[1] + beside[1] + REACH + 1])

    return left


def turned(quarters: int) -> str | None:
    """The action by which one turns by some quarters to the right; None for none."""
    return (None, "RotateRight", "RotateRight", "RotateLeft")[quarters % 4]


def corners(seen: SemanticMap, around: Ground) -> tuple[Stand, ...]:
    """The stands nearest to the four corners of what is known of the room, the nearest corner first."""
    there = np.argwhere(np.isfinite(around.far) & around.known)
    if not len(there):
        return ()
    _, explored = seen.grid(voted=False)
    spread = np.argwhere(explored)
    low, high = (spread.min(axis=0) - SIDE / 2) / _STEP + REACH, (spread.max(axis=0) - SIDE / 2) / _STEP + REACH
    found: dict[Stand, float] = {}
    for corner in ((low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])):
        x, z = there[int(np.hypot(*(there - np.array(corner)).T).argmin())].tolist()
        found.setdefault((x - REACH, z - REACH), float(around.far[x, z]))
    return tuple(sorted(found, key=lambda stand: (found[stand], stand)))


def looks_at(aim: Aim, pose: Pose) -> Iterator[Look]:
    """The looks by which something at ``aim`` is looked for: straight at it, up and down, and beside it."""
    bearing = degrees(atan2(aim.x - pose.x, aim.z - pose.z))
    side, away = round(bearing / 90) % 4, max(0.2, hypot(aim.x - pose.x, aim.z - pose.z))
    straight = degrees(atan2(EYE - (aim.height or 0.0), away))
    level = min(PITCHES[1], max(PITCHES[0], TILT * round(straight / TILT)))
    yield from ((side, pitch) for more in (0, TILT, -TILT, 2 * TILT, -2 * TILT) if _tilts(pitch := level + more))
    yield (side + (1 if (bearing % 360 - 90 * side) % 360 < 180 else 3)) % 4, level


def _tilts(pitch: int) -> bool:
    return PITCHES[0] <= pitch <= PITCHES[1]


def up_and_down(pose: Pose) -> Iterator[Look]:
    """A look below and one above where somebody at ``pose`` looks, where heads go so far."""
    return ((pose.quarter, pitch) for more in (TILT, -TILT) if _tilts(pitch := round(pose.pitch) + more))


def looked(pose: Pose, look: Look) -> str | None:
    """The action that brings somebody closer to such a look; None if they look there."""
    side, pitch = look
    tilt = None if abs(pose.pitch - pitch) < TILT / 2 else "LookDown" if pose.pitch < pitch else "LookUp"
    return turned(side - pose.quarter) or tilt


def walking(pose: Pose, move: str) -> str:
    """The ``move``, or first to look where one goes."""
    if move == "MoveAhead" and abs(pose.pitch - WALKING) > 2 * TILT:
        return "LookUp" if pose.pitch > WALKING else "LookDown"
    return move
