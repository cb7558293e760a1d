"""``housequest eval`` and ``report``: exit codes, what goes where, and going on after the worst."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends.policy import Solver
from tests.backends.server import Messages, Policy, Recorded, Response, Server, answer, serve, status, together
from tests.tui.conftest import COMMAND, Run, environment
from tests.waiting import Gate, ending

EXPERT = ("eval", "--world", "scripted", "--agent", "expert")


def look(_: Messages) -> str:
    return "Thought: let me see\nAction: look"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(look) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The endpoint of all these tests, as if nobody had asked it anything."""
    running.reset()
    running.policy = look
    return running


def episodes(run: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (run / "episodes").iterdir()}


@pytest.mark.heavy
def test_the_report_goes_to_stdout_and_the_rest_to_stderr(run: Run, call: Run, tmp_path: Path) -> None:
    done = run(*EXPERT)
    assert done.returncode == 0
    assert done.stderr.startswith("demo: 3 of the split's 3, into runs/demo-expert-")
    success = done.stdout.partition("\n\n")[0]
    assert success.splitlines()[-1].split()[:5] == ["all", "3", "3", "0", "100.0"]
    (folder,) = (tmp_path / "runs").iterdir()
    reported = call("report", str(folder))
    assert (reported.returncode, reported.stdout, reported.stderr) == (0, done.stdout, "")
    assert call(*EXPERT).stdout == done.stdout
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_json_is_one_object(call: Run) -> None:
    done = call(*EXPERT, "--out", "run", "--limit", "2", "--json")
    figures = json.loads(done.stdout)
    assert (figures["episodes"], figures["won"], figures["lost"], figures["errors"]) == (2, 2, 0, 0)
    assert figures["split_size"] == 3
    assert figures["success"] == 1.0
    assert figures["by_type"].keys() == {"bring", "find"}
    assert json.loads(call("report", "run", "--json").stdout) == figures


@pytest.mark.heavy
def test_the_example_houses_are_won_with_any_number_of_workers(call: Run, tmp_path: Path) -> None:
    for workers in ("1", "8"):
        done = call("eval", "--split", "example", "--agent", "expert", "--concurrency", workers, "--out", workers, "--json")
        assert done.returncode == 0, done.stderr
        figures = json.loads(done.stdout)
        assert figures["won"] == figures["episodes"] > 0
    assert episodes(tmp_path / "1") == episodes(tmp_path / "8")


@pytest.mark.heavy
def test_a_role_has_a_model_of_its_own(call: Run, tmp_path: Path, server: Server) -> None:
    server.policy = Solver()
    both = ("--model", server.model(), "--model", f"actor={server.model().replace('tester', 'small')}")
    common = ("eval", "--agent", "reasoner-actor", "--split", "generated", "--limit", "1", "--max-steps", "2", "--json")
    done = call(*common, *both, "--out", str(tmp_path / "run"))
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["model"] == "openai:tester,actor=openai:small"
    assert {role: used["model"] for role, used in told["by_role"].items()} == {
        "reasoner": "openai:tester",
        "actor": "openai:small",
    }
    again = call(*common, *both[:2], "--out", str(tmp_path / "run"))
    assert again.returncode == 2
    assert "model" in again.stderr
    refused = call(*common, *both[:2], "--model", "observer=openai:x")
    assert refused.returncode == 2
    assert "no role 'observer': its roles are reasoner, actor" in " ".join(refused.stderr.split())


def test_a_dry_run_writes_nothing(call: Run, tmp_path: Path) -> None:
    done = call(*EXPERT, "--dry-run", "--type", "light")
    assert done.returncode == 0
    assert "1 of the split's 3" in done.stdout
    assert "demo/light" in done.stdout
    assert "agent is set by --agent" in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert json.loads(call(*EXPERT, "--dry-run", "--json").stdout)["of"] == 3


@pytest.mark.heavy
def test_the_estimate_is_of_all_runs_of_a_series(call: Run, server: Server) -> None:
    base = ("eval", "--world", "scripted", "--agent", "react", "--model", server.model(), "--max-steps", "2", "--dry-run")
    assert " for 3 tasks, " in call(*base).stdout
    assert " for 9 tasks, " in call(*base, "--repeat", "3").stdout
    assert "from none lost to all lost in 4 attempts" in " ".join(call(*base, "--retry-lost", "3").stdout.split())


