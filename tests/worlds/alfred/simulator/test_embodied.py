"""A text game that is enacted in boxes is the game that it was."""

from __future__ import annotations

import pytest

from housequest.worlds.alfred.engine import EnactedEnv
from housequest.worlds.alfworld.world import AlfworldWorld

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("reference", ["example:1", "example:2", "example:3", "generated:690", "generated:4"])
def test_an_enacted_game_says_and_is_won_as_the_game_itself_and_is_carried_out(reference: str) -> None:
    plain, world = AlfworldWorld(), AlfworldWorld("boxes")
    task = world.task(reference)
    game, env = plain.open(task), world.open(task)
    assert isinstance(env, EnactedEnv)
    step = env.reset()
    assert step == game.reset()
    expert = world.expert()
    memory = expert.begin(task.goal, step.observation)
    accepted = 0
    for command in ("dance", "open nothing 1"):
        assert env.step(command) == game.step(command)
    assert env.enacted.commands == env.enacted.actions == 0
    while not step.done:
        command, _, memory = expert.decide(memory)
        assert command is not None
        accepted += command in (env.admissible_commands() or ())
        step = env.step(command)
        assert step == game.step(command)
        assert env.goal_conditions() == game.goal_conditions()
        memory = expert.observe(memory, command, step.observation)
    assert step.won
    assert env.enacted.commands == accepted
    assert env.enacted.actions > 0
    assert len(env.enacted.divergences) <= 1


def test_a_copy_is_enacted_on_its_own() -> None:
    world = AlfworldWorld("boxes")
    env = world.open(world.task("example:1"))
    assert isinstance(env, EnactedEnv)
    env.reset()
    other = env.copy()
    command = next(one for one in env.admissible_commands() or () if one.startswith("go to "))
    other.step(command)
    assert other.enacted.actions > 0
    assert env.enacted.actions == 0
    assert other.event() != env.event()


def test_headers_say_that_a_game_is_enacted() -> None:
    assert AlfworldWorld("boxes").engine == "native 1, enacted in boxes 3"
    assert AlfworldWorld().engine == "native 1"
