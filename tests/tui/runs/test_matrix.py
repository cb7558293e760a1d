"""Tasks by outcome: a character each, moved over with keys and mouse, quick for thousands."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from housequest.agent.evaluation.analysis.metrics import summarise
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, RunFolder
from housequest.tui.runs.data import MARKS, RunSnapshot, RunTask, TaskMark, short_type
from housequest.tui.runs.run_view import Matrix
from housequest.tui.theme import register_themes
from tests.tui.recorded import play
from tests.tui.screen import until

pytestmark = pytest.mark.anyio


class Alone(App[None]):
    """A matrix and nothing else; keeps what it was told."""

    def __init__(self, run: RunSnapshot) -> None:
        super().__init__()
        register_themes(self)
        self.run_shown = run
        self.opened: list[int] = []

    def compose(self) -> ComposeResult:
        yield Matrix()

    def on_mount(self) -> None:
        self.query_one(Matrix).show(self.run_shown)
        self.query_one(Matrix).focus()

    def on_matrix_opened(self, message: Matrix.Opened) -> None:
        self.opened.append(message.cell.task.number)

    @property
    def at(self) -> int:
        cell = self.query_one(Matrix).cell
        assert cell is not None
        return cell.task.number

    def line(self, y: int) -> str:
        return self.query_one(Matrix).render_line(y).text.rstrip()


def run(folder: Path, *rows: tuple[str, list[TaskMark]]) -> RunSnapshot:
    """A run whose tasks stand as they are given by type."""
    manifest = RunFolder(play(folder, limit=1, split="demo")).manifest()
    flat = [(kind, mark) for kind, marks in rows for mark in marks]
    tasks = [SelectedTask(number=number, id=f"t/{number}", type=kind) for number, (kind, _) in enumerate(flat)]
    results = [_result(task, mark) for task, (_, mark) in zip(tasks, flat, strict=True)]
    cells = tuple(RunTask(task, mark, None, one) for task, (_, mark), one in zip(tasks, flat, results, strict=True))
    return RunSnapshot(folder, manifest, cells, summarise(tasks, [one for one in results if one is not None]), 0.0)


def _result(task: SelectedTask, mark: TaskMark) -> Result | None:
    if mark in {"playing", "unfinished", "assisted"}:
        return None
    ended = {"outcome": mark, "reason": "x", "turns": 1, "steps": 1, "refused": 0}
    return Result.model_validate({"number": task.number, "task": task.id, "type": task.type, **ended})


async def test_a_row_for_each_type_and_a_character_for_each_task(tmp_path: Path) -> None:
    app = Alone(run(tmp_path, ("a_b", ["won", "lost", "error"]), ("c", ["playing", "unfinished", "assisted"])))
    async with app.run_test(size=(60, 8)):
        assert app.line(0).split() == ["a", "b", "1/3", "■", "□", "×"]
        assert app.line(1).split() == ["c", "0/3", "▸", "·", "◇"]
        assert app.line(2) == ""
        assert len(set(MARKS.values())) == len(MARKS)


async def test_keys_move_over_the_tasks(tmp_path: Path) -> None:
    app = Alone(run(tmp_path, ("a", ["won"] * 4), ("b", ["won", "lost"]), ("c", ["won", "won", "error"])))
    async with app.run_test(size=(60, 8)) as pilot:
        seen: list[int] = []
        for key in ("right", "right", "right", "down", "up", "down", "left", "end", "home"):
            await pilot.press(key)
            seen.append(app.at)
        assert seen == [1, 2, 3, 5, 1, 5, 4, 8, 0]
        matrix = app.query_one(Matrix)
        assert (matrix.next_failure(1), matrix.next_failure(-1)) == (5, None)


async def test_a_click_looks_and_a_second_one_opens(tmp_path: Path) -> None:
    app = Alone(run(tmp_path, ("a", ["won"] * 4), ("b", ["won", "lost"])))
    async with app.run_test(size=(60, 8)) as pilot:
        column = app.line(1).index("□")
        await pilot.click(Matrix, offset=(column, 1))
        assert (app.at, app.opened) == (5, [])
        await pilot.click(Matrix, offset=(column, 1), times=2)
        assert app.opened == [5]
        await pilot.click(Matrix, offset=(0, 0))
        await pilot.click(Matrix, offset=(50, 1))
        await pilot.click(Matrix, offset=(column, 5))
        assert app.at == 5


async def test_the_task_looked_at_stays_so_while_the_run_grows(tmp_path: Path) -> None:
    app = Alone(run(tmp_path, ("a", ["unfinished"] * 4)))
    async with app.run_test(size=(60, 8)) as pilot:
        await pilot.press("right", "right")
        app.query_one(Matrix).show(run(tmp_path, ("a", ["won", "won", "lost", "unfinished"])))
        await pilot.pause()
        assert app.at == 2
        assert app.line(0).split()[-4:] == ["■", "■", "□", "·"]


async def test_thousands_of_tasks(tmp_path: Path) -> None:
    app = Alone(run(tmp_path, *((kind, ["won"] * 600) for kind in "abcdef")))
    async with app.run_test(size=(60, 10)) as pilot:
        matrix = app.query_one(Matrix)
        await pilot.press("end")
        assert app.at == 3_599
        # What is scrolled to is laid out a moment later.
        await until(pilot, lambda: matrix.scroll_offset.y > 0 and "■" in app.line(9))
        await pilot.press("pageup", "home")
        await until(pilot, lambda: (app.at, matrix.scroll_offset.y) == (0, 0))
        await pilot.resize_terminal(200, 50)
        await pilot.press("end")
        assert app.at == 3_599


async def test_nothing_to_show(tmp_path: Path) -> None:
    app = Alone(run(tmp_path))
    async with app.run_test(size=(60, 8)) as pilot:
        await pilot.press("right", "down", "f", "enter", "end", "pagedown")
        assert app.opened == []


def test_types_in_fewer_words() -> None:
    assert short_type("pick_heat_then_place_in_recep") == "pick heat then place"
    assert short_type("odd\x1b") == "odd\\x1b"
