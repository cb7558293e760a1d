"""ALFRED plans: how often the plan of the most similar instruction in train is the annotated one, or reaches the goal."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from housequest.agent.alfred.plans.report import PlanFigures
from housequest.agent.alfred.plans.work import make_run, score_plans
from housequest.agent.config import Scalar, Settings
from housequest.agent.evaluation.analysis.statistics import Interval, wilson
from housequest.worlds.alfred.tasks import read_split, score, splits

SPLIT = "valid_seen"
POOLS: dict[str, dict[str, Scalar]] = {
    "100 examples": {"pool": 100},
    "100 examples, step by step": {"pool": 100, "steps": True},
    "all of train": {"pool": "all"},
}


def run(data: Path | None) -> list[str]:
    """Exact and goal-reaching accuracy with Wilson's 95 % intervals, for a few and for all examples; lines to print."""
    if data is None or not {"train", SPLIT} <= set(splits(data)):
        return [f"needs the annotations of train and {SPLIT}"]
    annotated = [score(one.plan, one).reaches for one in read_split(SPLIT, data)]
    told = _told(sum(annotated), len(annotated), wilson(sum(annotated), len(annotated)))
    lines = [f"annotated plans of {SPLIT} that reach their goal: {told}"]
    for name, settings in POOLS.items():
        made = make_run(Settings(split=SPLIT, set=settings), data)
        began = time.perf_counter()
        with TemporaryDirectory() as folder:
            figures = PlanFigures(asyncio.run(score_plans(made, Path(folder) / "run")))
        seconds = time.perf_counter() - began
        shares = (("exact", figures.exact), ("goal-reaching", figures.reaches), ("wherever", figures.wherever))
        told = ", ".join(f"{measure} {_told(share.count, figures.total, share.interval)}" for measure, share in shares)
        lines.append(f"{name}: {told}; {figures.conditions or 0:.1%} of conditions; {seconds:.1f} s")
    return lines


def _told(count: int, total: int, interval: Interval | None) -> str:
    assert interval is not None, "there is something to share"
    return f"{count} of {total} ({count / total:.1%}, {interval.low:.1%}-{interval.high:.1%})"
