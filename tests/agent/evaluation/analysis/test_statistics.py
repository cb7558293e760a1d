"""Intervals against published and independently computed values.

scipy and statsmodels are imported where they are used: otherwise every worker would load them only to collect the tests.
"""

from __future__ import annotations

import random
import statistics
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.evaluation.analysis.statistics import (
    Interval,
    Mean,
    bootstrap_mean,
    bootstrap_ratio,
    bootstrap_ratio_difference,
    by_chance,
    clustered,
    difference_interval,
    holm,
    mean_over_seeds,
    student_point,
    wilson,
)


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


@pytest.mark.heavy
@given(st.integers(0, 4_000), st.integers(0, 4_000))
def test_wilson_is_that_of_statsmodels(won: int, lost: int) -> None:
    from statsmodels.stats import proportion

    if won + lost:
        low, high = proportion.proportion_confint(won, won + lost, method="wilson")
        assert (wilson(won, won + lost).low, wilson(won, won + lost).high) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.heavy
@given(st.integers(0, 900), st.integers(0, 900))
def test_by_chance_is_mcnemars_mid_p_by_scipy(first: int, second: int) -> None:
    from scipy import stats

    flips = first + second
    exact = stats.binomtest(first, flips).pvalue if flips else 1.0
    as_far = stats.binom.pmf(first, flips, 0.5) if flips else 0.0
    # Half of what lies as far as this on both sides; in the middle both sides are one.
    mid = exact - as_far * (1.0 if first != second else 0.5)
    assert by_chance([-1.0] * first + [1.0] * second + [0.0] * 3) == pytest.approx(mid, rel=1e-7, abs=1e-300)


@pytest.mark.heavy
@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=9))
def test_by_chance_is_the_share_of_all_signs(tries: list[tuple[int, int]]) -> None:
    """Of shares of three tries and of two: by trying each choice of signs."""
    differences = [Fraction(won, 3) - Fraction(other, 2) for won, other in tries]
    seen, sums = abs(sum(differences)), [0]
    for each in differences:
        sums = [total + sign * each for total in sums for sign in (1, -1)]
    wanted = sum(1.0 if abs(total) > seen else 0.5 for total in sums if abs(total) >= seen) / len(sums)
    found = by_chance([float(each) for each in differences])
    assert found == (pytest.approx(wanted) if any(differences) else 1.0)


@pytest.mark.heavy
def test_thousands_of_flips_overflow_nothing() -> None:
    assert by_chance([1.0] * 3_553) == 0.0
    assert by_chance([1 / 3, -1 / 3, 2 / 3, -2 / 3, 1.0, -1.0] * 300) == pytest.approx(1.0, abs=0.01)


@pytest.mark.heavy
@given(st.lists(st.floats(0, 1), max_size=8))
def test_holms_correction_is_that_of_statsmodels(chances: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    wanted = multitest.multipletests(chances, method="holm")[1].tolist() if chances else []
    assert holm(chances) == pytest.approx(wanted)


def paired(both: int, only_first: int, only_second: int, neither: int) -> Interval:
    first = [1.0] * (both + only_first) + [0.0] * (only_second + neither)
    second = [1.0] * both + [0.0] * only_first + [1.0] * only_second + [0.0] * neither
    ours, theirs = wilson(both + only_first, len(first)), wilson(both + only_second, len(second))
    return difference_interval(first, ours, second, theirs)


# Newcombe, "Improved confidence intervals ... based on paired data", Statistics in Medicine 17 (1998), table III, method 10.
def test_a_paired_difference_of_the_literature() -> None:
    interval = paired(both=36, only_first=2, only_second=12, neither=0)
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.0569, 0.3404)


@pytest.mark.heavy
def test_a_paired_difference_covers_the_truth_as_often_as_it_says() -> None:
    import numpy as np

    chance = np.random.default_rng(5)
    for weights in ((0.6, 0.05, 0.15, 0.2), (0.9, 0.02, 0.04, 0.04), (0.3, 0.2, 0.2, 0.3)):
        truth = weights[2] - weights[1]
        drawn = [paired(*map(int, chance.multinomial(134, weights))) for _ in range(2_000)]
        covered = sum(interval.low <= truth <= interval.high for interval in drawn) / len(drawn)
        assert 0.935 <= covered <= 0.985


@given(*[st.integers(0, 200)] * 4)
def test_a_paired_difference_lies_in_its_interval(both: int, first: int, second: int, neither: int) -> None:
    interval = paired(both, first, second, neither)
    difference = (second - first) / max(1, both + first + second + neither)
    assert -1 <= interval.low <= difference + 1e-12
    assert difference - 1e-12 <= interval.high <= 1
    mirrored = paired(both, second, first, neither)
    assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low))


