"""ALFRED's seven task types, the conditions that complete each, what a plan is worth, and the four metrics of episodes.

Conditions are counted as in ALFRED's evaluation ("goal-condition success", Shridhar et al. 2020, section 5): a sliced object
adds one, two objects count separately, and treating and placing count separately and once more together.

*Exact* is the papers' high-level planning accuracy: the plan is the annotated one, subgoal by subgoal. *Goal-reaching* is a
relaxed measure of our own: executed on the symbolic model, the plan is never refused and ends with every goal condition met. It
is not the RelaxedHLP of the Socratic Planner, which accepts a fixed list of plans. *Wherever* is goal-reaching with all places
unknown: what a plan is worth if the planner did not know where anything is.

An episode's path weight is ``min(1, L / t)``: L is the number of low-level actions of the annotated demonstration, t that of
the actions taken, failed ones included. Over the episodes, goal conditions are a ratio of sums, and what is weighted by path is
weighted by L once more: a long task counts for more. OPEx and others write of "SR weighted by path" without that second weight;
the plain means have names of their own here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from housequest.worlds.alfred.model import Plan, PlanRefusal, Property, RoomState, Scene, execute
from housequest.worlds.base import Metric, Played
from housequest.worlds.household.goals import TASK_TYPES as HOUSEHOLD_TYPES
from housequest.worlds.household.goals import TYPES

if TYPE_CHECKING:
    from housequest.worlds.alfred.simulator.base import Event, SimulatedObject
    from housequest.worlds.alfred.tasks import Demonstration

TASK_TYPES: tuple[str, ...] = (*HOUSEHOLD_TYPES, "pick_and_place_with_movable_recep")  # The seven task types.
Level = Literal["easy", "normal", "hard"]
LEVELS: tuple[Level, ...] = get_args(Level)
_TREATED: dict[str, Property] = {TYPES["clean"]: "clean", TYPES["heat"]: "hot", TYPES["cool"]: "cold"}
_EVER = {TYPES[treatment]: treatment for treatment in ("clean", "heat", "cool")}


@dataclass(frozen=True, slots=True)
class AlfredGoal:
    """What a task asks for, by kind: ``object`` (or a slice) in ``receptacle``, in a ``movable`` there, or under a ``lamp``."""

    type: str
    object: str
    sliced: bool = False
    receptacle: str | None = None
    movable: str | None = None
    lamp: str | None = None

    @property
    def total(self) -> int:
        if self.type == "pick_two_obj_and_place":
            return 4 if self.sliced else 2
        basic = {"pick_and_place_simple": 1, "look_at_obj_in_light": 2}.get(self.type, 3)
        return basic + self.sliced

    def met(self, state: RoomState) -> int:
        things = dict(enumerate(state.things))
        mine = {n for n, one in things.items() if one.kind == self.object and (not self.sliced or "sliced" in one.marks)}
        placed = {n for n in mine if n != state.held and state.place(n) == self.receptacle is not None}
        match self.type:
            case "look_at_obj_in_light":
                lamps = {n: one.place for n, one in things.items() if one.kind == self.lamp and "on" in one.marks}
                # At the lamp, or where it stands.
                lit = {n for n, place in lamps.items() if state.at is not None and state.at in (n, place)}
                return self._count(mine, {state.held} & mine, lit)
            case "pick_and_place_with_movable_recep":
                movables = {n for n, one in things.items() if one.kind == self.movable}
                there = {n for n in movables if n != state.held and state.place(n) == self.receptacle}
                return self._count(mine, {things[n].inside for n in mine} & movables, there)
            case _:
                wanted = _TREATED.get(self.type)
                return self._count(mine, placed, {n for n in mine if wanted in things[n].marks}, together=len(placed))

    def seen(self, event: Event) -> int:
        """How many conditions are met after ``event``, counted as ALFRED's evaluation does (its ``tasks.py``). For the recorder
        alone. ALFRED looks for a kind's name anywhere in an id, so that a potato is also a pot, a pencil a pen and a butter
        knife a knife. Here kinds are equal or they are not, and a slice is no whole: the one difference, which makes no goal
        easier."""
        objects = event.objects

        def among(kind: str | None, fits: Callable[[SimulatedObject], bool]) -> dict[str, SimulatedObject]:
            return {one.id: one for one in objects if one.kind.casefold() == kind and fits(one)}

        mine = among(f"{self.object}sliced" if self.sliced else self.object, lambda one: one.pickupable)
        receptacles = among(self.receptacle, lambda one: one.receptacle)
        placed = {id for id, one in mine.items() if not receptacles.keys().isdisjoint(one.parents)}
        match self.type:
            case "look_at_obj_in_light":
                lamps = among(self.lamp, lambda one: one.toggleable and one.on).keys()
                return self._count(mine, {event.held} & mine.keys(), lamps & event.visible() if lamps else lamps)
            case "pick_and_place_with_movable_recep":
                movables = among(self.movable, lambda one: one.pickupable)
                filled = {parent for one in mine.values() for parent in one.parents} & movables.keys()
                there = {id for id, one in movables.items() if not receptacles.keys().isdisjoint(one.parents)}
                return self._count(mine, filled, there)
            case _:
                together = max((sum(place in one.parents for one in mine.values()) for place in receptacles), default=0)
                treated = {id for id in mine if (_EVER.get(self.type, ""), id) in event.treated}
                return self._count(mine, placed, treated, together=together)

    def _count(self, mine: Collection[object], one: Set[object], other: Set[object], *, together: int = 0) -> int:
        """Conditions met, if each of the two sets, and both together, are of a condition each; or two are ``together``."""
        two = self.type == "pick_two_obj_and_place"
        sliced = min(len(mine), 2 if two else 1) if self.sliced else 0
        return sliced + (min(together, 2) if two else bool(one) + bool(other) + bool(one & other))


def level(length: int) -> Level:
    """The Socratic Planner's level (section 4.3, figure 4): ``easy`` up to 5 steps without ``NoOp``, ``normal`` up to 10."""
    return "easy" if length <= 5 else "normal" if length <= 10 else "hard"


