"""Several agents beside each other: what is one arm, what differs, and every figure once more by SciPy and statsmodels."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from housequest.agent.episodes.events import Outcome
from housequest.agent.evaluation.analysis.arms import RetriedRun, distinct_names, read_arms
from housequest.agent.evaluation.analysis.metrics import PathLengths
from housequest.agent.evaluation.library import evaluate
from housequest.agent.evaluation.render.comparison import Comparison
from housequest.agent.evaluation.render.export import as_csv, as_markdown
from housequest.agent.evaluation.render.pages.render import arms_page, figures_page
from housequest.agent.evaluation.render.report import EpisodesReport
from housequest.agent.evaluation.render.series import ArmsReport, SeedsReport, report_of
from housequest.agent.evaluation.render.table import percent
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
    assert [(arm.name, len(arm.runs)) for arm in three.arms] == [("a/0, a/1", 2), ("b/0", 1), ("c/0", 1)]
    text = three.text()
    assert max(map(len, text.splitlines())) <= 80
    assert re.search(r"^c/0 +1 +3 of 6 +0 +33.3 %", text, re.MULTILINE), "rates are of what was played"
    assert "Not finished: 3 episodes. All figures are of those that were played." in text
    assert re.search(r"^success +cool +heat$", text, re.MULTILINE)
    assert json.loads(json.dumps(three.data())) == three.data()


def test_each_is_set_against_the_baseline_over_the_tasks_that_both_finished(three: ArmsReport) -> None:
    assert {name: each.tasks for name, (each, _) in three.differences.items()} == {"b/0": 6, "c/0": 3}
    other = ArmsReport(three.arms, "b/0")
    assert set(other.differences) == {"a/0, a/1", "c/0"}
    assert other.differences["a/0, a/1"][0].value == pytest.approx(-three.differences["b/0"][0].value)
    with pytest.raises(ConfigurationError, match="no arm 'b'"):
        ArmsReport(three.arms, "b")


def test_other_games_are_not_paired(tmp_path: Path) -> None:
    one, other = recorded(tmp_path / "a", (W, L)), recorded(tmp_path / "b", (W, L), data="e" * 64, max_turns=9)
    report = ArmsReport(read_arms([*one, *other]))
    assert report.differences == {}
    assert "Not set against a/0" in " ".join(report.text().split())


@pytest.mark.heavy
def test_every_figure_is_that_of_scipy_and_statsmodels(three: ArmsReport) -> None:
    stats = pytest.importorskip("scipy.stats")
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    arms = cast("list[dict[str, Any]]", three.data()["arms"])
    plays = {
        "a/0, a/1": [(1, 1), (1, 0), (0, 0), (1, 1), (0, 0), (1, 1)],
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
        pairs = [(sum(one) / len(one), sum(two) / len(two)) for one, two in zip(plays["a/0, a/1"], tries, strict=False)]
        differences = [after - before for before, after in pairs]
        assert against["interval"] == pytest.approx(by_hand(stats, proportion, plays["a/0, a/1"][: len(tries)], tries))
        assert against["value"] == pytest.approx(sum(differences) / len(differences))
        signs = stats.permutation_test((differences,), sum, permutation_type="samples", n_resamples=10**6)
        null, seen = [round(each, 9) for each in signs.null_distribution], round(abs(sum(differences)), 9)
        mid = sum(1.0 if abs(each) > seen else 0.5 for each in null if abs(each) >= seen) / len(null)
        assert against["p"] == pytest.approx(mid if any(differences) else 1.0)
        chances.append(against["p"])
    corrected = multitest.multipletests(chances, method="holm")[1]
    assert [arm["against_baseline"]["holm"] for arm in arms if arm["against_baseline"]] == pytest.approx(list(corrected))


def by_hand(stats: Any, proportion: Any, one: Sequence[Sequence[int]], two: Sequence[Sequence[int]]) -> list[float]:
    """Newcombe's interval with what statsmodels and SciPy have of it, each arm with its own."""

    def ends(tries: Sequence[Sequence[int]]) -> tuple[float, float, float]:
        size, rate = len(tries), sum(map(sum, tries)) / sum(map(len, tries))
        if len(tries[0]) == 1:
            return rate, *proportion.proportion_confint(round(rate * size), size, method="wilson")
        return (
            rate,
            stats.beta.ppf(0.025, rate * size, size - rate * size + 1),
            stats.beta.ppf(0.975, rate * size + 1, size - rate * size),
        )

    (first, low, high), (second, least, most) = ends(one), ends(two)
    means = [[sum(each) / len(each) for each in tries] for tries in (one, two)]
    spreads = [stats.tstd(side) * ((len(side) - 1) / len(side)) ** 0.5 for side in means]
    related = stats.pearsonr(*means).statistic * spreads[0] * spreads[1] if all(spreads) else 0.0
    related = max(related - 0.5 / len(one), 0.0) if related > 0 else related
    alike = related / (spreads[0] * spreads[1]) if all(spreads) else 0.0

    def joined(below: float, above: float) -> float:
        return (below**2 + above**2 - 2 * alike * below * above) ** 0.5

    difference = second - first
    down, up = joined(second - least, high - first), joined(most - second, first - low)
    return [max(-1.0, difference - down), min(1.0, difference + up)]