@pytest.mark.heavy
def test_the_bootstrap_of_many_values_is_that_of_few_drawn_in_another_way() -> None:
    chance = random.Random(3)
    values = [chance.gauss(2, 5) + (chance.random() < 0.1) * 20 for _ in range(3000)]
    found = bootstrap_mean(values)
    assert bootstrap_mean(values) == found
    mean, reach = statistics.fmean(values), 1.96 * statistics.stdev(values) / len(values) ** 0.5
    assert (found.low, found.high) == pytest.approx((mean - reach, mean + reach), abs=0.1 * reach)
    terms, ones = [(value, 1.0) for value in values], [(0.0, 1.0)] * len(values)
    for same in (bootstrap_ratio(terms), bootstrap_ratio_difference(ones, terms)):
        assert (same.low, same.high) == pytest.approx((found.low, found.high))


@pytest.mark.heavy
def test_the_bootstrap_is_that_of_scipy() -> None:
    import numpy as np
    from scipy import stats

    chance = random.Random(3)
    values = [chance.gauss(1, 3) for _ in range(140)]
    ours = bootstrap_mean(values)
    theirs = stats.bootstrap(
        (np.array(values),), np.mean, method="percentile", n_resamples=20_000, random_state=1
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03)
    assert bootstrap_mean(values) == ours
    assert bootstrap_mean([2.0]) == bootstrap_mean([2.0, 2.0])


@given(st.integers(1, 400), st.sampled_from([0.9, 0.95, 0.975, 0.995]))
@pytest.mark.heavy
def test_students_points_are_those_of_scipy(degrees: int, share: float) -> None:
    from scipy import stats

    assert student_point(degrees, share) == pytest.approx(float(stats.t.ppf(share, degrees)), rel=1e-9)


@pytest.mark.heavy
def test_a_mean_over_seeds() -> None:
    import numpy as np
    from scipy import stats

    values = [0.71, 0.75, 0.69]
    mean = mean_over_seeds(values)
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    assert mean.interval is not None
    assert (mean.value, mean.interval.low, mean.interval.high) == pytest.approx((np.mean(values), low, high))
    assert mean_over_seeds([0.5]).interval is None


def test_equal_runs_do_not_tell_how_they_vary() -> None:
    assert mean_over_seeds([0.5, 0.5, 0.5]) == Mean(0.5, None)


def test_a_task_counts_once_however_often_it_was_tried() -> None:
    one, three = wilson(7, 10), clustered([(3, 3)] * 7 + [(0, 3)] * 3)
    assert clustered([(1, 1)] * 7 + [(0, 1)] * 3) == one
    assert three.low < one.low < one.high < three.high, "more tries of a task say nothing of other tasks"
    assert three == clustered([(5, 5)] * 7 + [(0, 5)] * 3)
    assert clustered([]) == Interval(0.0, 1.0)
    assert clustered([(3, 3)] * 4).high == 1.0 > clustered([(3, 3)] * 3 + [(2, 3)]).high


@pytest.mark.heavy
@given(st.integers(1, 400), st.integers(0, 1_200), st.integers(2, 3))
def test_clusters_of_one_size_have_the_interval_of_clopper_and_pearson(size: int, won: int, tries: int) -> None:
    from scipy import stats

    won = min(won, size * tries)
    found = clustered([(share // size + (place < share % size), tries) for share in [won] for place in range(size)])
    wins = won / tries
    low = stats.beta.ppf(0.025, wins, size - wins + 1) if won else 0.0
    high = stats.beta.ppf(0.975, wins + 1, size - wins) if won < size * tries else 1.0
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12), st.data())
def test_one_more_win_moves_no_end_down(tries: list[tuple[int, int]], data: st.DataObject) -> None:
    tasks = [(won, won + lost) for won, lost in tries if won + lost]
    lost = [place for place, (won, of) in enumerate(tasks) if won < of]
    if len(tasks) < 2 or not lost:
        return
    place = data.draw(st.sampled_from(lost))
    more = [(won + (at == place), of) for at, (won, of) in enumerate(tasks)]
    before, after = clustered(tasks), clustered(more)
    assert before.low <= after.low
    assert before.high <= after.high


@pytest.mark.heavy
@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
def test_the_interval_of_clusters_covers_what_it_should(alike: float) -> None:
    """Tasks of a population, each played four times: in 95 % of samples or more the interval has the population's rate."""
    chance, covered = random.Random(1), 0

    def easy() -> float:
        if alike == 1.0:
            return float(chance.random() < 0.6)
        return 0.6 if not alike else chance.betavariate(0.6 * (1 / alike - 1), 0.4 * (1 / alike - 1))

    for _ in range(300):
        tasks = [easy() for _ in range(60)]
        found = clustered([(sum(chance.random() < rate for _ in range(4)), 4) for rate in tasks])
        covered += found.low <= 0.6 <= found.high
    assert covered >= 279


def test_no_values_have_no_mean() -> None:
    for function in (bootstrap_mean, mean_over_seeds):
        with pytest.raises(ValueError, match="no values"):
            function([])
