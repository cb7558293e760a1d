"""Several seeds as one: computed by hand, and refused where more than the seed differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from housequest.agent.episodes.events import Outcome
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.analysis.series import SeedsReport, means, read_seeds
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.worlds.errors import ConfigurationError
from tests.agent.evaluation.recorded import Lived, run


def recorded(folder: Path, seed: int, *outcomes: Outcome, **configuration: object) -> RunFolder:
    run(folder / str(seed), [Lived(n, outcome) for n, outcome in enumerate(outcomes, 1)], seed=seed, **configuration)  # pyright: ignore
    return RunFolder(folder / str(seed))


def test_the_mean_over_seeds_by_hand(tmp_path: Path) -> None:
    runs = read_seeds(
        [recorded(tmp_path, 2, "won", "lost"), recorded(tmp_path, 0, "won", "won"), recorded(tmp_path, 1, "won", "won")]
    )
    assert [each.seed for each in runs] == [0, 1, 2]
    mean = means(runs)["success"]
    assert mean is not None
    assert mean.value == pytest.approx(2.5 / 3)
    assert mean.interval is not None
    # Student's point for two degrees of freedom is 4.3027; the deviation of 1, 1 and 0.5 is 0.2887.
    assert mean.value - mean.interval.low == pytest.approx(4.30265 * 0.288675 / 3**0.5, rel=1e-4)
    assert mean.interval.high == 1.0  # and not 1.55: no share is more
    text = SeedsReport(runs).text()
    assert "over 3 seeds" in text
    assert max(map(len, text.splitlines())) <= 80
    figures = SeedsReport(runs).data()
    assert json.loads(json.dumps(figures)) == figures
    assert figures["seeds"] == [0, 1, 2]
    assert read_for_comparison(RunFolder(tmp_path / "0")).summary == runs[0].summary


def test_other_differences_are_refused(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a", 0, "won")
    for name, other in (
        ("configuration.max_turns: 50 is now 9", recorded(tmp_path / "b", 1, "won", max_turns=9)),
        ("tasks", recorded(tmp_path / "c", 1, "won", "won")),
        ("the same seed, 0", recorded(tmp_path / "d", 0, "won")),
        ("not the folder of a run", RunFolder(tmp_path)),
    ):
        with pytest.raises(ConfigurationError, match=name):
            read_seeds([first, other])


def test_tasks_that_were_drawn_with_the_seed_may_differ(tmp_path: Path) -> None:
    run(tmp_path / "0", [Lived(1), Lived(2)], seed=0, sample=2)
    run(tmp_path / "1", [Lived(7), Lived(9, "lost")], seed=1, sample=2)
    runs = read_seeds([RunFolder(tmp_path / seed) for seed in "01"])
    assert [each.summary.overall.success for each in runs] == [1.0, 0.5]
    assert not SeedsReport(runs).data()["same_tasks"]
    assert "tasks of its own" in SeedsReport(runs).text()