@dataclass(frozen=True, slots=True)
class PlanScore:
    """What a plan is worth. ``met`` of ``conditions`` hold at its end or refusal, in its most favourable reading."""

    exact: bool
    reaches: bool
    wherever: bool
    met: int
    conditions: int
    refusal: PlanRefusal | None = None


def score(plan: Plan, demonstration: Demonstration) -> PlanScore:
    """Score ``plan`` against a demonstration's plan, goal and room; it may be empty."""
    goal, scene = demonstration.goal, demonstration.scene

    def outcome(scene: Scene) -> tuple[int, PlanRefusal | None]:
        execution = execute(plan, scene)
        return max(goal.met(state) for state in execution.states), execution.refusal

    met, refusal = outcome(scene)
    reaches = refusal is None and met == goal.total
    wherever = reaches or outcome(scene.opened()) == (goal.total, None)
    return PlanScore(plan == demonstration.plan, reaches, wherever, met, goal.total, refusal)


def _metric(
    key: str, label: str, about: str, share: str, *, weight: str = "task", by_path: bool = False, main: bool = True
) -> Metric:
    """A metric by the words of ``metrics.toml``."""

    def terms(played: Played) -> tuple[float, float] | None:
        """What a task adds above and below the line; None where it is not known."""
        length, conditions = played.annotated, played.conditions or 0
        if (share == "met" and not conditions) or (length is None and (by_path or weight == "length")):
            return None
        if weight == "conditions":
            return float(played.met), float(conditions)
        value = float(played.won) if share == "won" else played.met / conditions
        path = min(1.0, (length or 0) / played.steps) if by_path and played.steps else 1.0
        counts = float(length or 0) if weight == "length" else 1.0
        return value * path * counts, counts

    return Metric(key, label, about, terms, main=main)


_ROWS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("metrics.toml").read_text("utf-8"))["metrics"]
METRICS = tuple(_metric(**row) for row in _ROWS)
UNWEIGHTED = tuple(_metric(**row) for row in _ROWS if "by_path" not in row)
"""What does not depend on how many actions were taken."""
