"""The goals of ALFRED's made-up houses: all seven types, slices, and their words."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfred.tasks import STACK, TASK_TYPES, AlfredGoal
from housequest.worlds.alfred.world import AlfredWorld
from housequest.worlds.household.goals import TYPES

_KINDS = st.sampled_from(["apple", "mug", "soapbar", "egg", "remotecontrol"])
_GOALS = st.one_of(
    st.builds(
        AlfredGoal,
        st.sampled_from([one for one in TASK_TYPES if one not in (STACK, TYPES["light"])]),
        _KINDS,
        st.booleans(),
        receptacle=st.sampled_from(["countertop", "fridge"]),
    ),
    st.builds(AlfredGoal, st.just(STACK), _KINDS, st.booleans(), receptacle=st.just("shelf"), movable=st.just("bowl")),
    st.builds(AlfredGoal, st.just(TYPES["light"]), _KINDS, st.booleans(), lamp=st.just("desklamp")),
)


@given(_GOALS)
def test_a_goal_is_read_from_its_sentence(goal: AlfredGoal) -> None:
    assert AlfredGoal.read(goal.sentence) == goal


@given(st.text())
def test_other_words_are_no_goal(said: str) -> None:
    assert AlfredGoal.read(f"{said} then") is None


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (AlfredGoal(TYPES["heat"], "apple", True, "fridge"), "put a hot slice of apple in fridge."),
        (AlfredGoal(TYPES["two"], "apple", True, "fridge"), "put two slices of apple in fridge."),
        (AlfredGoal(TYPES["light"], "apple", True, lamp="desklamp"), "look at slice of apple under the desklamp."),
        (AlfredGoal(STACK, "egg", receptacle="shelf", movable="bowl"), "put an egg in a bowl and put that in shelf."),
        (AlfredGoal(STACK, "apple", True, "shelf", "pan"), "put a slice of apple in a pan and put that in shelf."),
    ],
)
def test_slices_and_stacks_are_named(goal: AlfredGoal, said: str) -> None:
    assert goal.sentence == said


@pytest.mark.heavy
def test_made_up_houses_have_goals_of_all_types_that_do_not_hold_at_first() -> None:
    world = AlfredWorld()
    tasks = [world.task(f"generated:{seed}") for seed in range(100)]
    types = Counter(task.type for task in tasks)
    assert set(types) == set(TASK_TYPES) == set(world.info.task_types)
    goals = [world.generated.goal(task.number) for task in tasks]
    assert any(goal.sliced for goal in goals) and not all(goal.sliced for goal in goals)
    for task, goal in zip(tasks[:12], goals[:12], strict=True):
        assert AlfredGoal.read(task.goal) == goal
        env = world.open(task)
        env.reset()
        met, total = env.goal_conditions() or (0, 0)
        assert met < total == goal.total
    assert [world.task(task.reference) for task in tasks[:5]] == tasks[:5]
