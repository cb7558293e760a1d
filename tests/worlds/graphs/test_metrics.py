"""The figures that household graphs add to an evaluation."""

from __future__ import annotations

from itertools import permutations
from math import fsum

import pytest

from housequest.agent.evaluation.analysis.metrics import EpisodeFigure, summarise
from housequest.worlds.graphs.world import METRICS
from tests.agent.evaluation.analysis.test_metrics import TASKS, result


@pytest.mark.parametrize("met", [(1, 1, 1, 1), (0, 2, 0, 2), (1, 2, 0, 1), (0, 0, 0, 0)])
def test_figures_of_household_graphs_do_not_depend_on_the_order_of_tasks(met: tuple[int, ...]) -> None:
    """Shares of a third and ties add up to the same in any order, and an interval holds its mean."""
    results = [result(n, "lost", met=each, conditions=3 + n % 2) for n, each in enumerate(met, 1)]
    figures = [summarise(tasks, results).overall for tasks in permutations(TASKS)]
    for metric in METRICS:
        of = [each.of(EpisodeFigure.of(metric)) for each in figures]
        assert len({each.mean for each in of}) == 1
        value, interval = of[0].mean, of[0].interval
        assert value is not None and interval is not None
        assert 0 <= interval.low <= value <= interval.high <= 1
    assert figures[0].of(EpisodeFigure.of(METRICS[1])).mean == fsum(each / (3 + n % 2) for n, each in enumerate(met, 1)) / 4
