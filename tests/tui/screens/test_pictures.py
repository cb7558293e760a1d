"""How the runs and a replay look, at the three sizes: pictures that are kept, the same on every run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.recorded import play
from tests.tui.screen import SIZES, screen_text, showing, until
from tui.runs import read_run
from tui.screens.replay import ReplayScreen
from tui.screens.runs import RunsScreen

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


@pytest.mark.parametrize("size", SIZES)
def test_replay(size: tuple[int, int], runs: Path, snap_compare: Compare) -> None:
    run = read_run(runs / "quick")
    record = next(cell.record for cell in run.cells if cell.mark == "lost")  # pyright: ignore[reportAttributeAccessIssue]

    async def there(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "REPLAY" in screen_text(pilot.app))
        await pilot.press("end")
        await until(pilot, lambda: "Lost after" in screen_text(pilot.app))

    assert snap_compare(showing(lambda: ReplayScreen(record)), terminal_size=size, run_before=there)
