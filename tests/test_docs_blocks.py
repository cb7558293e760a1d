"""Every block of README and docs/ for a shell or for Python is run, or says why not and is checked as far as it can be.

`tests/pages.py` says how a page marks what is not run. What needs the published games is run where they are.
"""

from __future__ import annotations

import ast
import fcntl
import importlib
import importlib.util
import os
import pty
import re
import select
import shlex
import signal
import socket
import struct
import subprocess
import sys
import termios
import textwrap
import time
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main

from housequest.tui.cli import app
from tests.backends import prompts
from tests.backends.policy import Solver
from tests.backends.server import Messages, serve
from tests.pages import GENERATED, LANGUAGES, LOCAL, PAGES, REASONS, ROOT, Block, Command, blocks, commands
from tests.test_extending import PACKAGES, install_by_hand
from tests.waiting import PATIENCE, ending

SOLVER = Solver()
USAGE: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for words that it does not know."""
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
SCREENS = {("play",), ("daily",), ("replay",), ("runs",), ("rules", "desk")}
"""Commands that open a screen where there is a terminal."""
PLAIN = {"--plain", "--frames", "--cast"}
SERVERS = {"serve", "env-server"}
WRITTEN = [page for page in PAGES if page not in GENERATED]
RUN = [page for page in WRITTEN if any(block.language in {"console", "python"} for block in blocks(page))]
# A shell cannot take an interrupt again that the tests were started to ignore, as those in the background are.
_INTERRUPTIBLE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp("bash", ["bash", "-c", sys.argv[1]])
"""
LONG = {
    "docs/tutorials/evaluator.md",
    "docs/guides/evaluation.md",
    "docs/guides/games.md",
    "docs/explanation/action-attention.md",
    "docs/explanation/builtin.md",
}
"""Pages whose commands take minutes."""
WITH_GAMES = [page for page in RUN if any({"games", "endpoint"} & {*block.reasons} for block in blocks(page))]


def test_every_block_says_what_it_is() -> None:
    for block in blocks():
        kind = block.mark.partition(":")[0]
        assert kind in {"", "not run", "file", "output"} or not block.language, f"{block.place}: {block.mark}"
        if block.language or kind == "not run":
            assert block.language in LANGUAGES, f"{block.place}: what language is this?"
        for reason in block.reasons:
            assert reason in REASONS, f"{block.place}: {reason} is no reason; these are: {', '.join(REASONS)}"
            lines = [command.bare for command in block.commands] or [block.code]
            assert any(re.search(REASONS[reason], line, re.MULTILINE) for line in lines), (
                f"{block.place}: nothing shows {reason}"
            )


# What is typed parses, whether it is run or not.


@pytest.mark.heavy
@pytest.mark.parametrize("page", WRITTEN)
def test_commands_parse(page: str) -> None:
    for command in commands(page):
        try:
            parse(command)
        except (USAGE, AssertionError) as error:
            pytest.fail(f"{command.block.place}: {command.line}\n{error}")


def parse(command: Command) -> None:
    """Read a line as its program would, without running it. What we do not know has to be excused."""
    words = command.words
    if command.program == "housequest":
        parse_ours(words[1:])
    elif command.program in {"python", "python3"} and words[1] == "-m" and words[2] != "venv":
        assert importlib.util.find_spec(words[2]) is not None, f"there is no module {words[2]}"
    elif command.program == "pip":
        for extras in re.findall(r"housequest\[(.*?)\]", command.line):
            assert set(extras.split(",")) <= set(EXTRAS), f"there is no extra {extras}"
    elif command.program == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), f"no target {words[1]}"
    elif command.program:
        assert command.excuses, f"{command.program} is none of our programs"


@cache
def _whole() -> Any:
    return typer.main.get_command(app)


def parse_ours(words: list[str]) -> None:
    """Read the words behind ``housequest`` as Typer does, types and choices included."""
    if words[:1] == ["..."]:
        return
    command = _whole()
    context = command.make_context("housequest", list(words))
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, list(rest), parent=context)


# Python that is not run compiles, and finds what it imports of ours.


@pytest.mark.parametrize("block", [block for block in blocks() if block.language == "python"], ids=lambda block: block.place)
def test_python_compiles_and_imports_what_is_there(block: Block) -> None:
    for node in ast.walk(ast.parse(block.code)):
        match node:
            case ast.Import(names=names):
                found = {name.name: () for name in names}
            case ast.ImportFrom(module=str(module), names=names):
                found = {module: tuple(name.name for name in names)}
            case _:
                continue
        for module, names in found.items():
            if module.split(".")[0] == "housequest":
                if "extra" in block.reasons:
                    # `test_structure` sees that such a module misses nothing but its extra.
                    pytest.importorskip(module, exc_type=ModuleNotFoundError)
                there = importlib.import_module(module)
                assert [name for name in names if not hasattr(there, name)] == [], f"{block.place}: {module}"
            elif "extra" not in block.reasons:
                assert importlib.util.find_spec(module.split(".")[0]) is not None, f"{block.place}: {module}"


# All others are run, in the order of their page, in a folder of its own.


