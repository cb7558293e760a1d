"""What is exported for inspect_ai is what inspect_ai reads back: the same episodes, prompts, tokens and figures."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.config import configure
from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.integrations.inspect_ai.log import read_conversations, write_inspect_log
from housequest.worlds.errors import ConfigurationError
from tests.backends.policy import Solver
from tests.backends.server import Server, answer, serve, status
from tests.tui.conftest import environment


def _has_inspect() -> bool:
    from importlib.util import find_spec

    return find_spec("inspect_ai") is not None


needs_inspect = pytest.mark.skipif(not _has_inspect(), reason='needs the extra inspect: pip install "housequest[inspect]"')


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(Solver()) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The endpoint of all these tests, as if nobody had asked it anything."""
    running.reset()
    return running


def play(folder: Path, **flags: object) -> RunFolder:
    asyncio.run(run_batch(make_run_spec(configure({"world": "scripted", "agent": "expert", **flags}, folder)), folder / "run"))
    return RunFolder(folder / "run")


def read(file: Path) -> Any:
    from inspect_ai.log import read_eval_log

    return read_eval_log(str(file), resolve_attachments=True)


@needs_inspect
@pytest.mark.parametrize("ending", [".eval", ".json"])
@pytest.mark.parametrize("agent", ["react", "reasoner-actor"])
def test_calls_are_the_prompts_that_went_out(tmp_path: Path, server: Server, agent: str, ending: str) -> None:
    run = play(tmp_path, world="alfworld", split="generated", limit=3, agent=agent, model=server.model())
    sent = [[(message["role"], message["content"]) for message in request.messages] for request in server.requests]
    file = tmp_path / f"log{ending}"
    assert write_inspect_log(run, file) == 3
    log = read(file)
    back = read_for_comparison(run)
    manifest, summary = back.manifest, back.summary
    assert (log.status, log.eval.model, log.eval.solver) == ("success", "openai/tester", agent)
    assert [sample.id for sample in log.samples] == [task.id for task in manifest.tasks]
    calls = [event for sample in log.samples for event in sample.events if event.event == "model"]
    assert [[(message.role, message.text) for message in call.input] for call in calls] == sent
    assert len(calls) == summary.overall.calls == sum(sample.metadata["calls"] for sample in log.samples)
    assert {call.role for call in calls} == ({"react"} if agent == "react" else {"reasoner", "actor"})
    usage = log.stats.model_usage["openai/tester"]
    assert (usage.input_tokens, usage.output_tokens) == (summary.overall.prompt_tokens, summary.overall.completion_tokens)
    for sample in log.samples:
        assert sample.scores["won"].value == ("C" if sample.metadata["outcome"] == "won" else "I")
        assert "Your task is to: " in sample.input
        last = [event for event in sample.events if event.event == "model" and event.role != "reasoner"][-1]
        assert [message.text for message in sample.messages] == [
            *(message.text for message in last.input),
            last.output.completion,
        ]


@needs_inspect
def test_commands_are_events_and_calls_have_their_times(tmp_path: Path, server: Server) -> None:
    run = play(tmp_path, world="alfworld", split="generated", limit=1, agent="react", model=server.model())
    write_inspect_log(run, tmp_path / "log.eval")
    (sample,) = read(tmp_path / "log.eval").samples
    steps = [body for event in read_episode(next(run.episodes.iterdir())) if isinstance(body := event.body, Stepped)]
    called = [event for event in sample.events if event.event == "tool"]
    assert [(event.arguments["command"], event.result) for event in called] == [(one.command, one.observation) for one in steps]
    asked = [event for event in sample.events if event.event == "model"]
    assert [event.event for event in sample.events[:4]] == ["model", "tool", "model", "tool"]
    seconds = [json.loads(line)["seconds"] for line in run.timing_file.read_text("utf-8").splitlines()]
    assert [event.working_time for event in asked] == [event.output.time for event in asked] == seconds
    assert sample.working_time == pytest.approx(sum(seconds))
    assert sample.total_time >= sample.working_time
    times = [event.timestamp for event in sample.events]
    assert times == sorted(times)
    assert sample.started_at <= times[0].isoformat() and times[-1].isoformat() <= sample.completed_at


@needs_inspect
def test_figures_are_the_reports(tmp_path: Path) -> None:
    with serve(lambda messages: "Thought: let me see\nAction: look") as server:
        server.behave(*[answer] * 8, otherwise=status(413))  # the third task's calls
        run = play(tmp_path, agent="react", model=server.model(), max_steps=4)
    assert write_inspect_log(run, tmp_path / "log.eval") == 3
    log = read(tmp_path / "log.eval")
    summary = read_for_comparison(run).summary
    metrics = log.results.scores[0].metrics
    assert metrics["accuracy"].value == summary.overall.success == 0
    assert (log.results.total_samples, log.results.completed_samples) == (3, 2)
    (errored,) = [sample for sample in log.samples if sample.error is not None]
    assert errored.id == "demo/light"
    assert errored.error.message.startswith("model: ")
    assert (errored.metadata["outcome"], errored.metadata["boundary"]) == ("error", "model")
    assert errored.scores["won"].value == "I"
    lost = next(sample for sample in log.samples if sample.id == "demo/find")
    assert lost.scores["won"].explanation == "out of turns (4)"
    assert (lost.limit.type, lost.limit.limit) == ("custom", 4)
    assert errored.limit is None
    assert lost.metadata["type"] == "find"
    assert lost.metadata["turns"] == 4


