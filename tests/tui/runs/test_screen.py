"""The runs on the screen: the list, one run, two side by side, and a run that grows while it is looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.agent.evaluation.runs.files import file_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.sweep import ArmRecord, SweepFolder, SweepManifest
from housequest.tui.app import HousequestApp
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.runs.data import RunSnapshot, read_overview
from housequest.tui.runs.screen import RunsScreen
from tests.tui.recorded import play
from tests.tui.screen import SIZES, running_text, screen_text, showing, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs over the same twelve houses, of which one may only take eight turns, and what is no run."""
    folder = tmp_path / "runs"
    play(folder / "a-quick", max_steps=8)
    play(folder / "b-whole")
    (folder / "c-foreign").mkdir()
    (folder / "d-damaged").mkdir()
    (folder / "d-damaged" / "run.json").write_bytes(b"[/b] junk")
    return folder


def listing(folder: Path) -> HousequestApp:
    return showing(lambda: RunsScreen(folder, poll=None))


async def opened(pilot: Pilot[Any], text: str = "b-whole") -> None:
    await until(pilot, lambda: text in screen_text(pilot.app) and "reading" not in screen_text(pilot.app))


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES)
async def test_runs_are_listed_and_what_is_none_is_named(size: tuple[int, int], runs: Path) -> None:
    app = listing(runs)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        told = screen_text(app)
        lines = {line.split()[0]: line for line in told.splitlines() if line.split()}
        assert "12/12" in lines["b-whole"]
        assert "100.0 %" in lines["b-whole"]
        assert "76-100 %" in lines["b-whole"]
        assert "no run: this is not the folder of a run;" in lines["c-foreign"]
        assert "no run: run.json is" in lines["d-damaged"]
        assert "pick heat then place" in told
        assert "Runs  ·  2 in " in told
        await pilot.press("end", "enter", "space", "c", "up", "enter")
        assert "damaged" in screen_text(app)


