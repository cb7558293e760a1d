"""ALFRED's metrics: eight episodes by hand, and the formulas of its evaluation derived anew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.evaluation.analysis.metrics import EpisodeFigure, Extras, PathLengths, summarise
from housequest.agent.evaluation.analysis.run import PathLine, Run, read_for_comparison
from housequest.agent.evaluation.analysis.statistics import bootstrap_mean, bootstrap_ratio, bootstrap_ratio_difference, ratio
from housequest.agent.evaluation.render.export import as_markdown
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.files import SelectedTask, lines_of
from housequest.agent.evaluation.runs.folder import Result
from housequest.knowledge.rules import wilson
from housequest.worlds.alfred.tasks import METRICS
from housequest.worlds.base import Played
from housequest.worlds.errors import ConfigurationError
from tests.agent.evaluation.recorded import Lived, paired, run

EPISODES = (
    # won, met, conditions, actions taken, annotated actions
    (True, 1, 1, 10, 10),  # weight 1
    (True, 3, 3, 40, 20),  # weight 1/2
    (True, 2, 2, 15, 30),  # quicker than the annotation: weight 1
    (False, 2, 4, 1000, 40),  # weight 1/25
    (False, 1, 2, 25, 50),  # weight 1
    (False, 0, 3, 0, 10),  # no action
    (False, 0, 3, 80, 20),
    (True, 4, 4, 20, 20),
)
BY_HAND = {
    "sr": 4 / 8,
    "gc": 13 / 22,
    "plwsr": (10 + 10 + 30 + 20) / 200,
    "plwgc": (10 + 10 + 30 + 0.8 + 25 + 20) / 200,
    "mean_gc": (1 + 1 + 1 + 1 / 2 + 1 / 2 + 1) / 8,
    "mean_sr_by_path": (1 + 1 / 2 + 1 + 1) / 8,
    "mean_gc_by_path": (1 + 1 / 2 + 1 + 1 / 50 + 1 / 2 + 1) / 8,
}


@st.composite
def episodes(draw: st.DrawFn) -> Played:
    won, conditions = draw(st.booleans()), draw(st.integers(1, 4))
    met = conditions if won else draw(st.integers(0, conditions))
    return Played(won, met, conditions, draw(st.integers(1, 1000)), draw(st.integers(5, 234)))


def close(found: Mapping[str, float | None], wanted: Mapping[str, float]) -> bool:
    return found.keys() == wanted.keys() and all(abs((found[key] or 0) - wanted[key]) < 1e-9 for key in wanted)


def test_eight_episodes_by_hand() -> None:
    played = [Played(*episode) for episode in EPISODES]
    found = {metric.key: ratio([terms for each in played if (terms := metric.terms(each))]) for metric in METRICS}
    assert close(found, BY_HAND)


@given(st.lists(episodes(), min_size=1, max_size=20))
def test_they_are_those_of_alfreds_evaluation(played: list[Played]) -> None:
    """Its ``eval_task.py`` and ``eval.py`` in other words: an entry for each episode, then sums over entries."""
    successes = goals = lengths = weighted = weighted_goals = 0.0
    completed = total = 0
    for each in played:
        assert each.annotated is not None
        assert each.conditions is not None
        spl = (1 if each.won else 0) * min(1.0, each.annotated / float(each.steps))
        goal_spl = (each.met / each.conditions) * min(1.0, each.annotated / float(each.steps))
        successes += each.won
        completed, total = completed + each.met, total + each.conditions
        weighted, weighted_goals = weighted + spl * each.annotated, weighted_goals + goal_spl * each.annotated
        lengths += each.annotated
    goals = completed / total
    theirs = {"sr": successes / len(played), "gc": goals, "plwsr": weighted / lengths, "plwgc": weighted_goals / lengths}
    ours = {metric.key: ratio([terms for each in played if (terms := metric.terms(each))]) for metric in METRICS if metric.main}
    assert close(ours, theirs)


def test_what_is_not_known_has_no_terms() -> None:
    unknown = Played(False, 0, None, 3)
    assert [metric.key for metric in METRICS if metric.terms(unknown) is not None] == ["sr"]


TASKS = tuple(SelectedTask(number=n, id=f"valid_seen/{n}", type="simple") for n in range(1, 9))
PATHS = {
    f"valid_seen/{n}": PathLengths(annotated, None, annotated, conditions)
    for n, (_, _, conditions, _, annotated) in enumerate(EPISODES, 1)
}
RESULTS = [
    Result(
        number=n,
        task=f"valid_seen/{n}",
        type="simple",
        outcome="won" if won else "lost",
        reason="because",
        turns=steps,
        steps=steps,
        refused=0,
        met=met if steps else None,
        conditions=conditions if steps else None,
    )
    for n, (won, met, conditions, steps, _) in enumerate(EPISODES, 1)
]


def test_a_run_has_them_with_intervals() -> None:
    overall = summarise(TASKS, RESULTS, Extras(PATHS, metrics=METRICS)).overall
    assert close({metric.key: overall.of(EpisodeFigure.of(metric)).mean for metric in METRICS}, BY_HAND)
    assert overall.of(EpisodeFigure.of(METRICS[0])).interval == overall.interval == wilson(4, 8)
    for metric in METRICS:
        interval, value = overall.of(EpisodeFigure.of(metric)).interval, overall.of(EpisodeFigure.of(metric)).mean
        assert interval is not None
        assert value is not None
        assert 0 <= interval.low <= value <= interval.high <= 1


def test_a_task_that_was_not_finished_is_in_no_figure() -> None:
    summary = summarise(TASKS, RESULTS[:-1], Extras(PATHS, metrics=METRICS)).overall
    found = {metric.key: summary.of(EpisodeFigure.of(metric)).mean for metric in METRICS if metric.main}
    assert close(found, {"sr": 3 / 7, "gc": 9 / 18, "plwsr": 50 / 180, "plwgc": 75.8 / 180})
    unknown = summarise(TASKS, RESULTS[:-1], Extras(dict(list(PATHS.items())[:-1]), metrics=METRICS)).overall
    assert [unknown.of(EpisodeFigure.of(metric)).missing for metric in METRICS if metric.main] == [0, 0, 0, 0]


def test_the_bootstrap_of_a_ratio_of_ones_is_that_of_a_mean() -> None:
    values = (0.0, 0.25, 1.0, 0.5, 0.75, 1.0)
    terms = [(value, 1.0) for value in values]
    assert bootstrap_ratio(terms) == bootstrap_mean(values)
    nothing = bootstrap_ratio_difference(terms, terms)
    assert (nothing.low, nothing.high) == (0.0, 0.0)


def with_lengths(folder: Path, lived: list[Lived]) -> Run:
    """A run of this world whose tasks have 3 annotated actions and 2 conditions each."""
    found = run(folder, lived, world="alfred", engine="boxes")
    lines = [PathLine(task=task.id, expert=3, annotated=3, conditions=2) for task in found.manifest.tasks]
    found.folder.paths_file.write_bytes(lines_of(lines))
    return read_for_comparison(found.folder)


@pytest.mark.heavy
def test_reports_and_comparisons_show_them(tmp_path: Path) -> None:
    first = with_lengths(tmp_path / "a", [Lived(1, steps=6), Lived(2, "lost"), Lived(3, steps=3), Lived(4, None)])
    second = with_lengths(tmp_path / "b", [Lived(1, steps=3), Lived(2, steps=3), Lived(3, "lost"), Lived(4)])
    report = RunReport(first)
    measured = report.data()["metrics"]
    assert isinstance(measured, dict)
    assert measured["plwsr"] == {"label": "PLWSR", "value": 1.5 / 3, "interval": [0.0, 1.0], "missing": 0}
    text = report.text()
    assert all(line in text for line in ("PLWSR                   50.0 %", "GC, mean of tasks"))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "SR/path  " not in text
    assert "PLWSR" in as_markdown(report)
    figures = {figure.figure.key: figure for figure in paired(first, second).figures}
    assert (figures["plwsr"].first, figures["plwsr"].second, figures["plwsr"].tasks) == (0.5, 2 / 3, 3)
    assert "goal" not in figures
    assert "PLWSR" in paired(first, second).text()


def test_what_is_simulated_otherwise_is_not_compared(tmp_path: Path) -> None:
    first = run(tmp_path / "a", [Lived(1)], world="alfred", engine="boxes", data="a" * 64, simulator="boxes 1")
    second = run(tmp_path / "b", [Lived(1)], world="alfred", engine="thor", data="b" * 64, simulator="ai2thor 5.0.0")
    with pytest.raises(ConfigurationError, match=r"'boxes 1' and 'ai2thor 5\.0\.0': the same actions have other effects"):
        paired(first, second)
