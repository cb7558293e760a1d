"""Small rooms and demonstrations for tests, without the published data."""

from __future__ import annotations

from worlds.alfred.goals import Goal
from worlds.alfred.plans import Plan, read_plan
from worlds.alfred.state import Scene, Thing, receptacles_of
from worlds.alfred.tasks import Demonstration, Instruction

KITCHEN = Scene(
    receptacles_of("kitchen"),
    (
        Thing("knife", "countertop"),
        Thing("apple", "diningtable"),
        Thing("mug", "sinkbasin"),
        Thing("potato"),
        Thing("pan", "stoveburner"),
    ),
)
BEDROOM = Scene(
    receptacles_of("bedroom"), (Thing("book", "bed"), Thing("desklamp"), Thing("pen", "desk"), Thing("pen", "shelf"))
)

HOT_SLICE = read_plan(
    """GotoLocation countertop
    PickupObject knife
    GotoLocation apple
    SliceObject apple
    GotoLocation countertop
    PutObject knife countertop
    GotoLocation diningtable
    PickupObject apple
    GotoLocation microwave
    HeatObject apple
    GotoLocation garbagecan
    PutObject apple garbagecan"""
)


def demonstration(goal: Goal, plan: Plan, scene: Scene = KITCHEN) -> Demonstration:
    """A demonstration of that plan in one of the rooms."""
    told = Instruction(1, "Do it.", tuple(str(subgoal) for subgoal in plan))
    return Demonstration("example/task/trial", "example", goal.type, goal, plan, scene, (told,))


HOT_SLICE_TASK = demonstration(Goal("pick_heat_then_place_in_recep", "apple", sliced=True, receptacle="garbagecan"), HOT_SLICE)
