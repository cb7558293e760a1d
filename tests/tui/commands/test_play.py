"""``housequest play`` and ``replay`` as a person meets them, with and without a terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from housequest.agent.agents.spec import agent_spec
from housequest.agent.episodes.record import read_episode
from housequest.worlds.paths import state_folder
from tests.backends.server import Server, serve, status
from tests.parts import needs
from tests.tui.conftest import COMMAND, Run, environment
from tests.waiting import PATIENCE

SCRIPTED = ("--world", "scripted")


def recorded() -> list[Path]:
    """The files of the episodes that were recorded."""
    return sorted((state_folder() / "episodes").glob("*.jsonl*"))


def recorded_games() -> list[Path]:
    """The same without their clocks."""
    return [file for file in recorded() if ".timing" not in file.name]


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(lambda messages: "Thought: let me see\nAction: look") as running:
        yield running


@pytest.mark.heavy
def test_the_first_run_shows_the_model_that_ships_and_says_so(run: Run) -> None:
    done = run("play")
    assert done.returncode == 0
    assert done.stdout.startswith("This is the model that ships with housequest")
    assert "\nWon in " in done.stdout
    assert "--agent reasoner-actor" in done.stdout
    assert "--model openai:NAME@http://localhost:8000/v1" in done.stdout
    assert "housequest play --agent human" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert str(recorded()[0]) in done.stderr


def test_a_person_types(call: Run) -> None:
    typed = "?\n\n:goal\n??\nfly\ngo to study\ntake key\ngo to cellar\ngo to hall\ngo to cellar\nunlock box\ntake coin\n"
    done = call("play", *SCRIPTED, "--agent", "human", input=typed)
    assert done.returncode == 0
    assert "go to RECEPTACLE" in done.stdout or "go to ROOM" in done.stdout
    assert "     take lamp\n" in done.stdout
    assert "That is not understood. Nothing is sent." in done.stdout
    assert "Won in 7 turns.\n1 command had no effect." in done.stdout
    (record,) = recorded()
    events = list(read_episode(record))
    assert events[0].body.kind == "started"
    assert events[0].body.agent == "human"
    assert events[-1].body.kind == "ended"
    assert events[-1].body.assisted is False


@pytest.mark.parametrize("typed", ["", "look\n", "look\n:quit\nlook\n", "look"])
def test_a_person_leaves(typed: str, call: Run) -> None:
    done = call("play", *SCRIPTED, "--agent", "human", input=typed)
    assert done.returncode == 0
    assert "Stopped after" in done.stdout


def test_what_is_typed_may_be_anything(call: Run) -> None:
    typed = "\x1b[31m\n\u202e\n" + "x" * 300_000 + "\n\x00\n" + ":nonsense\n"
    done = call("play", *SCRIPTED, "--agent", "human", "--max-steps", "9", input=typed)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout
    assert "That is not understood" in done.stdout


def test_an_agent_plays_with_a_model(call: Run, server: Server) -> None:
    done = call("play", *SCRIPTED, "--agent", "react", "--model", server.model(), "--max-steps", "2", "--no-record")
    assert done.returncode == 0
    assert "     react: let me see\n 1 > look\n" in done.stdout
    assert "Lost after 2 turns" in done.stdout
    assert recorded() == []
    assert done.stderr == ""


def test_a_configured_model_plays_as_reasoner_actor(call: Run, server: Server) -> None:
    done = call("play", *SCRIPTED, "--max-steps", "1", HOUSEQUEST_MODEL=server.model())
    assert done.returncode == 0
    assert "scripted demo:1, reasoner-actor, openai:tester, at most 1 turn\n" in done.stdout


def test_an_episode_that_breaks_off_is_an_exit_code(call: Run, server: Server) -> None:
    server.behave(otherwise=status(413))
    done = call("play", *SCRIPTED, "--agent", "react", "--model", server.model())
    assert done.returncode == 1
    assert "by an error (model)" in done.stdout


def test_a_drawn_task_can_be_drawn_again(call: Run) -> None:
    done = call("play", *SCRIPTED, "--random", "--agent", "expert")
    seed = done.stderr.partition("--seed ")[2].partition(".")[0]
    again = call("play", *SCRIPTED, "--random", "--agent", "expert", "--seed", seed)
    assert done.stdout == again.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere:1",),
        ("demo:99",),
        ("demo:1", "--random"),
        ("--agent", "nobody"),
        ("--agent", "react"),
        ("--agent", "expert", "--set", "x=1"),
        ("--agent", "expert", "--set", "x"),
        ("--speed", "0"),
        ("--speed", "nan"),
        ("--grant", "all"),
        ("--max-steps", "0"),
        ("--seed", "x"),
        ("--type", "nothing"),
        ("--split", "nothing"),
        ("--goals", "human"),
        ("--engine", "steam"),
        ("--agent", "react", "--model", "nonsense"),
        ("--agent", "react", "--model", "scripted:/nowhere"),
        ("--nonsense",),
        ("demo:1", "demo:2"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], call: Run) -> None:
    done = call("play", *SCRIPTED, *arguments)
    assert done.returncode == 2
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


def test_rules_that_cannot_be_read(call: Run, tmp_path: Path) -> None:
    done = call("play", *SCRIPTED, "--agent", "expert", "--rules", "rules.yaml")
    assert done.returncode == 2
    assert "rules.yaml" in done.stderr


def test_who_takes_no_rules_says_so(call: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("format: 0.2\nworld: scripted\nrules:\n- The key opens the box.\n")
    done = call("play", *SCRIPTED, "--agent", "expert", "--rules", "rules.yaml")
    assert "The agent 'expert' takes none of these rules; it plays without 'rules.yaml'." in done.stderr
    assert "is shown" not in done.stdout
    by_hand = call("play", *SCRIPTED, "--agent", "human", "--rules", "rules.yaml", input=":quit\n")
    assert "the agent is shown 1 rule" in by_hand.stdout


def test_a_replay_tells_what_play_told(call: Run) -> None:
    played = call("play", *SCRIPTED, "--agent", "expert")
    (record,) = recorded()
    replayed = call("replay", str(record), "--speed", "1000", "--step", input="\n" * 50)
    assert (replayed.returncode, replayed.stdout) == (0, played.stdout)
    assert call("replay", str(record), "--step").stdout.count(" > ") == 1


def test_a_replay_of_an_interrupted_record_says_so(call: Run) -> None:
    call("play", *SCRIPTED, "--agent", "expert")
    (record,) = recorded()
    record.write_bytes(record.read_bytes()[:-20])
    done = call("replay", str(record))
    assert done.returncode == 0
    assert "interrupted" in done.stderr


def test_a_task_of_a_run_is_replayed(call: Run, tmp_path: Path) -> None:
    call("eval", *SCRIPTED, "--agent", "expert", "--out", "run")
    by_number = call("replay", "run", "--task", "2")
    assert by_number.returncode == 0
    assert "bring the coin to the study" in by_number.stdout
    assert by_number.stdout == call("replay", "run", "--task", "demo/bring").stdout


@pytest.mark.parametrize("arguments", [("gone.jsonl",), (".",), (".", "--task", "1"), ("junk",), ("junk", "--speed", "-1")])
def test_what_cannot_be_replayed(arguments: tuple[str, ...], call: Run, tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"\xff\x00 junk\n")
    done = call("replay", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


_ON_TERMINAL = (
    "import fcntl, os, signal, sys, termios; "
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.default_int_handler); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)
"""Makes standard input the terminal whose Ctrl-C counts, whatever was ignored before, and becomes the command."""


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, *arguments: str, folder: Path, term: str = "xterm") -> None:
        import pty

        self.descriptor, theirs = pty.openpty()
        self.child = subprocess.Popen(
            [sys.executable, "-c", _ON_TERMINAL, *COMMAND, *arguments],
            cwd=folder,
            env=environment(TERM=term, COLUMNS="80"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def wait_for(self, text: str) -> None:
        """Read until ``text`` has been shown."""
        ends = time.monotonic() + PATIENCE
        while text not in self.seen:
            more = self._read(ends)
            assert more, self.seen
            self.seen += more

    def send(self, text: bytes, after: str) -> None:
        """Type ``text`` once ``after`` has been shown."""
        self.wait_for(after)
        self.seen = ""
        os.write(self.descriptor, text)

    def end(self, pressing: bytes = b"", until: str = "") -> int:
        """Read on to the end, ``pressing`` keys where nothing comes of it, ``until`` that is shown; the exit code."""
        import select

        ends = time.monotonic() + PATIENCE
        while True:
            if pressing and until not in self.seen and not select.select([self.descriptor], [], [], 1)[0]:
                os.write(self.descriptor, pressing)
            if not (more := self._read(ends)):
                break
            self.seen += more
        os.close(self.descriptor)
        return self.child.wait(PATIENCE)

    def _read(self, ends: float) -> str:
        """What comes next, but not for ever: a screen goes on telling something though nothing came of what was pressed."""
        import select

        left = ends - time.monotonic()
        if left <= 0 or not select.select([self.descriptor], [], [], left)[0]:
            self.child.kill()
            raise TimeoutError(self.seen)
        try:
            return os.read(self.descriptor, 1 << 16).decode("utf-8", "replace")
        except OSError:  # Linux says so when the other side has gone
            return ""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[type[Terminal]]:
    pytest.importorskip("pty")
    yield Terminal


@pytest.mark.heavy
def test_on_a_terminal_the_expert_is_followed_by_an_offer(terminal: type[Terminal], tmp_path: Path) -> None:
    here = terminal("play", "--plain", *SCRIPTED, "--speed", "100", folder=tmp_path)
    here.send(b"\n", after="q and Enter to leave: ")
    here.send(b"go to study\n", after=" 1 > ")
    here.send(b":quit\n", after=" 2 > ")
    assert here.end() == 0
    assert "Stopped after 1 turn" in here.seen
    assert len(recorded()) == 2


@pytest.mark.heavy
def test_the_offer_can_be_declined(terminal: type[Terminal], tmp_path: Path) -> None:
    here = terminal("play", "--plain", *SCRIPTED, "--speed", "100", folder=tmp_path)
    here.send(b"q\n", after="q and Enter to leave: ")
    assert here.end() == 0
    assert len(recorded()) == 1


@pytest.mark.heavy
def test_a_named_task_is_the_persons_own(terminal: type[Terminal], tmp_path: Path) -> None:
    here = terminal("play", "--plain", *SCRIPTED, "demo:3", folder=tmp_path)
    here.send(b"\x04", after=" 1 > ")
    assert here.end() == 0


@pytest.mark.heavy
def test_ctrl_c_at_the_prompt_interrupts(terminal: type[Terminal], tmp_path: Path) -> None:
    here = terminal("play", "--plain", *SCRIPTED, "--agent", "human", folder=tmp_path)
    here.send(b"look\n", after=" 1 > ")
    here.wait_for(" 2 > ")
    # An interrupt between the prompt and the waiting for a key is noticed at the next key: a person presses once more.
    # One that comes while Python shuts down would end it otherwise.
    assert here.end(pressing=b"\x03", until="Recorded") == 130
    (part,) = recorded()
    assert part.name.endswith(".part")
    assert "Traceback" not in here.seen


@pytest.mark.heavy
def test_ctrl_c_while_a_model_thinks_interrupts(terminal: type[Terminal], tmp_path: Path, server: Server) -> None:
    from tests.backends.server import together

    server.behave(otherwise=together(2))  # nobody else comes: it waits for ever
    here = terminal("play", "--plain", *SCRIPTED, "--agent", "react", "--model", server.model(), folder=tmp_path)
    here.wait_for("Your task is to")
    server.await_requests(1, here.child)
    os.kill(here.child.pid, signal.SIGINT)
    assert here.end() == 130
    assert "Traceback" not in here.seen


SCREEN = "\x1b[?1049h"
"""What a terminal is told before a whole screen is drawn on it."""


@pytest.mark.heavy
def test_on_a_terminal_nothing_named_opens_home(terminal: type[Terminal], tmp_path: Path) -> None:
    here = terminal("play", folder=tmp_path)
    here.send(b"q", after="put a hot egg")
    here.send(b"q", after="q once more")
    assert here.end() == 0
    assert "Traceback" not in here.seen
    assert recorded() == []


@pytest.mark.heavy
def test_on_a_terminal_a_named_game_is_played_on_the_screen(terminal: type[Terminal], tmp_path: Path) -> None:
    here = terminal("play", *SCRIPTED, "demo:1", "--agent", "expert", "--speed", "1000", folder=tmp_path)
    here.send(b"\x11", after="In 6 turns")
    assert here.end() == 0
    (record,) = recorded_games()
    assert record.name in "".join(here.seen.split())
    assert list(read_episode(record))[-1].body.kind == "ended"


@pytest.mark.heavy
def test_a_game_that_is_left_is_recorded_as_far_as_it_went(terminal: type[Terminal], tmp_path: Path) -> None:
    here = terminal("play", *SCRIPTED, "demo:1", "--agent", "human", folder=tmp_path)
    here.send(b"look\r", after="You are in the hall")
    here.send(b"\x11", after="turn 1/50")
    here.send(b"\x11", after="is not over")
    assert here.end() == 0
    (record,) = recorded_games()
    assert record.name.endswith(".part")
    assert "Recorded as far as it went" in " ".join(here.seen.split())


@pytest.mark.heavy
@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_without_a_cursor_gets_plain_text(term: str, terminal: type[Terminal], tmp_path: Path) -> None:
    here = terminal("play", *SCRIPTED, "--speed", "100", folder=tmp_path, term=term)
    here.send(b"q\n", after="q and Enter to leave: ")
    assert here.end() == 0
    assert SCREEN not in here.seen


@pytest.mark.heavy
@pytest.mark.parametrize(
    "arguments",
    [
        ("--agent", "react"),
        ("nowhere:1",),
        ("--mode", "swim"),
        ("--plain", "--mode", "race"),
        ("--agent", "human", "--mode", "race"),
    ],
)
def test_what_cannot_be_played_opens_no_screen(arguments: tuple[str, ...], terminal: type[Terminal], tmp_path: Path) -> None:
    here = terminal("play", *SCRIPTED, *arguments, folder=tmp_path)
    assert here.end() == 2
    assert here.seen.startswith("housequest: ")
    assert SCREEN not in here.seen


def test_a_mode_needs_a_terminal(call: Run) -> None:
    done = call("play", *SCRIPTED, "--mode", "you")
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs the screen" in done.stderr


@needs("alfred", "opex")
def test_a_newcomer_is_told_how_to_play_the_same_world_on(call: Run) -> None:
    said = call("play", "--world", "alfred", "--plain").stdout
    assert "To watch a language model play" in said
    watched, human = re.findall(r"play --world alfred --agent (\S+)", said)
    assert ("camera" in agent_spec(watched).takes, human) == (True, "human")
