"""Homes: how well an agent gets to know twenty of them, with every way to learn that needs no model.

The homes are those of the seeds 2000 to 2019, on which nothing was tuned. Lives are lived side by side, one on each processor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.batch import RunOptions
from housequest.agent.evaluation.runs.budget import BudgetTracker
from housequest.agent.explorer.curves import LivesReport, read_curves
from housequest.agent.explorer.living import TRIED, Life, Lives, live, plan_lives
from housequest.agent.processes import processors

HOMES = "household:2000..2019"
WAYS = ("counts", "explore", "mine", "memory")


def run(data: Path | None) -> list[str]:
    """Live in `HOMES` for 40 days, and try the books on 20 others. Lines to print."""
    del data
    lives = plan_lives(configure({"agent": "expert"}), [HOMES], WAYS, 40, TRIED, 20)
    with TemporaryDirectory() as folder, ProcessPoolExecutor(processors()) as pool:
        list(pool.map(partial(_life, lives, Path(folder)), lives.manifest.lives))
        report = read_curves(Path(folder))
        return [*report.lines(), "", *_wanted(report)]


def _life(lives: Lives, folder: Path, life: Life) -> None:
    asyncio.run(live(lives, folder, RunOptions(), BudgetTracker(), [life]))


def _wanted(report: LivesReport) -> Iterator[str]:
    curves = {arm: {each.day: each for each in report.curve(arm)} for arm in report.arms}
    explore, counts = curves["explore"], curves["counts"]
    gap = {day: each.gap or 0.0 for day, each in explore.items()}
    floor = report.reference("floor")[0]
    yield f"exploring closes {gap[10]:.0%} of the gap by day 10 and {gap[20]:.0%} by day 20 (wanted: 80 and 90)"
    yield f"success at day 10: {100 * (explore[10].success - floor):+.0f} points (wanted: +30)"
    yield f"counting closes {counts[40].gap or 0.0:.0%} by day 40 (wanted: 80)"
    found = [share or 0.0 for share in (explore[20].precision, explore[20].recall, explore[20].main, explore[40].recall)]
    precision, recall, main, later = found
    yield f"habits at day 20: precision {precision:.2f}, recall {recall:.2f}, main place {main:.2f} (wanted: .9, .75, .85)"
    yield f"recall at day 40: {later:.2f} (wanted: .8)"
