"""What the state of an agent that sees looks like to people who watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from housequest.agent.alfred.seeing.primitives import gerund
from housequest.agent.alfred.seeing.semantic_map import CELL, SIDE, SemanticMap
from housequest.agent.alfred.seeing.state import SeeingState, Spot
from housequest.agent.alfred.seeing.walking import BODIES, Ground, Stand, ground, way_to
from housequest.agent.impression import Claim, GroundMap, Impression, Place
from housequest.worlds.rooms.poses import GRID

if TYPE_CHECKING:
    from numpy import int16
    from numpy.typing import NDArray


def impression_of(state: SeeingState, *, voted: bool, spot: Spot | None = None) -> Impression:
    """The impression of ``state``; with ``voted``, its map is M' where that knows anything. ``spot`` is acted on next."""
    aim = state.aim
    target = None if aim is None or aim.height is None else (aim.x, aim.z)
    if spot is not None:
        target = spot.x, spot.z
    return Impression(
        size=state.percept.depth.shape[::-1],
        claims=tuple(Claim(one.kind, one.score, one.mask) for one in state.percept.detections),
        map=_ground_map(state.map, voted=voted),
        skill=state.skill.text if state.skill else "",
        step=_step(state, acting=spot is not None),
        target=target,
        path=() if aim is None or spot is not None else _path(state, aim.stand, voted=voted),
        held=state.held,
    )


def _step(state: SeeingState, *, acting: bool) -> str:
    if not state.steps:
        return ""
    step = state.steps[0]
    if acting or not step.kind:
        way = ""
    elif state.turns or state.sweep is not None:
        way = "looking"
    elif state.aim is None or state.aim.height is None:
        way = "searching"
    else:
        way = "on its way"
    return gerund(step) + (f", {way}" if way else "")


def _path(state: SeeingState, goal: Stand, *, voted: bool) -> tuple[Place, ...]:
    def around(body: float) -> Ground:
        bumped = state.bumped | state.suspected if body > BODIES[-1] else state.bumped
        return ground(state.map, state.stand, state.stood, bumped, voted=voted, body=body)

    # Lazily: mostly the first will do.
    found = next((one for one in map(around, BODIES[:-1]) if one.reached(goal)), None) or around(BODIES[-1])
    origin = state.map.origin
    return tuple((origin.x + x * GRID, origin.z + z * GRID) for x, z in way_to(found, goal))


def _ground_map(seen: SemanticMap, *, voted: bool) -> GroundMap:
    import numpy as np

    blocked, explored = seen.grid(voted=voted)
    names = seen.found
    kinds, sure = np.full((SIDE, SIDE), -1, np.int16), np.zeros((SIDE, SIDE), bool)
    cells = {name: _cells(seen, name, voted=False) for name in names}
    # What is small lies on what is large.
    for name in sorted(names, key=lambda name: -len(cells[name])):
        x, z = cells[name].T
        kinds[x, z], sure[x, z] = names.index(name), not voted
        if voted:
            x, z = _cells(seen, name, voted=True).T
            sure[x, z] = True
    corner = (seen.origin.x - SIDE / 2 * CELL, seen.origin.z - SIDE / 2 * CELL)
    return GroundMap(corner, CELL, explored, blocked, kinds, sure, names)


def _cells(seen: SemanticMap, kind: str, *, voted: bool) -> NDArray[int16]:
    import numpy as np

    places = seen.points(kind, voted=voted)[:, :2] - (seen.origin.x, seen.origin.z)
    return np.floor(places / CELL + SIDE / 2).astype(np.int16)
