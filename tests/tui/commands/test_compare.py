"""``housequest compare`` and the pages: exit codes, what goes where, two columns and one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from housequest.agent.episodes.events import Event
from housequest.tui.commands.runs import side_by_side
from housequest.tui.text import TextLayout
from tests.agent.evaluation.recorded import Lived, bodies, run
from tests.tui.conftest import Run

FIRST = [Lived(1, calls=True), Lived(2, "lost", steps=6), Lived(3), Lived(4, None)]
SECOND = [Lived(1), Lived(2, steps=2), Lived(3), Lived(4)]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    run(tmp_path / "a", FIRST)
    run(tmp_path / "b", SECOND, seed=1)
    return "a", "b"


def test_the_table_goes_to_stdout(call: Run, folders: tuple[str, str]) -> None:
    done = call("compare", *folders)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Only the second won (1):\n  demo:2" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert json.loads(call("compare", *folders, "--json").stdout)["only_second"] == 1


def test_what_cannot_be_compared_is_an_exit_code_of_two(call: Run, folders: tuple[str, str], tmp_path: Path) -> None:
    run(tmp_path / "c", SECOND, split="other")
    for arguments, why in (
        (("a", "c"), "split: 'demo' and 'other': these are other tasks"),
        (("a", "a"), "are the same run"),
        (("a", "nowhere"), "is not the folder of a run"),
        (("a",), "compare takes two runs or more, series and sweeps too, and was given one"),
        (("a", "b", "--show", "9"), "is not a task of these runs"),
        (("a", "b", "--show", "4"), "left out of the comparison: not finished in both"),
        (("a", "b", "--html", "run.json"), "give a file that ends in .html"),
    ):
        done = call("compare", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert why in done.stderr


@pytest.mark.heavy
def test_pages_are_written_where_they_are_asked_for(call: Run, folders: tuple[str, str], tmp_path: Path) -> None:
    done = call("compare", *folders, "--html", "pages/both.html")
    assert (done.returncode, done.stderr.split(" (")[0]) == (0, "Wrote pages/both.html")
    assert "demo/2-task" in (tmp_path / "pages" / "both.html").read_text("utf-8")
    done = call("report", "a", "--html", "a.html")
    assert (done.returncode, done.stderr.split(" (")[0]) == (0, "Wrote a.html")
    assert (tmp_path / "a.html").read_text("utf-8").startswith("<!doctype html>")
    assert call("report", "a", "--html", "a.txt").returncode == 2


def test_both_transcripts_are_shown_in_two_columns_or_one(call: Run, folders: tuple[str, str]) -> None:
    wide = call("compare", *folders, "--show", "demo:2", COLUMNS="120")
    assert wide.returncode == 0
    assert all(len(line) <= 120 for line in wide.stdout.splitlines())
    assert f"{' 1 > look around':<58} |  1 > look around" in wide.stdout.splitlines()
    narrow = call("compare", *folders, "--show", "2", COLUMNS="80").stdout.splitlines()
    assert all(len(line) <= 80 for line in narrow)
    assert [line for line in narrow if line.startswith("-- ")][:4] == ["-- first, a", "-- second, b"] * 2
    assert "Lost after 7 turns: because of that." in narrow
    assert narrow.count("-- second, b") == 4


@pytest.mark.parametrize("width", [60, 99, 100, 200])
def test_odd_text_stays_in_its_column(width: int) -> None:
    def told(text: str) -> list[Event]:
        lived = bodies(Lived(1, assisted=True), "won", lambda said: f"{said} {text}")
        return [Event(id=number, parent=number - 1 if number else None, body=body) for number, body in enumerate(lived)]

    first, second = told("\x1b[2J\u202e" + "水" * 90), told("e\u0301" * 90)
    lines = list(side_by_side(first, second, ("first, \x1b", "second"), TextLayout(width)))
    assert all(cell_len(line) <= width and line.isprintable() for line in lines)


@pytest.mark.heavy
def test_series_are_reported_and_compared_as_they_stand(call: Run, tmp_path: Path) -> None:
    play = ("eval", "--split", "generated", "--sample", "3", "--seed", "5", "--max-steps", "12", "--agent", "expert")
    for name, how in (("a", "counts"), ("b", "name")):
        assert call(*play, "--set", f"search={how}", "--repeat", "2", "--out", name).returncode in (0, 1)
    done = call("compare", "a", "b")
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 tasks played by both, 2 times and 2 times" in done.stdout
    assert json.loads(call("compare", "a", "b", "--json").stdout)["card"]["repeats"] == "2"
    assert "name one of each series" in call("compare", "a", "b", "--show", "1").stderr
    assert "2 times and 1 time" in call("compare", "a", "b/run-1").stdout
    assert call("report", "a", "--html", "a.html").returncode == 0
    assert "run-2, " in (tmp_path / "a.html").read_text()
    assert "mean of 2 seeds" in call("report", "a", "--against", "published").stdout
    assert call(*play, "--retry-lost", "1", "--out", "c").returncode in (0, 1)
    rows = call("report", "c", "--csv", "-").stdout.splitlines()
    assert rows[0].startswith("run,split,") and rows[1].startswith("attempt-1,")
    from housequest.agent.evaluation.library import report

    for name in ("a", "c"):
        figures = report(tmp_path / name)
        assert figures == json.loads(call("report", name, "--json").stdout)
        assert isinstance(figures["card"], dict)
    assert call("compare", "c", "a/run-1").returncode == 0
