"""A run in words and as JSON: what it says, and that it stays within 80 columns whatever was said."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from housequest.agent.config import Prices, configure
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.render.table import Strong
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.files import file_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from tests.agent.evaluation.recorded import Lived, run

SCRIPT = 'replies:\n  - "Action: go to fridge 1"\ndefault: "Action: look"\n'
PRICES = Prices(input=2, cached=1, output=10)


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run that was lost: a scripted model on made-up houses, played on the native engine."""
    folder = tmp_path_factory.mktemp("lost")
    (folder / "script.yaml").write_text(SCRIPT)
    model = f"scripted:{folder / 'script.yaml'}"
    flags = {"agent": "react", "model": model, "split": "generated", "limit": 4, "max_steps": 10}
    asyncio.run(run_batch(make_run_spec(configure(flags, folder)), folder / "run"))
    return RunFolder(folder / "run")


def test_a_lost_run_says_why_and_what_it_cost(lost: RunFolder) -> None:
    text = RunReport(read_for_comparison(lost, lambda model: PRICES)).text()
    assert "Why they were not won (4):\n  went round in circles                  4\n    generated:1000000, turn " in text
    assert "/path: times L*/max(L*, steps); L* is the shortest way of 4 tasks." in text
    assert "40 calls of the model, " in text
    assert "Cost: 0." in text
    assert "at 2 for a million tokens read, 1 from a cache, 10 written." in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines())
    assert '[prices."scripted:script.yaml"]' in RunReport(read_for_comparison(lost)).text()


def test_success_stands_first_and_what_matters_stands_out(lost: RunFolder) -> None:
    lines = list(RunReport(read_for_comparison(lost)).lines())
    player = "agent     react  completions=auto form=auto max_tokens=512 pair=1-0"
    assert "success" in lines[0] and lines.index("") < lines.index(player)
    strong = [line for line in lines if isinstance(line, Strong)]
    assert strong[0] == lines[0]
    assert strong[1].startswith("all ") and "Why they were not won (4):" in strong
    assert RunReport(read_for_comparison(lost)).text() == "\n".join(lines) + "\n"


def test_classes_of_planners_are_told_of_planners_in_skills_alone(lost: RunFolder, tmp_path: Path) -> None:
    figures = RunReport(read_for_comparison(lost))
    assert figures.data()["lota_classes"] == {"action planning": 4}
    assert "LoTa-Bench" not in figures.text()
    skilled = run(tmp_path / "run", [Lived(1, "lost")], agent="llm-planner", settings={"search": "counts"})
    kind = skilled.summary.lost[0].failure
    assert kind is not None and "In LoTa-Bench's classes: " in RunReport(skilled).text()


def test_its_json_has_every_metric(lost: RunFolder) -> None:
    figures = RunReport(read_for_comparison(lost, lambda model: PRICES)).data()
    assert json.loads(json.dumps(figures)) == figures
    assert figures["success_by_path"] == {"mean": 0.0, "interval": None, "missing": 0}
    assert figures["paths"] == {"planner": 4, "expert": 0, "unknown": 0}
    assert figures["prices"] == {"input": 2, "cached": 1, "output": 10}
    by_type, failures = figures["by_type"], figures["failures"]
    assert isinstance(by_type, dict)
    assert isinstance(failures, list)
    assert sum(each["cost"] for each in by_type.values()) == pytest.approx(figures["cost"])  # pyright: ignore
    assert [(each["class"], each["count"]) for each in failures] == [("looped", 4)]  # pyright: ignore
    assert all(set(each) == set(by_type[next(iter(by_type))]) for each in by_type.values())  # pyright: ignore
    missing = {"episodes", "won", "lost", "errors", "success", "interval", "steps", "calls", "tokens"} - set(figures)
    assert not missing


def test_without_the_games_the_paths_are_not_told(lost: RunFolder, tmp_path: Path) -> None:
    """The folder as another machine has it, with games of its own."""
    here = RunFolder(tmp_path / "run")
    here.path.mkdir()
    here.manifest_file.write_bytes(file_of(lost.manifest().model_copy(update={"data": "0" * 64})))
    here.index_file.symlink_to(lost.index_file)
    here.episodes.symlink_to(lost.episodes)
    report = RunReport(read_for_comparison(here))
    assert report.data()["paths"] == {"planner": 0, "expert": 0, "unknown": 4}
    text = report.text()
    assert report.every.overall.lost == 4
    assert "/path" in text
    assert not here.paths_file.exists()


def test_the_paths_that_a_won_run_lacks_are_counted(tmp_path: Path) -> None:
    run(tmp_path / "run", [Lived(1), Lived(2), Lived(3, "lost")], world="nowhere")
    report = RunReport(read_for_comparison(RunFolder(tmp_path / "run")))
    assert report.every.overall.success_by_path.missing == 2
    text = report.text()
    assert "/path: L* of 2 tasks is not known; make the report where the run's games are." in " ".join(text.split())
    weighted = report.data()["success_by_path"]
    assert weighted == {"mean": None, "interval": None, "missing": 2}


def test_whatever_is_said_stays_in_80_printable_columns(tmp_path: Path) -> None:
    def said(text: str) -> str:
        return f"\x1b[31m{text}\u202e" + "x y" * 60

    lived = [Lived(1, calls=True), Lived(2, "lost"), Lived(3, "error"), Lived(4, None), Lived(5, assisted=True)]
    run(tmp_path / "run", lived, said=said)
    report = RunReport(read_for_comparison(RunFolder(tmp_path / "run")))
    text = report.text()
    assert max(map(len, text.splitlines())) <= 80
    assert all(character.isprintable() or character == "\n" for character in text)


def test_peoples_goals_have_rows_of_their_own(tmp_path: Path) -> None:
    planned = make_run_spec(configure({"world": "scripted", "agent": "expert"}, tmp_path))
    asyncio.run(run_batch(planned, tmp_path / "run"))
    folder = RunFolder(tmp_path / "run")
    assert "goals: template" not in RunReport(read_for_comparison(folder)).text().partition("engine")[2]
    first, *others = folder.results(planned.manifest.tasks)
    folder.rewrite([first.model_copy(update={"wording": "human:1"}), *others])
    text = RunReport(read_for_comparison(folder)).text()
    assert "goals: human" in text
    assert "goals: template" in text.partition("engine")[2]