@pytest.fixture
def folder_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of a name that is part of many words, in the present one."""
    (tmp_path / "s").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder_s")
async def test_a_folder_whose_name_is_part_of_a_word_leaves_the_words_alone() -> None:
    app = listing(Path())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "no run: this is not the folder of a run; it has no run.json.")


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES)
async def test_a_run_from_close_by(size: tuple[int, int], runs: Path) -> None:
    app = listing(runs)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("enter")
        run = read_overview(runs / "a-quick")
        assert isinstance(run, RunSnapshot)
        told = screen_text(app)
        assert f"■ won {run.marks['won']}" in told
        assert f"□ lost {run.marks['lost']}" in told
        await pilot.press("f")
        await until(pilot, lambda: "□ lost  out of turns (8) · 8 turns" in screen_text(app))
        await until(pilot, lambda: ", turn " in screen_text(app))
        if size[1] <= 30:
            assert "steps of won episodes" not in screen_text(app)
            await pilot.press("g")
        assert "steps of won episodes" in screen_text(app)
        assert "success by type" in screen_text(app)
        await pilot.press("q")
        assert "c-foreign" in screen_text(app)


@pytest.mark.heavy
async def test_a_task_is_replayed_and_one_comes_back_to_it(runs: Path) -> None:
    app = listing(runs)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("enter", "f", "enter")
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and "REPLAY" in screen_text(app))
        await pilot.press("q")
        await until(pilot, lambda: "tasks by outcome" in screen_text(app))
        await pilot.press("escape", "escape")
    assert app.return_code == 0


@pytest.mark.heavy
async def test_two_runs_side_by_side(runs: Path) -> None:
    app = listing(runs)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("c")
        await until(pilot, lambda: "Mark two runs" in screen_text(app))
        await pilot.press("space", "down", "space", "c")
        run = read_overview(runs / "a-quick")
        assert isinstance(run, RunSnapshot)
        lost = run.marks["lost"]
        told = screen_text(app)
        assert f"{lost} tasks flipped · 0 won by 1 alone · {lost} by 2 alone" in told
        assert f"+{lost}" in told
        for key, record in (("enter", "a-quick"), ("1", "a-quick"), ("2", "b-whole")):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, ReplayScreen))
            assert record in str(app.screen._recording.path)  # pyright: ignore[reportAttributeAccessIssue]
            await pilot.press("q")
            await until(pilot, lambda: isinstance(app.screen, RunsScreen))
        await pilot.press("q", "up", "space", "c")
        assert "tasks flipped" in screen_text(app)


@pytest.mark.heavy
async def test_a_run_that_is_compared_with_itself_is_not(runs: Path) -> None:
    app = listing(runs)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("space", "c")
        await until(pilot, lambda: "Mark two runs" in screen_text(app))
        await pilot.press("space", "c")
        assert "flipped" not in screen_text(app)


@pytest.mark.heavy
async def test_runs_without_a_task_in_common(runs: Path) -> None:
    play(runs / "b-demo", limit=3, split="demo")
    app = listing(runs)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("space", "down", "c")
        assert "no task in common" in screen_text(app)
        assert "No task was won by one of them alone." in screen_text(app)
        await pilot.press("enter", "1", "2", "q")
        assert "c-foreign" in screen_text(app)


@pytest.mark.heavy
async def test_a_run_is_followed_as_it_grows(runs: Path) -> None:
    folder = RunFolder(runs / "b-whole")
    results = folder.results(folder.manifest().tasks)
    hidden = runs.parent / "hidden"
    folder.episodes.rename(hidden)
    folder.episodes.mkdir()
    folder.rewrite([])

    def finish(number: int) -> None:
        task = folder.manifest().tasks[number]
        (hidden / folder.episode(task).name).rename(folder.episode(task))
        folder.append(results[number])

    app = showing(lambda: RunsScreen(runs, poll=0.01))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "▸ 0/12" in screen_text(app))
        finish(0)
        await until(pilot, lambda: "▸ 1/12" in screen_text(app))
        await pilot.press("down", "enter")
        part = folder.episode(folder.manifest().tasks[1])
        part.with_name(part.name + ".part").touch()
        await until(pilot, lambda: "▸ playing 1" in screen_text(app))
        part.with_name(part.name + ".part").unlink()
        finish(1)
        await until(pilot, lambda: "2 of 12 played  ▸ being played" in screen_text(app))
        for path in (folder.index_file, folder.manifest_file):
            os.utime(path, (0, 0))
        await until(pilot, lambda: "broken off" in screen_text(app))
        play(runs / "e-new", limit=1, split="demo")
        await pilot.press("q")
        await until(pilot, lambda: "e-new" in screen_text(app))


@pytest.mark.heavy
async def test_what_was_not_played_has_no_replay(runs: Path) -> None:
    folder = RunFolder(runs / "b-whole")
    folder.rewrite([])
    for episode in folder.episodes.iterdir():
        episode.unlink()
    app = listing(runs)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("down", "enter", "enter")
        await until(pilot, lambda: "not been played yet" in screen_text(app))
        assert isinstance(app.screen, RunsScreen)


async def test_a_run_s_own_folder_opens_at_once(runs: Path) -> None:
    app = listing(runs / "a-quick")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "tasks by outcome")
        await pilot.press("q", "q")
    assert app.return_code == 0


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["gone", "file"])
async def test_where_there_are_no_runs_one_is_told_how_to_make_one(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    app = listing(tmp_path / name)
    async with app.run_test(size=(80, 24)) as pilot:
        expected = "housequest eval" if name == "gone" else "cannot be listed"
        await until(pilot, lambda: expected in running_text(app))
        await pilot.press("enter", "space", "c", "g", "f", "1")
        play(tmp_path / "gone" / "first", limit=2, split="demo")
        if name == "gone":
            await pilot.press("r")
            await opened(pilot, "first")


@pytest.mark.heavy
async def test_a_name_is_shown_and_never_obeyed(tmp_path: Path) -> None:
    play(tmp_path / "[bold]x" / "[red]run\x1b[2J", limit=2, split="demo")
    app = listing(tmp_path / "[bold]x")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "[red]run\\x1b[2J")
        await pilot.press("enter")
        assert "\x1b" not in screen_text(app)


async def test_without_runs_no_key_is_offered_that_needs_one(tmp_path: Path) -> None:
    app = listing(tmp_path / "none")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "No runs in" in screen_text(app))
        keys = screen_text(app).splitlines()[-1]
        assert "rules" in keys and "open" not in keys and "compare" not in keys


@pytest.mark.heavy
async def test_the_list_of_keys_has_those_of_the_view_too(runs: Path) -> None:
    app = listing(runs)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("slash", *"all", "enter")
        await until(pilot, lambda: "space  Mark" in screen_text(app))
        assert "c  Compare" not in screen_text(app)
        await pilot.press("escape", "space", "down", "space", "slash", *"all", "enter")
        await until(pilot, lambda: "c  Compare" in screen_text(app))


@pytest.mark.heavy
async def test_a_series_is_one_line_and_enter_unfolds_its_runs(tmp_path: Path) -> None:
    series = tmp_path / "runs" / "twice"
    for number in (1, 2):
        play(series / f"run-{number}", limit=3)
    records = tuple(ArmRecord(arm="expert", seed=number, folder=f"run-{number}") for number in (1, 2))
    SweepFolder(series).file.write_bytes(file_of(SweepManifest(series="repeats", runs=records)))
    play(tmp_path / "runs" / "whole", limit=3)
    app = listing(tmp_path / "runs")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "whole")
        told = screen_text(app)
        assert "▸ twice" in told and "6/6" in told and "2 runs" in told
        assert "run-2" not in told
        await pilot.press("home", "enter")
        await until(pilot, lambda: "▾ twice" in screen_text(app))
        told = screen_text(app)
        assert "run-1" in told and "run-2" in told
        await pilot.press("down", "enter")
        await until(pilot, lambda: "› run-1" in running_text(app))
        await pilot.press("escape", "home", "enter")
        await until(pilot, lambda: "run-2" not in screen_text(app))
