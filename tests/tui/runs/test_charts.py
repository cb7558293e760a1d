"""The charts of a run: the same picture for the same run, in any size and either theme."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from housequest.tui import theme
from housequest.tui.runs.data import RunSnapshot, read_overview
from housequest.tui.runs.run_view import WIDTHS, Chart, StepsChart, SuccessChart, histogram
from tests.tui.recorded import play

pytestmark = pytest.mark.anyio


class Alone(App[None]):
    """Both charts."""

    def __init__(self) -> None:
        super().__init__()
        theme.register_themes(self)

    def compose(self) -> ComposeResult:
        yield SuccessChart()
        yield StepsChart()


def run(folder: Path, max_steps: int) -> RunSnapshot:
    found = read_overview(play(folder, limit=12, max_steps=max_steps))
    assert isinstance(found, RunSnapshot)
    return found


def drawn(chart: Chart) -> str:
    return "\n".join(chart.render_line(y).text.rstrip() for y in range(chart.size.height))


async def picture(run: RunSnapshot, size: tuple[int, int], name: str) -> str:
    app = Alone()
    app.theme = name
    async with app.run_test(size=size) as pilot:
        for chart in app.query(Chart):
            chart.show(run)
        await pilot.pause()
        return "\n".join(drawn(chart) for chart in app.query(Chart))


@pytest.mark.heavy
async def test_a_chart_is_the_same_each_time(tmp_path: Path) -> None:
    found = run(tmp_path, 8)
    first = await picture(found, (80, 24), theme.DARK)
    assert first == await picture(found, (80, 24), theme.LIGHT)
    assert "pick heat then place" in first
    assert first.count("●") == len(found.by_type)
    assert "█" in first
    assert "100" in first


async def test_a_run_in_which_nothing_was_won(tmp_path: Path) -> None:
    assert "nothing won yet" in await picture(run(tmp_path, 1), (60, 30), theme.DARK)


@pytest.mark.heavy
@pytest.mark.parametrize("size", [(1, 1), (10, 4), (20, 8), (400, 100)])
async def test_any_size(size: tuple[int, int], tmp_path: Path) -> None:
    await picture(run(tmp_path, 50), size, theme.DARK)


@given(values=st.lists(st.integers(0, 2_000)), most=st.integers(4, 60))
def test_every_value_is_in_a_bin(values: list[int], most: int) -> None:
    bins = histogram(values, most)
    assert sum(count for _, count in bins) == len(values)
    assert len(bins) <= most
    starts = [start for start, _ in bins]
    assert all(b - a in WIDTHS for a, b in pairwise(starts))
