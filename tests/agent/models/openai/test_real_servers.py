"""Servers that others wrote: a rehearsal finds them fit, and agents play through them, streamed and whole, to one record."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import replace

import pytest

from housequest.agent.config import Settings, world_of
from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall, ParseFailed, Stepped, TurnSpent
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.rehearsal import rehearse
from housequest.agent.models.base import unwatched
from housequest.agent.setup import Setup, set_up
from tests.agent.playing import installed
from tests.backends.real_servers import SERVERS

pytestmark = pytest.mark.slow
TURNS = 2


@pytest.fixture(scope="module", params=SERVERS)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with SERVERS[request.param](tmp_path_factory.mktemp("server")) as name:
        yield name


def setup_of(model: str, agent: str) -> Setup:
    given = {"model": model, "agent": agent, "timeout": 300.0, "set": {"max_tokens": 48}}
    settings = Settings.model_validate(given)
    return set_up(settings, world_of(settings))


def test_a_rehearsal_finds_it_fit(served: str) -> None:
    setup = setup_of(served, "react")
    seen = asyncio.run(rehearse(setup, setup.world.task("example:1")))
    assert seen.faults == ()
    assert [len(each.calls) for each in seen.passes] == [2, 2]
    assert all(not each.unreadable for each in seen.passes)


@pytest.mark.parametrize("agent", installed("react", "reasoner-actor", "opex", "lota"))
def test_agents_play_through_it_streamed_and_whole(agent: str, served: str) -> None:
    setup = setup_of(served, agent)
    whole, pieces = (played(setup, attended=attended) for attended in (False, True))
    assert [call.reply for call in calls(whole)] == [call.reply for call in calls(pieces)]
    for told in (whole, pieces):
        assert calls(told)
        assert [event.body for event in told if isinstance(event.body, Stepped | TurnSpent)]
        # So small a model may go on and on, in the form that it is held to.
        assert all("was cut off" in event.body.reason for event in told if isinstance(event.body, ParseFailed))
        assert [event.body.outcome for event in told if isinstance(event.body, Ended)] != ["error"]


def calls(told: list[Event]) -> list[ModelCall]:
    return [event.body for event in told if isinstance(event.body, ModelCall)]


def played(setup: Setup, *, attended: bool) -> list[Event]:
    told: list[Event] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)

    async def run() -> None:
        model = setup.make_model(watch=unwatched if attended else None)
        assert model is not None
        try:
            await setup.check_model(model)
            env = setup.open(setup.world.task("example:1"))
            await run_episode(env, setup.make_agent(model), replace(setup, max_turns=TURNS), listen)
        finally:
            await model.aclose()

    asyncio.run(run())
    return told
