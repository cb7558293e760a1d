"""The knowledge of an agent with a camera and its skill in progress, as immutable values; and the objects its steps need.

A skill is a list of primitives, each done by one of ALFRED's actions. The oracle planner takes its skills from the subgoals of
an annotated plan, so that the action policy can be measured by itself. OPEx's own planner is a language model. Annotations are
hidden knowledge, which has to be granted.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import hypot
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy import floating
from numpy.typing import NDArray

from housequest.agent.agents.spec import CameraSettings
from housequest.agent.alfred.seeing import semantic_map as maps
from housequest.agent.alfred.seeing.perception import Detection, Percept
from housequest.worlds.household.goals import APPLIANCES, CONTAINERS, KNIVES, Skill
from housequest.worlds.rooms.room import AHEAD, EYE, Pose

if TYPE_CHECKING:
    from numpy import bool_

Primitive = Literal["go", "look", "explore", "pick", "put", "open", "close", "on", "off", "slice", "peek", "view"]
"""The parts of skills. All but ``look`` and ``explore`` need an object, which the agent first searches for and approaches.
``peek`` opens the receptacles of a kind one by one, to look for the object of the next step; ``view`` only goes to them."""
SEARCHING: tuple[Primitive, ...] = ("peek", "view")
_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("primitives.toml").read_text("utf-8"))
ACTIONS: dict[Primitive, str] = {primitive: action for primitive, (action, _) in _TABLE["primitives"].items() if action}
"""ALFRED's action of each primitive that acts on an object."""
UNRECOGNISED = "something"  # The kind of an object that a person picked up and perception has not reported.


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """One primitive of the skill in progress, with the kind of its object. ``inside`` marks a part of a treatment, in which
    an object that is put somewhere does not stay there."""

    primitive: Primitive
    kind: str = ""
    inside: bool = False


def steps_of(skill: Skill, held: str | None, *, left: bool = False) -> Iterator[PolicyStep]:
    """A skill as primitives, for an agent that holds ``held``; ``left`` if the object was left behind by a failed treatment."""
    thing, place = skill.object or "", skill.receptacle or ""
    match skill.verb:
        case "find" | "go" | "examine":
            # An object in the hand is found already, and there is no room for another.
            if (thing or place) != held:
                yield PolicyStep("go", thing or place)
        case "look" | "explore":
            yield PolicyStep(skill.verb)
        case "pick":
            if place in CONTAINERS:
                yield PolicyStep("peek", place)
            yield PolicyStep("pick", thing)
        case "slice":
            yield PolicyStep("slice", thing)
        case "open" | "close":
            yield PolicyStep(skill.verb, place or thing)
        case "use":
            yield PolicyStep("on", thing)
        case "put":
            # A model that names one target names the place.
            place = place or thing
            if place in CONTAINERS:
                yield PolicyStep("open", place)
            yield PolicyStep("put", place)
        case "clean" | "heat" | "cool" as treatment:
            treated = thing if left or held == UNRECOGNISED else held or thing
            switched = {"on": "faucet", "off": "faucet"} if treatment == "clean" else {}
            names = {"pick": treated, **switched}
            for primitive in _TABLE["left" if left else "treating"][treatment].split():
                yield PolicyStep(primitive, names.get(primitive, place or APPLIANCES[treatment]), inside=True)


def impossible(steps: Sequence[PolicyStep], held: str | None) -> str | None:
    """The reason why the hand rules out the steps, by the first that needs it; None if they can be done."""
    match next((step.primitive for step in steps if step.primitive in ("pick", "put", "slice")), None):
        case "pick" if held:
            return f"the hand is full: it holds {held if held == UNRECOGNISED else f'the {held}'}"
        case "put" if not held:
            return "the hand is empty"
        case "slice" if held not in KNIVES:
            return "there is no knife in the hand"
        case _:
            return None


def gerund(step: PolicyStep) -> str:
    """The step in words, such as "picking up the mug"."""
    return _TABLE["primitives"][step.primitive][1].format(step.kind)


