"""What a step of a skill is about: things in the picture, things on the map, and the ground on which one gets to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import hypot
from random import Random
from typing import Any

import numpy as np
from numpy import floating
from numpy.typing import NDArray

from housequest.agent.alfred.seeing.perception import Detection
from housequest.agent.alfred.seeing.semantic_map import points
from housequest.agent.alfred.seeing.state import Heuristics, PolicyStep, SeeingState, Spot
from housequest.agent.alfred.seeing.walking import BODIES, Aim, Ground, Stand, anywhere, approach, frontier, ground
from housequest.worlds.rooms.room import AHEAD, EYE

REACH = 1.45
"""How near something must be to be acted on, in metres: a little less than what ALFRED allows."""
LEAST_PIXELS = 1 / 6_000
"""The share of the picture that something must fill to be acted on; twice what ALFRED's visibility takes."""
NEARLY = 3
"""Steps from a place of the search at which one is there."""
SAME = 0.25
"""Two points of one kind that are nearer than this are taken for one thing, in metres."""
TREATED = 1.0
"""How far from where it was put a thing may lie that was treated, in metres."""
MOVED = 0.08
"""How far two points of one thing are apart at most, seen twice from one place, in metres."""
LEVEL, ROW = 0.3, 1.2
"""How much higher and how far apart two cabinets or drawers of one row may be, in metres."""
APART = {"fridge": 1.2, "microwave": 0.8, "safe": 0.8}
"""From how far on two openings are those of two receptacles, in metres, where it is more than for other things."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A detection within the picture, with where it is: its distance along the floor and its middle."""

    detection: Detection
    away: float
    spot: Spot


