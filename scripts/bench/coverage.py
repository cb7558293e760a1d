"""How often the intervals of a series and of a difference have the truth in them, simulated."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from housequest.agent.evaluation.analysis.statistics import Interval, clustered, difference_interval

SAMPLES = 1_000
TASKS, TRIES = (12, 20, 40, 134), 3
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
    for alike in ALIKE[1:]:
        gains = [(rate, gain) for rate in RATES for gain in (0.0, 0.1, 0.3) if rate + gain < 1]
        found = [_difference_covered(chance, tasks, rate, gain, alike) for tasks in TASKS[:3] for rate, gain in gains]
        least = min(least, *found)
        yield f"difference of two, correlation {alike:g}: {min(found):.3f} to {max(found):.3f} over {len(found)} settings"
    yield f"least: {least:.3f} (wanted: at least {WANTED})"


def _difference_covered(chance: random.Random, tasks: int, rate: float, gain: float, alike: float) -> float:
    """The share of samples whose interval has ``gain`` in it; the second arm wins what the first wins, and more."""
    difficulty, inside = _difficulty(chance, rate, alike), 0
    for _ in range(SAMPLES):
        wins: list[tuple[int, int]] = []
        for easy in (difficulty() for _ in range(tasks)):
            more = easy + (1 - easy) * gain / (1 - rate)
            wins.append((sum(chance.random() < easy for _ in range(TRIES)), sum(chance.random() < more for _ in range(TRIES))))
        ours, theirs = ([won[side] / TRIES for won in wins] for side in (0, 1))
        of_ours, of_theirs = (_interval(sum(won[side] for won in wins), tasks) for side in (0, 1))
        found = difference_interval(ours, of_ours, theirs, of_theirs)
        inside += found.low <= gain <= found.high
    return inside / SAMPLES


def _covered(chance: random.Random, tasks: int, rate: float, alike: float) -> float:
    """The share of samples whose interval has ``rate`` in it."""
    difficulty, inside = _difficulty(chance, rate, alike), 0
    for _ in range(SAMPLES):
        won = [sum(chance.random() < easy for _ in range(TRIES)) for easy in (difficulty() for _ in range(tasks))]
        ends = _interval(sum(won), tasks)
        inside += ends.low <= rate <= ends.high
    return inside / SAMPLES


@cache
def _interval(won: int, tasks: int) -> Interval:
    """The interval of a series, which depends on all wins alone where each task is tried as often."""
    even, more = divmod(won, tasks)
    return clustered([(even + (task < more), TRIES) for task in range(tasks)])


def _difficulty(chance: random.Random, rate: float, alike: float) -> Callable[[], float]:
    """The chance to win a task, drawn anew for each."""
    if alike == 0.0:
        return lambda: rate
    if alike == 1.0:
        return lambda: float(chance.random() < rate)
    return partial(chance.betavariate, rate * (1 / alike - 1), (1 - rate) * (1 / alike - 1))
