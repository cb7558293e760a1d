"""Intervals against published and independently computed values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.evaluation.statistics import wilson


# Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998), table I, method 3.
@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_known_values(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson(successes, trials)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


def test_a_whole_split_won() -> None:
    interval = wilson(140, 140)
    assert interval.high == 1.0
    # With every trial a success the lower end is n / (n + z^2).
    assert interval.low == pytest.approx(140 / (140 + 1.959963984540054**2))


def test_nothing_tried_leaves_everything_possible() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (1, 0)])
def test_impossible_counts(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        wilson(successes, trials)


@given(st.integers(1, 5_000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_the_interval_holds_the_rate_and_mirrors(counts: tuple[int, int]) -> None:
    successes, trials = counts
    interval, mirrored = wilson(successes, trials), wilson(trials - successes, trials)
    assert 0 <= interval.low <= successes / trials <= interval.high <= 1
    assert interval.low == pytest.approx(1 - mirrored.high, abs=1e-12)
