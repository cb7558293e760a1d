"""ALFRED's seven task types, the conditions that complete each, and what a plan is worth.

Conditions are counted as in ALFRED's evaluation ("goal-condition success", Shridhar et al. 2020, section 5): a sliced object
adds one, two objects count separately, and treating and placing count separately and once more together.

*Exact* is the papers' high-level planning accuracy: the plan is the annotated one, subgoal by subgoal. *Goal-reaching* is a
relaxed measure of our own: executed on the symbolic model, the plan is never refused and ends with every goal condition met.
It is not the RelaxedHLP of the Socratic Planner, which accepts a fixed list of plans. *Wherever* is goal-reaching with all
places unknown: what a plan is worth if the planner did not know where anything is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from housequest.worlds.alfred.model import PlanRefusal, Property, RoomState, Scene, execute
from housequest.worlds.alfred.plans import Plan
from housequest.worlds.household.goals import TASK_TYPES as HOUSEHOLD_TYPES

if TYPE_CHECKING:
    from housequest.worlds.alfred.tasks import Demonstration

TASK_TYPES: tuple[str, ...] = (*HOUSEHOLD_TYPES, "pick_and_place_with_movable_recep")
"""The seven task types."""

Level = Literal["easy", "normal", "hard"]
LEVELS: tuple[Level, ...] = get_args(Level)

_TREATED: dict[str, Property] = {
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "hot",
    "pick_cool_then_place_in_recep": "cold",
}


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
        """How many conditions there are."""
        if self.type == "pick_two_obj_and_place":
            return 4 if self.sliced else 2
        basic = {"pick_and_place_simple": 1, "look_at_obj_in_light": 2}.get(self.type, 3)
        return basic + self.sliced

    def met(self, state: RoomState) -> int:
        """How many conditions hold in ``state``."""
        mine = [index for index, thing in enumerate(state.things) if thing.kind == self.object]
        mine = [index for index in mine if not self.sliced or "sliced" in state.things[index].marks]
        count = min(len(mine), 2 if self.type == "pick_two_obj_and_place" else 1) if self.sliced else 0
        placed = [index for index in mine if index != state.held and state.place(index) == self.receptacle is not None]
        match self.type:
            case "pick_and_place_simple":
                return count + bool(placed)
            case "pick_two_obj_and_place":
                return count + min(len(placed), 2)
            case "look_at_obj_in_light":
                lamps = [index for index, thing in enumerate(state.things) if thing.kind == self.lamp and "on" in thing.marks]
                # At the lamp, or where it stands.
                lit = state.at is not None and any(state.at in (index, state.things[index].place) for index in lamps)
                return count + (state.held in mine) + lit
            case "pick_and_place_with_movable_recep":
                movables = {index for index, thing in enumerate(state.things) if thing.kind == self.movable}
                filled = {state.things[index].inside for index in mine} & movables
                there = {index for index in movables if index != state.held and state.place(index) == self.receptacle}
                return count + bool(filled) + bool(there) + bool(filled & there)
            case _:
                treated = [index for index in mine if _TREATED[self.type] in state.things[index].marks]
                return count + bool(placed) + bool(treated) + bool(set(placed) & set(treated))


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

    @property
    def share(self) -> float:
        """The share of goal conditions met."""
        return self.met / self.conditions


def score(plan: Plan, demonstration: Demonstration) -> PlanScore:
    """Score ``plan`` against a demonstration's plan, goal and room; it may be empty."""
    met, refusal = _outcome(plan, demonstration.goal, demonstration.scene)
    total = demonstration.goal.total
    reaches = refusal is None and met == total
    wherever = reaches or _outcome(plan, demonstration.goal, demonstration.scene.opened()) == (total, None)
    return PlanScore(
        exact=plan == demonstration.plan,
        reaches=reaches,
        wherever=wherever,
        met=met,
        conditions=total,
        refusal=refusal,
    )


def _outcome(plan: Plan, goal: AlfredGoal, scene: Scene) -> tuple[int, PlanRefusal | None]:
    """The conditions met at the end of the best reading, and why the plan was refused."""
    execution = execute(plan, scene)
    return max(goal.met(state) for state in execution.states), execution.refusal
