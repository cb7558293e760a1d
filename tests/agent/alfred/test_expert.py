"""The expert in ALFRED's made-up houses, which nobody demonstrated: it plays by what its pictures show."""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import GiveUp, Grants, Turn, Watchable
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.loop import run_episode
from housequest.worlds.base import Observation
from housequest.worlds.registry import make_world

_HOUSES = {
    80047: "put a cloth in countertop.",
    80042: "look at alarmclock under the desklamp.",
    80052: "put a clean dishsponge in countertop.",
    80016: "put a hot cup in fridge.",
    80001: "put a cool bread in diningtable.",
    90003: "put two keychain in drawer.",
    80025: "put a newspaper in a box and put that in armchair.",
    80022: "put a slice of bread in a pot and put that in cabinet.",
}
"""A house for each of the seven types, and one with slices."""


@pytest.mark.heavy
@pytest.mark.parametrize("number", _HOUSES)
def test_it_wins_a_house_of_each_kind_by_its_pictures(number: int) -> None:
    # The agent's own world has opened no task, so the agent can know nothing of this house.
    world, other = make_world("alfred"), make_world("alfred")
    task, told = world.task(f"generated:{number}"), list[events.Event]()
    assert task.goal == _HOUSES[number]
    agent = make_agent("expert", world=other, model=None, settings={})
    assert isinstance(agent, Watchable)
    with closing(world.open(task)) as env:
        ended = asyncio.run(run_episode(env, agent, EpisodeConfig(world, max_turns=400), told.append))
    assert (ended.outcome, ended.turns) == ("won", ended.steps)
    planned = next(event.body for event in told if isinstance(event.body, events.Planned))
    assert planned.role == "expert"


@pytest.mark.parametrize("goal", ["put it away, please", "put a mug in a mug then"])
def test_a_goal_that_it_cannot_read_ends_the_game_at_once(goal: str) -> None:
    agent = make_agent("expert", world=make_world("alfred"), model=None, settings={})
    memory = agent.begin(goal, Observation("You are in a room."), Grants())
    decision, _ = asyncio.run(agent.decide(memory, Turn(1, 9), lambda body, timing=None: None))
    assert decision == GiveUp("nobody showed how this task is done")
    assert isinstance(agent, Watchable)
    assert (agent.doing(memory), agent.impression(memory)) == ("", None)
