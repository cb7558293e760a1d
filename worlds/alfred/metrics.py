"""ALFRED's four metrics, as its evaluation computes them (Shridhar et al., CVPR 2020, section 5).

An episode's path weight is ``min(1, L / t)``: L is the number of low-level actions of the annotated demonstration, t that of
the actions taken, failed ones included. Over the episodes, goal conditions are a ratio of sums, and what is weighted by path is
weighted by L once more: a long task counts for more. OPEx and others write of "SR weighted by path" without that second
weight; the plain means have names of their own here.
"""

from __future__ import annotations

from collections.abc import Callable

from housequest.worlds.base import Metric, Played

Terms = Callable[[Played], tuple[float, float] | None]


def path_weight(played: Played) -> float | None:
    """``min(1, L / t)``: 1 without an action, and None where L is not known."""
    if played.annotated is None:
        return None
    return min(1.0, played.annotated / played.steps) if played.steps else 1.0


def share_met(played: Played) -> float | None:
    """The share of the goal's conditions that were met; None where their number is not known."""
    return None if not played.conditions else played.met / played.conditions


def _won(played: Played) -> float:
    return float(played.won)


def _conditions(played: Played) -> tuple[float, float] | None:
    return None if not played.conditions else (float(played.met), float(played.conditions))


def _mean(share: Callable[[Played], float | None], *, by_path: bool = False) -> Terms:
    """The mean of tasks, of which each counts alike; ``by_path``: times the path weight."""

    def terms(played: Played) -> tuple[float, float] | None:
        value, weight = share(played), path_weight(played) if by_path else 1.0
        return None if value is None or weight is None else (value * weight, 1.0)

    return terms


def _by_length(share: Callable[[Played], float | None]) -> Terms:
    """The mean of tasks, times the path weight, of which each counts by its annotated length."""

    def terms(played: Played) -> tuple[float, float] | None:
        value, weight, length = share(played), path_weight(played), played.annotated
        return None if value is None or weight is None or length is None else (value * weight * length, float(length))

    return terms


UNWEIGHTED = (
    Metric("sr", "SR", "SR: the share of tasks won.", _mean(_won)),
    Metric("gc", "GC", "GC: all conditions met, over all conditions: a ratio of sums, as ALFRED computes it.", _conditions),
)
"""What does not depend on how many actions were taken."""

MEAN_CONDITIONS = Metric(
    "mean_gc", "GC, mean of tasks", "GC, mean of tasks: each task counts alike.", _mean(share_met), main=False
)

METRICS = (
    *UNWEIGHTED,
    Metric(
        "plwsr",
        "PLWSR",
        "PLWSR: SR, each task times min(1, L/t) and weighted by L, the annotated demonstration's actions; t are those taken.",
        _by_length(_won),
    ),
    Metric("plwgc", "PLWGC", "PLWGC: the share of conditions met, weighted in the same way.", _by_length(share_met)),
    MEAN_CONDITIONS,
    Metric(
        "mean_sr_by_path",
        "SR/path, mean of tasks",
        "SR/path and GC/path, means of tasks: times min(1, L/t), and each task counts alike.",
        _mean(_won, by_path=True),
        main=False,
    ),
    Metric("mean_gc_by_path", "GC/path, mean of tasks", "", _mean(share_met, by_path=True), main=False),
)
