"""The controller in a world of several rooms and two hands, whose commands are not ALFWorld's."""

from __future__ import annotations

import pytest

from agent.skills.controller import Controller, ControllerState, Done, Execute, Failed
from agent.skills.skill import Skill
from worlds.base import Env, Transition
from worlds.graphs.env import GraphEnv
from worlds.graphs.goals import GraphGoal
from worlds.registry import make_world

WORLD = make_world("household-graph")


def begun(reference: str) -> tuple[Env, Controller, ControllerState]:
    assert WORLD.household is not None
    env, controller = WORLD.open(WORLD.task(reference)), Controller(WORLD.household)
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
    assert isinstance(env, GraphEnv)
    said = ""
    for skill in plan(env.goal):
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
