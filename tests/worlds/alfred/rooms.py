"""Small rooms and demonstrations for tests, without the published data."""

from __future__ import annotations

from housequest.worlds.alfred.model import Plan, SymbolicScene, Thing, read_plan, receptacles_of
from housequest.worlds.alfred.tasks import AlfredGoal, Demonstration, Instruction

KITCHEN = SymbolicScene(
    receptacles_of("kitchen"),
    (
        Thing("knife", "countertop"),
        Thing("apple", "diningtable"),
        Thing("mug", "sinkbasin"),
        Thing("potato"),
        Thing("pan", "stoveburner"),
    ),
)
BEDROOM = SymbolicScene(
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


def demonstration(goal: AlfredGoal, plan: Plan, scene: SymbolicScene = KITCHEN) -> Demonstration:
    """A demonstration of that plan in one of the rooms."""
    told = Instruction(1, "Do it.", tuple(str(subgoal) for subgoal in plan))
    return Demonstration("example/task/trial", "example", goal.type, goal, plan, scene, (told,))


HOT_SLICE_TASK = demonstration(
    AlfredGoal("pick_heat_then_place_in_recep", "apple", sliced=True, receptacle="garbagecan"), HOT_SLICE
)


def _task(goal: AlfredGoal, plan: str, scene: SymbolicScene = KITCHEN) -> Demonstration:
    return demonstration(goal, read_plan(plan.replace(", ", "\n")), scene)


BY_TYPE = {
    "simple": _task(
        AlfredGoal("pick_and_place_simple", "mug", receptacle="coffeemachine"),
        "GotoLocation sinkbasin, PickupObject mug, GotoLocation coffeemachine, PutObject mug coffeemachine",
    ),
    "look": _task(
        AlfredGoal("look_at_obj_in_light", "book", lamp="desklamp"),
        "GotoLocation bed, PickupObject book, GotoLocation desklamp, ToggleObject desklamp",
        BEDROOM,
    ),
    "clean": _task(
        AlfredGoal("pick_clean_then_place_in_recep", "mug", receptacle="cabinet"),
        "GotoLocation sinkbasin, PickupObject mug, CleanObject mug, GotoLocation cabinet, PutObject mug cabinet",
    ),
    "heat, sliced": HOT_SLICE_TASK,
    "cool": _task(
        AlfredGoal("pick_cool_then_place_in_recep", "apple", receptacle="countertop"),
        "GotoLocation diningtable, PickupObject apple, GotoLocation fridge, CoolObject apple, GotoLocation countertop, "
        "PutObject apple countertop",
    ),
    "two": _task(
        AlfredGoal("pick_two_obj_and_place", "pen", receptacle="drawer"),
        "GotoLocation desk, PickupObject pen, GotoLocation drawer, PutObject pen drawer, GotoLocation shelf, PickupObject pen, "
        "GotoLocation drawer, PutObject pen drawer",
        BEDROOM,
    ),
    "two, sliced": _task(
        AlfredGoal("pick_two_obj_and_place", "apple", sliced=True, receptacle="fridge"),
        "GotoLocation countertop, PickupObject knife, GotoLocation apple, SliceObject apple, PutObject knife diningtable, "
        "PickupObject apple, GotoLocation fridge, PutObject apple fridge, GotoLocation diningtable, PickupObject apple, "
        "GotoLocation fridge, PutObject apple fridge",
    ),
    "movable": _task(
        AlfredGoal("pick_and_place_with_movable_recep", "apple", movable="pan", receptacle="countertop"),
        "GotoLocation diningtable, PickupObject apple, GotoLocation stoveburner, PutObject apple pan, PickupObject pan, "
        "GotoLocation countertop, PutObject pan countertop",
    ),
    "movable, filled last": _task(
        AlfredGoal("pick_and_place_with_movable_recep", "apple", movable="pan", receptacle="diningtable"),
        "GotoLocation stoveburner, PickupObject pan, GotoLocation diningtable, PutObject pan diningtable, PickupObject apple, "
        "PutObject apple pan",
    ),
}
"""A task of each of the seven types, and of what makes their plans differ."""