def test_errors_are_an_exit_code_and_retried(call: Run, tmp_path: Path, server: Server) -> None:
    command = ("eval", "--world", "scripted", "--agent", "react", "--model", server.model(), "--max-steps", "2", "--out", "run")
    server.behave(status(413), status(413))
    done = call(*command)
    assert done.returncode == 1
    assert "model: The model answered 413" in done.stdout
    assert "--retry-errors" in done.stdout
    assert "Errors, counted as not won (1):" in done.stdout
    assert call(*command).returncode == 1
    assert call(*command, "--retry-errors").returncode == 0


def test_a_changed_configuration_is_refused(call: Run, tmp_path: Path) -> None:
    call(*EXPERT, "--out", "run")
    done = call(*EXPERT, "--out", "run", "--max-steps", "3")
    assert done.returncode == 2
    assert "configuration.max_turns: 50 is now 3" in done.stderr
    assert done.stdout == ""


@pytest.mark.heavy
def test_other_habits_are_another_run(call: Run, tmp_path: Path) -> None:
    habits = tmp_path / "habits.yaml"
    command = ("eval", "--agent", "expert", "--split", "generated", "--limit", "3", "--out", "run", "--habits", "habits.yaml")
    habits.write_text("egg: {safe: 1}")
    done = call(*command)
    assert (done.returncode, "habits    habits.yaml" in done.stdout) == (0, True), done.stderr
    habits.write_text("{egg: {safe: 2}}  # the same, in other words")
    assert call(*command).returncode == 0
    habits.write_text("egg: {fridge: 1}")
    changed = call(*command)
    assert changed.returncode == 2
    assert "data: " in changed.stderr
    counted = call(*command[:-2])
    assert counted.returncode == 2
    assert "configuration.habits: 'habits.yaml' is now None" in counted.stderr
    elsewhere = call("eval", "--agent", "expert", "--split", "example", "--habits", "habits.yaml", "--out", "other")
    assert elsewhere.returncode == 2
    assert "habits: 'habits.yaml' applies to made-up houses only" in elsewhere.stderr
    assert not (tmp_path / "other").exists()


def told(process: subprocess.Popen[str], words: str) -> None:
    """Wait until it says ``words`` on stderr."""
    assert process.stderr is not None
    assert any(words in line for line in process.stderr), f"it ended without {words!r}"


