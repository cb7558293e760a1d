"""Several seeds as one arm: computed by hand; what differs in more than the seed is another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from housequest.agent.episodes.events import Outcome
from housequest.agent.evaluation.analysis.arms import read_arms
from housequest.agent.evaluation.analysis.metrics import SUCCESS
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.render.series import ArmsReport, SeedsReport, report_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.worlds.errors import ConfigurationError
from tests.agent.evaluation.recorded import Lived, run


def recorded(folder: Path, seed: int, *outcomes: Outcome, **configuration: object) -> RunFolder:
    run(folder / str(seed), [Lived(n, outcome) for n, outcome in enumerate(outcomes, 1)], seed=seed, **configuration)  # pyright: ignore
    return RunFolder(folder / str(seed))


def test_the_mean_over_seeds_by_hand(tmp_path: Path) -> None:
    played = (recorded(tmp_path, 2, "won", "lost"), recorded(tmp_path, 0, "won", "won"), recorded(tmp_path, 1, "won", "won"))
    (arm,) = read_arms([each.path for each in played])
    runs = arm.runs
    assert [each.seed for each in runs] == [0, 1, 2]
    mean = arm.over_seeds()[SUCCESS]
    assert mean is not None
    assert mean.value == pytest.approx(2.5 / 3)
    assert mean.interval is not None
    # Student's point for two degrees of freedom is 4.3027; the deviation of 1, 1 and 0.5 is 0.2887.
    assert mean.value - mean.interval.low == pytest.approx(4.30265 * 0.288675 / 3**0.5, rel=1e-4)
    assert mean.interval.high == 1.0  # and not 1.55: no share is more
    report = report_of([arm])
    assert isinstance(report, SeedsReport)
    text = report.text()
    assert "over 3 seeds" in text
    assert max(map(len, text.splitlines())) <= 80
    figures = report.data()
    assert json.loads(json.dumps(figures)) == figures
    assert figures["seeds"] == [0, 1, 2]
    assert read_for_comparison(RunFolder(tmp_path / "0")).summary == runs[0].summary


def test_what_differs_in_more_than_its_seed_is_another_arm(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a", 0, "won").path
    for other in (recorded(tmp_path / "b", 1, "won", max_turns=9), recorded(tmp_path / "c", 1, "won", "won")):
        arms = read_arms([first, other.path])
        assert [len(arm.runs) for arm in arms] == [1, 1]
        assert isinstance(report_of(arms), ArmsReport)
    for name, wrong in (
        ("the same run with the same seed, 0", recorded(tmp_path / "d", 0, "won").path),
        ("not the folder of a run", tmp_path),
    ):
        with pytest.raises(ConfigurationError, match=name):
            read_arms([first, wrong])
