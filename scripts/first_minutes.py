"""Follows README in a fresh clone and a fresh environment, and writes down the screens: ``python -m scripts.first_minutes``.

It needs git, make, tmux and a package index. The page has the commands and screens as they came, with the time since the start.
The script fails if something does not show up, or if all of it takes more than ten minutes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorials" / "first-ten-minutes.md"
COLUMNS, ROWS = 100, 30
LIMIT = 600.0
"""The most seconds for all of it."""
_PATIENCE = 400.0
_PROMPT = "you $ "


@dataclass(frozen=True)
class Step:
    """A step: a line for the shell, or ``keys``; then wait for ``until``, and show the screen under ``text``."""

    text: str
    until: str
    line: str = ""
    keys: tuple[str, ...] = ()
    shown: bool = True


@dataclass(frozen=True)
class Chapter:
    """Steps towards one thing."""

    title: str
    steps: tuple[Step, ...]


HOUSEQUEST = ".venv/bin/housequest"

TOUR = (
    Chapter(
        "Install, and watch a game",
        (
            Step(
                "One command in a clone installs everything, and says what it installs.",
                "Installing housequest",
                line="make play",
            ),
            Step("Then the screen opens, with a made-up house and a player chosen.", "101 games"),
            Step(
                "Press Enter: the model that ships with housequest plays, and you watch. A guide explains the screen.",
                "Your first game",
                keys=("Enter",),
            ),
            Step("`space` plays a command. `i` ends the guide, and `a` lets the model play on.", "✦ Won", keys=(" ", "i", "a")),
            Step("`q` goes back. At home it asks: press `q` again to leave.", "Play now", keys=("q",), shown=False),
            Step("", _PROMPT, keys=("q", "q"), shown=False),
        ),
    ),
    Chapter(
        "Win a game yourself",
        (
            Step(
                "The task is to look at a book under the desklamp.",
                "your turn",
                line=f"{HOUSEQUEST} play generated:7 --agent human",
                shown=False,
            ),
            Step("", "turn 1/", keys=("go to bed 1", "Enter"), shown=False),
            Step("", "turn 2/", keys=("take book 1 from bed 1", "Enter"), shown=False),
            Step("", "turn 3/", keys=("go to dresser 1", "Enter"), shown=False),
            Step(
                "To win, type `go to bed 1`, `take book 1 from bed 1`, `go to dresser 1`, `use desklamp 1`, each with Enter.",
                "Won",
                keys=("use desklamp 1", "Enter"),
            ),
            Step("", _PROMPT, keys=("C-q",), shown=False),
        ),
    ),
    Chapter(
        "Give a hint",
        (
            Step(
                "The agent proposes each command, and you decide.",
                "proposed",
                line=f"{HOUSEQUEST} play generated:690 --mode step",
            ),
            Step("", "look in the fridge", keys=("?", "look in the fridge"), shown=False),
            Step(
                "It proposes the dining table. Press `?`, type `look in the fridge` and press Enter: it changes its mind.",
                "proposed  go to fridge 1",
                keys=("Enter",),
            ),
            Step("", _PROMPT, keys=("C-q", "C-q"), shown=False),
        ),
    ),
    Chapter(
        "Run an evaluation, and read its report",
        (
            Step(
                "The expert plays sixty made-up houses.",
                _PROMPT,
                line=f"clear; {HOUSEQUEST} eval --agent expert --split generated --limit 60 --out runs/likely",
                shown=False,
            ),
            Step("The report begins with success.", _PROMPT, line=f"clear; {HOUSEQUEST} report runs/likely | head -24"),
        ),
    ),
    Chapter(
        "Open a witness",
        (
            Step(
                "The desk shows a rulebook that ships with housequest: its rules, and the evidence for each.",
                "Witnesses",
                line=f"clear; {HOUSEQUEST} rules desk human",
            ),
            Step(
                "Press Tab twice to go to the witnesses, the recorded steps behind a rule. Enter on one replays it.",
                "REPLAY",
                keys=("Tab", "Tab", "Enter"),
            ),
            Step("", _PROMPT, keys=("C-q",), shown=False),
        ),
    ),
)


class Terminal:
    """A terminal of tmux in ``folder``, without the user's settings."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._socket = f"first-minutes-{time.time_ns()}"
        bare = (
            "env",
            "-u",
            "ALFWORLD_DATA",
            "-u",
            "OPENAI_API_KEY",
            "COLORTERM=truecolor",
            f"HOUSEQUEST_HOME={home}",
            f"PS1={_PROMPT}",
        )
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(folder), *bare, "bash", "--norc", "--noprofile")

    def _tmux(self, *words: str) -> str:
        return subprocess.run(["tmux", "-L", self._socket, *words], check=True, capture_output=True, text=True).stdout

    @property
    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self._tmux("capture-pane", "-p").splitlines()).rstrip()

    def press(self, *keys: str) -> None:
        for key in keys:
            named = key in {"Enter", "Tab", "C-q"}
            self._tmux("send-keys", *([key] if named else ["-l", key]))
            time.sleep(0.3)  # a person's hand; keys that come at once are pasted text

    def wait(self, until: str) -> str:
        """The screen once it shows ``until`` and has stopped changing."""
        ends, before = time.monotonic() + _PATIENCE, ""
        while True:
            shown = self.screen
            there = shown.endswith(until.rstrip()) if until == _PROMPT else until in shown
            if there and shown == before:
                return shown
            if time.monotonic() > ends:
                raise TimeoutError(f"{until!r} does not show up:\n{shown}")
            before = shown
            time.sleep(0.5)

    def close(self) -> None:
        self._tmux("kill-server")


def follow(folder: Path) -> Iterator[str]:
    """The lines of the page: the steps in a clone in ``folder``, and their screens."""
    clone = folder / "housequest"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    terminal = Terminal(clone, folder / "home")
    terminal.wait(_PROMPT)
    began = time.monotonic()
    try:
        for chapter in TOUR:
            yield f"## {clock(began)} {chapter.title}\n"
            for step in chapter.steps:
                if step.text:
                    yield f"{step.text}\n"
                if step.line:
                    reason = "repository" if step.line.startswith("make") else "install"
                    yield f"<!-- not run: {reason} -->\n```console\n$ {step.line.removeprefix('clear; ')}\n```\n"
                terminal.press(*((step.line, "Enter") if step.line else step.keys))
                shown = terminal.wait(step.until)
                if step.shown:
                    yield f"At {clock(began)}:\n\n```text\n{tidy(shown, folder)}\n```\n"
    finally:
        terminal.close()
    took = time.monotonic() - began
    if took > LIMIT:
        raise TimeoutError(f"all of it took {took:.0f} seconds, more than {LIMIT:.0f}")
    yield f"All of it took {clock(began)} by the clock, installation included."


def clock(began: float) -> str:
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    return f"{minutes}:{seconds:02}"


def tidy(shown: str, folder: Path) -> str:
    """A screen without the shell's prompts and the path of its folder."""
    lines = [line for line in shown.splitlines() if not line.startswith(_PROMPT.rstrip())]
    return "\n".join(lines).replace(str(folder), "~")


HEAD = """# The first ten minutes

Somebody who has never seen housequest follows the README. This page shows what they type and see, in a terminal of
{columns} columns and {rows} rows, with the minutes and seconds since they began. `python -m scripts.first_minutes` types
it in a fresh clone with a fresh environment, and writes this page.
"""

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as _folder:
        _page = "\n".join([HEAD.format(columns=COLUMNS, rows=ROWS), *follow(Path(_folder))])
    (Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE).write_text(_page + "\n", "utf-8")
