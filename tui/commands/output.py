"""What commands print and show, and the files they write beside it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from housequest.tui import terminal
from housequest.tui.text import printable
from housequest.worlds.paths import atomic_write

if TYPE_CHECKING:
    from textual.screen import Screen

    from housequest.agent.evaluation.render.table import Report

MANY_DRAWN = 300
"""Turns from which on drawing them takes seconds, and is announced."""
MANY_PATHS = 300
"""Tasks from which on the search for shortest solutions takes seconds, and is announced."""


def print_lines(lines: Iterable[str]) -> None:
    """Print ``lines``, made safe for a terminal."""
    terminal.show(part for line in lines for part in printable(line).split("\n"))


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
    colour = terminal.look().colour
    parts = ((line, part) for line in report.lines() for part in terminal.folded(printable(line), sys.stdout))
    terminal.show(styles.get(type(line), str)(part) if colour else part for line, part in parts)


def print_json(value: object) -> None:
    """Print ``value`` as JSON."""
    terminal.show([json.dumps(value, indent=2)])


def print_result(value: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print ``value`` as JSON, or else ``lines``."""
    if as_json:
        print_json(value)
    else:
        print_lines(lines)


def searching(done: int, total: int) -> None:
    """Announce a long search for the shortest solutions of a run's tasks."""
    if done == 1 and total > MANY_PATHS:
        terminal.note(f"Searching for the shortest solutions of {total} tasks; they are kept in the run's folder.")


def show_report(place: Path, *, as_json: bool) -> int:
    """Print the report of what ``place`` holds; how many episodes errored. Raises ``ConfigurationError``."""
    from housequest.agent.config import configure
    from housequest.agent.evaluation.library import errors_of, read_report

    found = read_report([place], configure(uses=()).settings.prices_of, searching)
    print_report(found, as_json=as_json)
    return errors_of(found)


def show_screen(start: Callable[[], Screen[Any]], home: Callable[[], Screen[Any]] | None = None) -> None:
    """Run the app from the screen that ``start`` makes, and print where it recorded games; if it failed, end so too."""
    from housequest.tui.app import HousequestApp, read_keymap

    app = HousequestApp(start, home)
    app.choose_keys(read_keymap())
    try:
        app.run()
    finally:
        for path in app.recorded():
            terminal.note(f"{'Recorded as far as it went in' if path.suffix == '.part' else 'Recorded in'} {path}")
    finish(app.return_code)


def finish(code: int | None) -> None:
    """End the command with this exit code, unless it is 0."""
    if code:
        raise typer.Exit(code)


def write_page(path: Path, turns: int, page: Callable[[], bytes]) -> None:
    """Write what ``page`` gives, which draws so many ``turns``."""
    if turns > MANY_DRAWN:
        terminal.note(f"Drawing the house at each of {turns:,} turns, which takes a while.")
    atomic_write(path, content := page())
    terminal.note(f"Wrote {path} ({max(1, len(content) >> 10)} KiB); open it in a browser.")
