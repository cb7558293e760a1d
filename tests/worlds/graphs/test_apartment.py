"""Plans of several rooms: sound, the same in any order, bounded, and made of nothing that a belief does not know."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.base import Task
from housequest.worlds.graphs.env import GraphEnv
from housequest.worlds.graphs.files import parse_apartment
from housequest.worlds.graphs.goals import Condition, GraphGoal
from housequest.worlds.graphs.houses import make_apartment
from housequest.worlds.graphs.world import plan_of, situation
from housequest.worlds.household.belief import Belief
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.furnish import MAX_FIXTURES
from housequest.worlds.rooms.plans import MAX_ROOMS, Furnished, apartment, as_known
from housequest.worlds.rooms.render import Frame
from housequest.worlds.rooms.room import Room, believed
from housequest.worlds.rooms.view import picture, text_plan
from tests.worlds.graphs.tables import home, written
from tests.worlds.rooms.test_plans import KINDS, OTHERS, sound

GOAL = GraphGoal((Condition("on", "plate", "kitchentable", 2),))


def whole(room: Room) -> None:
    """Raise where the plan is not sound, or a piece of furniture does not stand in just one of its rooms."""
    floors = [one for one in room.fixtures if one.name in room.rooms]
    standing = tuple(one for one in room.fixtures if one.name not in room.rooms)
    sound(replace(room, fixtures=standing, start=floors[0].place or room.start))
    for one in standing:
        around = [floor.name for floor in floors if floor.box.over(one.box.centre.x, one.box.centre.z)]
        assert len(around) == 1
    assert {one.place.cell for one in floors if one.place} <= room.floor


def played(env: GraphEnv, *commands: str) -> Belief:
    """What is known after these commands."""
    household = make_world("household-graph").household
    assert household is not None
    belief = household.begin(env.reset().observation)
    for command in commands:
        step = env.step(command)
        assert step.observation.accepted, step.observation.text
        belief = household.update(belief, command, step.observation)
    return belief


def env_of(table: object) -> GraphEnv:
    return GraphEnv(Task("t", "household-graph", "example", 1, "x", "go"), parse_apartment(written(table), "home"), GOAL)


def pictures(room: Room, belief: Belief) -> list[Frame]:
    now = believed(room, belief)
    return [picture(drawing, room, now, (90, 60)) for drawing in ("house", "eyes", "plan")]


@pytest.mark.parametrize("seed", range(12))
def test_a_made_up_apartment_has_a_plan_of_one_size_with_all_of_its_furniture(seed: int) -> None:
    graph = make_apartment(seed).graph
    room = plan_of(graph)
    names = graph.apartment.names
    assert {one.name for one in room.fixtures} == {names[id] for id in names if graph.node(id).room or graph.node(id).holder}
    assert all(one.place for one in room.fixtures)
    whole(room)
    assert room.walls == plan_of(make_apartment(0).graph).walls


@pytest.mark.heavy
@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(KINDS + OTHERS), max_size=9), max_size=7), st.randoms(use_true_random=False))
def test_any_rooms_get_a_plan_that_does_not_depend_on_their_order(drawn: list[list[str]], random: object) -> None:
    rooms = [
        Furnished(f"room {room}", tuple(f"{kind} {room}{number}" for number, kind in enumerate(kinds)))
        for room, kinds in enumerate(drawn)
    ]
    made = apartment(rooms)
    assert made.rooms == (tuple(one.name for one in rooms) or ("room 1",))
    assert {one.name for one in made.fixtures} == {*made.rooms, *(name for one in rooms for name in one.furniture)}
    whole(made)
    assert made == apartment([Furnished(one.name, one.furniture[::-1]) for one in reversed(rooms)])


@pytest.mark.heavy
def test_a_hostile_apartment_is_drawn_up_to_a_bound() -> None:
    made = apartment([Furnished(f"room {room}", tuple(f"bed {room}{n}" for n in range(300))) for room in range(300)])
    assert len(made.rooms) == MAX_ROOMS and len(made.fixtures) <= MAX_FIXTURES + MAX_ROOMS
    whole(made)


def test_a_plan_grows_room_by_room_and_what_is_known_stays_where_it_is() -> None:
    env = GraphEnv(Task("t", "household-graph", "generated", 1, "x", "go"), make_apartment(1).graph, GOAL)
    opening = played(env)
    every, others = plan_of(env.state.graph), [f"walk to {name}" for name in opening.rooms if name != opening.at]
    seen = [as_known(every, played(env, *others[:number])) for number in range(len(others) + 1)]
    for before, after in pairwise(seen):
        new = {one.name for one in after.fixtures} - {one.name for one in before.fixtures}
        assert new and before.walls == after.walls
        assert [(one.name, one.box) for one in after.fixtures if one.name not in new] == [
            (one.name, one.box) for one in before.fixtures
        ]
    assert seen[-1] == every


@pytest.mark.heavy
def test_two_apartments_that_differ_only_in_what_was_not_seen_give_equal_pictures() -> None:
    other = home()
    other["nodes"] += [
        {"id": 50 + n, "class_name": "closet", "category": "Furniture", "properties": ["CAN_OPEN", "CONTAINERS"]}
        for n in range(60)
    ]
    other["edges"] += [{"from_id": 50 + n, "relation_type": "INSIDE", "to_id": 11} for n in range(60)]
    other["edges"].append({"from_id": 33, "relation_type": "INSIDE", "to_id": 50})
    shown: list[list[Frame]] = []
    for table in (home(), other):
        env = env_of(table)
        belief = played(env, "walk to kitchentable 1", "grab plate 1", "walk to fridge 1")
        every = plan_of(env.state.graph)
        shown.append(pictures(as_known(every, belief), belief))
    assert [(one.png(), one.names) for one in shown[0]] == [(one.png(), one.names) for one in shown[1]]


def test_the_true_state_is_what_is_believed_once_all_was_seen() -> None:
    env = env_of(home())
    belief = played(
        env,
        "walk to kitchentable 1",
        "walk to livingroom 1",
        "walk to sofa 1",
        "grab plate 2",
        "walk to dishwasher 1",
        "walk to fridge 1",
        "open fridge 1",
        "grab apple 1",
    )
    room = plan_of(env.state.graph)
    known, true = believed(room, belief), situation(env.state.graph, room)
    assert as_known(room, belief) == room
    assert {one.name: (one.openness, one.contents) for one in known.holders} == {
        one.name: (one.openness, one.contents) for one in true.holders
    }
    assert (known.pose, known.at, set(known.carried)) == (true.pose, true.at, set(true.carried)) and len(true.carried) == 2
    frame = picture("house", room, true, (200, 160))
    assert frame.pixels("apple 1") and frame.pixels("plate 2")


def test_the_plan_in_characters_has_inner_walls_and_a_key_for_each_room() -> None:
    env = env_of(home())
    belief = played(env)
    room = as_known(plan_of(env.state.graph), belief)
    plan = text_plan(room, believed(room, belief), (60, 24))
    assert "a kitchen 1" in plan.keys and "b livingroom 1, not seen yet" in plan.keys
    middle = [row[len(row) // 2 - 1 : len(row) // 2 + 2] for row in plan.rows[1:-1]]
    assert any("#" in cells for cells in middle) and not all("#" in cells for cells in middle)
