"""ALFRED's four metrics, as its evaluation computes them (Shridhar et al., CVPR 2020, section 5).

An episode's path weight is ``min(1, L / t)``: L is the number of low-level actions of the annotated demonstration, t that of
the actions taken, failed ones included. Over the episodes, goal conditions are a ratio of sums, and what is weighted by path is
weighted by L once more: a long task counts for more. OPEx and others write of "SR weighted by path" without that second
weight; the plain means have names of their own here.
"""

from __future__ import annotations

from housequest.worlds.metrics import Metric, Played


def path_weight(played: Played) -> float | None:
    """``min(1, L / t)``: 1 without an action, and None where L is not known."""
    if played.annotated is None:
        return None
    return min(1.0, played.annotated / played.steps) if played.steps else 1.0


def share_met(played: Played) -> float | None:
    """The share of the goal's conditions that were met; None where their number is not known."""
    return None if not played.conditions else played.met / played.conditions


def _success(played: Played) -> tuple[float, float]:
    return float(played.won), 1.0


def _conditions(played: Played) -> tuple[float, float] | None:
    return None if not played.conditions else (float(played.met), float(played.conditions))


def _success_by_length(played: Played) -> tuple[float, float] | None:
    return _by_length(played, float(played.won))


def _conditions_by_length(played: Played) -> tuple[float, float] | None:
    return _by_length(played, share_met(played))


def _by_length(played: Played, value: float | None) -> tuple[float, float] | None:
    weight = path_weight(played)
    if value is None or weight is None or played.annotated is None:
        return None
    return value * weight * played.annotated, float(played.annotated)


def _mean_conditions(played: Played) -> tuple[float, float] | None:
    share = share_met(played)
    return None if share is None else (share, 1.0)


def _mean_success_by_path(played: Played) -> tuple[float, float] | None:
    weight = path_weight(played)
    return None if weight is None else (float(played.won) * weight, 1.0)


def _mean_conditions_by_path(played: Played) -> tuple[float, float] | None:
    share, weight = share_met(played), path_weight(played)
    return None if share is None or weight is None else (share * weight, 1.0)


UNWEIGHTED = (
    Metric("sr", "SR", "SR: the share of tasks won.", _success),
    Metric("gc", "GC", "GC: all conditions met, over all conditions: a ratio of sums, as ALFRED computes it.", _conditions),
)
"""What does not depend on how many actions were taken."""

MEAN_CONDITIONS = Metric(
    "mean_gc", "GC, mean of tasks", "GC, mean of tasks: each task counts alike.", _mean_conditions, main=False
)

METRICS = (
    *UNWEIGHTED,
    Metric(
        "plwsr",
        "PLWSR",
        "PLWSR: SR, each task times min(1, L/t) and weighted by L, the annotated demonstration's actions; t are those taken.",
        _success_by_length,
    ),
    Metric("plwgc", "PLWGC", "PLWGC: the share of conditions met, weighted in the same way.", _conditions_by_length),
    MEAN_CONDITIONS,
    Metric(
        "mean_sr_by_path",
        "SR/path, mean of tasks",
        "SR/path and GC/path, means of tasks: times min(1, L/t), and each task counts alike.",
        _mean_success_by_path,
        main=False,
    ),
    Metric("mean_gc_by_path", "GC/path, mean of tasks", "", _mean_conditions_by_path, main=False),
)