@dataclass(frozen=True, slots=True)
class Targets:
    """Finds what a step is about, by pure functions of state."""

    has: Heuristics

    def meant(self, state: SeeingState, step: PolicyStep, spot: Spot) -> bool:
        """Whether a step may be about the thing at ``spot``: not if it proved wrong, or was put where it is."""
        if any(one.near(spot, SAME) for one in state.avoided):
            return False
        if step.primitive in ("open", "peek") and any(in_row(one, spot) for one in state.shut):
            return False
        if step.primitive == "pick" and step.inside and state.treated is not None:
            return hypot(spot.x - state.treated.x, spot.z - state.treated.z) < TREATED
        if step.primitive == "pick":
            filled = state.filled
            if filled is not None and filled.kind == step.kind and not any(one.near(filled, SAME) for one in state.avoided):
                return filled.near(spot, 2 * SAME)
            return not any(one._replace(height=spot.height).near(spot, 2 * SAME) for one in state.placed)
        opened = [one for one in state.opened if one.kind == step.kind]
        if step.primitive in ("close", "put") and opened:
            # An open door or drawer stands out from where it was.
            return any(one.near(spot, 3 * SAME) for one in opened)
        if step.primitive == "close":
            return not state.opened
        return True

    def claims(self, state: SeeingState, kind: str, wanted: Callable[[Spot], bool]) -> list[tuple[float, float, float]]:
        """Where things of this kind are by M', else by M, without those that are not ``wanted``."""
        for voted in (True, False) if self.has.votes else (False,):
            rows = state.map.points(kind, voted=voted).tolist()
            left = [(x, z, height) for x, z, height in rows if wanted(Spot(kind, x, z, height))]
            if left:
                return left
        return []

    def approach(self, state: SeeingState, step: PolicyStep, wanted: Callable[[Spot], bool]) -> Aim | None:
        targets = self.claims(state, step.kind, wanted)
        if (state.others or not targets) and step.inside and step.primitive == "pick" and state.treated and not state.avoided:
            targets = [state.treated[1:]]
        if not targets:
            return None
        rows, far = np.array(targets), None
        for tried in (state.tried, frozenset[Stand]()) if state.tried else (state.tried,):
            for body in BODIES:
                around = self._around(state, body)
                aim = approach(around, state.map.origin, rows, tried, traversable=self.has.traversable)
                if aim is not None and (aim.height is not None or not self.has.traversable):
                    return aim
                far = far or aim
        # No way leads there yet, as far as is known: get nearer, and see.
        apart = 0 if far is None else abs(far.stand[0] - state.stand[0]) + abs(far.stand[1] - state.stand[1])
        return far if apart > NEARLY and far is not None and far.stand not in state.tried else None

    def replayed(self, state: SeeingState, step: PolicyStep) -> Aim | None:
        """Where the agent stood when it sliced what ``step`` is about, unless it was there since."""
        if not self.has.replay or not step.kind.endswith("sliced") or state.search.looked:
            return None
        for kind, pose in reversed(state.sliced):
            if f"{kind}sliced" == step.kind:
                stand = replace(state, pose=pose).stand
                away, (dx, dz) = 0.8, AHEAD[pose.quarter]
                return None if stand in state.tried else Aim(stand, pose.x + away * dx, pose.z + away * dz, EYE - away)
        return None

    def in_reach(self, state: SeeingState, step: PolicyStep, wanted: Callable[[Spot], bool]) -> Seen | None:
        """The nearest thing of the step's kind in the picture that is large and near enough to be acted on."""
        found = [one for one in self.seen(state, step.kind) if one.away <= REACH and wanted(one.spot)]
        if step.inside and step.primitive == "pick":
            # What lay there before is not what was treated, unless nothing else is found.
            old = () if state.avoided else state.others
            found = [one for one in found if not any(one.spot.near(other, MOVED) for other in old)]
            there = state.treated
            return min(found, key=lambda one: apart(one.spot, there) if there else one.away, default=None)
        return min(found, key=lambda one: (one.away, -one.detection.score), default=None)

    def seen(self, state: SeeingState, kind: str) -> Iterator[Seen]:
        detections = [one for one in state.percept.detections if one.kind == kind]
        if not detections:
            return
        x, y, z = points(state.percept.depth, state.pose)
        away = np.hypot(x - state.pose.x, z - state.pose.z)
        for one in detections:
            mine: NDArray[floating[Any]] = away[one.mask]
            if len(mine) >= max(3, LEAST_PIXELS * away.size):
                middle = (float(np.median(part[one.mask])) for part in (x, z, y))
                yield Seen(one, float(np.quantile(mine, 0.1)), Spot(kind, *middle))

    def stands_open(self, state: SeeingState, kind: str) -> bool:
        """Whether the receptacle of this kind that is meant stands open by the agent's doing."""
        opened = [one for one in state.opened if one.kind == kind]
        return any(hypot(one.x - state.pose.x, one.z - state.pose.z) < 3.0 for one in opened)

    def ground(self, state: SeeingState, wanted: Stand | None = None) -> Ground:
        """The ground, kept away from what is in the way as far as there is a way to where one wants to go."""
        found: Ground | None = None
        for body in BODIES:
            found = self._around(state, body)
            if found.reached(wanted) if wanted else len(anywhere(found)) > 8:
                break
        assert found is not None
        return found

    def _around(self, state: SeeingState, body: float) -> Ground:
        bumped = state.bumped | state.suspected if body > BODIES[-1] else state.bumped
        return ground(state.map, state.stand, state.stood, bumped, voted=self.has.votes, body=body)

    def wander(self, state: SeeingState, seed: str) -> Stand | None:
        """A place next to what was not seen yet, drawn with the seed; else any place."""
        around = self.ground(state)
        for places in (frontier(around), anywhere(around)):
            if left := [one for one in places if one not in state.stood]:
                return Random(seed).choice(left)
        return None


def apart(one: Spot, other: Spot) -> float:
    """How far two spots are apart, in metres."""
    return hypot(one.x - other.x, one.z - other.z, one.height - other.height)


def in_row(one: Spot, other: Spot) -> bool:
    """Whether two receptacles are of one kind and in one row, as those are of which none opens."""
    level = one.kind == other.kind not in APART and abs(one.height - other.height) < LEVEL
    return level and hypot(one.x - other.x, one.z - other.z) < ROW