ErrorMode = Literal["not found", "collision", "interaction failed", "closed receptacle", "planner's fault"]
"""The kinds of errors in OPEx's table 4, including those that the table sums up as others."""


class Spot(NamedTuple):
    """The position of an object of a kind, now or before, in metres."""

    kind: str
    x: float
    z: float
    height: float = 0.0

    def apart(self, other: Spot) -> float:
        return hypot(self.x - other.x, self.z - other.z, self.height - other.height)

    def near(self, other: Spot, within: float) -> bool:
        """True if both are of one kind and within this distance, in metres."""
        return self.kind == other.kind and self.apart(other) <= within


@dataclass(frozen=True, slots=True, eq=False)
class LowLevelAction:
    """One of ALFRED's low-level actions. An interaction gives its object as a ``mask``, never as a name or an id."""

    name: str
    mask: NDArray[bool_] | None = None
    spot: Spot | None = None  # The position of the object, as perceived.


@dataclass(frozen=True, slots=True)
class Search:
    """The progress of a search: whether it looked around, the corners left, and the places it wandered to."""

    looked: bool = False
    corners: tuple[maps.Stand, ...] | None = None
    peeked: bool = False
    wandered: int = 0
    retried: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class SeeingState:
    """The agent's observations and actions so far, and the skill in progress.

    ``stood`` has the stands that are known to be free, ``bumped`` those that proved blocked, and ``suspected`` those beside
    them. The agent ``opened`` receptacles and ``placed`` objects, the last one into the receptacle at ``filled`` unless it
    picked something up since. An object was ``treated`` at this place, where ``others`` of its kind lay before. ``sliced``
    keeps the pose of each slicing. ``avoided`` claims of the map proved wrong, ``peeked`` receptacles were looked into, and
    ``shut`` ones do not open. ``surveyed`` counts the corners of `explore`, and ``frames``, which seeds perception, the frames.

    Of the skill, ``steps`` are left to do, and ``given`` counts its actions. Of its first step, ``aim`` is the destination,
    ``sweep`` the looks left there, ``tried`` the stands without success, ``vain`` those where the action failed, ``refused``
    the number of failures, and ``turns`` the rotations left of looking around."""

    map: maps.SemanticMap
    percept: Percept
    pose: Pose
    frames: int = 1
    held: str | None = None
    stood: frozenset[maps.Stand] = frozenset()
    bumped: frozenset[maps.Stand] = frozenset()
    suspected: frozenset[maps.Stand] = frozenset()
    opened: tuple[Spot, ...] = ()
    placed: tuple[Spot, ...] = ()
    filled: Spot | None = None
    treated: Spot | None = None
    others: tuple[Spot, ...] = ()
    sliced: tuple[tuple[str, Pose], ...] = ()
    avoided: tuple[Spot, ...] = ()
    peeked: tuple[Spot, ...] = ()
    shut: tuple[Spot, ...] = ()
    surveyed: int = 0
    errors: tuple[ErrorMode, ...] = ()
    skill: Skill | None = None
    steps: tuple[PolicyStep, ...] = ()
    given: int = 0
    aim: maps.Aim | None = None
    sweep: tuple[tuple[int, int], ...] | None = None
    tried: frozenset[maps.Stand] = frozenset()
    vain: frozenset[maps.Stand] = frozenset()
    refused: int = 0
    turns: int = 0
    search: Search = field(default_factory=Search)

    @property
    def stand(self) -> maps.Stand:
        return maps.stand_of(self.pose, self.map.origin)

    @property
    def ahead(self) -> maps.Stand:
        (x, z), (dx, dz) = self.stand, AHEAD[self.pose.quarter]
        return x + dx, z + dz

    @property
    def unopened(self) -> tuple[str, ...]:
        """The kinds of closed receptacles that were found but never opened."""
        opened = {spot.kind for spot in (*self.peeked, *self.opened)}
        return tuple(kind for kind in self.map.found if kind in CONTAINERS and kind not in opened)

    def erred(self, mode: ErrorMode) -> SeeingState:
        return replace(self, errors=(*self.errors, mode))

    def afresh(self) -> SeeingState:
        """The state at the beginning of a step."""
        none = frozenset[maps.Stand]()
        return replace(self, aim=None, sweep=None, tried=none, vain=none, refused=0, turns=0, search=Search(), avoided=())

    def advanced(self) -> SeeingState:
        first, *left = self.steps
        fresh = replace(self, steps=tuple(left)).afresh()
        # The step after a ``peek`` continues the search that led to it.
        goes_on = any(one.primitive in SEARCHING for one in (first, *left))
        return replace(fresh, search=self.search) if goes_on else fresh


