"""Runs over tasks of household graphs in a file of somebody's own."""

from __future__ import annotations

from pathlib import Path

from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.folder import RunFolder
from tests.agent.evaluation.runs.test_batch import plan, play
from tests.worlds.graphs.tables import task, written


def test_a_game_that_cannot_be_opened_is_an_episode_that_errored(tmp_path: Path) -> None:
    # A goal that its graph lacks shows only when the task is opened.
    file = tmp_path / "wah_nl_test.json"
    file.write_text(written([task(task_id=number, task_goal={"on_dragon_sofa": 1}) for number in range(3)]), "utf-8")
    damaged = {"world": "household-graph", "world_option": {"data": str(file)}, "split": "test"}
    summary = play(plan(tmp_path, **damaged), tmp_path / "run")
    assert (summary.overall.episodes, summary.overall.errors) == (3, 3)
    assert {each.boundary for each in summary.errored} == {"world"}
    again = read_for_comparison(RunFolder(tmp_path / "run"))
    assert again.summary == summary
    assert "Errors, counted as not won (3):" in RunReport(again).text()
