"""How the runs, a replay and a race look, at the four sizes: pictures that are kept, the same on every run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.tui.home.recent import RecentChoices, save_recent
from housequest.tui.play.viewing import ViewScreen
from housequest.tui.race.screen import RaceScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.runs.data import read_overview
from housequest.tui.runs.screen import RunsScreen
from housequest.tui.theme import DARK, LIGHT
from tests.agent.episodes.acting import recorded
from tests.tui.recorded import play, rewound_twice, write
from tests.tui.screen import COIN, SIZES, USUAL, game, screen_text, showing, type_in, until

Compare = Callable[..., bool]

VIEWS = {
    "list": ((), "pick heat then place"),
    "run": (("enter", "f"), "out of turns (8)"),
    "pair": (("space", "down", "c"), "tasks flipped"),
}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs in a folder whose name is always the same."""
    monkeypatch.chdir(tmp_path)
    play(tmp_path / "runs" / "quick", max_steps=8)
    play(tmp_path / "runs" / "whole")
    (tmp_path / "runs" / "z-notes").mkdir()
    return Path("runs")


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("view", VIEWS)
def test_runs(view: str, size: tuple[int, int], runs: Path, snap_compare: Compare) -> None:
    keys, text = VIEWS[view]

    async def there(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "no run" in screen_text(pilot.app) and "reading" not in screen_text(pilot.app))
        await pilot.press(*keys)
        await until(pilot, lambda: text in screen_text(pilot.app))
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()

    app = showing(lambda: RunsScreen(runs, poll=None))
    assert snap_compare(app, terminal_size=size, run_before=there)


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES)
def test_replay(size: tuple[int, int], runs: Path, snap_compare: Compare) -> None:
    run = read_overview(runs / "quick")
    record = next(cell.record for cell in run.cells if cell.mark == "lost")  # pyright: ignore[reportAttributeAccessIssue]

    async def there(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "REPLAY" in screen_text(pilot.app))
        await pilot.press("end")
        await until(pilot, lambda: "Lost after" in screen_text(pilot.app))

    assert snap_compare(showing(lambda: ReplayScreen(record)), terminal_size=size, run_before=there)


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES)
def test_branches(size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    record = write(tmp_path / "e.jsonl", rewound_twice())

    async def there(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "REPLAY" in screen_text(pilot.app))
        await pilot.press("end", "B")
        await until(pilot, lambda: "3 branches" in screen_text(pilot.app))

    assert snap_compare(showing(lambda: ReplayScreen(record)), terminal_size=size, run_before=there)


async def race(pilot: Pilot[Any], commands: Sequence[str], end: str) -> None:
    """Play ``commands`` turn for turn with the other, and wait for ``end``."""
    for turn, command in enumerate(commands):
        await until(pilot, lambda turn=turn: f"turn {turn} · waiting" in screen_text(pilot.app))
        await type_in(pilot, command)
    await until(pilot, lambda: end in screen_text(pilot.app))


@pytest.mark.heavy
@pytest.mark.parametrize(("look", "size"), [*((DARK, size) for size in SIZES), (LIGHT, USUAL)])
def test_race(look: str, size: tuple[int, int], snap_compare: Compare) -> None:
    app = showing(lambda: RaceScreen(game()))

    async def there(pilot: Pilot[Any]) -> None:
        app.theme = look
        await race(pilot, ("go to fridge 1", "dance", "open fridge 1"), "turn 3 · waiting")

    assert snap_compare(app, terminal_size=size, run_before=there)


def test_the_end_of_a_race(snap_compare: Compare) -> None:
    async def there(pilot: Pilot[Any]) -> None:
        way = ("go to study", "take key", "go to hall", "go to cellar", "unlock box", "take coin")
        await race(pilot, way, "the shortest  ━")

    assert snap_compare(showing(lambda: RaceScreen(game(COIN))), terminal_size=SIZES[0], run_before=there)


KITCHEN = ("go to fridge 1", "open fridge 1", "go to countertop 1")


async def drawn(pilot: Pilot[Any]) -> None:
    """Wait for the View."""
    screen = pilot.app.screen
    assert isinstance(screen, ViewScreen)
    await until(pilot, lambda: screen.view.settled)


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that shows every colour, wherever the tests run."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.heavy
@pytest.mark.usefixtures("colours")
@pytest.mark.parametrize(
    ("mode", "look", "size"),
    [
        *(("house", DARK, size) for size in SIZES),
        ("house", LIGHT, USUAL),
        *((mode, DARK, USUAL) for mode in ("eyes", "plan", "text")),
    ],
)
def test_the_view_of_a_replay(mode: str, look: str, size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    save_recent(RecentChoices(view=mode))
    path = recorded(tmp_path / "e.jsonl", "example:1", KITCHEN)

    async def there(pilot: Pilot[Any]) -> None:
        app.theme = look
        await until(pilot, lambda: "REPLAY" in screen_text(app))
        await pilot.press("end", "V" if mode == "plan" else "f")
        await until(pilot, lambda: "turn 3 of 3" in screen_text(app))
        await drawn(pilot)

    app = showing(lambda: ReplayScreen(path))
    assert snap_compare(app, terminal_size=size, run_before=there)


@pytest.mark.heavy
@pytest.mark.usefixtures("colours")
@pytest.mark.parametrize("size", SIZES)
def test_the_view_of_a_race(size: tuple[int, int], snap_compare: Compare) -> None:
    app = showing(lambda: RaceScreen(game()))

    async def there(pilot: Pilot[Any]) -> None:
        await race(pilot, ("go to fridge 1", "open fridge 1"), "turn 2 · waiting")
        await pilot.press("escape", "v")
        await drawn(pilot)

    assert snap_compare(app, terminal_size=size, run_before=there)
