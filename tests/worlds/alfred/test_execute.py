"""The symbolic model: what it accepts, what it refuses and why, and that no plan can make it run away."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfred.model import ARGUMENTS, LONGEST_PLAN, READINGS, PlanStep, Thing, execute, read_plan
from housequest.worlds.alfred.tasks import AlfredGoal, score
from tests.worlds.alfred.mutations import applicable, mutations
from tests.worlds.alfred.rooms import BEDROOM, BY_TYPE, HOT_SLICE, HOT_SLICE_TASK, KITCHEN, demonstration


def test_a_plan_that_works_reaches_its_goal() -> None:
    found = score(HOT_SLICE, HOT_SLICE_TASK)
    assert (found.exact, found.reaches, found.wherever, found.met, found.conditions) == (True, True, True, 4, 4)


@pytest.mark.parametrize("kind", BY_TYPE)
def test_a_plan_of_each_type_works_until_it_is_broken(kind: str) -> None:
    task = BY_TYPE[kind]
    assert score(task.plan, task).reaches
    broken = {mutation.name: mutation for mutation in mutations(task)}
    assert set(broken) == applicable(task)
    assert {name: mutation.wrong() for name, mutation in broken.items()} == dict.fromkeys(broken, "")


def test_the_other_lamp_does_not_help_and_is_refused_where_there_is_none() -> None:
    look = BY_TYPE["look"]
    (other,) = (mutation for mutation in mutations(look) if mutation.name == "another lamp")
    assert (score(other.plan, other.task).refusal, score(other.plan, other.task).met) == (None, 1)
    assert str(score(other.plan, look).refusal) == "step 3, GotoLocation floorlamp: not in this room"


@pytest.mark.parametrize(
    ("plan", "cause"),
    [
        ("PickupObject apple", "not here"),
        ("GotoLocation apple\nPickupObject apple\nGotoLocation sinkbasin\nPickupObject mug", "hand full"),
        ("GotoLocation countertop\nPickupObject apple", "not here"),
        ("GotoLocation apple\nSliceObject apple", "no knife in hand"),
        ("GotoLocation egg", "not in this room"),
        ("GotoLocation bed", "not in this room"),
        ("GotoLocation spaceship", "unknown name"),
        ("GotoLocation apple\nPickupObject apple\nHeatObject apple", "not at the appliance"),
        ("GotoLocation apple\nPickupObject apple\nPutObject apple toilet", "does not go there"),
        ("GotoLocation apple\nPickupObject apple\nPutObject apple fridge", "not here"),
        ("GotoLocation microwave\nHeatObject apple", "not in hand"),
        ("GotoLocation pan\nPickupObject pan\nGotoLocation microwave\nHeatObject pan", "not possible with it"),
        ("GotoLocation apple\nToggleObject apple", "not possible with it"),
        ("GotoLocation fridge\nPickupObject fridge", "not possible with it"),
    ],
)
def test_a_refusal_says_where_and_why(plan: str, cause: str) -> None:
    refusal = execute(read_plan(plan), KITCHEN).refusal
    assert refusal is not None and (refusal.cause, refusal.step) == (cause, len(plan.splitlines()))


def test_what_nobody_said_is_decided_in_the_plans_favour_and_then_holds() -> None:
    # The potato may lie in the fridge; once it does, it cannot also lie in the sink.
    assert execute(read_plan("GotoLocation fridge\nPickupObject potato"), KITCHEN).refusal is None
    knife = "GotoLocation countertop\nPickupObject knife\n"
    there_and_back = f"{knife}GotoLocation fridge\nSliceObject potato\nPutObject knife fridge\nGotoLocation sinkbasin\n"
    refusal = execute(read_plan(f"{there_and_back}PickupObject potato"), KITCHEN).refusal
    assert refusal is not None and refusal.cause == "not here"
    assert execute(read_plan("GotoLocation toilet"), KITCHEN).refusal is not None


def test_a_thing_of_open_place_says_where_the_agent_stands() -> None:
    plan = read_plan("GotoLocation desklamp\nToggleObject desklamp\nPickupObject book")
    look = demonstration(AlfredGoal("look_at_obj_in_light", "book", lamp="desklamp"), plan, BEDROOM)
    assert score(plan, look).reaches
    # Walking off with the book leaves the light, and a second push turns it off.
    assert score((*plan, *read_plan("GotoLocation desk")), look).met == 1
    assert score((*plan, *read_plan("ToggleObject desklamp")), look).met == 1


def test_two_objects_must_both_be_there() -> None:
    first, second = "GotoLocation desk\nPickupObject pen\n", "GotoLocation shelf\nPickupObject pen\n"
    away = "GotoLocation drawer\nPutObject pen drawer\n"
    both = demonstration(
        AlfredGoal("pick_two_obj_and_place", "pen", receptacle="drawer"), read_plan(first + away + second + away), BEDROOM
    )
    assert score(both.plan, both).reaches
    twice = score(read_plan(first + away + "PickupObject pen\nPutObject pen drawer"), both)
    assert (twice.reaches, twice.met, twice.conditions) == (False, 1, 2)


def test_what_is_carried_in_something_goes_with_it() -> None:
    plan = read_plan(
        """GotoLocation apple
        PickupObject apple
        GotoLocation pan
        PutObject apple pan
        PickupObject pan
        GotoLocation countertop
        PutObject pan countertop"""
    )
    goal = AlfredGoal("pick_and_place_with_movable_recep", "apple", movable="pan", receptacle="countertop")
    task = demonstration(goal, plan)
    assert score(plan, task).reaches
    assert score(plan[:-1], task).met == 1
    assert execute((*plan, *read_plan("PickupObject apple")), KITCHEN).refusal is None


def test_places_that_were_told_count_unless_they_are_left_open() -> None:
    plan = read_plan("GotoLocation sinkbasin\nPickupObject apple\nGotoLocation fridge\nPutObject apple fridge")
    task = demonstration(AlfredGoal("pick_and_place_simple", "apple", receptacle="fridge"), read_plan("GotoLocation apple"))
    found = score(plan, task)
    assert (found.reaches, found.wherever, found.met) == (False, True, 0)
    assert str(found.refusal) == "step 2, PickupObject apple: not here"


def test_one_slice_of_a_loaf_can_be_taken_and_then_another() -> None:
    knife, back = "GotoLocation countertop\nPickupObject knife\nGotoLocation apple\n", "PutObject knife diningtable\n"
    one = "GotoLocation diningtable\nPickupObject apple\nGotoLocation fridge\nPutObject apple fridge\n"
    goal = AlfredGoal("pick_two_obj_and_place", "apple", sliced=True, receptacle="fridge")
    plan = read_plan(f"{knife}SliceObject apple\n{back}{one}{one}")
    assert score(plan, demonstration(goal, plan)).met == 4


NAMES = st.sampled_from(["apple", "pan", "knife", "countertop", "fridge", "potato", "mug", "spaceship", ""])
SUBGOALS = st.builds(
    lambda action, one, other: PlanStep(action, one, other if ARGUMENTS[action] == 2 else None),
    st.sampled_from(sorted(ARGUMENTS)),
    NAMES,
    NAMES,
)


@given(st.lists(SUBGOALS, max_size=LONGEST_PLAN))
def test_any_plan_ends_and_is_scored(plan: list[PlanStep]) -> None:
    crowded = replace(KITCHEN, things=KITCHEN.things + tuple(Thing(kind) for kind in ("apple", "pan", "knife", "mug") * 5))
    task = replace(HOT_SLICE_TASK, scene=crowded)
    execution = execute(tuple(plan), crowded)
    assert 1 <= len(execution.states) <= READINGS
    found = score(tuple(plan), task)
    assert 0 <= found.met <= found.conditions
    assert found.wherever or not found.reaches
