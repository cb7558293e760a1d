"""An agent that plans for one goal at a time picks it in company, in chores and in apartments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from housequest.agent.skills.language.sentences import Surroundings
from housequest.agent.skills.partnership import MOST_WAITS, NOBODY_ASKED, Partnership, goal_at, picking
from housequest.worlds.alfworld.text import HOUSEHOLD as ROOM
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief, BeliefBuilder, Receptacle
from housequest.worlds.shared import WAIT

graphs = pytest.importorskip("housequest.worlds.graphs.household", reason="not installed here: graphs")
APARTMENT: Household = graphs.HOUSEHOLD
GOAL = "put one water glass, two cutlery forks and one plate in the dishwasher and switch it on."
GLASS, FORKS, PLATE = "waterglass 1", ("cutleryfork 1", "cutleryfork 2"), "plate 1"


def scene(*inside: str, held: str = "", goal: str = GOAL) -> Surroundings:
    """An apartment with a dishwasher, and what is known to be in it."""
    builder = BeliefBuilder(Belief(hands=2, in_one_place=True))
    builder.places["dishwasher 1"] = Receptacle("dishwasher 1", "dishwasher 1", openness="open", contents=inside)
    for name in inside:
        builder.learn(name, where="dishwasher 1")
    if held:
        builder.hold(held)
    return Surroundings(builder.belief(), APARTMENT, goal, ())


@pytest.mark.parametrize(
    ("sentence", "reader", "clauses"),
    [
        (GOAL, APARTMENT, ("put one water glass in the dishwasher", "put two cutlery forks in the dishwasher", None)),
        ("put two plates on the coffee table.", APARTMENT, ("put two plates on the coffee table",)),
        ("put a hot egg in fridge, and put two mug in drawer.", ROOM, ("put a hot egg in fridge", "put two mug in drawer")),
        ("clean some egg and put it in fridge.", ROOM, ("clean some egg and put it in fridge",)),
    ],
)
def test_each_goal_has_a_sentence_that_is_read_as_it(sentence: str, reader: Household, clauses: tuple[str | None, ...]) -> None:
    goals = reader.read_goals(sentence)
    assert len(goals) == len(clauses)
    for number, (goal, clause) in enumerate(zip(goals, clauses, strict=True), start=1):
        assert reader.read_goals(goal_at(number, sentence, reader)) == (goal,)
        assert clause in (None, goal_at(number, sentence, reader).rstrip("."))
    assert goal_at(len(goals) + 1, sentence, reader) == sentence


def test_what_others_are_at_is_left_to_them() -> None:
    picked = picking(Partnership(claims=(("Bob", 1),)), scene())
    assert (picked.command, picked.partnership.goal) == (None, 2)
    assert picked.says == ("I take the cutleryfork to the dishwasher, for goal 2.",)
    assert picking(picked.partnership, scene(held=PLATE)).partnership.goal == 3
    busy = Partnership(claims=(("Bob", 1), ("Cleo", 2), ("Dan", 3)))
    assert picking(busy, scene()).command == WAIT
    assert picking(replace(busy, idle=MOST_WAITS), scene()).partnership.goal == 1


def test_when_all_is_brought_the_whole_goal_is_planned_for() -> None:
    brought = scene(GLASS, *FORKS, PLATE)
    picked = picking(NOBODY_ASKED, brought)
    # The dishwasher is still to be switched on.
    assert (picked.command, picked.partnership.goal) == (None, 0)
    told = Partnership(finished=frozenset({1, 3}))
    assert picking(told, scene(*FORKS)).command is None
    assert picking(Partnership(claims=(("Bob", 3),)), scene(GLASS, *FORKS)).command == WAIT
    assert picking(NOBODY_ASKED, replace(brought, goal=GOAL.replace(" and switch it on", ""))).command == WAIT
