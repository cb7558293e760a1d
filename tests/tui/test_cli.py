"""The command as a whole: help, exit codes, odd arguments, readers who leave."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from housequest.tui.cli import app
from housequest.worlds.errors import HousequestError
from tests.agent.evaluation.test_rehearsal import talking
from tests.backends.policy import Solver
from tests.backends.server import serve, status
from tests.parts import needs
from tests.tui.conftest import COMMAND, Run, environment
from tests.waiting import ending


@pytest.mark.heavy
def test_help_and_version(run: Run) -> None:
    help = run("--help")
    assert help.returncode == 0
    assert all(name in help.stdout for name in ("play", "eval", "report", "replay", "models", "data"))
    version = run("--version")
    assert (version.returncode, version.stderr) == (0, "")
    assert version.stdout.startswith("housequest ")


def test_nothing_said_shows_the_help(call: Run) -> None:
    done = call()
    assert done.returncode == 2
    assert "Usage: housequest" in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [("nonsense",), ("--nonsense",), ("play", "--nonsense"), ("models", "nonsense")])
def test_unknown_words_are_wrong_usage(arguments: tuple[str, ...], call: Run) -> None:
    done = call(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nonsense" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("evl",), "housequest: No such command 'evl'. Did you mean 'eval'? `housequest -h` shows what there is.\n"),
        (("play", "--xyzzy"), "housequest: No such option: --xyzzy. `housequest play -h` shows what there is.\n"),
        pytest.param(
            ("export", "x", "--out"),
            "housequest: Option '--out' requires an argument. `housequest export -h` shows what there is.\n",
            marks=needs("training"),
        ),
        (("eval", "--limit", "abc"), "housequest: --limit: 'abc' is not a whole number; give one such as 10.\n"),
        (("eval", "--timeout", "soon"), "housequest: --timeout: 'soon' is not a number; give one such as 2.5.\n"),
        (
            ("eval", "--model", "gpt-4"),
            "housequest: There is no kind of model 'gpt-4'. Did you mean 'openai:gpt-4'? Name",
        ),
    ],
)
def test_every_error_begins_alike_and_says_the_way_out(arguments: tuple[str, ...], said: str, call: Run) -> None:
    done = call(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)


ODD = [
    b"\xff\xfe",
    b"\x1b[31mred",
    b"\xe2\x80\xae",
    b"",
    b"[/bold]",
    b"%s%n",
    b"x" * 100_000,
    b"../../..",
    b"~nobody/x",
    b"-",
    b"a\nb",
]


COMMANDS = [("play",), ("replay",), ("report",), ("eval", "--agent")]
ARGUMENTS = [(*command, odd) for command in COMMANDS for odd in (ODD if command == ("play",) else ODD[:2])]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda arguments: ascii(arguments)[:40])
def test_an_odd_argument_is_an_error(arguments: tuple[str | bytes, ...], call: Run) -> None:
    done = call(*map(os.fsdecode, arguments))
    assert done.returncode in {1, 2}
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    assert done.stdout == ""


# Of a process of its own are the decoding of arguments and the encoding of what is said about them.
@pytest.mark.heavy
@pytest.mark.parametrize("arguments", [(*command, ODD[0]) for command in COMMANDS], ids=lambda arguments: arguments[0])
def test_no_argument_ends_in_a_traceback(arguments: tuple[str | bytes, ...], tmp_path: Path) -> None:
    command = [*map(os.fsencode, (*COMMAND, *arguments))]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, input=b"", check=False, timeout=60)
    assert done.returncode in {1, 2}
    assert done.stderr.strip()
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stderr
    assert done.stdout == b""


_COMMANDS = ("play", "eval", "report", "replay", "models", "data", "models check", "data check", "data import")
_FLAGS = ("--world", "--engine", "--split", "--type", "--limit", "--sample", "--goals", "--seed", "--agent", "--set", "--model")
_MORE = (
    "--rules",
    "--grant",
    "--max-steps",
    "--concurrency",
    "--retry-errors",
    "--out",
    "--task",
    "--speed",
    "--json",
    "--dry-run",
)
_ODD_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
_VALUE = _ODD_TEXT | st.sampled_from(("scripted", "demo", "expert", "1", "-1", "type", "x=1", "openai:x", "scripted:x", "\0"))


@pytest.mark.heavy
@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(_COMMANDS), st.lists(st.sampled_from(_FLAGS + _MORE) | _VALUE, max_size=6))
@example("replay", ["\0"])
def test_any_arguments_are_a_result_or_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "data"))
    result = CliRunner().invoke(app, [*command.split(), *words], input="")
    assert result.exception is None or isinstance(result.exception, SystemExit | HousequestError | OSError), result.exception


@pytest.mark.heavy
def test_a_reader_who_leaves_is_no_error(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "eval", "--world", "scripted", "--agent", "expert", "--out", "run"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with ending(process):
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
    assert b"Traceback" not in said
    assert b"BrokenPipe" not in said


@pytest.mark.heavy
@pytest.mark.skipif(os.name != "posix", reason="closes descriptors as a POSIX shell does")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str, tmp_path: Path) -> None:
    script = f'exec "$@" {closed}'
    command = ["sh", "-c", script, "sh", *COMMAND, "play", "--world", "scripted", "--agent", "expert"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, check=False, timeout=60)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_a_broken_configuration_names_its_file(call: Run, tmp_path: Path) -> None:
    (tmp_path / "housequest.toml").write_text("modle = 'x'")
    done = call("play")
    assert done.returncode == 2
    assert str(tmp_path / "housequest.toml") in done.stderr
    assert "'model'" in done.stderr


@pytest.mark.parametrize(
    ("command", "text", "said"),
    [
        ("play {}", '{"pddl_problem": 3}', "so it is not a game."),
        pytest.param(
            "play --world household-graph --world-option data={}",
            '[\n{"task_id": 1}\n]',
            "line 2, task 1, task_goal: 'task_goal' is missing.",
            marks=needs("graphs"),
        ),
        pytest.param(
            "eval --world household-graph --world-option data={}",
            "[\n\n{",
            "line 3, column 2, task 1: this is not JSON",
            marks=needs("graphs"),
        ),
    ],
)
def test_a_damaged_file_of_tasks_cannot_be_used(command: str, text: str, said: str, call: Run, tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_text(text)
    done = call(*command.format(path).split(), "--agent", "expert")
    assert (done.returncode, done.stdout) == (2, "")
    assert str(path) in done.stderr and said in done.stderr


def test_models_lists_what_can_be_used(call: Run) -> None:
    done = call("models", OPENAI_API_KEY="sk-very-secret", HOUSEQUEST_MODEL="openai:small")
    assert done.returncode == 0
    assert "OPENAI_API_KEY is set" in done.stdout
    assert "Configured: openai:small (HOUSEQUEST_MODEL)" in done.stdout
    assert "very-secret" not in done.stdout + done.stderr


@pytest.mark.heavy
def test_a_model_is_proved_by_a_real_call(call: Run) -> None:
    with serve(talking(Solver())) as server:
        done = call("models", "check", server.model(), "--agent", "react")
    assert done.returncode == 0
    assert done.stdout.startswith("react plays example:1 for two turns:\nwhole       2 calls, ")
    assert "choice among texts     no   not offered" in done.stdout


@pytest.mark.heavy
def test_a_model_that_fails_is_an_exit_code(call: Run) -> None:
    with serve(lambda messages: "ready \x1b[31m") as server:
        mute = call("models", "check", server.model())
        server.behave(otherwise=status(404))
        gone = call("models", "check", server.model())
    assert (mute.returncode, gone.returncode) == (1, 1)
    assert "The first began: ready \\x1b[31m." in mute.stdout
    assert "Play would fail: whole and in pieces: The model answered 404" in gone.stdout


@pytest.mark.parametrize("arguments", [("nonsense",), ("scripted:/nowhere",), ("openai:x@http://user:secret@h/v1",)])
def test_a_model_that_is_none(arguments: tuple[str, ...], call: Run) -> None:
    done = call("models", "check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "secret" not in done.stderr
