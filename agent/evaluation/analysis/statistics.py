"""Intervals for rates and means, and tests for differences.

Plain Python, so that a report opens at once. Tests check every function against SciPy and statsmodels.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from housequest.knowledge.rules import Interval, wilson

V = TypeVar("V")


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p of McNemar's test for tasks that exactly one of two runs won. Only the discordant pairs count;
    under the null hypothesis each falls to either side with even chance. Source: Q. McNemar, Psychometrika 12 (1947), 153-157,
    with the binomial distribution in place of the normal one. 1 without discordant pairs.
    """
    if min(only_first, only_second) < 0:
        raise ValueError("a count is not negative.")
    trials = only_first + only_second
    tail = sum(math.comb(trials, k) for k in range(min(only_first, only_second) + 1))
    # Integers until the end: a float cannot hold such a power of two.
    return min(1.0, 2 * tail / (1 << trials))


class PairedCounts(NamedTuple):
    """Tasks played by two runs, by who won them."""

    both: int = 0
    only_first: int = 0
    only_second: int = 0
    neither: int = 0

    @property
    def total(self) -> int:
        """The number of tasks."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def won_first(self) -> int:
        """How many the first run won."""
        return self.both + self.only_first

    @property
    def won_second(self) -> int:
        """How many the second run won."""
        return self.both + self.only_second

    @property
    def difference(self) -> float:
        """The second run's success less the first's; 0 of no tasks."""
        return (self.only_second - self.only_first) / self.total if self.total else 0.0


def paired_interval(counts: PairedCounts) -> Interval:
    """The 95 % interval of ``counts.difference``, for paired rates. Wilson's intervals of both rates, combined with the
    correlation of the pairs. Source: R. G. Newcombe, "Improved confidence intervals for the difference between binomial
    proportions based on paired data", Statistics in Medicine 17 (1998), 2635-2650, method 10. [-1, 1] for no tasks.
    """
    total = counts.total
    if not total:
        return Interval(-1.0, 1.0)
    won_second, won_first = counts.won_second, counts.won_first
    second, first = won_second / total, won_first / total
    of_second, of_first = wilson(won_second, total), wilson(won_first, total)
    marginals = won_second * (total - won_second) * won_first * (total - won_first)
    product = counts.both * counts.neither - counts.only_first * counts.only_second
    if product > 0:
        product = max(product - total / 2, 0)
    correlation = product / math.sqrt(marginals) if marginals else 0.0
    below = _joined(second - of_second.low, of_first.high - first, correlation)
    above = _joined(of_second.high - second, first - of_first.low, correlation)
    return Interval(max(-1.0, second - first - below), min(1.0, second - first + above))


def _joined(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * correlation * one * other + other * other))


RESAMPLES = 10_000
MOST_DRAWS = 4_000_000
"""The most draws of one bootstrap, so that a report over thousands of tasks takes seconds."""


def clustered(tasks: Sequence[tuple[int, int]]) -> Interval:
    """The 95 % interval of the rate of wins over ``tasks``, each tried several times: pairs of wins and tries.

    It is of tasks like these, so tries of one task count as one sample as far as they come out alike: Wilson's interval for as
    many independent tries as would vary as much, between one and all of each task. Tasks tried once have Wilson's own. Source:
    N. Dean and M. Pagano, "Evaluating confidence interval methods for binomial proportions in clustered surveys", Journal of
    Survey Statistics and Methodology 3 (2015), 484-503. [0, 1] for no tries.
    """
    won, tries, size = sum(each for each, _ in tasks), sum(each for _, each in tasks), len(tasks)
    if tries == size:
        return wilson(won, tries)
    rate = won / tries
    spread = math.fsum((each - rate * of) ** 2 for each, of in tasks)
    # The variance of a ratio of two sums over tasks.
    variance = size / (size - 1) * spread / tries**2 if size > 1 else math.inf
    alike = not 0 < rate < 1 or variance == math.inf
    effective = size if alike else tries if not variance else min(max(rate * (1 - rate) / variance, size), tries)
    return wilson(rate * effective, effective)


def bootstrap_mean(values: Sequence[float]) -> Interval:
    """The 95 % percentile bootstrap interval of the mean of ``values``; for paired data, of their differences. Source: B. Efron
    and R. J. Tibshirani, "An introduction to the bootstrap" (1993), chapter 13. The same values give the same interval. Raises
    ``ValueError`` for no values.
    """
    return _bootstrap(values, lambda drawn: math.fsum(drawn) / len(drawn))


def bootstrap_ratio(terms: Sequence[tuple[float, float]]) -> Interval:
    """The same interval of a ratio of sums: of all first ``terms`` over all second ones, which are positive."""
    return _bootstrap(terms, ratio)


def bootstrap_ratio_difference(first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]]) -> Interval:
    """The same interval of the ratio of ``second`` less that of ``first``, whose terms are paired."""
    pairs = list(zip(first, second, strict=True))
    return _bootstrap(pairs, lambda drawn: ratio([its for _, its in drawn]) - ratio([ours for ours, _ in drawn]))


def ratio(terms: Sequence[tuple[float, float]]) -> float:
    """The sum of all first terms over the sum of all second ones."""
    return math.fsum(above for above, _ in terms) / math.fsum(below for _, below in terms)


def _bootstrap(values: Sequence[V], figure: Callable[[Sequence[V]], float]) -> Interval:
    if not values:
        raise ValueError("no values have no mean.")
    chance, size = random.Random(0), len(values)
    resamples = max(1_000, min(RESAMPLES, MOST_DRAWS // size))
    found = sorted(figure(chance.choices(values, k=size)) for _ in range(resamples))
    return Interval(_percentile(found, 0.025), _percentile(found, 0.975))


def _percentile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


class Mean(NamedTuple):
    """A mean over runs with its 95 % interval; None for a single run, and for equal ones, which do not tell how they vary."""

    value: float
    interval: Interval | None


def mean_over_seeds(values: Sequence[float], *, share: bool = False) -> Mean:
    """The mean of a figure over runs that differ only in their seed, with Student's 95 % interval, in [0, 1] for a ``share``.
    Source: Student, "The probable error of a mean", Biometrika 6 (1908), 1-25. Raises ``ValueError`` for no values.
    """
    if not values:
        raise ValueError("no values have no mean.")
    runs, mean, spread = len(values), math.fsum(values) / len(values), deviation(values)
    if not spread:
        return Mean(mean, None)
    reach = student_point(runs - 1) * spread / math.sqrt(runs)
    low, high = mean - reach, mean + reach
    return Mean(mean, Interval(max(0.0, low), min(1.0, high)) if share else Interval(low, high))


def pass_at(k: int, tries: int, won: int) -> float:
    """The chance that at least one of ``k`` tries wins, estimated without bias from ``tries`` of which ``won`` were won.
    Source: M. Chen et al., "Evaluating Large Language Models Trained on Code" (2021), section 2.1. Raises ``ValueError`` where
    there are fewer tries than ``k``.
    """
    if not 0 < k <= tries or not 0 <= won <= tries:
        raise ValueError(f"of {tries} tries, of which {won} were won, {k} cannot be drawn.")
    return 1 - math.comb(tries - won, k) / math.comb(tries, k)


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation of a sample; None of fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else None


def student_point(degrees: int, share: float = 0.975) -> float:
    """The quantile ``share`` (above a half) of Student's distribution with ``degrees`` of freedom."""
    low, high = 0.0, 1.0
    while _student_below(high, degrees) < share:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_below(middle, degrees) < share else (low, middle)
    return (low + high) / 2


def _student_below(point: float, degrees: int) -> float:
    """The distribution function at ``point`` >= 0, by its finite sums (Abramowitz and Stegun, 26.7.3, 26.7.4)."""
    angle = math.atan(point / math.sqrt(degrees))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = degrees % 2
    total, term = 0.0, cosine if odd else 1.0
    for k in range(1 + odd, degrees, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    inside = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return (1 + inside) / 2
