"""Ways to break a plan that works, each of which the symbolic model must see."""

from __future__ import annotations

from dataclasses import replace

from worlds.alfred.plans import Plan
from worlds.alfred.state import KNIVES, accepts
from worlds.alfred.tasks import Demonstration

_TREATMENTS = ("CleanObject", "HeatObject", "CoolObject")


def broken(task: Demonstration) -> dict[str, Plan]:
    """The mutations that apply to a task's plan, by name; every task has at least one."""
    plan, goal = task.plan, task.goal
    found: dict[str, Plan] = {}
    if goal.sliced:
        found["no knife picked up"] = tuple(s for s in plan if not (s.action == "PickupObject" and s.thing in KNIVES))
    if goal.lamp:
        found["lamp left off"] = tuple(s for s in plan if s.action != "ToggleObject")
        found["another lamp"] = tuple(replace(s, thing="lamp") if s.action == "ToggleObject" else s for s in plan)
    treated = next((at for at, s in enumerate(plan) if s.action in _TREATMENTS), None)
    last = max((at for at, s in enumerate(plan) if s.action == "PutObject" and s.receptacle == goal.receptacle), default=None)
    if last is None:
        return found
    if treated is not None:
        swapped = list(plan)
        swapped[treated], swapped[last] = swapped[last], swapped[treated]
        found["treated after placing"] = tuple(swapped)
    elsewhere = next(
        kind for kind in sorted(task.scene.receptacles) if kind != goal.receptacle and accepts(kind, plan[last].thing)
    )
    moved = [*plan[:last], replace(plan[last], receptacle=elsewhere), *plan[last + 1 :]]
    found["put without going there"] = tuple(moved)
    if plan[last - 1].action == "GotoLocation":
        # Everywhere, since two slices that one plan leaves in the right place are two, wherever the second one goes.
        found["wrong receptacle"] = tuple(
            replace(s, receptacle=elsewhere)
            if s.receptacle == goal.receptacle
            else replace(s, thing=elsewhere)
            if s.action == "GotoLocation" and s.thing == goal.receptacle and at > 0
            else s
            for at, s in enumerate(plan)
        )
    return found
