"""The expert and the built-in model tell what their searches weigh, with their own thoughts and in no prompt."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, read_sound
from housequest.agent.models.builtin.model import load_builtin
from housequest.worlds.household.weighing import told
from housequest.worlds.registry import make_world

HOUSE = "generated:41"


def played(agent: str, record: Path) -> list[Event]:
    seen: list[Event] = []
    world = make_world("alfworld")
    player = make_agent(agent, world=world, model=None if agent == "expert" else load_builtin())
    with EpisodeRecorder(record) as recorder:

        def listen(event: Event | CallTiming) -> None:
            recorder(event)
            if isinstance(event, Event):
                seen.append(event)

        asyncio.run(run_episode(world.open(world.task(HOUSE)), player, EpisodeConfig(world), listen))
    return seen


@pytest.mark.heavy
@pytest.mark.parametrize("agent", ["expert", "reasoner-actor"])
def test_a_search_is_told_from_its_numbers_and_kept(agent: str, tmp_path: Path) -> None:
    seen = played(agent, tmp_path / "game.jsonl")
    read, fault = read_sound(tmp_path / "game.jsonl")
    assert not fault
    assert list(read) == seen
    bodies = [event.body for event in seen]
    thoughts = [body for body in bodies if isinstance(body, events.Thought)]
    weighed = [one for one in thoughts if one.weighed is not None]
    assert len({one.text for one in weighed}) >= 3
    for one in weighed:
        assert one.weighed is not None
        assert one.text == told(one.weighed)
        proposed = next(body for body in bodies[bodies.index(one) :] if isinstance(body, events.Proposed))
        assert one.weighed.next is None or proposed.command.endswith(f" {one.weighed.next.place}")
    # Thoughts that are no search stay unchanged.
    assert any(one.text.startswith("take the newspaper") for one in thoughts)
    calls = [body for body in bodies if isinstance(body, events.ModelCall)]
    for call in calls:
        assert not any(one.text in message.content for one in weighed for message in call.added)
    own = [one.text for one in thoughts if one.role == "actor" and one.weighed is None]
    assert all(any(f"Thought: {text}" in call.reply for call in calls) for text in own)
    assert bool(own) == (agent != "expert")
