"""Replies of real runtimes are held to their forms: a model of random weights plays, and what is recorded does not depend on
which runtime held it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event, ModelCall, ParseFailed, Stepped, Thought
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Message, Request
from housequest.agent.models.llama import LlamaProvider, installed
from housequest.agent.models.llama.model import CHATML_MARKS, LlamaModel
from housequest.worlds.registry import make_world
from tests.agent.models.tiny import Kind, write_tiny

pytestmark = pytest.mark.heavy

WORLD = make_world("alfworld")
RUNTIMES = ("xllamacpp", "llama-cpp-python")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("model") / "tiny.gguf")


def model_of(path: Path, runtime: str, more: str = "") -> LlamaModel:
    if runtime not in installed():
        pytest.skip(f"needs {runtime}")
    exact = "cache_type=f32&flash=off&threads=1&slots=1&cache=off&context=12288"
    options = LlamaProvider(f"tiny.gguf?runtime={runtime}&{exact}{more}").options
    return LlamaModel(path, options, name="llama:tiny.gguf", timeout=120)


def uncounted(event: Event) -> Event:
    """The event without the count of its reply's tokens: one runtime counts the mark that ends it, the other does not."""
    if not isinstance(event.body, ModelCall):
        return event
    return event.model_copy(update={"body": event.body.model_copy(update={"completion_tokens": None})})


def played(path: Path, runtime: str, agent: str, turns: int, **settings: str) -> list[Event]:
    model, told = model_of(path, runtime), list[Event]()
    player = make_agent(agent, world=WORLD, model=model, settings=settings)

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)

    async def run() -> None:
        try:
            config = EpisodeConfig(WORLD, max_turns=turns)
            await run_episode(WORLD.open(WORLD.task("example:1")), player, config, listen)
        finally:
            await model.aclose()

    asyncio.run(run())
    return told


def calls_of(told: list[Event]) -> list[ModelCall]:
    return [event.body for event in told if isinstance(event.body, ModelCall)]


@pytest.mark.parametrize("agent", ["react", "reasoner-actor"])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_model_of_random_weights_gives_commands_where_it_is_held(tiny: Path, runtime: str, agent: str) -> None:
    told = played(tiny, runtime, agent, 2, max_tokens="1024")
    calls = [event.body for event in told if isinstance(event.body, ModelCall)]
    assert {call.held for call in calls} == {"kept"}
    assert not [event for event in told if isinstance(event.body, ParseFailed)]
    assert len([event for event in told if isinstance(event.body, Stepped)]) == 2


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_model_without_a_template_continues_text_and_is_held_to_its_forms(tmp_path: Path, runtime: str) -> None:
    told = played(write_tiny(tmp_path / "base.gguf", Kind(template=False)), runtime, "react", 2, max_tokens="1024")
    assert next(event.body.role for event in told if isinstance(event.body, Thought)) == "form"
    assert {(call.plain, call.held) for call in calls_of(told)} == {(True, "kept")}
    assert len([event for event in told if isinstance(event.body, Stepped)]) == 2


def test_both_runtimes_record_the_same_of_continued_text(tiny: Path) -> None:
    one, other = (played(tiny, runtime, "react", 2, form="completion", max_tokens="64") for runtime in RUNTIMES)
    assert list(map(uncounted, one)) == list(map(uncounted, other))


def test_both_runtimes_record_the_same(tiny: Path) -> None:
    for form, turns in (("held", 3), ("free", 2)):
        one, other = (played(tiny, runtime, "react", turns, form=form, max_tokens="64") for runtime in RUNTIMES)
        assert list(map(uncounted, one)) == list(map(uncounted, other))


def test_a_thought_that_the_budget_cuts_off_still_yields_a_command(tiny: Path) -> None:
    told = played(tiny, "llama-cpp-python", "react", 1, max_tokens="20")
    assert [event.body.held for event in told if isinstance(event.body, ModelCall)] == ["cut", "kept"]
    assert len([event for event in told if isinstance(event.body, Stepped)]) == 1


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_turn_of_chatml_ends_at_its_mark_though_the_model_has_no_token_for_it(tiny: Path, runtime: str) -> None:
    model = model_of(tiny, runtime, "&template=chatml")

    async def run() -> None:
        try:
            asked = Request([Message("user", "hello")], grammar=f'root ::= "ready{CHATML_MARKS[0]}" "so on and on"')
            reply = await model.complete(asked)
            assert (reply.text, reply.finish) == ("ready", "stop")
        finally:
            await model.aclose()

    asyncio.run(run())
