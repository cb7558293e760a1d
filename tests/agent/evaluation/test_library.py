"""Evaluation from Python: under a running event loop, with objects in place of names, and with metrics of one's own."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_type_hints

import pytest

from housequest import (
    Act,
    Agent,
    AgentParts,
    Completion,
    ConfigurationError,
    Decision,
    Emitter,
    Grants,
    Metric,
    Model,
    Observation,
    Request,
    Turn,
    declare_agent,
    evaluate,
    evaluate_async,
    make_world,
    register,
    report,
)
from housequest.agent.config import Settings
from housequest.agent.evaluation.library import RunSettings
from housequest.worlds.registry import _HERE, plugins, world_class
from housequest.worlds.scripted import ScriptedWorld


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test registers is known in that test alone."""
    before = dict(_HERE)
    yield
    _HERE.clear()
    _HERE.update(before)
    plugins.cache_clear()
    world_class.cache_clear()


@declare_agent("looking", about="It looks around.", needs=(), takes=())
def looking(parts: AgentParts[Any]) -> Agent:
    return LookingAgent()


class LookingAgent(Agent):
    name = "looking"

    def begin(self, goal: str, observation: Observation, grants: Grants) -> None:
        return None

    async def decide(self, memory: None, turn: Turn, emit: Emitter) -> tuple[Decision, None]:
        return Act("look"), None


class LookingModel(Model):
    name = "looks, always=yes"
    closed = False

    async def complete(self, request: Request) -> Completion:
        return Completion("> look")

    async def aclose(self) -> None:
        self.closed = True


@dataclass(frozen=True)
class OwnWorld(ScriptedWorld):
    name = "own"


SMALL: RunSettings = {"split": "example", "limit": 2, "max_steps": 3}


def test_an_event_loop_may_be_running(tmp_path: Path) -> None:
    async def cell() -> tuple[Path, Path]:
        first = evaluate(agent="expert", out=tmp_path / "waited", **SMALL)
        return first, await evaluate_async(agent="expert", out=tmp_path / "awaited", **SMALL)

    waited, awaited = asyncio.run(cell())
    assert report(waited)["episodes"] == report(awaited)["episodes"] == 2


def test_what_fails_under_a_running_loop_fails_as_elsewhere(tmp_path: Path) -> None:
    async def cell() -> None:
        evaluate(agent="exprt", out=tmp_path / "run")

    with pytest.raises(ConfigurationError, match="expert"):
        asyncio.run(cell())


def test_an_agent_of_ones_own_needs_no_package(tmp_path: Path) -> None:
    run = evaluate(agent=looking, out=tmp_path / "run", **SMALL)
    found: Any = report(run)
    assert found["steps"]["total"] == 6
    again = evaluate(agent=replace(looking, about="Written again."), out=tmp_path / "again", **SMALL)
    assert json.loads((again / "run.json").read_bytes())["configuration"]["agent"] == "looking"


def test_an_agent_may_be_given_as_it_is(tmp_path: Path) -> None:
    run = evaluate(agent=LookingAgent(), out=tmp_path / "run", **SMALL)
    assert json.loads((run / "run.json").read_bytes())["configuration"]["agent"] == "looking"
    found: Any = report(run)
    assert found["steps"]["total"] == 6
    run = evaluate(players=[LookingAgent(), "expert"], split="chores", limit=1, max_steps=1, out=tmp_path / "company")
    found = report(run)
    assert found["episodes"] == 1


@declare_agent("nameless", about="Its agent has no name.", needs=(), takes=())
def nameless(parts: AgentParts[Any]) -> Agent:
    return cast("Agent", object())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"agent": LookingAgent}, "is a class; give an object of it. An agent has a name, `begin` and `decide`; declare_agent"),
        ({"agent": looking.make}, "is no agent: it has no name, no begin, no decide"),
        ({"agent": nameless}, "is no agent: it has no name, no begin, no decide"),
        ({"agnt": "expert"}, "no argument 'agnt'; known: world, .* Did you mean 'agent'"),
        ({"agent": "react", "model": LookingModel}, "is no model; give an object of a subclass of Model, or a name"),
        ({"agent": "react", "model": 5}, "5 is no model"),
        ({"agent": "expert", "limit": "many"}, "^`limit`: 'many' cannot be used"),
        ({"agent": "react"}, "name one with `model`, for example"),
        ({"agent": "expert", "split": "nosuch"}, "There is no split 'nosuch'.*`housequest data download`"),
    ],
)
def test_errors_speak_of_arguments(settings: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=words):
        evaluate(out=tmp_path / "run", **{**SMALL, **settings})


class LostAgent(LookingAgent):
    """An agent with a mistake that newcomers make: nobody granted it the commands."""

    async def decide(self, memory: None, turn: Turn, emit: Emitter) -> tuple[Decision, None]:
        return Act(cast("Any", turn.admissible)[0]), None


def test_a_cell_that_is_run_again_is_told_what_was_not_played(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"2 of 2 episodes ended in an error, such as: TypeError at .* `retry_errors=True`"):
        evaluate(agent=LostAgent(), out=tmp_path / "run", **SMALL)
    with pytest.warns(UserWarning, match=r"Nothing was played: .*run has all episodes.* another `out`"):
        evaluate(agent=LookingAgent(), out=tmp_path / "run", **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(agent=LookingAgent(), out=tmp_path / "run", retry_errors=True, **SMALL)
        for _ in range(2):
            evaluate(agent="expert", out=tmp_path / "named", **SMALL)


def test_a_model_of_ones_own_is_called_and_not_closed(tmp_path: Path) -> None:
    model = LookingModel()
    run = evaluate(agent="react", model=model, out=tmp_path / "run", **SMALL)
    assert report(run)["calls"] == 6
    assert not model.closed
    assert json.loads((run / "run.json").read_bytes())["configuration"]["model"] == "object:looks-always-yes"


def test_a_world_of_ones_own_is_given_as_its_class(tmp_path: Path) -> None:
    run = evaluate(world=OwnWorld, agent="expert", split="demo", out=tmp_path / "run")
    assert json.loads((run / "run.json").read_bytes())["configuration"]["world"] == "own"
    assert make_world("own").name == "own"
    with pytest.raises(ConfigurationError, match="give the class ScriptedWorld"):
        evaluate(world=cast("Any", make_world("scripted")))


def test_a_metric_of_ones_own_stands_beside_the_usual_shares(tmp_path: Path) -> None:
    register(
        Metric("wasted", "wasted", "Wasted: the share of commands without effect.", lambda task: (task.refused, task.steps))
    )
    run = evaluate(agent=looking, out=tmp_path / "run", **SMALL)
    found: Any = report(run)
    assert found["metrics"]["wasted"]["value"] == 0.0
    assert "goal_conditions" in found


def test_names_of_installed_plugins_stay_theirs() -> None:
    with pytest.raises(ConfigurationError, match="name of an installed plugin"):
        register(replace(looking, name="expert"))
    with pytest.raises(ConfigurationError, match="cannot be registered"):
        register(cast("Any", "expert"))


def test_each_setting_is_typed() -> None:
    assert set(get_type_hints(RunSettings)) == set(Settings.model_fields)
