"""Models that continue plain text and are no chat models play by the same roles, after examples of the role's own replies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.config import Settings
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event, ModelCall, ParseFailed, Stepped, Thought
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.models.base import Message
from housequest.agent.models.registry import make_model
from housequest.agent.roles.base import FORM, MESSAGE, REPLY, as_continued, plain_text, whole_prompts
from housequest.agent.setup import set_up, worked
from housequest.worlds.errors import Unsupported
from housequest.worlds.registry import make_world
from tests.agent.playing import CHATTING, Played, play
from tests.backends.completing import AFTER, Completing
from tests.backends.policy import Solver
from tests.backends.server import Server
from tests.parts import needs

WORLD = make_world("alfworld")
COMPLETION = {"form": "completion"}


@pytest.fixture
def base(server: Server) -> Iterator[Server]:
    """An endpoint of a base model: no chat template, and completions of plain text."""
    server.policy, server.continues, server.chats = Completing(Solver()), True, False
    yield server


def played(server: Server, folder: Path, agent: str = "react", **settings: str) -> Played:
    return play(server, WORLD, WORLD.task("example:1"), agent, folder / f"{agent}.jsonl", settings=settings)


def bodies(told: Played, kind: type[ModelCall | Stepped | Thought | ParseFailed]) -> list[object]:
    return [event.body for event in told.events if isinstance(event.body, kind)]


def calls(told: Played) -> list[ModelCall]:
    return [event.body for event in told.events if isinstance(event.body, ModelCall)]


def test_each_message_is_written_by_itself_so_that_prompts_only_grow() -> None:
    said = [
        Message("system", "You act."),
        Message("user", "A room."),
        Message("assistant", "look"),
        Message("user", "A shelf."),
    ]
    text = plain_text(as_continued(said, [("A hall.", "go on")]))
    assert text.startswith(f"You act.\n\nHere is how that went in another place:\n\n{MESSAGE}A hall.{REPLY} go on\n{AFTER}")
    assert text.endswith(f"\n{MESSAGE}A room.{REPLY} look\n\n{MESSAGE}A shelf.{REPLY}")
    assert text.startswith(plain_text(as_continued(said[:2], [("A hall.", "go on")])))
    assert plain_text(as_continued(said[1:2], ())) == f"{MESSAGE}A room.{REPLY}"


def test_a_model_without_a_template_is_asked_to_continue_text_and_that_is_said_first(base: Server, tmp_path: Path) -> None:
    told = played(base, tmp_path, "reasoner-actor")
    assert told.ended.outcome == "won"
    assert {request.path for request in told.requests} == {"/v1/completions"}
    thoughts = [event for event in told.events if isinstance(event.body, Thought) and event.body.role == FORM]
    first = next(event for event in told.events if isinstance(event.body, ModelCall))
    assert len(thoughts) == 1
    assert thoughts[0].id < first.id
    assert "no chat template" in str(thoughts[0].body)


@needs("training")
@pytest.mark.parametrize("agent", [*CHATTING[:1], *(pytest.param(agent, marks=pytest.mark.heavy) for agent in CHATTING[1:])])
def test_it_does_what_a_chat_model_does_and_the_record_says_the_same(server: Server, tmp_path: Path, agent: str) -> None:
    # As a base model it gives no probabilities, so PET takes its answers; LoTa is shown the skills either way.
    chatting = played(server, tmp_path / "chat", agent)
    server.reset()
    server.policy, server.continues = Completing(Solver()), True
    told = played(server, tmp_path / "text", agent, **COMPLETION)
    assert told.ended.outcome == chatting.ended.outcome == "won"
    assert [(call.role, call.reply.strip(), call.finish) for call in calls(told)] == [
        (call.role, call.reply.strip(), call.finish) for call in calls(chatting)
    ]
    assert bodies(told, Stepped) == bodies(chatting, Stepped)
    assert not bodies(told, ParseFailed)
    assert {call.plain for call in calls(told)} == {True}
    assert {request.path for request in told.requests} == {"/v1/completions"}
    assert all(AFTER in request.body["prompt"] for request in told.requests), "every role is shown examples"


def test_what_is_recorded_is_the_text_that_was_sent(base: Server, tmp_path: Path) -> None:
    told = played(base, tmp_path, "react")
    sent = [request.body["prompt"] for request in told.requests]
    prompts = whole_prompts(told.events)
    rebuilt = [
        plain_text([Message(one.role, one.text) for one in prompts[event.id]])
        for event in told.events
        if isinstance(event.body, ModelCall)
    ]
    assert rebuilt == sent
    assert all(later.startswith(earlier) for earlier, later in pairwise(sent))


def test_what_has_no_completions_says_so_before_the_first_call(server: Server) -> None:
    setup = set_up(Settings(set={**COMPLETION}, model=server.model()), WORLD, "react")
    with pytest.raises(Unsupported, match="no completions of plain text"):
        asyncio.run(setup.check_model(make_model(server.model(), timeout=5, wait=0.001)))
    server.continues = True
    asyncio.run(setup.check_model(make_model(server.model(), timeout=5, wait=0.001)))
    assert not server.requests


@pytest.mark.heavy
def test_an_interrupted_episode_of_plain_text_goes_on_wherever_it_stopped(base: Server, tmp_path: Path) -> None:
    whole = played(base, tmp_path, "react").events
    for end in range(1, len(whole), 5):
        more: list[Event] = []

        def listen(event: Event | CallTiming, more: list[Event] = more) -> None:
            if isinstance(event, Event):
                more.append(event)

        asyncio.run(
            resume_episode(
                WORLD.open(WORLD.task("example:1")),
                lambda live, ask: make_agent("react", world=WORLD, model=live, worked=worked),
                EpisodeConfig(WORLD, model="openai:tester", settings={}),
                whole[:end],
                listen,
                model=make_model(base.model(), timeout=5, wait=0.001),
            )
        )
        assert [*whole[:end], *more] == whole
