"""Tables to paste and to compute with: read back by other programs' rules, whatever was said in a run."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.render.export import PublishedReport, as_csv, as_markdown
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.folder import RunFolder
from tests.agent.evaluation.recorded import Lived, run

LIVED = [Lived(1, calls=True), Lived(2, "lost"), Lived(3, "error"), Lived(4, None), Lived(5, assisted=True)]


def recorded(folder: Path, say: str = "") -> RunReport:
    run(folder, LIVED, said=lambda text: f"{say}{text}")
    return RunReport(read_for_comparison(RunFolder(folder)))


def test_a_row_a_task_that_counts(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(recorded(tmp_path / "run")))))
    assert [row["number"] for row in rows] == ["1", "2", "3", "4"]
    assert [row["outcome"] for row in rows] == ["won", "lost", "error", "unfinished"]
    assert [row["won"] for row in rows] == ["1", "0", "0", ""]
    assert rows[0]["goal_conditions"] == "1.0"
    assert rows[2]["failure"] == rows[2]["boundary"]
    assert rows[3]["steps"] == ""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.text(max_size=12).filter(lambda text: not any("\ud800" <= letter <= "\udfff" for letter in text)))
def test_text_is_never_a_formula_nor_another_row(tmp_path_factory: pytest.TempPathFactory, say: str) -> None:
    report = recorded(tmp_path_factory.mktemp("any") / "run", say)
    rows = list(csv.reader(io.StringIO(as_csv(report))))
    assert len(rows) == 5
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not any(cell.startswith(("=", "+", "@", "\t")) for row in rows for cell in row)
    text = as_markdown(report)
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table[: table.index("| why not won | tasks | for example |")]} == {
        11
    }


def test_formulas_and_tables_are_made_harmless(tmp_path: Path) -> None:
    report = recorded(tmp_path / "run", "=1+1|<b>")
    assert "'=1+1|<b>heat" in as_csv(report)
    assert "| =1+1\\|\\<b\\>heat |" in as_markdown(report)


def test_the_markdown_is_the_run(tmp_path: Path) -> None:
    report = recorded(tmp_path / "run")
    text = as_markdown(report)
    assert "| heat | 3 of 4 | 1 | 1 | 33.3 % |" in text
    assert "| all | 3 of 4 | 1 | 1 | 33.3 % |" in text
    assert "- Not finished: 1 of 4 episodes" in text
    beside = PublishedReport(report).markdown()
    assert "| 33.3 % | expert |" in beside
    assert "| 84 % | OPEx-H (human rules) | GPT-4 | valid_unseen | 1 | template |" in beside
