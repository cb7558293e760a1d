"""LLM-Planner and the Socratic Planner: their prompts, through failure and re-planning, and where replies lead nowhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Proceed, Unattended
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.registry import make_model
from housequest.worlds.base import World
from housequest.worlds.errors import Unsupported
from housequest.worlds.registry import make_world
from tests.agent.agents.test_agents import plans, prompts
from tests.agent.golden import SCENES, Scene, conversation
from tests.agent.playing import PLANNERS, Played, play
from tests.backends import server as backend
from tests.backends.policy import Solver
from tests.backends.server import Server

HOUSES = ("example:1", "example:2", "example:3")
ZERO = {"shots": "0"}


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def replies(folder: Path, *rules: tuple[str, str, str]) -> str:
    """A scripted model: what it says to a prompt by (text of its system message, text of the last message)."""
    listed = [{"role": role, "match": match, "reply": reply} for role, match, reply in rules]
    path = folder / "script.yaml"
    path.write_text(json.dumps({"rules": listed}), "utf-8")
    return f"scripted:{path}"


def episode(
    world: World,
    agent: str,
    model: str,
    *,
    house: str = "example:1",
    settings: Mapping[str, str] = ZERO,
    hints: Mapping[int, str] | None = None,
    max_turns: int = 50,
) -> list[Event]:
    class Hinting(Unattended):
        async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed:
            return Proceed((hints[turn],) if hints and turn in hints else ())

    told: list[Event] = []
    made = make_agent(agent, world=world, model=make_model(model), settings={"search": "counts", **settings})
    env = world.open(world.task(house))
    terms = EpisodeConfig(world, max_turns=max_turns)
    asyncio.run(
        run_episode(env, made, terms, lambda event: told.append(event) if isinstance(event, Event) else None, Hinting())
    )
    return told


def thoughts(told: Sequence[Event]) -> list[str]:
    return [event.body.text for event in told if isinstance(event.body, events.Thought)]


def asked(told: Sequence[Event], role: str) -> list[str]:
    """The last message of each prompt of ``role``."""
    return [prompt[-1].content for prompt in prompts(told, role)]


@pytest.mark.heavy
@pytest.mark.parametrize("scene", SCENES, ids=[scene.name for scene in SCENES])
def test_every_prompt_of_an_episode_is_as_it_was_recorded(scene: Scene) -> None:
    assert conversation(scene) == scene.path.read_text("utf-8"), "python -m scripts.record_prompts"


@pytest.mark.heavy
@pytest.mark.parametrize("agent", PLANNERS)
@pytest.mark.parametrize("house", HOUSES)
def test_a_wrong_plan_is_revised_where_replanning_is_on(
    server: Server, world: World, tmp_path: Path, agent: str, house: str
) -> None:
    server.policy = Solver(wrong_first_plan=True)
    static = play(server, world, world.task(house), agent, tmp_path / "s.jsonl", settings={"replanning": False})
    assert (static.ended.outcome, len(plans(static.events))) == ("lost", 1)
    assert static.ended.reason == "gave up: the plan is carried out, and the task goes on"
    dynamic = play(server, world, world.task(house), agent, tmp_path / "d.jsonl")
    assert dynamic.ended.outcome == "won"
    assert "failed" in plans(dynamic.events)[1].reason


@pytest.mark.parametrize("agent", PLANNERS)
def test_a_model_that_fails_ends_the_episode_as_the_models(server: Server, world: World, tmp_path: Path, agent: str) -> None:
    server.policy = Solver(wrong_first_plan=True)
    first = [backend.answer] * (2 if agent == "socratic" else 1)
    server.behave(*first, otherwise=backend.status(500))
    played: Played = play(server, world, world.task("example:1"), agent, tmp_path / "e.jsonl", retries=1)
    assert (played.ended.outcome, played.ended.boundary) == ("error", "model")
    assert played.ended.steps, "it failed while the plan was made anew"


@pytest.mark.parametrize("agent", PLANNERS)
def test_one_unreadable_reply_is_asked_for_again(server: Server, world: World, tmp_path: Path, agent: str) -> None:
    server.behave(backend.saying("I would rather\nnot say."), backend.answer)
    played = play(server, world, world.task("example:2"), agent, tmp_path / "e.jsonl")
    assert played.ended.outcome == "won"
    assert [e.body.final for e in played.events if isinstance(e.body, events.ParseFailed)] == [False]


@pytest.mark.parametrize("agent", PLANNERS)
def test_a_world_without_belief_is_refused_before_the_first_call(agent: str) -> None:
    with pytest.raises(Unsupported, match=agent):
        make_agent(agent, world=make_world("scripted"), model=make_model("openai:m@http://127.0.0.1:9/v1"))