def test_the_table_is_written_as_markdown_csv_and_a_page(three: ArmsReport) -> None:
    markdown, page = as_markdown(three), arms_page(three).decode()
    rows = list(csv.DictReader(io.StringIO(as_csv(three))))
    assert [row["arm"] for row in rows] == ["a/0, a/1", "b/0", "c/0"]
    assert (rows[2]["won"], rows[2]["unfinished"], rows[0]["difference"]) == ("1", "3", "")
    assert rows[1]["heat"] == "1.0"
    assert "| a/0, a/1 | 2 | 12 | 0 | 58.3 % |" in markdown
    assert "| against a/0, a/1 | tasks |" in markdown
    for part in ("a/0", "58.3 %", "Against a/0, a/1", "points", "aria-label", "Success, heat: "):
        assert part in page


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    assert distinct_names([tmp_path / "a" / "run-1", tmp_path / "b" / "run-1"]) == ["a/run-1", "b/run-1"]
    assert distinct_names([tmp_path / "a", tmp_path / "b"]) == ["a", "b"]


def test_nothing_is_said_of_paths_that_no_report_asked_for(tmp_path: Path) -> None:
    (arm,) = read_arms(recorded(tmp_path / "a", (W, L)))
    assert all(each.par == PathLengths() for each in arm.summary.played)


@pytest.mark.slow
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
    assert all(f"| {name} | 3 | 120 | 0 |" in told.stdout for name in names)
    page = Path(files["html"]).read_text()
    assert page.startswith("<!doctype html>") and all(name in page for name in names)
    first, second = (RunFolder(tmp_path / "likely" / name).manifest() for name in ("run-1", "run-2"))
    assert (first.tasks, first.configuration.seed) == (second.tasks, second.configuration.seed - 1)


def eval_(*line: str, out: Path) -> Path:
    """A folder of runs in the scripted world."""
    told = CliRunner().invoke(app, ["eval", *line, "--out", str(out)])
    assert told.exit_code == 0, told.output
    return out


def swept(folder: Path, most: int) -> Path:
    """A sweep with an arm of the same name as others have, ``react``."""
    folder.mkdir()
    arms = f"{{expert: {{agent: expert}}, react: {{agent: expert, max_steps: {most}}}}}"
    (folder / "grid.yaml").write_text(f"common: {{world: scripted}}\narms: {arms}\n")
    return eval_("--sweep", str(folder / "grid.yaml"), out=folder / "grid")


def test_arms_of_one_name_are_told_apart(tmp_path: Path) -> None:
    good, bad = swept(tmp_path / "good", 40), swept(tmp_path / "bad", 1)
    report = report_of(read_arms([good, bad]), swept=True)
    assert isinstance(report, ArmsReport)
    names = [f"{place}/grid: {arm}" for place in ("good", "bad") for arm in ("expert", "react")]
    assert [arm.name for arm in report.arms] == names
    rows = {row["arm"]: row for row in csv.DictReader(io.StringIO(as_csv(report)))}
    assert [rows[name]["difference"] for name in names[1:]] == ["0.0", "0.0", "-1.0"]


def test_what_is_there_twice_is_refused_also_as_a_copy_or_inside_of_a_series(tmp_path: Path) -> None:
    grid = swept(tmp_path / "one", 40)
    series = eval_("--world", "scripted", "--agent", "expert", "--repeat", "2", out=tmp_path / "series")
    shutil.copytree(series / "run-1", tmp_path / "copy")
    for places in ((series, series / "run-2"), (series, series), (grid, grid), (series, tmp_path / "copy")):
        with pytest.raises(ConfigurationError, match="are the same run"):
            read_arms(places, merged=False)


def test_a_run_with_another_seed_joins_its_series(tmp_path: Path) -> None:
    series = eval_("--world", "scripted", "--agent", "expert", "--repeat", "2", out=tmp_path / "series")
    alone = eval_("--world", "scripted", "--agent", "expert", "--seed", "9", out=tmp_path / "nine")
    short = eval_("--world", "scripted", "--agent", "expert", "--max-steps", "1", out=tmp_path / "short")
    (arm,) = read_arms([series, alone])
    assert (arm.name, [each.seed for each in arm.runs]) == ("series, nine", [0, 1, 9])
    report = ArmsReport(read_arms([short, series, alone]), "nine")
    assert report.baseline.name == "series, nine", "a run's own name is a baseline, too"


