"""The terminal, or what replaces it: results go to standard output, everything else to standard error; and the files that
commands write beside them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from housequest.tui.text import TextLayout, printable
from housequest.worlds.paths import atomic_write

if TYPE_CHECKING:
    from housequest.agent.evaluation.render.table import Report

WIDEST = 80  # columns of running text: longer lines are hard to read
DONE = 0
"""The exit code of a command that is done; all codes are as `docs/explanation/reliability.md` has them."""
FAILED = 1
"""Done, but episodes errored or something is not whole; or a model or a game failed, or the reader of the output left."""
UNUSABLE = 2
"""The command, the configuration, a folder or a file cannot be used; the message names it. A full disk is such a one."""
STOPPED = 130
"""Stopped or interrupted; the same command resumes. A run whose disk is full is stopped."""
MANY = 300  # turns to draw, or tasks to search for their shortest solutions, from which on that takes seconds and is announced


def prepare() -> None:
    """Keep the streams from ending a command: odd characters become escapes, a closed stream writes to the null device."""
    # Without a with: they stay open for as long as the process lives.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def columns() -> int:
    """The width of the terminal; `WIDEST` if there is none."""
    return shutil.get_terminal_size((WIDEST, 24)).columns


def look(widest: int = WIDEST) -> TextLayout:
    """The way standard output shows text: colours only on a terminal, and not with ``NO_COLOR`` (no-color.org)."""
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return TextLayout(width=max(40, min(columns(), widest)), colour=colour)


def interactive() -> bool:
    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


def has_screen() -> bool:
    """Return True if a whole screen can be shown: in a browser, or on standard error if that can move its cursor."""
    if "web_driver" in os.environ.get("TEXTUAL_DRIVER", ""):
        return True
    able = sys.platform == "win32" or os.environ.get("TERM", "") not in {"", "dumb", "unknown"}
    return able and interactive() and is_terminal(sys.stderr)


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def command() -> str:
    """The way to call the command: its name if that is on the path, else its file, as in a checkout."""
    called = Path(sys.argv[0])
    return "housequest" if called.name != "housequest" or shutil.which("housequest") else printable(str(called))


def show(lines: Iterable[str]) -> None:
    """Print a result and flush it. The lines must be safe to print already."""
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def folded(line: str, stream: TextIO) -> list[str]:
    """``line``, in lines that break between words where ``stream`` is a terminal."""
    if not is_terminal(stream):
        return [line]
    indent = line[: min(len(line) - len(line.lstrip()), 8)]
    # A path or a command longer than the line stays in one piece, so that it can be copied.
    return textwrap.wrap(line, columns(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]


def note(text: str) -> None:
    """Print a message that is no result on standard error; on a terminal, lines break between words."""
    parts = (part for line in printable(text).split("\n") for part in folded(line, sys.stderr))
    sys.stderr.writelines(f"{part}\n" for part in parts)
    sys.stderr.flush()


def note_record(record: Path | None) -> None:
    """Say where a game is recorded, whole or as far as it went; nothing if it is not."""
    from housequest.agent.episodes.record import part_of

    for file, how in ((record, "Recorded in"), (record and part_of(record), "Recorded as far as it went in")):
        if file is not None and file.exists():
            note(f"\n{how} {file}")


class StatusLine:
    """A line on standard error that is written over again and again; only where that is a terminal (``live``)."""

    def __init__(self) -> None:
        self.live = is_terminal(sys.stderr)
        self._written = False

    def write(self, text: str) -> None:
        if self.live:
            sys.stderr.write(f"\r\x1b[K{printable(text)}")
            sys.stderr.flush()
            self._written = True

    def say(self, text: str) -> None:
        self.close()
        note(text)

    def close(self) -> None:
        if self._written:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._written = False


def confirm(question: str, about: str = "") -> bool | None:
    """Ask ``question`` below a text ``about`` it; return True for yes, None if nobody is there to ask."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return None
    if about:
        note(about)
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline(100).strip().lower() in {"y", "yes"}


def read_line(prompt: str) -> str | None:
    """A line from standard input without its end, or None at the end of input. The prompt is shown on a terminal only."""
    if interactive():
        try:
            return input(prompt)
        except EOFError:
            return None
    line = sys.stdin.readline(100_000) if sys.stdin is not None else ""
    return line.rstrip("\r\n") if line else None


def print_lines(lines: Iterable[str]) -> None:
    """Print ``lines``, made safe for a terminal."""
    show(part for line in lines for part in printable(line).split("\n"))


def print_report(report: Report, *, as_json: bool = False) -> None:
    """Print ``report`` as JSON, or else as text, with colours on a terminal."""
    from housequest.agent.evaluation.render.table import Strong, Warned

    if as_json:
        print_json(report.data())
        return
    styles: dict[type[str], Callable[[str], str]] = {
        Strong: partial(typer.style, bold=True),
        Warned: partial(typer.style, fg="yellow"),
    }
    colour = look().colour
    parts = ((line, part) for line in report.lines() for part in folded(printable(line), sys.stdout))
    show(styles.get(type(line), str)(part) if colour else part for line, part in parts)


def print_json(value: object) -> None:
    """Print ``value`` as JSON."""
    show([json.dumps(value, indent=2)])


def print_result(value: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print ``value`` as JSON, or else ``lines``."""
    if as_json:
        print_json(value)
    else:
        print_lines(lines)


def searching(done: int, total: int) -> None:
    """Announce a long search for the shortest solutions of a run's tasks."""
    if done == 1 and total > MANY:
        note(f"Searching for the shortest solutions of {total} tasks; they are kept in the run's folder.")


def show_report(place: Path, *, as_json: bool) -> int:
    """Print the report of what ``place`` holds; how many episodes errored. Raises ``ConfigurationError``."""
    from housequest.agent.config import configure
    from housequest.agent.evaluation.library import errors_of, read_report

    found = read_report([place], configure(uses=()).prices_of, searching)
    print_report(found, as_json=as_json)
    return errors_of(found)


def finish(code: int | None) -> None:
    """End the command with this exit code, unless it is 0."""
    if code:
        raise typer.Exit(code)


def write_pages(turns: int, pages: Iterable[tuple[Path, bytes]]) -> None:
    """Write ``pages`` to their files, the one to open last; making them draws so many ``turns``."""
    if turns > MANY:
        note(f"Drawing the house at each of {turns:,} turns, which takes a while.")
    written, said = 0, ""
    for number, (path, content) in enumerate(pages, start=1):
        atomic_write(path, content, sync=False)
        written += len(content)
        said = f"Wrote {path} ({max(1, written >> 10)} KiB{f' in {number} files' if number > 1 else ''}); open it in a browser."
    note(said)