class Shell:
    """Runs what a page tells to type, as its reader would."""

    def __init__(self, folder: Path, port: int, games: Path | None) -> None:
        self.folder, self._port, self._games = folder / "work", port, games is not None
        self.printed: list[str] = []
        """Lines of all commands so far."""
        for name in ("work", "bin", "home", "site", "nothing"):
            (folder / name).mkdir()
        self._site = folder / "site"
        self._shim(folder / "bin" / "housequest", "-c", "from housequest.tui.cli import main; main()")
        self._shim(folder / "bin" / "python")
        (self.folder / "examples").symlink_to(ROOT / "examples")
        self._environment = {
            **os.environ,
            "ALFWORLD_DATA": str(games or folder / "nothing"),
            "COLUMNS": "80",
            "HOME": str(folder / "home"),
            "HOUSEQUEST_HOME": str(folder / "home" / "housequest"),
            "OPENAI_API_KEY": "a-key-that-is-never-sent",
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(self._site))),
            "TERM": "xterm-256color",
        }
        self._environment.pop("NO_COLOR", None)

    def _shim(self, path: Path, *arguments: str) -> None:
        path.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, *arguments])} "$@"\n')
        path.chmod(0o755)

    def do(self, block: Block) -> None:
        """Write a file, run commands or Python, or look for output."""
        kind, _, said = block.mark.partition(":")
        if kind == "file":
            path = self.folder / said.strip()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, "utf-8")
        elif kind == "output":
            self._shows(block.place, textwrap.dedent(block.code).splitlines())
        elif block.language == "python" and not self._excused(block.reasons):
            self._run(block.place, [sys.executable, "-c", block.code])
        for command in block.commands:
            self._command(command)

    def _excused(self, reasons: tuple[str, ...]) -> bool:
        return any(reason != "games" or not self._games for reason in reasons)

    def _command(self, command: Command) -> None:
        words, place = command.words, f"{command.block.place}: {command.line}"
        line = command.bare.replace(LOCAL, f"@http://127.0.0.1:{self._port}/v1")
        if command.program == "pip" and words[-1].removeprefix("./") in PACKAGES:
            install_by_hand(self.folder, self._site, words[-1].removeprefix("./"))
        elif self._excused(command.excuses):
            here = "generated" in words or (self._games and "--protocol" not in words)  # a protocol has splits of its own
            if words[:2] == ["housequest", "eval"] and here and set(command.excuses) <= {"endpoint", "games"}:
                self._run(place, ["bash", "-c", f"{line} --dry-run"])
            elif words[0] == "python" and words[2].startswith("housequest.agent."):
                self._run(place, ["python", *words[1:4], "--help"])
                for flag in (word for word in words if word.startswith("--")):
                    assert any(flag in printed for printed in self.printed), f"{place}: no {flag}"
        elif command.program == "housequest" and opens_screen(words[1:]):
            self._screen(place, line)
        elif command.program == "housequest" and (words[1] in SERVERS or "--http" in words):
            self._server(place, line)
        else:
            before = len(self.printed)
            self._run(place, ["bash", "-c", line])
            self._shows(place, command.shown, before)

    def _run(self, place: str, command: list[str]) -> None:
        done = subprocess.run(
            command,
            check=False,
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert done.returncode == 0, f"{place}\n{done.stdout}\n{done.stderr}"
        self.printed += done.stdout.splitlines()

    def _shows(self, place: str, lines: Iterable[str], start: int = 0) -> None:
        """Hold that lines were printed, in this order."""
        rest = iter(line.rstrip() for line in self.printed[start:])
        for line in lines:
            assert line == "..." or line.rstrip() in rest, f"{place}: not printed, or not in this order: {line!r}"

    def _screen(self, place: str, line: str) -> None:
        """Open the screen in a terminal, wait until something stands on it, and quit."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        process = subprocess.Popen(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self._environment,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)
        said, ends = b"", time.monotonic() + PATIENCE
        try:
            while process.poll() is None:
                assert time.monotonic() < ends, f"{place}: the screen does not close\n{said[-2000:]!r}"
                if select.select([leader], [], [], 0.2)[0]:
                    try:
                        said += os.read(leader, 65536)
                    except OSError:  # nobody has the terminal open any more
                        break
                elif len(said.partition(b"\x1b[?1049h")[2]) > 2000:
                    os.write(leader, b"\x11")  # ctrl+q
            assert process.wait(PATIENCE) == 0, f"{place}\n{said.decode(errors='replace')}"
        finally:
            process.kill()
            os.close(leader)
        assert b"\x1b[?1049h" in said, f"{place}: no screen\n{said.decode(errors='replace')}"

    def _server(self, place: str, line: str) -> None:
        """Start a server, wait for its address, and interrupt it."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = "" if "--http" in line else f" --port {taken.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-c", _INTERRUPTIBLE, f"exec {line}{port}"],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        with ending(process):
            assert process.stdout is not None
            said = ""
            for told in process.stdout:
                said += told
                if "http://" in told:
                    break
            process.send_signal(signal.SIGINT)
            said += process.stdout.read()
        assert "http://" in said and process.returncode in {0, 130}, f"{place}\n{process.returncode}\n{said}"


def opens_screen(words: list[str]) -> bool:
    """Whether ``housequest`` with these words opens a screen where there is a terminal."""
    return tuple(words[: 2 if words[0] == "rules" else 1]) in SCREENS and not PLAIN & set(words)


def reply(messages: Messages) -> str:
    """What a model plays; whatever else it is asked, it says that it is ready."""
    return SOLVER(messages) if prompts.said_by(messages, "system") else "ready"


def follow(page: str, folder: Path, games: Path | None) -> None:
    """Do what a page tells, from its top to its end."""
    with serve(reply) as server:
        shell = Shell(folder, server.port, games)
        for block in blocks(page):
            shell.do(block)


@pytest.mark.heavy
@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.slow] * (page in LONG)) for page in RUN])
def test_a_page_can_be_followed(page: str, tmp_path: Path) -> None:
    follow(page, tmp_path, None)


@pytest.mark.games
@pytest.mark.parametrize("page", WITH_GAMES)
def test_a_page_can_be_followed_with_the_games(page: str, tmp_path: Path, alfworld_games: Path) -> None:
    follow(page, tmp_path, alfworld_games)
