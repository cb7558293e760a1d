"""Several agents beside each other: what is one arm, what differs, and every figure once more by SciPy and statsmodels."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from housequest.agent.episodes.events import Outcome
from housequest.agent.evaluation.analysis.arms import distinct_names, read_arms
from housequest.agent.evaluation.analysis.metrics import PathLengths
from housequest.agent.evaluation.library import evaluate
from housequest.agent.evaluation.render.export import as_csv, as_markdown
from housequest.agent.evaluation.render.pages.render import arms_page
from housequest.agent.evaluation.render.series import ArmsReport, report_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.tui.cli import app
from housequest.worlds.errors import ConfigurationError
from tests.agent.evaluation.recorded import Lived, run

W, L = "won", "lost"


def recorded(folder: Path, *outcomes: Sequence[Outcome | None], **more: object) -> list[Path]:
    """Runs of the same tasks, one a seed; the third of every three is of another type."""
    for seed, each in enumerate(outcomes):
        lived = [Lived(n, outcome, type="cool" if n % 3 == 0 else "heat") for n, outcome in enumerate(each, 1)]
        run(folder / str(seed), lived, seed=seed, **more)  # pyright: ignore[reportArgumentType]
    return [folder / str(seed) for seed in range(len(outcomes))]


@pytest.fixture
def three(tmp_path: Path) -> ArmsReport:
    """Three agents: one with two seeds, one single run, and one that is not finished."""
    first = recorded(tmp_path / "a", (W, W, L, W, L, W), (W, L, L, W, L, W))
    second = recorded(tmp_path / "b", (W, W, W, W, W, W), max_turns=9)
    third = recorded(tmp_path / "c", (L, W, L, None, None, None), max_turns=8)
    report = report_of(read_arms([*first, *second, *third]))
    assert isinstance(report, ArmsReport)
    return report


def test_runs_that_differ_in_their_seed_are_one_arm_and_others_are_rows(three: ArmsReport) -> None:
    assert [(arm.name, len(arm.runs)) for arm in three.arms] == [("a/0", 2), ("b/0", 1), ("c/0", 1)]
    text = three.text()
    assert max(map(len, text.splitlines())) <= 80
    assert re.search(r"^c/0 +1 +3 of 6 +0 +33.3 %", text, re.MULTILINE), "rates are of what was played"
    assert "Not finished: 3 episodes. All figures are of those that were played." in text
    assert re.search(r"^success +cool +heat$", text, re.MULTILINE)
    assert json.loads(json.dumps(three.data())) == three.data()


def test_each_is_set_against_the_baseline_over_the_tasks_that_both_finished(three: ArmsReport) -> None:
    assert {name: each.tasks for name, (each, _) in three.differences.items()} == {"b/0": 6, "c/0": 3}
    other = ArmsReport(three.arms, "b/0")
    assert set(other.differences) == {"a/0", "c/0"}
    assert other.differences["a/0"][0].value == pytest.approx(-three.differences["b/0"][0].value)
    with pytest.raises(ConfigurationError, match="no arm 'b'"):
        ArmsReport(three.arms, "b")


def test_other_games_are_not_paired(tmp_path: Path) -> None:
    one, other = recorded(tmp_path / "a", (W, L)), recorded(tmp_path / "b", (W, L), data="e" * 64, max_turns=9)
    report = ArmsReport(read_arms([*one, *other]))
    assert report.differences == {}
    assert "Not set against a/0" in " ".join(report.text().split())


def test_every_figure_is_that_of_scipy_and_statsmodels(three: ArmsReport) -> None:
    stats = pytest.importorskip("scipy.stats")
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    arms = cast("list[dict[str, Any]]", three.data()["arms"])
    plays = {
        "a/0": [(1, 1), (1, 0), (0, 0), (1, 1), (0, 0), (1, 1)],
        "b/0": [(1,), (1,), (1,), (1,), (1,), (1,)],
        "c/0": [(0,), (1,), (0,)],
    }
    chances: list[float] = []
    for arm in arms:
        tries = plays[arm["arm"]]
        won, of, tasks = sum(map(sum, tries)), sum(map(len, tries)), len(tries)
        assert arm["success"] == pytest.approx(won / of)
        if of == tasks:
            ends = proportion.proportion_confint(won, of, method="wilson")
        else:
            wins = won / of * tasks
            ends = (stats.beta.ppf(0.025, wins, tasks - wins + 1), stats.beta.ppf(0.975, wins + 1, tasks - wins))
        assert arm["interval"] == pytest.approx(list(ends))
        against = arm["against_baseline"]
        if against is None:
            continue
        pairs = [(sum(one) / len(one), sum(two) / len(two)) for one, two in zip(plays["a/0"], tries, strict=False)]
        differences = [after - before for before, after in pairs]
        assert against["value"] == pytest.approx(sum(differences) / len(differences))
        signs = stats.permutation_test((differences,), sum, permutation_type="samples", n_resamples=10**6)
        null, seen = [round(each, 9) for each in signs.null_distribution], round(abs(sum(differences)), 9)
        mid = sum(1.0 if abs(each) > seen else 0.5 for each in null if abs(each) >= seen) / len(null)
        assert against["p"] == pytest.approx(mid if any(differences) else 1.0)
        chances.append(against["p"])
    corrected = multitest.multipletests(chances, method="holm")[1]
    assert [arm["against_baseline"]["holm"] for arm in arms if arm["against_baseline"]] == pytest.approx(list(corrected))


def test_the_table_is_written_as_markdown_csv_and_a_page(three: ArmsReport) -> None:
    markdown, page = as_markdown(three), arms_page(three).decode()
    rows = list(csv.DictReader(io.StringIO(as_csv(three))))
    assert [row["arm"] for row in rows] == ["a/0", "b/0", "c/0"]
    assert (rows[2]["won"], rows[2]["unfinished"], rows[0]["difference"]) == ("1", "3", "")
    assert rows[1]["heat"] == "1.0"
    assert "| a/0 | 2 | 6 | 0 | 58.3 % |" in markdown
    assert "| against a/0 | tasks |" in markdown
    for part in ("a/0", "58.3 %", "Against a/0", "points", "aria-label", "Success, heat: "):
        assert part in page


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    assert distinct_names([tmp_path / "a" / "run-1", tmp_path / "b" / "run-1"]) == ["a/run-1", "b/run-1"]
    assert distinct_names([tmp_path / "a", tmp_path / "b"]) == ["a", "b"]


def test_nothing_is_said_of_paths_that_no_report_asked_for(tmp_path: Path) -> None:
    (arm,) = read_arms(recorded(tmp_path / "a", (W, L)))
    assert all(each.par == PathLengths() for each in arm.summary.played)


@pytest.mark.heavy
def test_five_agents_forty_games_and_three_repeats_are_one_table_by_one_command(tmp_path: Path) -> None:
    agents = {"likely": {}, "chance": {"search": "random"}, "by-name": {"search": "name"}}
    for name, settings in agents.items():
        place = tmp_path / name
        evaluate(agent="expert", split="generated", sample=40, repeat=3, set=settings, out=str(place))
    sweep = tmp_path / "two.yaml"
    common, arms = (
        "{split: generated, sample: 40, agent: expert, repeat: 3}",
        "{short: {max_steps: 9}, shorter: {max_steps: 7}}",
    )
    sweep.write_text(f"common: {common}\narms: {arms}\n")
    runner = CliRunner()
    played = runner.invoke(app, ["eval", "--sweep", str(sweep), "--out", str(tmp_path / "sweep")])
    assert played.exit_code == 0
    places = [str(tmp_path / name) for name in (*agents, "sweep")]
    files = {name: str(tmp_path / f"all.{name}") for name in ("csv", "html")}
    told = runner.invoke(app, ["report", *places, "--markdown", "--csv", files["csv"], "--html", files["html"]])
    assert told.exit_code == 0
    names = [*agents, "short", "shorter"]
    rows = list(csv.DictReader(io.StringIO(Path(files["csv"]).read_text())))
    assert [row["arm"] for row in rows] == names
    assert {(row["seeds"], row["episodes"]) for row in rows} == {("3", "120")}
    assert all(f"| {name} | 3 | 40 | 0 |" in told.stdout for name in names)
    page = Path(files["html"]).read_text()
    assert page.startswith("<!doctype html>") and all(name in page for name in names)
    first, second = (RunFolder(tmp_path / "likely" / name).manifest() for name in ("run-1", "run-2"))
    assert (first.tasks, first.configuration.seed) == (second.tasks, second.configuration.seed - 1)