@needs_inspect
@pytest.mark.slow
def test_a_log_is_scored_again_by_its_own_scorer(tmp_path: Path) -> None:
    run = play(tmp_path, max_steps=4)
    write_inspect_log(run, tmp_path / "log.eval")
    command = [str(Path(sys.executable).with_name("inspect")), "score", "log.eval", "--action", "overwrite", "--overwrite"]
    subprocess.run([*command, "--display", "plain"], check=True, cwd=tmp_path, env=environment(), timeout=300)
    played, log = {each.task: each for each in run.results(run.manifest().tasks)}, read(tmp_path / "log.eval")
    for sample in log.samples:
        assert (sample.scores["won"].value == "C") is played[sample.id].won
        assert sample.scores["won"].explanation == played[sample.id].reason
    summary = read_for_comparison(run).summary
    assert 0 < summary.overall.success < 1
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(summary.overall.success)


@needs_inspect
def test_an_agent_without_a_model_is_its_commands(tmp_path: Path) -> None:
    run = play(tmp_path)
    write_inspect_log(run, tmp_path / "deep" / "log.json")
    log = read(tmp_path / "deep" / "log.json")
    assert log.results.scores[0].metrics["accuracy"].value == 1
    assert log.results.scores[0].metrics["stderr"].value == 0
    assert (log.eval.model, log.eval.dataset.samples) == ("none/none", 3)
    first = log.samples[0]
    roles = [message.role for message in first.messages]
    assert roles == ["user", *["assistant", "user"] * first.metadata["steps"]]
    assert first.messages[0].text == first.input
    assert first.messages[1].text.endswith("\ngo to study")
    assert (first.metadata["conditions_met"], first.metadata["conditions"]) == (2, 2)


@needs_inspect
def test_stderr_is_inspects_own(tmp_path: Path) -> None:
    run = play(tmp_path, max_steps=6)
    write_inspect_log(run, tmp_path / "log.eval")
    metrics = read(tmp_path / "log.eval").results.scores[0].metrics
    summary = read_for_comparison(run).summary
    won, episodes = summary.overall.won, summary.overall.episodes
    assert 0 < won < episodes
    share = won / episodes
    assert metrics["accuracy"].value == pytest.approx(share)
    assert metrics["stderr"].value == pytest.approx((share * (1 - share) / (episodes - 1)) ** 0.5)


@needs_inspect
def test_a_run_that_broke_off_is_cancelled(tmp_path: Path) -> None:
    run = play(tmp_path)
    (run.episodes / "0003-demo-light.jsonl").unlink()
    assert write_inspect_log(run, tmp_path / "log.eval") == 2
    log = read(tmp_path / "log.eval")
    assert (log.status, len(log.samples), log.results.total_samples) == ("cancelled", 2, 3)


@needs_inspect
def test_the_report_writes_it_and_says_so(tmp_path: Path) -> None:
    run = play(tmp_path)
    program = [
        sys.executable,
        "-c",
        "from housequest.tui.cli import main; main()",
        "report",
        str(run.path),
        "--inspect",
        "log.eval",
    ]
    done = subprocess.run(program, check=False, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "3 episodes written to log.eval\n")
    assert "100.0 %" in done.stdout
    assert len(read(tmp_path / "log.eval").samples) == 3
    assert [file.name for file in tmp_path.iterdir() if "part" in file.name] == []


@pytest.mark.parametrize("name", ["log.txt", "log", "", "log.EVAL"])
def test_another_ending_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"should end in \.eval or \.json"):
        write_inspect_log(RunFolder(tmp_path), tmp_path / name)


@pytest.mark.heavy
def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    run = play(tmp_path)
    program = "import sys; sys.modules['inspect_ai'] = None; from housequest.tui.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, "report", str(run.path), "--inspect", "log.eval"],
        check=False,
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert 'pip install "housequest[inspect]"' in done.stderr
    assert not (tmp_path / "log.eval").exists()


def test_conversations_of_nothing_are_none(tmp_path: Path) -> None:
    run = play(tmp_path)
    events = list(read_episode(next(run.episodes.iterdir())))
    assert read_conversations([]) is None
    begun = read_conversations(events[:1])
    assert begun is not None
    assert [said.role for said in begun.chat] == ["user"]