@pytest.mark.heavy
@pytest.mark.parametrize("workers", [1, 3])
def test_an_interrupt_lets_calls_in_flight_be_answered_and_none_is_paid_twice(
    workers: int, call: Run, tmp_path: Path, server: Server
) -> None:
    command = ("eval", "--world", "scripted", "--agent", "react", "--model", server.model(), "--max-steps", "4")
    size = ("--concurrency", str(workers), "--out", "run")
    assert call(*command, "--out", "whole").returncode == 0
    calls = len(server.requests)
    server.reset()
    gate = Gate()

    async def held(recorded: Recorded, policy: Policy) -> Response:
        await asyncio.to_thread(gate.wait)
        return await answer(recorded, policy)

    server.behave(*[answer] * 2, *[held] * workers)
    process = subprocess.Popen([*COMMAND, *command, *size], cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    with ending(process):
        server.await_requests(2 + workers, process)
        os.kill(process.pid, signal.SIGINT)
        told(process, "Ctrl-C again leaves at once")
        gate.open()
        _, said = process.communicate()
    assert process.returncode == 130
    assert "Interrupted; 0 of 3 finished. The same command goes on with it." in said
    assert len(server.requests) == 2 + workers, "no new call begins"
    assert call(*command, *size).returncode == 0
    assert len(server.requests) == calls
    assert episodes(tmp_path / "run") == episodes(tmp_path / "whole")


@pytest.mark.parametrize("more", [pytest.param(0, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.heavy)])
def test_a_second_interrupt_leaves_at_once_and_the_first_in_the_end(
    more: int, call: Run, tmp_path: Path, server: Server
) -> None:
    command = ("eval", "--world", "scripted", "--agent", "react", "--model", server.model(), "--max-steps", "2", "--out", "run")
    server.behave(otherwise=together(1_000))
    process = subprocess.Popen([*COMMAND, *command], cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    with ending(process):
        server.await_requests(1, process)
        os.kill(process.pid, signal.SIGINT)
        told(process, "Waiting at most 30 seconds for 1 call to be answered; Ctrl-C again leaves at once.")
        for _ in range(more):
            os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "Exception" not in said
    assert "Interrupted; 0 of 3 finished. The same command goes on with it." in said
    assert "Traceback" not in said
    reported = call("report", "run")
    assert "Not finished: 3 of 3" in reported.stdout
    server.reset()
    assert call(*command).returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--agent", "nobody"),
        ("--agent", "human"),
        ("--agent", "react"),
        ("--agent", "expert", "--concurrency", "0"),
        ("--agent", "expert", "--limit", "0"),
        ("--agent", "expert", "--limit", "1", "--sample", "1"),
        ("--agent", "expert", "--type", "nothing"),
        ("--agent", "expert", "--split", "nothing"),
        ("--agent", "expert", "--sweep", "x"),
        ("--agent", "expert", "--set", "nonsense"),
        ("--agent", "react", "--model", "openai:x@http://user:secret@host/v1"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], call: Run, tmp_path: Path) -> None:
    done = call("eval", "--world", "scripted", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("out", ["file", "file/below", "x" * 300])
def test_a_folder_that_cannot_be_made(out: str, call: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")
    done = call(*EXPERT, "--out", out)
    assert done.returncode in {1, 2}
    assert out.partition("/")[0][:20] in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("run_folder", ["nowhere", "file", "."])
def test_no_run_to_report(run_folder: str, call: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}")
    done = call("report", run_folder)
    assert done.returncode == 2
    assert "run.json" in done.stderr


@pytest.mark.games
def test_a_run_over_published_games_is_told_as_a_part_of_its_split(alfworld_games: Path, call: Run) -> None:
    flags = (
        "--split",
        "valid_seen",
        "--type",
        "heat",
        "--sample",
        "3",
        "--goals",
        "human",
        "--concurrency",
        "4",
        "--out",
        "run",
    )
    done = call("eval", "--agent", "expert", *flags, ALFWORLD_DATA=str(alfworld_games))
    assert done.returncode == 0
    assert "3 of the split's 140, drawn with the sample seed 0: " in " ".join(done.stdout.split())


@pytest.mark.heavy
def test_tasks_are_played_several_times_and_the_report_is_printed_again(call: Run, tmp_path: Path) -> None:
    done = call(*EXPERT, "--repeat", "2")
    assert done.returncode == 0, done.stderr
    assert "2 of up to 2: 3 of the split's 3, seed 1, into runs/demo-expert-" in done.stderr
    assert "repeats   2" in done.stdout
    assert "pass@1 100.0 %, pass@2 100.0 %" in done.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    reported = call("report", str(folder))
    assert (reported.returncode, reported.stdout) == (0, done.stdout)
    assert json.loads(call("report", str(folder), "--json").stdout)["spread"]["pass_at"] == {"1": 1.0, "2": 1.0}
    assert call("verify", str(folder)).returncode == 0
    again = call(*EXPERT, "--repeat", "2")
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_lost_tasks_are_played_again_and_counted_apart(call: Run, tmp_path: Path) -> None:
    done = call(*EXPERT, "--retry-lost", "2", "--max-steps", "5")
    assert done.returncode == 0, done.stderr
    assert "at the first attempt" in done.stdout
    assert "That is another measure" in done.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    assert call("report", str(folder)).stdout == done.stdout
    after = json.loads(call("report", str(folder), "--json").stdout)["after"]
    assert [each["attempt"] for each in after] == [1, 2, 3]
    assert after[1]["tasks"] == after[0]["tasks"] - after[0]["won"]
    dry = call(*EXPERT, "--retry-lost", "2", "--dry-run")
    assert "Would play this up to 3 times" in dry.stdout
    both = call(*EXPERT, "--retry-lost", "2", "--repeat", "2")
    assert both.returncode != 0
    assert "cannot be given together" in both.stderr


def test_a_protocol_refuses_what_contradicts_it(call: Run) -> None:
    refused = call("eval", "--protocol", "verl-agent", "--model", "openai:x@http://localhost:1/v1", "--max-steps", "30")
    assert refused.returncode != 0
    assert "--max-steps: 30 contradicts the protocol verl-agent, which has max_steps 50." in " ".join(refused.stderr.split())
