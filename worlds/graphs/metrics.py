"""What LoTa-Bench computes of WAH-NL (Choi et al., ICLR 2024, section 4.3): goal success, and the mean subgoal success rate."""

from __future__ import annotations

from housequest.worlds.base import Metric, Played


def _success(played: Played) -> tuple[float, float]:
    return float(played.won), 1.0


def _subgoals(played: Played) -> tuple[float, float]:
    """The share of a task's subgoals; of a task whose goal is not known, because it was not played, none is reached."""
    return (played.met / played.conditions if played.conditions else float(played.won)), 1.0


METRICS = (
    Metric("sr", "SR", "SR: the share of tasks in which all subgoals are reached.", _success),
    Metric(
        "subgoal_sr",
        "Subgoal SR",
        "Subgoal SR: the share of a task's wanted things that are where they should be, at the one place where most are, "
        "averaged over tasks, as LoTa-Bench computes it for WAH-NL.",
        _subgoals,
    ),
)