@pytest.mark.heavy
def test_runs_that_have_not_begun_are_not_played(tmp_path: Path) -> None:
    series = eval_("--world", "scripted", "--agent", "expert", "--repeat", "3", out=tmp_path / "series")
    shutil.rmtree(series / "run-3")
    (arm,) = read_arms([series])
    overall = arm.summary.overall
    assert (arm.planned, overall.so_far, overall.success) == ("2 of 3", "6 of 9", 1.0)
    report = report_of([arm])
    text, data = " ".join(report.text().split()), report.data()
    assert (data["not_begun"], data["spread"], data["over_seeds"], data["success"]) == (1, None, None, 1.0)
    assert "Not finished: 3 of 9 episodes." in text and "pass@2" not in text and "repeats 2 of 3" in text
    page = figures_page(cast("EpisodesReport", report), tmp_path / "page.html").decode()
    assert "3 of 9 plays are left." in page
    other = read_arms([eval_("--world", "scripted", "--agent", "expert", "--max-steps", "1", out=tmp_path / "s")])
    assert re.search(r"^series +2 of 3 +6 of 9 ", ArmsReport([arm, *other]).text(), re.MULTILINE)


def test_a_series_that_is_not_finished_has_one_rate(tmp_path: Path) -> None:
    whole, part = recorded(tmp_path, (W, L, W, L), (W, None, None, None))
    report = report_of(read_arms([whole, part]))
    assert isinstance(report, SeedsReport)
    (measured,) = report.measured
    assert measured.success == report.data()["success"] == 3 / 5
    assert "67" not in report.text(), "nor is there a mean of rates over unlike tasks"


def test_of_lost_tasks_that_were_played_again_the_first_attempt_is_the_arm(tmp_path: Path) -> None:
    other = eval_("--world", "scripted", "--agent", "expert", out=tmp_path / "other")
    line = ("--world", "scripted", "--agent", "expert", "--max-steps", "3", "--retry-lost", "2")
    again = eval_(*line, out=tmp_path / "again")
    (arm,) = read_arms([again])
    (tried,) = arm.runs
    assert isinstance(tried, RetriedRun)
    report = ArmsReport(read_arms([other, again]))
    row = {each.name: each for each in report.arms}["again"].summary.overall
    assert (row.success, row.calls) == (tried.attempts[0].summary.overall.success, tried.attempts[0].summary.overall.calls)
    assert "again: its first attempt. After" in " ".join(report.text().split())
    assert len(report.runs) == 1 + len(tried.attempts), "what is written of each run is of every attempt"
    listed = CliRunner().invoke(app, ["runs", str(tmp_path), "--plain"])
    assert re.search(rf"^again, attempt 1 of {len(tried.attempts)} .* {percent(row.success)} ", listed.output, re.MULTILINE)


def test_a_difference_that_is_alike_in_every_task_is_not_certain(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a", *[(W, W, L, L)] * 2)
    second = recorded(tmp_path / "b", *[(W, W, L, L)] * 3, max_turns=9)
    report = ArmsReport(read_arms([*first, *second]))
    ((difference, _),) = report.differences.values()
    assert difference.value == 0.0 and difference.interval.low < -0.1 and difference.interval.high > 0.1
    every = Comparison(*read_arms([*first, *second]))
    assert every.figures[0].interval == every.difference.interval, "one figure has one interval"
    assert all(figure.interval is None for figure in every.figures[1:] if figure.difference == 0.0)


def test_what_many_tests_take_back_is_said(tmp_path: Path) -> None:
    many_lost = recorded(tmp_path / "a", (L,) * 10)
    won = [recorded(tmp_path / f"b{turns}", (*(W,) * 6, *(L,) * 4), max_turns=turns) for turns in range(7, 9)]
    others = [recorded(tmp_path / f"c{turns}", (L,) * 10, max_turns=turns) for turns in range(3, 7)]
    report = ArmsReport(read_arms([*many_lost, *(place for each in (*won, *others) for place in each)]))
    found = {name: (each.p, p) for name, (each, p) in report.differences.items()}
    assert all((p < 0.05 <= corrected) == (name in {"b7/0", "b8/0"}) for name, (p, corrected) in found.items())
    assert "among so many arms, Holm's p says, one differs as much by chance" in " ".join(report.text().split())


def test_nothing_is_counted_of_what_was_not_played(tmp_path: Path) -> None:
    report = ArmsReport(read_arms([*recorded(tmp_path / "a", (W, L)), *recorded(tmp_path / "b", (None, None), max_turns=9)]))
    assert re.search(r"^b/0 +1 +0 of 2 +- +- +- +- +- *", report.text(), re.MULTILINE)
    assert cast("list[dict[str, Any]]", report.data()["arms"])[1]["cost"] is None
