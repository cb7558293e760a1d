"""Intervals for rates and means, and tests for differences.

Plain Python, so that a report opens at once; only of more than 500 values, NumPy draws. Tests check every function against
SciPy and statsmodels.
"""

from __future__ import annotations

import math
import operator
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from housequest.knowledge.rules import Interval, wilson


def by_chance(differences: Sequence[float]) -> float:
    """The two-sided mid-p of Fisher's test of paired ``differences``: how likely chance alone brings a sum this far from 0, if
    each difference could as well have had the other sign. It is exact, for shares of a few tries, whose sums are few.

    For 1, -1 and 0, tasks that the second run won alone, the first alone, and all others, it is McNemar's exact test. A sum as
    far as this one counts half, since the whole of it makes the test too careful. Sources: R. A. Fisher, "The design of
    experiments" (1935), section 21; M. W. Fagerland, S. Lydersen and P. Laake, "The McNemar test for binary matched-pairs
    data: mid-p and asymptotic are better than exact conditional", BMC Medical Research Methodology 13 (2013), 91. 1 where
    nothing differs.
    """
    steps = whole_steps(differences)
    seen, chance = abs(sum(steps)), {0: 1.0}
    for step, often in Counter(abs(each) for each in steps if each).items():
        # So many steps of one size come to that size times what a binomial count is off its middle.
        ways = [(step * (2 * up - often), math.comb(often, up) / (1 << often)) for up in range(often + 1)]
        before, chance = chance, dict[int, float]()
        for total, share in before.items():
            for more, way in ways:
                chance[total + more] = chance.get(total + more, 0.0) + share * way
    if not any(steps):
        return 1.0
    return min(1.0, math.fsum(share / (1 + (abs(total) == seen)) for total, share in chance.items() if abs(total) >= seen))


def whole_steps(differences: Sequence[float]) -> list[int]:
    """``differences`` of shares in units of the largest step that all of them are whole numbers of."""
    parts = [Fraction(each).limit_denominator(10_000) for each in differences]
    unit = math.lcm(*(part.denominator for part in parts))
    return [int(part * unit) for part in parts]


def holm(chances: Sequence[float]) -> list[float]:
    """The p of several tests, corrected so that with 95 % certainty none below 0.05 is by chance alone. Source: S. Holm, "A
    simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979), 65-70.
    """
    found, least = [0.0] * len(chances), 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=lambda at: chances[at])):
        least = max(least, min(1.0, (len(chances) - rank) * chances[place]))
        found[place] = least
    return found


def difference_interval(first: Sequence[float], ours: Interval, second: Sequence[float], theirs: Interval) -> Interval:
    """The 95 % interval of the mean of ``second`` less that of ``first``, from the interval of each mean and the correlation
    of the tasks, with a correction for continuity. [-1, 1] for no tasks.

    ``first`` and ``second`` are shares of tries of the same tasks. Source: G. Y. Zou and A. Donner, "Construction of
    confidence limits about effect measures: a general approach", Statistics in Medicine 27 (2008), 1693-1702. For tasks that
    were tried once, with Wilson's intervals, this is method 10 of R. G. Newcombe, "Improved confidence intervals for the
    difference between binomial proportions based on paired data", Statistics in Medicine 17 (1998), 2635-2650.
    """
    if not first:
        return Interval(-1.0, 1.0)
    one, other, size = statistics.fmean(first), statistics.fmean(second), len(first)
    related = math.fsum(map(operator.mul, first, second)) / size - one * other
    if related > 0:
        related = max(related - 0.5 / size, 0.0)
    spread = statistics.pvariance(first) * statistics.pvariance(second)
    correlation = related / math.sqrt(spread) if spread else 0.0

    def reach(own: float, its: float) -> float:
        return math.sqrt(max(0.0, own * own - 2 * correlation * own * its + its * its))

    below, above = reach(other - theirs.low, ours.high - one), reach(theirs.high - other, one - ours.low)
    return Interval(max(-1.0, other - one - below), min(1.0, other - one + above))


RESAMPLES = 10_000
MOST_DRAWS = 4_000_000
"""The most draws of one bootstrap, so that a report over thousands of tasks takes seconds."""
MANY = 500
"""Values from which on NumPy draws."""


