"""Wherever recorded text, or what a model says, is shown: control and bidi characters in it are seen and never sent."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.knowledge.rulebook import Rulebook, save
from housequest.knowledge.rules import Evidence, Rule
from housequest.tui.desk.screen import DeskScreen
from housequest.tui.play.screen import PlayScreen
from housequest.tui.race.screen import RaceScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.runs.screen import RunsScreen
from housequest.worlds.text import printable
from tests.agent.evaluation.recorded import Lived, run
from tests.backends.server import serve
from tests.tui.conftest import Run
from tests.tui.screen import COIN, game, screen_text, showing, until, waiting

MARKS = "\x9b\u202e\x7f\x1b[2J\x07\x00\u2066\u200f"
"""C1's CSI, a reversed direction, DEL, a cleared screen, a bell, NUL, and two more directions."""
WILD = f"{MARKS}\x85\u2028"
"""With line ends of other kinds, which a reader of replies takes for what they are."""
STEERING = frozenset(one for one in WILD if not one.isprintable())
SHOWN = "\\x9b\\u202e\\x7f"
"""How it begins where it is shown."""
LIVED = [
    Lived(0, calls=True),
    Lived(1, "lost", calls=True),
    Lived(2, "error"),
    Lived(3, "stopped", assisted=True),
    Lived(4, None),
]


def wild(text: str) -> str:
    return f"{WILD}{text}"


def assert_harmless(shown: str, of: str = "") -> None:
    """Nothing in ``shown`` steers a terminal, and what was meant to is there in words."""
    assert not {one for one in shown if printable(one) != one}, of
    assert SHOWN in shown.replace("\\\\", "\\"), f"{of}: {shown}"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with two runs in which all that a game, a model or a person said is wild."""
    folder = tmp_path / "runs"
    run(folder / "first", LIVED, said=wild)
    run(folder / "second", [Lived(each.number, "won" if each.outcome == "lost" else each.outcome) for each in LIVED], said=wild)
    return folder


def record(run: Path, number: int) -> Path:
    folder = RunFolder(run)
    return folder.episode(folder.manifest().tasks[number])


COMMANDS = {
    "report": ("report", "runs/first"),
    "report as Markdown": ("report", "runs/first", "--markdown"),
    "report as CSV": ("report", "runs/first", "--csv", "-"),
    "report with figures": ("report", "runs/first", "--against", "published"),
    "compare": ("compare", "runs/first", "runs/second"),
    "compare one task": ("compare", "runs/first", "runs/second", "--show", "1"),
    "runs": ("runs", "runs"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str, runs: Path, call: Run) -> None:
    assert runs.exists()
    done = call(*COMMANDS[name])
    assert_harmless(done.stdout + done.stderr, name)


@pytest.mark.heavy
@pytest.mark.parametrize("command", [("report", "runs/first"), ("compare", "runs/first", "runs/second")])
def test_pages(command: tuple[str, ...], runs: Path, call: Run) -> None:
    assert call(*command, "--html", "page.html").returncode == 0
    assert_harmless(html.unescape((runs.parent / "page.html").read_text("utf-8")))


def test_a_model_in_plain_text(call: Run) -> None:
    with serve(lambda messages: f"Thought: {MARKS}\nAction: look") as odd:
        done = call("play", "--world", "scripted", "--agent", "react", "--model", odd.model(), "--max-steps", "2")
    assert_harmless(done.stdout + done.stderr)


SCREENS: dict[str, tuple[Callable[[Path], Screen[Any]], tuple[str, ...]]] = {
    "replay": (lambda runs: ReplayScreen(record(runs / "first", 1)), ("f", "right", "end", "2", "3")),
    "replay of an error": (lambda runs: ReplayScreen(record(runs / "first", 2)), ("end", "f")),
    "runs": (lambda runs: RunsScreen(runs, poll=None), ()),
    "a run": (lambda runs: RunsScreen(runs, poll=None), ("enter", "f")),
    "two runs": (lambda runs: RunsScreen(runs, poll=None), ("space", "down", "c")),
}


@pytest.mark.heavy
@pytest.mark.anyio
@pytest.mark.parametrize("size", [(90, 30), (160, 50)])
@pytest.mark.parametrize("name", SCREENS)
async def test_screens(name: str, size: tuple[int, int], runs: Path) -> None:
    make, keys = SCREENS[name]
    app = showing(lambda: make(runs))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: SHOWN in screen_text(app))
        for key in keys:
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert not set(screen_text(app)) & STEERING, key
        assert_harmless(screen_text(app), name)


@pytest.mark.heavy
@pytest.mark.anyio
async def test_the_desk_with_its_witnesses(runs: Path) -> None:
    witness = f"first/{record(runs / 'first', 0).stem}/5"
    rule = Rule("look", "One can look.", "mechanic", evidence=Evidence(1, 1, (witness,), (witness,)))
    book = save(Rulebook(runs.parent / "book.yaml").put([rule]))
    app = showing(lambda: DeskScreen(book, runs))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: SHOWN in screen_text(app))
        assert_harmless(screen_text(app))


async def _until_it_waits(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: waiting(pilot.app) in {"verdict", "failed", "over"})


@pytest.mark.heavy
@pytest.mark.anyio
async def test_a_model_that_plays_on_the_screen() -> None:
    with serve(lambda messages: f"Thought: {MARKS}\nAction: look") as odd:
        app = showing(lambda: PlayScreen(game(COIN, agent="react", model=odd.model()), "step"))
        async with app.run_test(size=(120, 40)) as pilot:
            await _until_it_waits(pilot)
            assert_harmless(screen_text(app))
            await pilot.press("enter")
            await _until_it_waits(pilot)
            assert_harmless(screen_text(app))


@pytest.mark.heavy
@pytest.mark.anyio
async def test_a_model_in_a_race() -> None:
    with serve(lambda messages: f"Thought: {MARKS}\nAction: look") as odd:
        app = showing(lambda: RaceScreen(game(COIN, agent="react", model=odd.model())))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: isinstance(app.screen, RaceScreen) and odd.requests)
            await pilot.pause()
            assert not set(screen_text(app)) & STEERING
