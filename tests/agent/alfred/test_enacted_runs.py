"""Games that are enacted in a simulator: what became of their commands is counted in results, reports and comparisons."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.episodes.events import Body, Ended, Event, Stepped
from housequest.agent.evaluation.analysis.run import Run, read_for_comparison
from housequest.agent.evaluation.render.pages.render import figures_page
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, RunFolder, result_of
from housequest.agent.evaluation.runs.spec import make_run_spec
from tests.agent.evaluation.recorded import paired


def result(*bodies: Body) -> Result:
    told = [Event(id=number, parent=number - 1 if number else None, body=body) for number, body in enumerate(bodies)]
    found = result_of(SelectedTask(number=1, id="a", type=""), told)
    assert found is not None
    return found


def stepped(turn: int, enacted: int | None, diverged: str | None = None) -> Stepped:
    return Stepped(turn=turn, command="look", observation="", accepted=True, enacted=enacted, diverged=diverged)


def test_enacted_commands_their_actions_and_what_diverged_are_counted() -> None:
    ended = Ended(outcome="lost", reason="", turns=3, steps=3, refused=1)
    enacted = result(stepped(1, 4), stepped(2, None), stepped(3, 3, "there is no way"), ended)
    assert (enacted.enacted, enacted.low_level, enacted.diverged) == (2, 7, 1)
    plain = result(stepped(1, None), ended)
    assert (plain.enacted, plain.low_level, plain.diverged) == (None, None, None)


def lived(folder: Path, **flags: object) -> Run:
    """A run of the expert over the houses that ship."""
    asyncio.run(run_batch(make_run_spec(configure({"agent": "expert", "split": "example", "limit": 2, **flags})), folder))
    return read_for_comparison(RunFolder(folder))


@pytest.mark.heavy
def test_report_comparison_and_page_tell_what_was_enacted(tmp_path: Path) -> None:
    run, other = lived(tmp_path / "run", engine="boxes"), lived(tmp_path / "other", engine="boxes", set=("search=random",))
    overall = run.summary.overall
    assert overall.enacted == sum(each.steps - each.refused for each in run.results) and overall.diverged is not None
    assert (overall.low_level or 0) > (overall.enacted or 0)
    text = " ".join(RunReport(run).text().split())
    actions = f"{overall.enacted} commands by {overall.low_level} low-level actions"
    said = f"Enacted in a simulator: {actions}; {overall.diverged} command"
    assert said in text
    data = json.loads(json.dumps(RunReport(run).data()))
    assert (data["enacted"], data["low_level"], data["diverged"]) == (overall.enacted, overall.low_level, overall.diverged)
    assert said in figures_page(RunReport(run), tmp_path / "page.html").decode()
    compared = {figure.figure.key: figure for figure in paired(run, other).figures}
    assert {"low_level", "diverged"} <= set(compared)
    assert compared["low_level"].first == (overall.low_level or 0) / 2


@pytest.mark.heavy
def test_a_run_that_is_not_enacted_says_nothing_of_it(tmp_path: Path) -> None:
    run = lived(tmp_path / "run")
    assert "Enacted" not in RunReport(run).text()
    assert b"enacted" not in (tmp_path / "run" / "index.jsonl").read_bytes()
