"""inspect_ai runs our task as its own: by tools and by text, with its limits, retries and scores."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.worlds.errors import ConfigurationError
from tests.agent.integrations.inspect_ai.test_log import needs_inspect, read
from tests.backends.caller import calling
from tests.backends.policy import Solver
from tests.backends.server import Server, answer, saying, serve, slow, status

pytestmark = [needs_inspect, pytest.mark.slow]

MODEL = "openai-api/local/tester"
COUNTS = ("steps", "refused", "repeated", "unreadable")


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Solver()) as running:
        yield running


def inspect(folder: Path, server: Server, *arguments: str) -> str:
    """What the command ``inspect`` prints."""
    place = {"LOCAL_BASE_URL": server.url, "LOCAL_API_KEY": "none", "INSPECT_LOG_DIR": str(folder / "logs")}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("inspect")), *arguments],
        check=False,
        cwd=folder,
        env={**os.environ, **place, "HOUSEQUEST_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def evaluate(folder: Path, server: Server, *arguments: str, split: str = "example") -> Any:
    """The log of an evaluation by the command."""
    given = ["-T", f"split={split}", "--model", MODEL, "--display", "plain", *arguments]
    inspect(folder, server, "eval", "housequest/alfworld", *given)
    return newest(folder)


def newest(folder: Path) -> Any:
    return read(max((folder / "logs").iterdir(), key=lambda file: file.stat().st_mtime_ns))


def figures(log: Any) -> dict[str, float]:
    return {score.name: next(iter(score.metrics.values())).value for score in log.results.scores}


def test_a_model_that_calls_tools_plays_each_command_by_one(tmp_path: Path, server: Server) -> None:
    server.behave(otherwise=calling)
    log = evaluate(tmp_path, server)
    assert (log.status, log.eval.task, log.eval.scorers[0].name) == ("success", "housequest/alfworld", "played")
    assert figures(log)["won"] == figures(log)["goal_conditions"] == 1
    assert log.eval.metadata["configuration"]["agent"] == "tools"
    for sample in log.samples:
        called = [event for event in sample.events if event.event == "tool"]
        assert len(called) == sample.scores["played"].value["steps"]
        assert all(event.completed is not None for event in called)
        assert sample.messages[-1].text.endswith("The game is over: won in " + f"{len(called)} turns.")
        assert sample.input in sample.messages[1].text
        assert not any(sample.metadata["type"] in message.text for message in sample.messages)


def test_our_agents_play_by_text_as_in_a_run_of_ours(tmp_path: Path, server: Server) -> None:
    log = evaluate(tmp_path, server, "-T", "agent=react", "-T", "max_steps=12")
    asked = [request.messages for request in server.requests]
    server.reset()
    ours = {"split": "example", "agent": "react", "max_steps": 12, "model": server.model()}
    spec = make_run_spec(configure(ours, tmp_path))
    asyncio.run(run_batch(spec, tmp_path / "run"))
    assert sorted(map(repr, asked)) == sorted(repr(request.messages) for request in server.requests)
    results = {result.task: result for result in RunFolder(tmp_path / "run").results(spec.manifest.tasks)}
    assert {sample.id for sample in log.samples} == set(results)
    for sample in log.samples:
        score, result = sample.scores["played"], results[sample.id]
        assert score.value["won"] == result.won
        assert [score.value[name] for name in COUNTS] == [getattr(result, name) for name in COUNTS]
        assert score.explanation == result.reason
        steps = [event.data for event in sample.events if event.event == "info" and event.source == "housequest"]
        assert len(steps) == result.steps
    assert {result.won for result in results.values()} == {True, False}


def test_what_broke_is_tried_again_and_all_is_scored_anew(tmp_path: Path, server: Server) -> None:
    server.behave(answer, status(413), otherwise=answer)
    broken = evaluate(tmp_path, server, "-T", "agent=react", "--max-samples", "1", "--no-fail-on-error")
    assert sorted(sample.error is not None for sample in broken.samples) == [False, False, True]
    inspect(tmp_path, server, "eval-retry", broken.location, "--display", "plain")
    mended = newest(tmp_path)
    assert mended.status == "success"
    assert [sample.error for sample in mended.samples] == [None] * 3
    assert figures(mended)["won"] == 1
    again = ("--action", "overwrite", "--overwrite", "--display", "plain")
    inspect(tmp_path, server, "score", mended.location, *again)
    assert figures(newest(tmp_path)) == figures(mended)


@pytest.mark.parametrize("agent", ["tools", "react"])
@pytest.mark.parametrize(("kind", "limit"), [("message", "7"), ("token", "900"), ("time", "2")])
def test_limits_end_games_that_are_scored_all_the_same(
    agent: str, kind: str, limit: str, tmp_path: Path, server: Server
) -> None:
    well = calling if agent == "tools" else answer
    server.behave(*[well] * 2, otherwise=slow(60) if kind == "time" else well)
    log = evaluate(tmp_path, server, "-T", f"agent={agent}", "-T", "limit=1", f"--{kind}-limit", limit)
    (sample,) = log.samples
    assert (log.status, sample.error, sample.limit.type) == ("success", None, kind)
    played = sample.scores["played"]
    assert (played.value["won"], played.explanation) == (0, "not played to its end")
    assert played.value["steps"] >= 2


def test_replies_that_call_no_tool_or_none_that_is_there_take_turns(tmp_path: Path, server: Server) -> None:
    function = {"name": "teleport", "arguments": "{}"}
    call = {"id": "call-0", "type": "function", "function": function}
    server.behave(saying("Let me think."), otherwise=saying(None, finish="tool_calls", tool_calls=[call]))
    log = evaluate(tmp_path, server, "-T", "limit=1", "-T", "max_steps=3")
    (sample,) = log.samples
    assert (sample.error, sample.limit) == (None, None)
    assert sample.scores["played"].value["steps"] == 0
    assert sample.scores["played"].explanation == "out of turns (3)"
    assert len(server.requests) == 3


def test_tools_refuse_what_is_for_text(tmp_path: Path) -> None:
    from housequest.agent.integrations.inspect_ai.task import alfworld

    with pytest.raises(ConfigurationError, match="-T rules is for agents that ask a model by text"):
        alfworld(split="example", rules="book")
    with pytest.raises(ConfigurationError, match="-T protocol is for agents"):
        alfworld(agent="tools", protocol="react")


@pytest.mark.games
def test_a_protocol_plays_by_its_conditions(tmp_path: Path, server: Server) -> None:
    server.behave(otherwise=saying("<think>Where am I?</think><action>look</action>"))
    log = evaluate(tmp_path, server, "-T", "protocol=verl-agent", "-T", "sample=1", "-T", "seed=3", split="valid_seen")
    config = log.eval.metadata["configuration"]
    assert (config["agent"], config["settings"]["window"], config["grants"]) == ("react", 2, ["admissible"])
    assert {request.body["temperature"] for request in server.requests} == {0.4}
    assert log.samples[0].scores["played"].value["steps"] == 50
