"""The controller in a world of several rooms and two hands, whose commands are not ALFWorld's."""

from __future__ import annotations

from typing import Any

import pytest

from housequest.agent.skills.controller import Controller, ControllerState, Done, Execute, Failed
from housequest.worlds.base import Env, Task, Transition
from housequest.worlds.env import unwrapped
from housequest.worlds.graphs.env import GraphEnv
from housequest.worlds.graphs.files import read_graph
from housequest.worlds.graphs.goals import Condition, GraphGoal
from housequest.worlds.household.base import BelievingEnv
from housequest.worlds.household.goals import Skill
from housequest.worlds.registry import make_world
from tests.worlds.graphs.tables import home

WORLD = make_world("household-graph")


def begun(reference: str) -> tuple[Env, Controller, ControllerState]:
    assert WORLD.household is not None
    env, controller = BelievingEnv(WORLD.open(WORLD.task(reference)), WORLD.household), Controller(WORLD.household)
    return env, controller, controller.begin(env.reset().observation, env.task.goal)


def carried_out(env: Env, controller: Controller, state: ControllerState, skill: Skill) -> tuple[str, ControllerState]:
    """What comes of a skill: the last outcome in words, or "won"."""
    state = controller.start(state, skill)
    while True:
        outcome, state = controller.next(state)
        match outcome:
            case Execute(command=command):
                step = env.step(command)
                state = controller.observe(state, (Transition(command, step.observation),))
                if step.won:
                    return "won", state
            case Done(said=said):
                return said, state
            case Failed(reason=reason):
                return reason, state


def plan(goal: GraphGoal) -> list[Skill]:
    """The skills of a planner for this goal."""
    skills: list[Skill] = []
    for one in goal.conditions:
        if one.where is None:
            skills += [Skill("close", receptacle=one.kind), Skill("use", one.kind)]
            continue
        fetch = [Skill("find", one.kind), Skill("pick", one.kind), Skill("find", one.where)]
        fetch += [Skill("open", receptacle=one.where)] if one.how == "inside" else []
        skills += [*fetch, Skill("put", one.kind, one.where)] * one.count
    return skills


@pytest.mark.parametrize("number", range(1, 6))
def test_a_planners_skills_win_through_the_commands_of_the_world(number: int) -> None:
    env, controller, state = begun(f"example:{number}")
    game, said = unwrapped(env), ""
    assert isinstance(game, GraphEnv)
    for skill in plan(game.goal):
        said, state = carried_out(env, controller, state, skill)
    assert said == "won"


def test_two_things_are_held_and_a_third_is_refused() -> None:
    env, controller, state = begun("example:1")
    said = ""
    for kind in ("toothpaste", "towel", "barsoap"):
        for skill in (Skill("find", kind), Skill("pick", kind)):
            said, state = carried_out(env, controller, state, skill)
    assert said.startswith("your hands are full: you hold the towel")
    assert len(state.belief.carried) == 2


def test_why_the_world_refuses_is_what_a_planner_is_told() -> None:
    env, controller, state = begun("example:2")
    for skill in (Skill("find", "dishwasher"), Skill("open", receptacle="dishwasher"), Skill("use", "dishwasher")):
        said, state = carried_out(env, controller, state, skill)
    assert "is open; close it first." in said


def own(*things: dict[str, Any]) -> tuple[Env, Controller, ControllerState]:
    """A home of our own, with more ``things`` in it."""
    table = home()
    for number, thing in enumerate(things, start=60):
        place = thing.pop("at")
        table["nodes"].append({"id": number, "category": "Props", "properties": ["GRABBABLE"], **thing})
        table["edges"] += [{"from_id": number, "relation_type": how, "to_id": where} for how, where in place]
    goal = GraphGoal((Condition("on", "pillow", "sofa"),))
    game = GraphEnv(Task("t", "household-graph", "x", 1, "x", "put the pillow on the sofa."), read_graph(table), goal)
    assert WORLD.household is not None
    env, controller = BelievingEnv(game, WORLD.household), Controller(WORLD.household)
    return env, controller, controller.begin(env.reset().observation, env.task.goal)


def carried(env: Env, controller: Controller, state: ControllerState, *skills: Skill) -> str:
    said = ""
    for skill in skills:
        said, state = carried_out(env, controller, state, skill)
    return said


def test_what_lies_on_the_floor_is_gone_to_and_taken() -> None:
    env, controller, state = own({"class_name": "pillow", "at": [("INSIDE", 11)]})
    find, pick = Skill("find", "pillow"), Skill("pick", "pillow")
    assert carried(env, controller, state, find, pick) == "you hold the pillow 1"
    env, controller, state = own({"class_name": "pillow", "at": [("INSIDE", 11)]})
    assert carried(env, controller, state, find, pick, Skill("put", "pillow", "sofa")) == "won"


def test_no_turn_is_spent_on_putting_something_in_what_cannot_be_opened() -> None:
    env, controller, state = own({"class_name": "pillow", "at": [("INSIDE", 11)]})
    given: list[str] = []
    for skill in (Skill("find", "pillow"), Skill("pick", "pillow"), Skill("put", "pillow", "sofa")):
        state = controller.start(state, skill)
        while isinstance(outcome := (found := controller.next(state))[0], Execute):
            given.append(outcome.command)
            state = controller.observe(found[1], (Transition(outcome.command, env.step(outcome.command).observation),))
        state = found[1]
    assert [command for command in given if command.startswith("put")] == ["put pillow 1 on sofa 1"]


def test_what_lies_on_a_plate_is_gone_to_and_taken() -> None:
    env, controller, state = own()
    assert carried(env, controller, state, Skill("find", "cupcake"), Skill("pick", "cupcake")) == "you hold the cupcake 1"


def test_a_place_in_a_room_that_was_not_seen_is_looked_for() -> None:
    env, controller, state = own()
    skills = Skill("find", "plate"), Skill("pick", "plate"), Skill("put", "plate", "sofa")
    assert carried(env, controller, state, *skills) == "done: put the plate in the sofa"


def test_furniture_that_was_not_seen_is_not_taken_for_other_furniture_that_was() -> None:
    """The opening lists the furniture of one room: a coffee table in it is not the kitchen table of the goal."""
    found: list[tuple[str | None, str | None]] = []
    for seed in range(60):
        _, controller, state = begun(f"generated:{seed}")
        seen = {one.kind for one in state.belief.receptacles}
        for said in ("kitchen table", "coffee table", "the KitchenTable", "a coffee table 1", "dining table"):
            meant = "coffeetable" if "coffee" in said else "kitchentable"
            if meant not in seen:
                skill = controller.start(state, Skill("put", "plate", said)).skill
                assert skill is not None and skill.receptacle is not None
                found.append((skill.receptacle.removesuffix(" 1"), meant))
    assert found and all(one == meant for one, meant in found)
