"""The semantic map (OPEx, section 3, "Semantic Mapping Module"), and navigation on it: paths, stands, moves and looks.

Each pixel becomes a point in space; points are binned into voxels, and summed over their height. The map M has a kind at a cell
if any frame did; M' only if at least two viewpoints did, and more than for any other kind in some voxel of the cell. A map is
immutable: a sorted array of claims and one of votes, 100 to 200 KB for a whole room, so an agent can keep one for each turn.

Moves are a quarter metre along the axes, so paths lead over a grid of *stands*, counted from where the episode began. Distances
to the nearest goal are measured by the first-order fast marching method (Sethian 1996): a front spreads from the goals, and a
cell's distance solves ``|grad d| = 1`` from the neighbours that the front has passed. Distances therefore do not depend on the
direction of the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import atan2, degrees, hypot, inf, sqrt
from typing import Any

import numpy as np
from numpy import bool_, float64, floating, int32, uint16
from numpy.typing import NDArray

from housequest.agent.alfred.seeing.perception import Percept
from housequest.worlds.alfred.simulator.base import FIELD, VISIBLE
from housequest.worlds.rooms.render import Camera
from housequest.worlds.rooms.render import field as scale_of
from housequest.worlds.rooms.room import AHEAD, EYE, GRID, Point, Pose

Metres = NDArray[floating[Any]]
SIDE = 240  # Cells along each side of the map.
CELL = 0.05  # The length of a cell, in metres.
LEAST_VOTES = 2  # Viewpoints that M' needs.
FAR = 5.0  # Points farther away than this, in metres along the camera's axis, are ignored.
LOW, HIGH = 0.1, 1.7  # Points between these heights, in metres, are obstacles.
FREE, OBSTACLE = "floor", "obstacle"
"""The two kinds that are kept beside those of objects: floor that was seen, and obstacles."""
_LAYER = 0.1
_LAYERS = 32
_CELLS = SIDE * SIDE
_VOXELS = _CELLS * _LAYERS
_PIXELS = 90  # Rows of a frame that are used; larger frames are subsampled.


@dataclass(frozen=True, slots=True, eq=False)
class SemanticMap:
    """M and M'. ``origin`` is where the episode began, and ``kinds`` are all kinds in the order of first claims. ``claims``
    are sorted numbers, each for a kind and a voxel, and ``votes`` counts the viewpoints of each claim."""

    origin: Pose
    kinds: tuple[str, ...]
    claims: NDArray[int32]
    votes: NDArray[uint16]
    viewpoints: frozenset[Pose] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        self.claims.flags.writeable = self.votes.flags.writeable = False

    @classmethod
    def empty(cls, origin: Pose) -> SemanticMap:
        return cls(origin, (FREE, OBSTACLE), np.empty(0, np.int32), np.empty(0, np.uint16))

    def seen(self, percept: Percept, pose: Pose) -> SemanticMap:
        """The map after a frame from ``pose``. A viewpoint votes once: seeing from it again adds claims, but no votes."""
        every = max(1, round(len(percept.depth) / _PIXELS))
        some = np.s_[every // 2 :: every, every // 2 :: every]
        x, y, z = (part[some] for part in points(np.minimum(percept.depth, 2 * FAR), pose))
        columns, rows = (np.floor((at - own) / CELL + SIDE / 2) for at, own in ((x, self.origin.x), (z, self.origin.z)))
        # Select the points that count, with the cell and the layer of each.
        there = (percept.depth[some] < FAR) & (columns >= 0) & (columns < SIDE) & (rows >= 0) & (rows < SIDE)
        cells = np.where(there, columns * SIDE + rows, 0).astype(np.int64)
        layers = np.clip(np.where(there, y, 0) / _LAYER, 0, _LAYERS - 1).astype(np.int64)
        kinds = dict(zip(self.kinds, range(len(self.kinds)), strict=True))
        low = np.unique(cells[there & (y <= LOW)])
        tall = np.unique(cells[there & (y > LOW) & (y < HIGH)])
        claimed = [np.setdiff1d(low, tall, assume_unique=True) * _LAYERS, _VOXELS + tall * _LAYERS]
        for one in percept.detections:
            number = kinds.setdefault(one.kind, len(kinds))
            mine = one.mask[some] & there
            claimed.append(np.unique(number * _VOXELS + cells[mine] * _LAYERS + layers[mine]))
        new = np.unique(np.concatenate(claimed)).astype(np.int32)
        places, known = np.searchsorted(self.claims, new), np.zeros(len(new), bool)
        inside = places < len(self.claims)
        known[inside] = self.claims[places[inside]] == new[inside]
        votes = self.votes.copy()
        if pose not in self.viewpoints:
            votes[places[known]] += 1
        claims, votes = np.insert(self.claims, places[~known], new[~known]), np.insert(votes, places[~known], 1)
        return replace(self, kinds=tuple(kinds), claims=claims, votes=votes, viewpoints=self.viewpoints | {pose})

    def without(self, kind: str, x: float, z: float, radius: float) -> SemanticMap:
        """The map without the claims of ``kind`` within ``radius`` metres of a point, after it was picked up or not found."""
        if kind not in self.kinds:
            return self
        own, kept = self._part(kind), np.ones(len(self.claims), bool)
        kept[own] = np.hypot(*(self._points(self.claims[own] % _VOXELS // _LAYERS) - (x, z)).T) > radius
        return replace(self, claims=self.claims[kept], votes=self.votes[kept])

    @property
    def found(self) -> tuple[str, ...]:
        """The kinds of objects on M, in the order in which they were found."""
        return tuple(kind for kind in self.kinds[2:] if len(self.claims[self._part(kind)]))

    def points(self, kind: str, *, voted: bool) -> Metres:
        """The cells of ``kind`` on M' (``voted``) or M, as rows of x, z and height in metres."""
        if kind not in self.kinds[2:]:
            return np.empty((0, 3))
        own = self._part(kind)
        voxels, votes = self.claims[own] % _VOXELS, self.votes[own]
        if voted:
            # The most votes that any kind has in each voxel.
            most = np.zeros(len(voxels), np.uint16)
            for number in range(2, len(self.kinds)):
                claims = np.int32(number * _VOXELS) + voxels
                places = np.minimum(np.searchsorted(self.claims, claims), len(self.claims) - 1)
                np.maximum(most, np.where(self.claims[places] == claims, self.votes[places], 0), out=most)
            voxels = voxels[(votes >= LEAST_VOTES) & (votes == most)]
        cells, where = np.unique(voxels // _LAYERS, return_inverse=True)
        layers = np.zeros(len(cells))
        np.maximum.at(layers, where, voxels % _LAYERS)
        return np.column_stack([self._points(cells), (layers + 0.5) * _LAYER])

    def grid(self, *, voted: bool) -> tuple[NDArray[bool_], NDArray[bool_]]:
        """The cells with an obstacle, and the cells that were seen, as arrays by (x, z). With ``voted``, an obstacle needs more
        viewpoints than the floor in the same cell."""
        counts = np.zeros((2, _CELLS), np.uint16)
        for number, kind in enumerate((FREE, OBSTACLE)):
            own = self._part(kind)
            counts[number, self.claims[own] % _VOXELS // _LAYERS] = self.votes[own]
        floor, way = counts.reshape(2, SIDE, SIDE)
        return (way > floor) if voted else way > 0, (floor > 0) | (way > 0)

    def _part(self, kind: str) -> slice:
        number = self.kinds.index(kind)
        return slice(*map(int, np.searchsorted(self.claims, (number * _VOXELS, (number + 1) * _VOXELS))))

    def _points(self, cells: NDArray[int32]) -> Metres:
        middles = (np.stack([cells // SIDE, cells % SIDE], axis=-1) + 0.5 - SIDE / 2) * CELL
        return middles + np.array((self.origin.x, self.origin.z))


def points(depth: Metres, pose: Pose) -> tuple[Metres, Metres, Metres]:
    """The position of each pixel of ALFRED's camera: arrays of x, height and z in metres."""
    rows: int = depth.shape[0]
    columns: int = depth.shape[1]
    scale = scale_of(FIELD)
    step = 2 * scale / rows
    u: Metres = (np.arange(columns) + 0.5 - columns / 2) * step
    v: Metres = ((rows / 2 - np.arange(rows) - 0.5) * step)[:, None]
    right, up, ahead = Camera(Point(0, 0, 0), pose.yaw, pose.pitch, scale).axes()
    eye = (pose.x, EYE, pose.z)
    x, y, z = (eye[axis] + depth * (ahead[axis] + u * right[axis] + v * up[axis]) for axis in range(3))
    return x, y, z


Stand = tuple[int, int]  # A place to stand, in steps (x, z) from where the episode began.
REACH = 23  # Stands to each side of the start that fit on the map.
BODIES = (0.2, 0.1, 0.04)
"""Distances to keep from obstacles, in metres. The largest with a path is taken, since maps are not exact."""
NEAREST, FURTHEST = 0.3, 1.2
"""Distances from which to act on an object, in metres (FILM's and OPEx's policies choose among such stands)."""
TILT = 15  # Degrees of one look up or down.
PITCHES = (-30, 60)
WALKING = 30  # The pitch while walking.
Look = tuple[int, int]  # A quarter turn and a pitch.
_STEP = round(GRID / CELL)
_PATH = 0.2  # The cost of a metre of path, where a metre of distance from the object costs 1.
_ASIDE = 0.03  # The cost of each degree that an object is off straight ahead, beyond `_AHEAD` degrees.
_AHEAD = 18.0
_TURN = 0.5
_UNKNOWN = 0.5  # The cost of standing at a place that was not seen yet.
_MARGIN = 2
_MOST_POINTS = 300


@dataclass(frozen=True, slots=True)
class Aim:
    """A stand to go to, and the point (x, z) at a ``height`` to look at, in metres; without a height, there is no point."""

    stand: Stand
    x: float = 0.0
    z: float = 0.0
    height: float | None = None


def distances(free: NDArray[bool_], goals: Iterable[tuple[int, int]]) -> NDArray[float64]:
    """The distance of each cell from the nearest free goal over ``free`` cells; infinite without a path."""
    rows: int = free.shape[0]
    columns: int = free.shape[1]
    # A border that is never free saves checks for the end of the grid.
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


class Ground:
    """The stands that are free for an agent at ``at`` that keeps ``body`` metres from obstacles, by the map, the collisions and
    the stands taken before; a margin of unseen cells counts as free. Arrays by stand, from ``-REACH`` on; ``far`` is the
    distance of each stand from ``at``, in steps."""

    def __init__(
        self, seen: SemanticMap, at: Stand, stood: Collection[Stand], bumped: Collection[Stand], *, voted: bool, body: float
    ) -> None:
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
        # The rectangle around the known cells, with a margin.
        within, (rows, columns) = np.zeros_like(known), (np.flatnonzero(known.any(axis=axis)) for axis in (1, 0))
        if len(rows):
            first = max(0, int(rows[0]) - _MARGIN), max(0, int(columns[0]) - _MARGIN)
            within[first[0] : int(rows[-1]) + _MARGIN + 1, first[1] : int(columns[-1]) + _MARGIN + 1] = True
        free = ~near & within
        for cells, way in ((bumped, False), (stood, True), ((at,), True)):
            for x, z in cells:
                if abs(x) <= REACH and abs(z) <= REACH:
                    free[x + REACH, z + REACH] = way
        self.free, self.known, self.at = free, known, at
        self.far = distances(free, [(at[0] + REACH, at[1] + REACH)])

    def reached(self, stand: Stand) -> bool:
        x, z = stand[0] + REACH, stand[1] + REACH
        return 0 <= x <= 2 * REACH and 0 <= z <= 2 * REACH and bool(self.far[x, z] < inf)

    def stands(self, *, frontier: bool = False) -> list[Stand]:
        """All stands that can be reached, sorted; with ``frontier``, only those next to a place that was not seen yet."""
        there = np.isfinite(self.far)
        if frontier:
            unknown = np.pad(~self.known, 1, constant_values=False)
            there &= unknown[:-2, 1:-1] | unknown[2:, 1:-1] | unknown[1:-1, :-2] | unknown[1:-1, 2:]
        return [(x - REACH, z - REACH) for x, z in np.argwhere(there).tolist()]


def stand_of(pose: Pose, origin: Pose) -> Stand:
    return round((pose.x - origin.x) / GRID), round((pose.z - origin.z) / GRID)


def approach(
    around: Ground, origin: Pose, targets: NDArray[floating[Any]], tried: Collection[Stand], *, traversable: bool
) -> Aim | None:
    """Choose a stand from which to act on one of ``targets``, rows of x, z and height in metres.

    With ``traversable`` it is a stand that can be reached and from which the target is well in the picture. If there is none,
    it is the nearest stand, without a point to look at. Otherwise it is the target's own place, even if that is blocked."""
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
    # Stands that are too near or too far only count if there are no others.
    cost += np.where((away < NEAREST) | (away > FURTHEST), 10 + 10 * away, 0)
    stand, target = divmod(int(cost.argmin()), len(targets))
    x, z, height = targets[target].tolist()
    chosen = int(stands[stand, 0]) - REACH, int(stands[stand, 1]) - REACH
    return Aim(chosen, x, z, height) if away[stand, target] <= VISIBLE else Aim(chosen)


def next_move(around: Ground, quarter: int, goal: Stand) -> str | None:
    """The action that leads towards ``goal``, which need not be free; None at the goal or without a path."""
    if goal == around.at:
        return None
    left = _left(around, goal)
    costs = {turn: left(around.at, AHEAD[(quarter + turn) % 4]) + _TURN * abs((turn + 1) % 4 - 1) for turn in (0, 1, 3, 2)}
    best = min(costs, key=lambda turn: costs[turn])
    return turned(best) or "MoveAhead" if costs[best] < float("inf") else None


def way_to(around: Ground, goal: Stand) -> tuple[Stand, ...]:
    """The stands on the path to ``goal``, which need not be free, with both ends; only the first without a path."""
    left = _left(around, goal)
    way = [around.at]
    while left(way[-1]):
        side = min(AHEAD, key=lambda side: left(way[-1], side))
        if left(way[-1], side) >= left(way[-1]):
            break
        way.append((way[-1][0] + side[0], way[-1][1] + side[1]))
    return tuple(way)


def _left(around: Ground, goal: Stand) -> Callable[..., float]:
    """A function for the distance from a stand, or one beside it, to ``goal``: in steps, infinite without a path."""
    free = around.free.copy()
    x, z = (min(max(part + REACH, 0), 2 * REACH) for part in goal)
    free[x, z] = True
    far = np.pad(distances(free, [(x, z)]), 1, constant_values=np.inf)

    def left(stand: Stand, beside: tuple[int, int] = (0, 0)) -> float:
        return float(far[stand[0] + beside[0] + REACH + 1, stand[1] + beside[1] + REACH + 1])

    return left


def turned(quarters: int) -> str | None:
    """The action that begins a turn by some quarters to the right; None for no turn."""
    return (None, "RotateRight", "RotateRight", "RotateLeft")[quarters % 4]


def corners(seen: SemanticMap, around: Ground) -> tuple[Stand, ...]:
    """The stands nearest to the four corners of the known part of the room, the nearest corner first."""
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
    """The looks to search for an object at ``aim``: straight at it, up and down, and beside it."""
    bearing = degrees(atan2(aim.x - pose.x, aim.z - pose.z))
    side, away = round(bearing / 90) % 4, max(0.2, hypot(aim.x - pose.x, aim.z - pose.z))
    straight = degrees(atan2(EYE - (aim.height or 0.0), away))
    level = min(PITCHES[1], max(PITCHES[0], TILT * round(straight / TILT)))
    yield from ((side, pitch) for more in (0, TILT, -TILT, 2 * TILT, -2 * TILT) if _tilts(pitch := level + more))
    yield (side + (1 if (bearing % 360 - 90 * side) % 360 < 180 else 3)) % 4, level


def _tilts(pitch: int) -> bool:
    return PITCHES[0] <= pitch <= PITCHES[1]


def up_and_down(pose: Pose) -> Iterator[Look]:
    """The looks one tilt below and above ``pose``, as far as the head tilts."""
    return ((pose.quarter, pitch) for more in (TILT, -TILT) if _tilts(pitch := round(pose.pitch) + more))


def looked(pose: Pose, look: Look) -> str | None:
    """The action that turns or tilts towards ``look``; None if the pose looks there already."""
    side, pitch = look
    tilt = None if abs(pose.pitch - pitch) < TILT / 2 else "LookDown" if pose.pitch < pitch else "LookUp"
    return turned(side - pose.quarter) or tilt


def walking(pose: Pose, move: str) -> str:
    """The ``move``, or a tilt that is needed first to see the way."""
    if move == "MoveAhead" and abs(pose.pitch - WALKING) > 2 * TILT:
        return "LookUp" if pose.pitch > WALKING else "LookDown"
    return move
