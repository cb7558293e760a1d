"""An agent that plans for one goal at a time picks it in company, in chores and in apartments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from housequest.agent.skills.language.sentences import Surroundings
from housequest.agent.skills.partnership import Picked, goal_at, picking
from housequest.worlds.alfworld.text import HOUSEHOLD as ROOM
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief, BeliefBuilder, Receptacle
from housequest.worlds.household.company import ALONE, PATIENCE, CompanyMemory, hearing
from housequest.worlds.household.talk import Claimed
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


BESIDE = CompanyMemory(player="Ann", others=("Bob", "Cleo", "Dan"))


def claimed(*claims: tuple[str, int, str]) -> CompanyMemory:
    """What the others have said that they take."""
    return replace(BESIDE, claims=tuple((who, Claimed(number, thing, "dishwasher")) for who, number, thing in claims))


def test_what_others_are_at_is_left_to_them() -> None:
    picked = picking(claimed(("Bob", 1, "waterglass")), 0, scene())
    assert (picked.command, picked.number) == (None, 2)
    assert picking(picked.company, 2, scene(held=PLATE)).number == 3
    one_fork = claimed(("Bob", 1, "waterglass"), ("Cleo", 2, "cutleryfork"), ("Dan", 3, "plate"))
    assert picking(one_fork, 0, scene()).number == 2
    busy = claimed(("Bob", 1, "waterglass"), ("Bob", 2, "cutleryfork"), ("Cleo", 2, "cutleryfork"), ("Dan", 3, "plate"))
    waiting = picking(
        replace(busy, others=(*busy.others, "Eve"), claims=(*busy.claims, ("Eve", one_fork.claims[1][1]))), 0, scene()
    )
    assert waiting.command == WAIT and waiting.company.idle == 1
    assert picking(replace(waiting.company, idle=PATIENCE), 0, scene()).number == 1


def test_when_all_is_brought_the_whole_goal_is_planned_for() -> None:
    brought = scene(GLASS, *FORKS, PLATE)
    # The dishwasher is still to be switched on.
    assert picking(BESIDE, 0, brought)[1:3] == (0, None)
    assert picking(claimed(("Bob", 3, "plate")), 0, scene(GLASS, *FORKS)).command == WAIT
    assert picking(BESIDE, 0, replace(brought, goal=GOAL.replace(" and switch it on", ""))).command == WAIT


def test_alone_several_goals_are_worked_on_one_by_one() -> None:
    assert picking(ALONE, 0, scene()).number == 1
    assert picking(ALONE, 0, scene(GLASS)).number == 2
    assert picking(ALONE, 0, scene(GLASS, *FORKS, PLATE)).command is None


def room(*told: str, idle: int = 0, **inside: tuple[str, ...] | None) -> Picked:
    """The choice in a room with drawers, of which each was looked into or not, after the partner ``told`` something."""
    goal = "put a pen in desk, and put a book in shelf."
    builder = BeliefBuilder(Belief(at="desk 1"))
    for name in ("desk 1", "shelf 1", *(f"drawer {number}" for number in range(1, 7))):
        builder.places[name] = Receptacle(name, name, contents=inside.get(name.replace(" ", "_")))
        for thing in inside.get(name.replace(" ", "_")) or ():
            builder.learn(thing, where=name)
    belief, seen = builder.belief(), Surroundings(builder.belief(), ROOM, goal, ())
    beside = CompanyMemory(player="Ann", others=("Bob",), idle=idle)
    news = [f'Bob says: "{one}"' for one in told]
    return picking(hearing(beside, belief, ROOM.read_goals(goal), news), 0, seen)


def test_the_house_is_searched_by_turns_and_not_where_others_looked() -> None:
    mine = {one.name for one in room(desk_1=(), shelf_1=()).house.unsearched}
    assert mine == {"drawer 2", "drawer 4", "drawer 6"}
    left = room("At the drawer 2, I saw nothing that we need.", desk_1=(), shelf_1=()).house.unsearched
    assert {one.name for one in left} == {"drawer 4", "drawer 6"}
    every = room("At the drawer 2, I saw nothing that we need.", idle=2 * PATIENCE, desk_1=(), shelf_1=()).house.unsearched
    assert len(every) == 6


def test_what_others_saw_is_fetched_and_what_is_theirs_is_not_there() -> None:
    told = room("At the drawer 2, I saw a pen 1.", desk_1=(), shelf_1=())
    assert told.number == 1 and told.house.item("pen 1") is not None
    assert told.company.says[-1] == "I take the pen 1 to the desk, for goal 1."
    theirs = room("At the drawer 2, I saw a pen 1.", "I take the pen 1 to the desk, for goal 1.", desk_1=(), shelf_1=())
    assert theirs.number == 2 and theirs.house.item("pen 1") is None
    done = room(desk_1=("pen 1",), shelf_1=(), drawer_1=("pen 2", "book 1"))
    assert done.number == 2 and done.house.item("pen 1") is None and done.house.item("book 1") is not None


def test_what_nobody_needs_any_more_is_put_down_out_of_the_way() -> None:
    builder = BeliefBuilder(Belief(at="desk 1"))
    for name, inside in (("desk 1", ("pen 1",)), ("shelf 1", ())):
        builder.places[name] = Receptacle(name, name, openness="surface", contents=inside)
    builder.learn("pen 1", where="desk 1")
    builder.hold("pen 2")
    seen = Surroundings(builder.belief(), ROOM, "put a pen in desk, and put a book in shelf.", ())
    assert picking(BESIDE, 1, seen).command == "go to shelf 1"
    builder.at = "shelf 1"
    assert picking(BESIDE, 1, replace(seen, belief=builder.belief())).command == "move pen 2 to shelf 1"
