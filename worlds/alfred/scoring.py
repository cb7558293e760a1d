"""ALFRED's seven task types, the conditions that complete each, and what a plan is worth.

Conditions are counted as in ALFRED's evaluation ("goal-condition success", Shridhar et al. 2020, section 5): a sliced object
adds one, two objects count separately, and treating and placing count separately and once more together.

*Exact* is the papers' high-level planning accuracy: the plan is the annotated one, subgoal by subgoal. *Goal-reaching* is a
relaxed measure of our own: executed on the symbolic model, the plan is never refused and ends with every goal condition met.
It is not the RelaxedHLP of the Socratic Planner, which accepts a fixed list of plans. *Wherever* is goal-reaching with all
places unknown: what a plan is worth if the planner did not know where anything is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from housequest.worlds.alfred.model import PlanRefusal, Property, RoomState, Scene, execute
from housequest.worlds.alfred.plans import Plan
from housequest.worlds.household.goals import TASK_TYPES as HOUSEHOLD_TYPES
from housequest.worlds.household.goals import TYPES

if TYPE_CHECKING:
    from housequest.worlds.alfred.simulator.base import Event, SimulatedObject
    from housequest.worlds.alfred.tasks import Demonstration

TASK_TYPES: tuple[str, ...] = (*HOUSEHOLD_TYPES, "pick_and_place_with_movable_recep")
"""The seven task types."""

Level = Literal["easy", "normal", "hard"]
LEVELS: tuple[Level, ...] = get_args(Level)

_TREATED: dict[str, Property] = {
    TYPES["clean"]: "clean",
    TYPES["heat"]: "hot",
    TYPES["cool"]: "cold",
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


def conditions(goal: AlfredGoal, event: Event) -> tuple[int, int]:
    """(met, total) of the goal's conditions after ``event``, counted as ALFRED's evaluation does (its ``tasks.py``).

    For the recorder alone. ALFRED looks for a kind's name anywhere in an id, so that a potato is also a pot, a pencil a pen and
    a butter knife a knife. Here kinds are equal or they are not, and a slice is no whole: the one difference, which makes no
    goal easier.
    """
    return _met(goal, event), goal.total


def _met(goal: AlfredGoal, event: Event) -> int:
    objects = event.objects
    mine = [one for one in _of_kind(f"{goal.object}sliced" if goal.sliced else goal.object, objects) if one.pickupable]
    receptacles = [one for one in _of_kind(goal.receptacle, objects) if one.receptacle]
    placed = {one.id for one in mine if any(_in(one, there) for there in receptacles)}
    sliced = min(len(mine), 2 if goal.type == "pick_two_obj_and_place" else 1) if goal.sliced else 0
    match goal.type:
        case "pick_and_place_simple":
            return sliced + bool(placed)
        case "pick_two_obj_and_place":
            together = max((sum(_in(one, there) for one in mine) for there in receptacles), default=0)
            return sliced + min(together, 2)
        case "look_at_obj_in_light":
            lamps = [one for one in _of_kind(goal.lamp, objects) if one.toggleable and one.on]
            seen = event.visible() if lamps else frozenset[str]()
            return sliced + any(one.id == event.held for one in mine) + any(one.id in seen for one in lamps)
        case "pick_and_place_with_movable_recep":
            movables = [one for one in _of_kind(goal.movable, objects) if one.pickupable]
            there = [one for one in movables if any(_in(one, place) for place in receptacles)]
            filled = any(_in(one, movable) for one in mine for movable in movables)
            return sliced + filled + bool(there) + any(_in(one, movable) for one in mine for movable in there)
        case type:
            cleaned, heated, cooled = event.treated.cleaned, event.treated.heated, event.treated.cooled
            ever: dict[str, frozenset[str]] = {TYPES["clean"]: cleaned, TYPES["heat"]: heated, TYPES["cool"]: cooled}
            treated = {one.id for one in mine} & ever[type]
            return sliced + bool(placed) + bool(treated) + bool(placed & treated)


def _of_kind(kind: str | None, objects: Iterable[SimulatedObject]) -> list[SimulatedObject]:
    return [one for one in objects if one.kind.casefold() == kind]


def _in(one: SimulatedObject, receptacle: SimulatedObject) -> bool:
    return receptacle.id in one.parents


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
