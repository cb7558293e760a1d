"""What the state of an agent that sees looks like to people who watch: its claims, its map, and what it is about to do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import bool_, int16
from numpy.typing import NDArray

from housequest.agent.alfred.seeing.perception import Detection
from housequest.agent.alfred.seeing.semantic_map import CELL, SIDE, SemanticMap, way_to
from housequest.agent.alfred.seeing.state import SeeingState, Spot, Targets, gerund
from housequest.worlds.alfred.simulator.base import touched
from housequest.worlds.household.belief import kind
from housequest.worlds.rooms.render import Frame
from housequest.worlds.rooms.room import GRID

Place = tuple[float, float]  # A point of the floor: x and z in metres, as in the pose of the player's camera.
LEAST_PIXELS = 1 / 3_000  # The share of a picture that a thing must fill to count as missed.


@dataclass(frozen=True, slots=True, eq=False)
class GroundMap:
    """What an agent knows of the floor, from above. Arrays are by cell (x, z); the first begins at ``corner``, in metres.
    ``explored`` was seen at all, ``blocked`` is in the way. ``kinds`` are indices into ``names`` of what is there, -1 for
    nothing; ``sure`` says of which the agent is."""

    corner: Place
    cell: float
    explored: NDArray[bool_]
    blocked: NDArray[bool_]
    kinds: NDArray[int16]
    sure: NDArray[bool_]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Impression:
    """What an agent made of the picture at which it decided, of ``size`` columns and rows; ``claims`` is what it sees there.
    ``skill`` is in progress and ``step`` a part of it, both in words. ``target`` is where the thing is that it is after, and
    ``path`` leads to where it wants to stand, from where it stands. ``held`` is the kind that it believes to hold."""

    size: tuple[int, int]
    claims: tuple[Detection, ...]
    map: GroundMap
    skill: str
    step: str
    target: Place | None
    path: tuple[Place, ...]
    held: str | None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A claim, a kind, beside what is there, a name: right or ``false``; without a claim, the thing was ``missed``. ``spot`` is
    the middle of its pixels, as shares of the picture's width and height."""

    claim: str | None
    name: str | None
    spot: tuple[float, float]

    @property
    def missed(self) -> bool:
        return self.claim is None

    @property
    def false(self) -> bool:
        return self.claim is not None and (self.name is None or kind(self.name).replace(" ", "").lower() != self.claim)


def sightings(impression: Impression, frame: Frame) -> tuple[Sighting, ...]:
    """The claims of an impression beside what its picture really shows; ``frame`` is that picture, of the same size."""
    found: list[Sighting] = []
    claimed: set[str] = set()
    for claim in impression.claims:
        name = touched(frame, claim.mask)
        claimed.update(() if name is None else (name,))
        found.append(Sighting(claim.kind, name, _middle(claim.mask)))
    for number, name in enumerate(frame.names):
        mask = frame.ids == number
        if name not in claimed and mask.sum() >= LEAST_PIXELS * mask.size:
            found.append(Sighting(None, name, _middle(mask)))
    return tuple(found)


def _middle(mask: NDArray[bool_]) -> tuple[float, float]:
    rows, columns = np.nonzero(mask)
    if not len(rows):
        return 0.5, 0.5
    best = int(((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2).argmin())
    return (float(columns[best]) + 0.5) / mask.shape[1], (float(rows[best]) + 0.5) / mask.shape[0]


def impression_of(state: SeeingState, targets: Targets, spot: Spot | None = None) -> Impression:
    """The impression of ``state``, whose map is M' where votes count and it knows anything. ``spot`` is acted on next."""
    aim = state.aim
    target = None if aim is None or aim.height is None else (aim.x, aim.z)
    if spot is not None:
        target = spot.x, spot.z
    way = () if aim is None or spot is not None else way_to(targets.ground(state, aim.stand), aim.stand)
    origin = state.map.origin
    return Impression(
        size=state.percept.depth.shape[::-1],
        claims=state.percept.detections,
        map=_ground_map(state.map, voted=targets.has.votes),
        skill=state.skill.text if state.skill else "",
        step=_step(state, acting=spot is not None),
        target=target,
        path=tuple((origin.x + x * GRID, origin.z + z * GRID) for x, z in way),
        held=state.held,
    )


def _step(state: SeeingState, *, acting: bool) -> str:
    if not state.steps:
        return ""
    step, way = state.steps[0], ", on its way"
    if acting or not step.kind:
        way = ""
    elif state.turns or state.sweep is not None:
        way = ", looking"
    elif state.aim is None or state.aim.height is None:
        way = ", searching"
    return gerund(step) + way


def _ground_map(seen: SemanticMap, *, voted: bool) -> GroundMap:
    def cells(kind: str, *, voted: bool) -> NDArray[int16]:
        places = seen.points(kind, voted=voted)[:, :2] - (seen.origin.x, seen.origin.z)
        return np.floor(places / CELL + SIDE / 2).astype(np.int16)

    blocked, explored = seen.grid(voted=voted)
    names, every = seen.found, {name: cells(name, voted=False) for name in seen.found}
    kinds, sure = np.full((SIDE, SIDE), -1, np.int16), np.zeros((SIDE, SIDE), bool)
    # What is small lies on what is large.
    for name in sorted(names, key=lambda name: -len(every[name])):
        x, z = every[name].T
        kinds[x, z], sure[x, z] = names.index(name), not voted
        if voted:
            x, z = cells(name, voted=True).T
            sure[x, z] = True
    corner = (seen.origin.x - SIDE / 2 * CELL, seen.origin.z - SIDE / 2 * CELL)
    return GroundMap(corner, CELL, explored, blocked, kinds, sure, names)
