"""LoTa-Bench's planner and SayCan in a world that carries the skills out itself: whole tasks against a local endpoint."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Agent
from housequest.agent.config import configure
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall, Stepped, Thought
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.models.registry import make_model
from housequest.worlds.base import World
from housequest.worlds.errors import Unsupported
from housequest.worlds.household.goals import putting, taking, treating
from housequest.worlds.registry import make_world
from tests.agent.agents.lota.test_lota import Liking
from tests.backends.knowing import Knowing
from tests.backends.server import serve

HOT_EGG = tuple(map(str, (*taking("egg"), *treating("heat", "egg"), *putting("egg", "diningtable"))))


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfred", skills="oracle")


def lived(world: World, agent: Agent, *grants: str) -> list[Event]:
    told: list[Event | CallTiming] = []
    config = EpisodeConfig(world, frozenset(grants), max_turns=world.info.max_turns)
    asyncio.run(run_episode(world.open(world.task("example:1")), agent, config, told.append))
    return [event for event in told if isinstance(event, Event)]


def ended(told: list[Event]) -> Ended:
    assert isinstance(told[-1].body, Ended)
    return told[-1].body


def test_lota_plays_a_whole_task_against_an_endpoint(world: World) -> None:
    with serve(Knowing(HOT_EGG)) as server:
        model = make_model(server.model())
        told = lived(world, make_agent("lota", world=world, model=model))
    assert ended(told).outcome == "won"
    assert [event.body.command for event in told if isinstance(event.body, Stepped)] == list(HOT_EGG)
    prompt = "\n".join(message.content for event in told if isinstance(event.body, ModelCall) for message in event.body.added)
    assert "2. pick up the" in prompt
    assert not re.search(r"\|[+-]?\d|You stand at|Your hand is", prompt)


def test_why_a_skill_failed_is_told_where_it_may_be_told(world: World) -> None:
    def prompts(**settings: Any) -> str:
        told = lived(
            world, make_agent("lota", world=world, model=Liking(Knowing(HOT_EGG, hasty="put down the egg")), settings=settings)
        )
        assert ended(told).outcome == "won"
        assert any("this skill failed" in event.body.text for event in told if isinstance(event.body, Thought))
        return "\n".join(message.content for event in told if isinstance(event.body, ModelCall) for message in event.body.added)

    assert "(this skill failed: Robot is not holding any object)" in prompts(replanning=True)
    assert "Robot is not holding" not in prompts()


def test_saycan_selects_among_what_the_oracle_says_is_possible(world: World) -> None:
    agent = make_agent("saycan", world=world, model=Liking(Knowing(HOT_EGG), second="put down the pillow"))
    assert ended(lived(world, agent, "admissible")).outcome == "won"


def test_without_these_skills_the_world_is_refused() -> None:
    with pytest.raises(Unsupported):
        make_agent("lota", world=make_world("alfred"), model=Liking())
    with pytest.raises(Unsupported):
        make_agent("opex", world=make_world("alfred", skills="oracle"), model=Liking())


def test_a_run_says_that_an_oracle_found_things(tmp_path: Path) -> None:
    with serve(Knowing(HOT_EGG)) as server:
        flags = {"world": "alfred", "world_option": {"skills": "oracle"}, "agent": "lota", "model": server.model()}
        spec = make_run_spec(configure({**flags, "split": "example", "limit": 1, "set": {"shots": 2}}, tmp_path))
        assert "search" not in spec.config.settings
        assert spec.manifest.engine == "boxes 3, skills by an oracle that reads its metadata"
        summary = asyncio.run(run_batch(spec, tmp_path / "run"))
    assert summary.overall.won == 1


@pytest.mark.heavy
def test_equal_runs_are_equal_bytes_for_any_number_of_workers(tmp_path: Path) -> None:
    flags = {"world": "alfred", "world_option": {"skills": "oracle"}, "agent": "lota", "split": "example", "max_steps": 12}
    records: list[dict[str, bytes]] = []
    with serve(Knowing(HOT_EGG)) as server:
        for workers in (1, 4):
            folder = tmp_path / f"run-{workers}"
            spec = make_run_spec(configure({**flags, "model": server.model(), "set": {"shots": 2}}, tmp_path))
            asyncio.run(run_batch(spec, folder, RunOptions(concurrency=workers)))
            records.append({path.name: path.read_bytes() for path in sorted((folder / "episodes").iterdir())})
    assert records[0] == records[1]
    assert len(records[0]) > 2
