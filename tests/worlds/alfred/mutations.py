"""Ways to break a plan that works, each with what the symbolic model must say of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from housequest.worlds.alfred.model import ActionName, Cause, Plan, PlanStep, Thing, accepts
from housequest.worlds.alfred.tasks import Demonstration, score
from housequest.worlds.household.goals import KNIVES

_TREATMENTS: dict[str, ActionName] = {
    "pick_clean_then_place_in_recep": "CleanObject",
    "pick_heat_then_place_in_recep": "HeatObject",
    "pick_cool_then_place_in_recep": "CoolObject",
}
MUTATIONS = frozenset(
    {
        "no knife",
        "lamp left off",
        "another lamp",
        "put without being there",
        "wrong receptacle",
        "treated after placing",
        "treated elsewhere",
        "not treated",
        "not put into it",
    }
)

_APPLIANCES = frozenset({"sinkbasin", "microwave", "fridge"})
_OTHER = {"desklamp": "floorlamp", "floorlamp": "desklamp"}


@dataclass(frozen=True, slots=True)
class Mutation:
    """A broken ``plan`` for ``task``.

    It is refused at ``step`` (from 1) for ``cause``, or else carried out to its end with so many goal conditions ``unmet``.
    """

    name: str
    task: Demonstration
    plan: Plan
    cause: Cause | None = None
    step: int = 0
    unmet: tuple[int, ...] = ()

    def wrong(self) -> str:
        """What the symbolic model says in place of that; empty where it is right."""
        found = score(self.plan, self.task)
        if found.exact or found.reaches:
            return "it is accepted"
        if found.refusal is None:
            unmet = found.conditions - found.met
            return "" if unmet in self.unmet else f"{unmet} unmet"
        return "" if (found.refusal.cause, found.refusal.step) == (self.cause, self.step) else f"refused: {found.refusal}"


def mutations(task: Demonstration) -> Iterator[Mutation]:
    """Those that apply to a plan that is accepted; every plan has at least one."""
    plan, goal = task.plan, task.goal
    if goal.sliced:
        cut = _all(plan, "SliceObject")[0]
        knife = max(at for at in _all(plan, "PickupObject") if at < cut and plan[at].thing in KNIVES)
        yield Mutation("no knife", task, _without(plan, knife), "no knife in hand", cut)
    if goal.lamp:
        yield Mutation("lamp left off", task, _without(plan, _all(plan, "ToggleObject")[-1]), unmet=(1,))
        yield _another_lamp(task, goal.lamp)
    placed = _puts(plan, goal.receptacle)
    if not placed:
        return
    last = placed[-1]
    elsewhere = next(
        kind for kind in sorted(task.scene.receptacles) if kind != goal.receptacle and accepts(kind, plan[last].thing)
    )
    there = PlanStep("GotoLocation", elsewhere)
    yield Mutation("put without being there", task, (*plan[:last], there, *plan[last:]), "not here", last + 2)
    yield _misplaced(task, placed, there)
    if goal.type in _TREATMENTS:
        yield from _untreated(task, _all(plan, _TREATMENTS[goal.type])[-1], last)
    if goal.movable:
        yield _left_beside(task, goal.movable)


def applicable(task: Demonstration) -> set[str]:
    """The names of those that a task calls for: by what its goal asks for, and whether its plan places anything."""
    goal = task.goal
    names = {"lamp left off", "another lamp"} if goal.lamp else set[str]()
    if _puts(task.plan, goal.receptacle):
        names |= {"put without being there", "wrong receptacle"}
    if goal.type in _TREATMENTS:
        names |= {"treated after placing", "treated elsewhere", "not treated"}
    return names | ({"no knife"} if goal.sliced else set()) | ({"not put into it"} if goal.movable else set())


def _another_lamp(task: Demonstration, lamp: str) -> Mutation:
    """The room has the other kind of lamp too, and the plan goes to that one and turns it on."""
    other = _OTHER[lamp]
    room = replace(task.scene, things=(*task.scene.things, Thing(other)))
    plan = tuple(replace(one, thing=other) if one.thing == lamp else one for one in task.plan)
    return Mutation("another lamp", replace(task, scene=room), plan, unmet=(1,))


def _untreated(task: Demonstration, treated: int, last: int) -> Iterator[Mutation]:
    """It is placed before it is treated, or treated at the wrong place, or not at all."""
    plan = task.plan
    begins, placing = (at - (plan[at - 1].action == "GotoLocation") for at in (treated, last))
    swapped = (*plan[:begins], *plan[placing : last + 1], *plan[begins:placing], *plan[last + 1 :])
    yield Mutation("treated after placing", task, swapped, "not in hand", treated + 1 + last + 1 - placing)
    away = PlanStep("GotoLocation", min(task.scene.receptacles - _APPLIANCES))
    yield Mutation("treated elsewhere", task, (*plan[:treated], away, *plan[treated:]), "not at the appliance", treated + 2)
    yield Mutation("not treated", task, _without(plan, treated), unmet=(2,))


def _left_beside(task: Demonstration, movable: str) -> Mutation:
    """The movable receptacle stays empty; what should be in it is still in hand when another thing is picked up."""
    filled = _puts(task.plan, movable)[-1]
    taken = next((at for at in _all(task.plan, "PickupObject") if at > filled), None)
    left = _without(task.plan, filled)
    if taken is None:
        return Mutation("not put into it", task, left, unmet=(2,))
    return Mutation("not put into it", task, left, "hand full", taken)


def _misplaced(task: Demonstration, placed: Sequence[int], there: PlanStep) -> Mutation:
    """What is placed last is put somewhere else, and the plan goes on from where it would have been.

    Of two slices all are, since those that one cut leaves in the right place would be two, wherever another one goes.
    """
    goal = task.goal
    two = goal.type == "pick_two_obj_and_place"
    wrong = [at for at in placed if task.plan[at].thing == goal.object] if two and goal.sliced else [placed[-1]]
    plan: list[PlanStep] = []
    for at, one in enumerate(task.plan):
        back = PlanStep("GotoLocation", one.receptacle or "")
        plan += [there, replace(one, receptacle=there.thing), back] if at in wrong else [one]
    name, broken, later = "wrong receptacle", tuple(plan), task.plan[placed[-1] + 1 :]
    if later and goal.movable:
        # What is filled last is no longer there, unless the plan goes to it by name.
        filled = _puts(broken, goal.movable)[-1]
        return Mutation(name, _with_one(task, goal.movable), broken, "not here", filled + 1, unmet=(2,))
    if later and goal.sliced and not two:
        cut = _all(broken, "SliceObject")[0]
        return Mutation(name, _with_one(task, goal.object), broken, "not here", cut + 1, unmet=(1,))
    if goal.sliced:
        # The rest of what was cut may lie there, but it is not what was treated.
        return Mutation(name, task, broken, unmet=(1, 2))
    return Mutation(name, task, broken, unmet=(1,) if two or goal.type == "pick_and_place_simple" else (2,))


def _with_one(task: Demonstration, kind: str) -> Demonstration:
    """The task in a room with no more than one of ``kind``, the one that its plan touches."""
    first = next(thing for thing in task.scene.things if thing.kind == kind)
    things = tuple(thing for thing in task.scene.things if thing.kind != kind or thing is first)
    return replace(task, scene=replace(task.scene, things=things))


def _without(plan: Plan, at: int) -> Plan:
    return plan[:at] + plan[at + 1 :]


def _all(plan: Plan, action: ActionName) -> list[int]:
    return [at for at, one in enumerate(plan) if one.action == action]


def _puts(plan: Plan, receptacle: str | None) -> list[int]:
    return [at for at in _all(plan, "PutObject") if plan[at].receptacle == receptacle]
