"""The line that says how far a run is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.evaluation.runs.batch import RunProgress
from housequest.tui.commands.running import duration, progress_text

HALF = RunProgress(done=70, total=140, won=49, errors=2, resumed=10, active=12, limit=16, cost=1.25)


def test_all_of_it_fits_a_wide_line() -> None:
    told = "70/140 · 70 % won · 2 errors · 2 min left · 30 a minute · cost 1.25 · 12 calls of 16 · 10 from before"
    assert progress_text(HALF, 120.0, 120) == told


def test_a_narrow_line_keeps_what_matters_most() -> None:
    assert progress_text(HALF, 120.0, 50) == "70/140 · 70 % won · 2 errors · 2 min left"
    assert progress_text(HALF, 120.0, 30) == "70/140 · 70 % won · 2 errors"
    assert progress_text(HALF, 120.0, 7) == "70/140"


@pytest.mark.parametrize(("won", "told"), [(0, "0 % won"), (1, "1 % won"), (999, "99 % won"), (1_000, "100 % won")])
def test_only_all_of_them_is_100_and_only_none_of_them_0(won: int, told: str) -> None:
    assert progress_text(RunProgress(1_000, 1_000, won, 0, 0), 60.0, 80) == f"1000/1000 · {told}"


def test_what_is_not_known_is_not_said() -> None:
    assert progress_text(RunProgress(0, 140, 0, 0, 0), 0.0, 80) == "0/140"
    assert progress_text(RunProgress(10, 140, 5, 0, 10), 3.0, 80) == "10/140 · 50 % won · 10 from before"
    assert progress_text(RunProgress(140, 140, 70, 1, 0), 60.0, 80) == "140/140 · 50 % won · 1 error"
    assert "calls of" not in progress_text(replace(HALF, limit=None), 120.0, 120)


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.4, "0 s"), (59.2, "59 s"), (61, "1 min"), (3_599, "1 h 00 min"), (7_500, "2 h 05 min")]
)
def test_a_span_of_time_has_two_units_at_most(seconds: float, told: str) -> None:
    assert duration(seconds) == told


@given(
    st.integers(0, 5_000),
    st.integers(0, 5_000),
    st.integers(1, 250),
    st.floats(0, 1e7, allow_nan=False),
    st.none() | st.floats(0, 1e9, allow_nan=False),
)
def test_it_is_one_line_of_the_width(done: int, more: int, width: int, seconds: float, cost: float | None) -> None:
    progress = RunProgress(done, done + more, done // 2, done // 3, done // 4, active=more, limit=done, cost=cost)
    text = progress_text(progress, seconds, width)
    assert len(text) <= width
    assert text.isprintable()