def clustered(tasks: Sequence[tuple[int, int]]) -> Interval:
    """The 95 % interval of the rate of wins over ``tasks``, each tried several times: pairs of wins and tries.

    It is of tasks like these, so a task counts as one sample, however often it was tried. Then it takes as many independent
    tries as there are tasks, less where some were tried more often than others (Kish's effective size), in the exact interval
    of Clopper and Pearson. One more win moves no end down, as it may where the spread of the tries decides how much they count.
    Tasks tried once have Wilson's. Sources: L. Kish, "Survey sampling" (1965), section 8.2; E. L. Korn and B. I. Graubard,
    "Confidence intervals for proportions with small expected number of positive counts estimated from survey data", Survey
    Methodology 24 (1998), 193-201. [0, 1] for no tries.
    """
    won, tries, size = sum(each for each, _ in tasks), sum(each for _, each in tasks), len(tasks)
    if tries == size:
        return wilson(won, tries)
    effective = tries**2 / sum(of**2 for _, of in tasks)
    wins = won / tries * effective
    low = _beta_point(0.025, wins, effective - wins + 1) if won else 0.0
    return Interval(low, _beta_point(0.975, wins + 1, effective - wins) if won < tries else 1.0)


def _beta_point(share: float, first: float, second: float) -> float:
    """The quantile ``share`` of the beta distribution with these parameters."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _beta_below(middle, first, second) < share else (low, middle)
    return (low + high) / 2


def _beta_below(point: float, first: float, second: float) -> float:
    """The distribution function of the beta distribution, by its continued fraction (Abramowitz and Stegun, 26.5.8)."""
    both = first + second
    if upper := point > (first + 1) / (both + 2):  # the fraction settles sooner from the nearer end
        point, first, second = 1 - point, second, first
    if point <= 0:
        return float(upper)
    height = math.lgamma(both) - math.lgamma(first) - math.lgamma(second)
    height += first * math.log(point) + second * math.log1p(-point)
    # From the inside out; it settles in far fewer steps than these.
    fraction = 1.0
    for step in range(30 + int(8 * math.sqrt(both)), 0, -1):
        even = step * (second - step) * point / ((first + 2 * step - 1) * (first + 2 * step))
        odd = -(first + step - 1) * (both + step - 1) * point / ((first + 2 * step - 2) * (first + 2 * step - 1))
        fraction = 1 + odd / (1 + even / fraction)
    below = math.exp(height) / first / fraction
    return 1 - below if upper else below


def bootstrap_mean(values: Sequence[float]) -> Interval:
    """The 95 % percentile bootstrap interval of the mean of ``values``; for paired data, of their differences. Source: B. Efron
    and R. J. Tibshirani, "An introduction to the bootstrap" (1993), chapter 13. The same values give the same interval. Raises
    ``ValueError`` for no values.
    """
    return _bootstrap([(value,) for value in values], lambda sums: sums[0] / len(values))


def bootstrap_ratio(terms: Sequence[tuple[float, float]]) -> Interval:
    """The same interval of a ratio of sums: of all first ``terms`` over all second ones, which are positive."""
    return _bootstrap(terms, lambda sums: sums[0] / sums[1])


def bootstrap_ratio_difference(first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]]) -> Interval:
    """The same interval of the ratio of ``second`` less that of ``first``, whose terms are paired."""
    pairs = [(*ours, *its) for ours, its in zip(first, second, strict=True)]
    return _bootstrap(pairs, lambda sums: sums[2] / sums[3] - sums[0] / sums[1])


def ratio(terms: Sequence[tuple[float, float]]) -> float:
    """The sum of all first terms over the sum of all second ones."""
    return math.fsum(above for above, _ in terms) / math.fsum(below for _, below in terms)


def _bootstrap(rows: Sequence[tuple[float, ...]], figure: Callable[[Sequence[float]], float]) -> Interval:
    """The interval of a ``figure`` that is computed from the sums of the columns."""
    if not rows:
        raise ValueError("no values have no mean.")
    size = len(rows)
    resamples = max(1_000, min(RESAMPLES, MOST_DRAWS // size))
    drawn = (_drawn if size > MANY else _drawn_one_by_one)(rows, resamples)
    ends = statistics.quantiles(map(figure, drawn), n=40, method="inclusive")
    return Interval(ends[0], ends[-1])


def _drawn_one_by_one(rows: Sequence[tuple[float, ...]], resamples: int) -> Iterator[Sequence[float]]:
    chance = random.Random(0)
    for _ in range(resamples):
        yield [math.fsum(column) for column in zip(*chance.choices(rows, k=len(rows)), strict=True)]


def _drawn(rows: Sequence[tuple[float, ...]], resamples: int) -> Iterator[Sequence[float]]:
    """The same with NumPy, which takes longer to import than to draw a few."""
    import numpy as np

    table, chance = np.array(rows, float), np.random.RandomState(0)  # its numbers stay the same in all versions
    for _ in range(resamples):
        yield table[chance.randint(0, len(rows), len(rows))].sum(axis=0).tolist()


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
    """The quantile ``share`` (above a half) of Student's distribution with ``degrees`` of freedom, from the beta distribution
    (Abramowitz and Stegun, 26.7.1).
    """
    return math.sqrt(degrees * (1 / _beta_point(2 * (1 - share), degrees / 2, 0.5) - 1))
