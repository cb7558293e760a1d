"""The semantic map: what was seen, from above, and from how many viewpoints (OPEx, section 3, "Semantic Mapping Module").

Each pixel becomes a point in space; points are binned into voxels, and summed over their height. The map M has a kind at a cell
if any frame did; M' only if at least two viewpoints did, and more than for any other kind in some voxel of the cell.

A map is a value: it holds a sorted array of what was claimed and one of votes, 100 to 200 KB for a room that was
walked through, so an agent's memory can be kept for each turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy import bool_, floating, int32, uint16
from numpy.typing import NDArray

from housequest.agent.alfred.seeing.perception import Percept
from housequest.worlds.alfred.simulator.base import FIELD
from housequest.worlds.rooms.render import Camera
from housequest.worlds.rooms.render import field as scale_of
from housequest.worlds.rooms.room import EYE, Point, Pose

Metres = NDArray[floating[Any]]
SIDE = 240  # Cells along each side of the map.
CELL = 0.05  # The length of a cell, in metres.
LEAST_VOTES = 2  # Viewpoints that M' wants.
FAR = 5.0  # Points further away than this, in metres along the camera's axis, do not count.
LOW, HIGH = 0.1, 1.7  # What has points between these heights, in metres, is in the way of a robot.
FREE, OBSTACLE = "floor", "obstacle"
"""What is kept of every cell beside the kinds of things: whether floor was seen, and whether something in the way."""
_LAYER = 0.1
_LAYERS = 32
_CELLS = SIDE * SIDE
_VOXELS = _CELLS * _LAYERS
_PIXELS = 90  # Rows of a frame that are used: of more, every second, third, and so on.


@dataclass(frozen=True, slots=True, eq=False)
class SemanticMap:
    """M and M'. ``origin`` is where the episode began; ``kinds`` are those that were ever claimed, in that order. ``claims``
    are sorted, each a kind and a voxel as one number; ``votes`` has the viewpoints of each claim."""

    origin: Pose
    kinds: tuple[str, ...]
    claims: NDArray[int32]
    votes: NDArray[uint16]
    viewpoints: frozenset[Pose] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        self.claims.flags.writeable = self.votes.flags.writeable = False

    @classmethod
    def empty(cls, origin: Pose) -> SemanticMap:
        """A map on which nothing was seen."""
        return cls(origin, (FREE, OBSTACLE), np.empty(0, np.int32), np.empty(0, np.uint16))

    def seen(self, percept: Percept, pose: Pose) -> SemanticMap:
        """The map after a frame from ``pose``. A viewpoint votes once: what is seen from it again adds claims, and no votes."""
        every = max(1, round(len(percept.depth) / _PIXELS))
        some = np.s_[every // 2 :: every, every // 2 :: every]
        x, y, z = (part[some] for part in points(np.minimum(percept.depth, 2 * FAR), pose))
        columns, rows = (np.floor((at - own) / CELL + SIDE / 2) for at, own in ((x, self.origin.x), (z, self.origin.z)))
        # Which points count, and the cell and the layer of each.
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
        """The map without claims of ``kind`` within ``radius`` metres of a point: it was picked up, or is not there."""
        if kind not in self.kinds:
            return self
        own, kept = self._part(kind), np.ones(len(self.claims), bool)
        kept[own] = np.hypot(*(self._points(self.claims[own] % _VOXELS // _LAYERS) - (x, z)).T) > radius
        return replace(self, claims=self.claims[kept], votes=self.votes[kept])

    @property
    def found(self) -> tuple[str, ...]:
        """The kinds of thing on M, in the order in which they were found."""
        return tuple(kind for kind in self.kinds[2:] if len(self.claims[self._part(kind)]))

    def points(self, kind: str, *, voted: bool) -> Metres:
        """Where ``kind`` is on M' (``voted``) or on M: rows of x, z and a height in metres, one for each cell."""
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
        """Cells with something in the way, and cells that were seen at all; arrays by (x, z). With ``voted``, what is in the
        way was seen from more viewpoints than floor in its place."""
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
    """The point in space of each pixel of ALFRED's camera: x, height and z in metres."""
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
