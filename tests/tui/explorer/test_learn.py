"""``housequest learn`` as a person uses it: what it says, draws and writes, and that it goes on."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from housequest.knowledge.rulebook import read_book
from housequest.tui.desk.witnesses import FoundWitness, find_witnesses, recorded_for
from tests.tui.conftest import Run

LIFE = (
    "learn",
    "household-light:1001",
    "--agent",
    "expert",
    "--days",
    "2",
    "--test-days",
    "2",
    "--test-after",
    "1",
    "--test-after",
    "2",
)


@pytest.mark.heavy
def test_a_life_is_told_drawn_and_written(call: Run, tmp_path: Path) -> None:
    command = (*LIFE, "--learn", "explore", "--learn", "counts", "--out", "lives")
    done = call(*command, "--html", "page.html", "--picture", "curve.svg")
    assert done.returncode == 0, done.stderr
    assert "tried on 2 days" in done.stdout and "explore, day 2" in done.stdout
    assert "success on later days, in per cent" in done.stdout and "\x1b" not in done.stdout
    assert "2 homes" not in done.stderr and "1 home for 2 days with expert" in done.stderr
    ET.fromstring((tmp_path / "curve.svg").read_text("utf-8"))
    assert "Getting to know 1 homes" not in (page := (tmp_path / "page.html").read_text("utf-8"))
    assert "Getting to know a home" in page and "counts, day 1" in page
    again = call(*command, "--json")
    assert json.loads(again.stdout)["arms"].keys() == {"counts", "explore"}
    shown = call("report", "lives")
    assert shown.returncode == 0 and done.stdout.startswith(shown.stdout.rstrip())
    assert call("verify", "lives").returncode == 0
    assert "counts, day 1" in call("report", "lives", "--markdown").stdout
    rule = call("rules", "list", "lives/household-light-1001/counts/day-002/book.yaml")
    assert "looked-into" in rule.stdout
    book = read_book(tmp_path / "lives" / "household-light-1001" / "counts" / "day-002" / "book.yaml")
    origins = [witness for rule in book.rules for witness in rule.evidence.witnesses]
    found = find_witnesses(origins, recorded_for(book, tmp_path / "runs"))
    assert origins and all(isinstance(one, FoundWitness) for one in found)
    assert all(rule.homes <= {"household-light:1001"} for rule in book.rules)


def test_nothing_is_played_in_a_dry_run(call: Run, tmp_path: Path) -> None:
    done = call(*LIFE, "--out", "lives", "--dry-run")
    assert "Would live in 1 home for 2 days with expert" in done.stdout and not (tmp_path / "lives").exists()
    assert json.loads(call(*LIFE, "--dry-run", "--json").stdout)["tried"] == [1, 2]


def test_who_cannot_read_is_told_so(call: Run) -> None:
    done = call(*LIFE, "--learn", "context")
    assert done.returncode == 2 and "has no model that could read the past days" in done.stderr
