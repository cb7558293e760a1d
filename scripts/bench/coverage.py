"""How often the interval of a series has the true rate in it: simulated, for tasks that come out alike or do not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from housequest.agent.evaluation.analysis.statistics import Interval, clustered

SAMPLES = 1_000
TASKS, TRIES = (20, 40, 134), 3
RATES = (0.05, 0.2, 0.5, 0.8, 0.95)
ALIKE = (0.0, 0.3, 0.7, 1.0)
"""How much the tries of a task come out alike: their correlation."""
WANTED = 0.93


def run(data: Path | None) -> Iterator[str]:
    """Lines to print."""
    del data
    chance, least = random.Random(0), 1.0
    for alike in ALIKE:
        found = [_covered(chance, tasks, rate, alike) for tasks in TASKS for rate in RATES]
        least = min(least, *found)
        yield f"correlation {alike:g}: {min(found):.3f} to {max(found):.3f} over {len(found)} settings of {TRIES} tries each"
    yield f"least: {least:.3f} (wanted: at least {WANTED})"


def _covered(chance: random.Random, tasks: int, rate: float, alike: float) -> float:
    """The share of samples whose interval has ``rate`` in it."""
    difficulty, ends = _difficulty(chance, rate, alike), dict[int, Interval]()
    inside = 0
    for _ in range(SAMPLES):
        won = [sum(chance.random() < easy for _ in range(TRIES)) for easy in (difficulty() for _ in range(tasks))]
        # Of tasks tried as often it depends on all wins alone.
        if (total := sum(won)) not in ends:
            ends[total] = clustered([(each, TRIES) for each in won])
        inside += ends[total].low <= rate <= ends[total].high
    return inside / SAMPLES


def _difficulty(chance: random.Random, rate: float, alike: float) -> Callable[[], float]:
    """The chance to win a task, drawn anew for each."""
    if alike == 0.0:
        return lambda: rate
    if alike == 1.0:
        return lambda: float(chance.random() < rate)
    return partial(chance.betavariate, rate * (1 / alike - 1), (1 - rate) * (1 / alike - 1))
