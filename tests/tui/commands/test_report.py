"""``housequest report``: what is printed, what is written, and what does not go together."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.parts import needs
from tests.tui.conftest import Run

GENERATED = ("eval", "--agent", "expert", "--split", "generated", "--limit", "3", "--out")


@pytest.fixture
def played(call: Run) -> str:
    assert call(*GENERATED, "run").returncode == 0
    return "run"


def test_a_run_in_every_form(call: Run, played: str, tmp_path: Path) -> None:
    text = call("report", played)
    assert "/path: times L*/max(L*, steps); L* is the shortest way of 3 tasks." in text.stdout
    assert max(map(len, text.stdout.splitlines())) <= 80
    markdown = call("report", played, "--markdown").stdout
    assert "| all | 3 | 3 | 0 | 100.0 % |" in markdown
    rows = list(csv.DictReader(io.StringIO(call("report", played, "--csv", "-").stdout)))
    assert [row["outcome"] for row in rows] == ["won"] * 3
    written = call("report", played, "--csv", "table.csv")
    assert "Wrote table.csv, a row for each of 3 tasks." in written.stderr
    assert written.stdout == text.stdout
    assert list(csv.DictReader((tmp_path / "table.csv").open())) == rows


def test_a_run_PublishedReport_figures(call: Run, played: str) -> None:
    text = call("report", played, "--against", "published").stdout
    assert "! generated is not valid_seen or valid_unseen: those are other games." in text
    assert max(map(len, text.splitlines())) <= 80
    figures = json.loads(call("report", played, "--json", "--against", "published").stdout)
    assert figures["won"] == 3
    assert len(figures["published"]["figures"]) > 20
    assert "| 84 % | OPEx-H (human rules) |" in call("report", played, "--markdown", "--against", "published").stdout


def test_prices_are_those_of_the_users_file(call: Run, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text('replies: []\ndefault: "Action: look"\n')
    arguments = (
        "--agent",
        "react",
        "--model",
        "scripted:script.yaml",
        "--split",
        "generated",
        "--limit",
        "2",
        "--max-steps",
        "2",
    )
    figures = json.loads(call("eval", *arguments, "--out", "model", "--json").stdout)
    assert figures["cost"] is None
    (tmp_path / "housequest.toml").write_text('[prices."scripted:script.yaml"]\ninput = 1_000_000\noutput = 0\n')
    figures = json.loads(call("report", "model", "--json").stdout)
    assert figures["cost"] == figures["tokens"]["prompt"] > 0


@pytest.mark.heavy
def test_runs_of_several_seeds(call: Run) -> None:
    for seed in ("0", "1"):
        assert call(*GENERATED, seed, "--seed", seed).returncode == 0
    assert "over 2 seeds" in call("report", "0", "1").stdout
    assert json.loads(call("report", "0", "1", "--json").stdout)["over_seeds"]["success"]["mean"] == 1.0
    for more in (("--markdown",), ("--csv", "-"), ("--against", "published"), ("--html", "x.html")):
        assert call("report", "0", "1", *more).returncode == 0
    assert "are the same run; name it once" in call("report", "0", "0").stderr


@needs("inspect")
def test_every_name_is_looked_at_before_anything_is_written(call: Run, played: str, tmp_path: Path) -> None:
    before = {file.name for file in tmp_path.iterdir()}
    done = call("report", played, "--csv", "table.csv", "--html", "page.html", "--inspect", "insp")
    assert done.returncode == 2
    assert "'insp' is not the name of a log; give a file that ends in .eval or .json" in " ".join(done.stderr.split())
    assert {file.name for file in tmp_path.iterdir()} == before


@pytest.mark.heavy
@pytest.mark.parametrize(
    "arguments",
    [("--against", "them"), ("--json", "--markdown"), ("--csv", "-", "--json"), ("--csv", "-", "--against", "published")],
)
def test_what_does_not_go_together(arguments: tuple[str, ...], call: Run, played: str) -> None:
    done = call("report", played, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "give " in done.stderr


def test_a_table_that_cannot_be_written_is_named(call: Run, played: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")
    done = call("report", played, "--csv", "file/table.csv")
    assert done.returncode == 2
    assert "file" in done.stderr
    assert "Traceback" not in done.stderr
