"""Curiosity: as often as was asked, the same for the same seed, and told to the agent as what happened."""

from __future__ import annotations

import asyncio

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.curiosity import is_random_turn, random_command
from housequest.agent.episodes.events import CallTiming, Ended, Event, Started, Stepped, branch
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.registry import make_model
from housequest.worlds.base import World
from housequest.worlds.errors import Unsupported
from housequest.worlds.registry import make_world
from tests.backends.server import Server, serve


@pytest.fixture
def world() -> World:
    return make_world("alfworld")


def play(world: World, server: Server, curiosity: float | None, seed: int = 0) -> list[Event]:
    heard: list[Event] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            heard.append(event)

    async def episode() -> None:
        model = make_model(server.model())
        env = world.open(world.task("generated:7"))
        try:
            agent = make_agent("react", world=world, model=model)
            await run_episode(env, agent, EpisodeConfig(world, max_turns=20, curiosity=curiosity, seed=seed), listen)
        finally:
            await model.aclose()

    asyncio.run(episode())
    return heard


@pytest.mark.heavy
def test_it_plays_possible_commands_in_the_agents_stead_and_the_record_says_so(world: World) -> None:
    with serve() as server:
        events = play(world, server, 0.5)
        asked = len(server.requests)
        steps = [event.body for event in branch(events) if isinstance(event.body, Stepped)]
        curious = [step for step in steps if step.by == "curiosity"]
        assert len(steps) == 20 == asked + len(curious)
        assert 0 < len(curious) < 20
        assert all(step.accepted for step in curious)
        assert isinstance(events[0].body, Started)
        assert events[0].body.curiosity == 0.5
        assert isinstance(events[-1].body, Ended)
        assert not events[-1].body.assisted
        told = server.requests[-1].text
        before = [step for step in curious if step.turn < max(step.turn for step in steps if step.by == "agent")]
        assert all(f"> {step.command}" in told for step in before)
        assert play(world, server, 0.5) == events
        assert play(world, server, 0.5, seed=1) != events
        assert play(world, server, 0.0)[1:] == play(world, server, None)[1:]


def test_it_strikes_as_often_as_was_asked() -> None:
    assert 250 < sum(is_random_turn(0.3, 0, "t", turn) for turn in range(1_000)) < 350
    assert {random_command(("b", "a"), seed, "t", 1) for seed in range(20)} == {"a", "b"}
    assert random_command((), 0, "t", 1) is None
    with pytest.raises(Unsupported, match="--curiosity 0"):
        random_command(None, 0, "t", 1)