REACH = 1.45  # The greatest distance to act from, in metres: a little less than ALFRED allows.
LEAST_PIXELS = 1 / 6_000
"""The share of the picture that an object must fill to be acted on: twice that of ALFRED's visibility."""
LARGE = 1 / 800  # The same for what a careful agent opens: a sliver of a door may not count as visible.
VIEWED = 0.7  # Looking at a place from near also covers what is within this distance of it, in metres.
NEARLY = 3  # Steps from a place of the search that count as being there.
SAME = 0.25  # Two points of one kind that are nearer than this, in metres, count as one object.
TREATED = 1.0  # The greatest distance of a treated object from where it was put, in metres.
MOVED = 0.08  # The greatest distance between two sightings of one object from one place, in metres.
LEVEL, ROW = 0.3, 1.2  # The greatest differences in height and place of two cabinets or drawers of one row, in metres.
ROWED = ("cabinet", "drawer", "shelf")  # Receptacles that stand close together.
BESIDE, TOGETHER = 0.3, 1.0  # The greatest distances between two views of one such receptacle, and of any other, in metres.
APART = {"fridge": 1.2, "microwave": 0.8, "safe": 0.8}
"""Like `SAME`, for receptacles whose open doors are farther away."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A detection with its distance along the floor and its middle."""

    detection: Detection
    away: float
    spot: Spot


@dataclass(frozen=True, slots=True)
class Targets:
    """Finds the object of a step, by pure functions of state. ``has`` are the heuristics."""

    has: CameraSettings

    def meant(self, state: SeeingState, step: PolicyStep, spot: Spot) -> bool:
        """True if a step may mean the object at ``spot``: it did not prove wrong, and was not put there on purpose."""
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
        if step.primitive == "put" and not step.inside and (like := [one for one in state.placed if one.kind == state.held]):
            # Two things of a kind go to the same place.
            return any(one._replace(kind=step.kind).near(spot, BESIDE if step.kind in ROWED else TOGETHER) for one in like)
        opened = [one for one in state.opened if one.kind == step.kind]
        if step.primitive in ("close", "put") and opened:
            # An open door or drawer sticks out from its closed place.
            return any(one.near(spot, 3 * SAME) for one in opened)
        if step.primitive == "close":
            return not state.opened
        return True

    def claims(self, state: SeeingState, kind: str, wanted: Callable[[Spot], bool]) -> list[tuple[float, float, float]]:
        """The positions of the ``wanted`` objects of this kind on M', or else on M."""
        for voted in (True, False) if self.has.votes else (False,):
            rows = state.map.points(kind, voted=voted).tolist()
            left = [(x, z, height) for x, z, height in rows if wanted(Spot(kind, x, z, height))]
            if left:
                return left
        return []

    def approach(self, state: SeeingState, step: PolicyStep, wanted: Callable[[Spot], bool]) -> maps.Aim | None:
        targets = self.claims(state, step.kind, wanted)
        if (state.others or not targets) and step.inside and step.primitive == "pick" and state.treated and not state.avoided:
            targets = [state.treated[1:]]
        if not targets:
            return None
        rows, far = np.array(targets), None
        for tried in (state.tried, frozenset[maps.Stand]()) if state.tried else (state.tried,):
            for body in maps.BODIES:
                around = self._around(state, body)
                aim = maps.approach(around, state.map.origin, rows, tried, traversable=self.has.traversable)
                if aim is not None and (aim.height is not None or not self.has.traversable):
                    return aim
                far = far or aim
        # No path is known yet, so get nearer first.
        apart = 0 if far is None else abs(far.stand[0] - state.stand[0]) + abs(far.stand[1] - state.stand[1])
        return far if apart > NEARLY and far is not None and far.stand not in state.tried else None

    def replayed(self, state: SeeingState, step: PolicyStep) -> maps.Aim | None:
        """The stand from which the agent sliced the object of ``step``, unless it went there since."""
        if not self.has.replay or not step.kind.endswith("sliced") or state.search.looked:
            return None
        for kind, pose in reversed(state.sliced):
            if f"{kind}sliced" == step.kind:
                stand = replace(state, pose=pose).stand
                away, (dx, dz) = 0.8, AHEAD[pose.quarter]
                return None if stand in state.tried else maps.Aim(stand, pose.x + away * dx, pose.z + away * dz, EYE - away)
        return None

    def in_reach(self, state: SeeingState, step: PolicyStep, wanted: Callable[[Spot], bool]) -> Seen | None:
        """The nearest object of the step's kind in the picture that is large and near enough to act on."""
        least = LARGE if self.has.careful and ACTIONS.get(step.primitive) == "OpenObject" else LEAST_PIXELS
        found = [one for one in self.seen(state, step.kind, least) if one.away <= REACH and wanted(one.spot)]
        if step.inside and step.primitive == "pick":
            # Objects that lay there before are not the treated one, unless no other is found.
            old = () if state.avoided else state.others
            found = [one for one in found if not any(one.spot.near(other, MOVED) for other in old)]
            there = state.treated
            return min(found, key=lambda one: one.spot.apart(there) if there else one.away, default=None)
        return min(found, key=lambda one: (one.away, -one.detection.score), default=None)

    def seen(self, state: SeeingState, kind: str, least: float = LEAST_PIXELS) -> Iterator[Seen]:
        detections = [one for one in state.percept.detections if one.kind == kind]
        if not detections:
            return
        x, y, z = maps.points(state.percept.depth, state.pose)
        away = np.hypot(x - state.pose.x, z - state.pose.z)
        for one in detections:
            mine: NDArray[floating[Any]] = away[one.mask]
            if len(mine) >= max(3, least * away.size):
                middle = (float(np.median(part[one.mask])) for part in (x, z, y))
                yield Seen(one, float(np.quantile(mine, 0.1)), Spot(kind, *middle))

    def stands_open(self, state: SeeingState, kind: str) -> bool:
        """True if the agent opened a receptacle of this kind near by."""
        opened = [one for one in state.opened if one.kind == kind]
        return any(hypot(one.x - state.pose.x, one.z - state.pose.z) < 3.0 for one in opened)

    def ground(self, state: SeeingState, wanted: maps.Stand | None = None) -> maps.Ground:
        """The ground at the largest distance from obstacles that leaves a path to ``wanted``, or enough free stands."""
        found: maps.Ground | None = None
        for body in maps.BODIES:
            found = self._around(state, body)
            if found.reached(wanted) if wanted else len(found.stands()) > 8:
                break
        assert found is not None
        return found

    def _around(self, state: SeeingState, body: float) -> maps.Ground:
        bumped = state.bumped | state.suspected if body > maps.BODIES[-1] else state.bumped
        return maps.Ground(state.map, state.stand, state.stood, bumped, voted=self.has.votes, body=body)

    def wander(self, state: SeeingState, seed: str) -> maps.Stand | None:
        """A random place next to an unseen one, drawn with the seed; if there is none, any place."""
        around = self.ground(state)
        for places in (around.stands(frontier=True), around.stands()):
            if left := [one for one in places if one not in state.stood]:
                return Random(seed).choice(left)
        return None


def in_row(one: Spot, other: Spot) -> bool:
    """True if two receptacles are of one kind and in one row, where none opens if one does not."""
    level = one.kind == other.kind not in APART and abs(one.height - other.height) < LEVEL
    return level and hypot(one.x - other.x, one.z - other.z) < ROW
