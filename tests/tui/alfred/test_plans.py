"""``housequest eval --world alfred-plans`` and its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.conftest import Run
from tests.worlds.alfred.annotations import TRAIN, placing, small_world, write

SWEEPS = sorted(
    file
    for file in (Path(__file__).parents[3] / "examples" / "sweeps").glob("*.yaml")
    if "world: alfred-plans" in file.read_text()
)
SWEEP = """\
common: {world: alfred-plans, model: "scripted:plans.yaml"}
arms:
  copied: {set: {pool: all}}
  planned again: {agent: llm-planner, set: {pool: 3}}
seeds: [0, 1]
"""
PLANS = ("eval", "--world", "alfred-plans")
SCRIPT = """\
rules:
  - role: You plan household tasks
    match: an apple
    reply: |
      GotoLocation countertop
      PickupObject apple
      GotoLocation diningtable
      PutObject apple diningtable
default: I cannot say.
"""


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "data"))
    return small_world(tmp_path / "data")


def test_a_run_is_scored_and_reported_alike(call: Run) -> None:
    done = call(*PLANS, "--set", "pool=all", "--out", "run")
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "3 of 3 instructions (valid_seen), into run")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["goal-reaching", "2", "66.7", "%", "3.0-99.9", "%"] in rows
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert call("report", "run").stdout == done.stdout
    figures = json.loads(call("report", "run", "--json").stdout)
    assert figures == json.loads(call(*PLANS, "--set", "pool=all", "--out", "run", "--json").stdout)
    assert done.stdout.startswith("planner     nearest\nmodel       none\nsplit       valid_seen\n")
    assert figures["card"]["examples"] == "the nearest by bm25, of all of train"
    assert (figures["instructions"], figures["exact"]["count"], figures["goal_reaching"]["share"]) == (3, 2, 2 / 3)
    assert figures["by_type"].keys() == {"pick_and_place_simple", "pick_heat_then_place_in_recep"}
    assert figures["by_length"].keys() == {"easy", "normal"}


def test_a_scripted_model_plans(call: Run, tmp_path: Path) -> None:
    (tmp_path / "plans.yaml").write_text(SCRIPT)
    with_model = (*PLANS, "--agent", "in-context", "--model", "scripted:plans.yaml", "--set", "shots=1", "--out", "run")
    figures = json.loads(call(*with_model, "--concurrency", "2", "--json").stdout)
    assert (figures["exact"]["count"], figures["calls"], figures["failures"]) == (2, 4, {"unreadable reply": 1})
    assert "unreadable reply" in call("report", "run").stdout


def test_it_says_what_it_would_do(call: Run, tmp_path: Path) -> None:
    done = call(*PLANS, "--limit", "1", "--dry-run")
    assert done.stdout.startswith(
        "Would ask for 1 plans (valid_seen), with 5 examples, into runs/alfred-plans-valid_seen-nearest-"
    )
    assert "Carry an apple over to the table." in done.stdout
    assert json.loads(call(*PLANS, "--limit", "1", "--dry-run", "--json").stdout)["of"] == 3
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*PLANS, "--max-steps", "3"), "--max-steps is for games"),
        ((*PLANS, "--goals", "human"), "--goals is for games"),
        ((*PLANS, "--agent", "react"), "No planner of alfred-plans is named 'react'"),
        ((*PLANS, "--retry-errors", "--agent", "react"), "No planner"),
        (("play", "--world", "alfred-plans"), "nothing to play"),
        (("compare", "run", "run"), "which has no episodes"),
        (("report", "run", "--markdown"), "--markdown"),
    ],
)
def test_what_is_for_games_is_refused(call: Run, arguments: tuple[str, ...], words: str) -> None:
    assert call(*PLANS, "--out", "run").returncode == 0
    done = call(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr and "Traceback" not in done.stderr


def test_runs_are_listed_although_one_has_no_episodes(call: Run) -> None:
    assert call(*PLANS).returncode == 0
    done = call("runs")
    assert "Traceback" not in done.stderr


def test_hostile_instructions_are_printable(call: Run, tmp_path: Path) -> None:
    hostile = placing("apple", "countertop", "diningtable", ["Move it\x1b[31m \u202e[red]now[/red]\n\nTask: none", ""])
    write(tmp_path / "other", "train", TRAIN)
    write(tmp_path / "other", "valid_seen", [hostile])
    done = call(*PLANS, "--dry-run", ALFWORLD_DATA=str(tmp_path / "other"))
    assert done.returncode == 0
    assert "Move it[31m [red]now[/red] Task: none" in done.stdout
    assert all(line.isprintable() for line in done.stdout.splitlines())


def test_a_sweep_over_plans_is_one_table(call: Run, tmp_path: Path) -> None:
    (tmp_path / "plans.yaml").write_text(SCRIPT)
    (tmp_path / "grid.yaml").write_text(SWEEP)
    assert call("eval", "--sweep", "grid.yaml", "--dry-run").stdout.startswith("Would score 4 runs into runs/grid")
    done = call("eval", "--sweep", "grid.yaml", "--out", "grid")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0
    # Both seeds asked the same instructions of two demonstrations, so there are no six of which an interval could be taken.
    assert ["copied", "6", "66.7", "%", "3.0-99.9", "%", "66.7", "%", "66.7", "%", "-"] in rows
    assert ["planned", "again", "6", "66.7", "%", "3.0-99.9", "%", "66.7", "%", "66.7", "%", "66.7", "%"] in rows
    assert ["seeds", "0,", "1"] in rows and ["split", "valid_seen"] in rows
    assert "planner differs: nearest (copied); llm-planner (planned again)" in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert call("report", "grid").stdout == call("eval", "--sweep", "grid.yaml", "--out", "grid").stdout == done.stdout
    figures = json.loads(call("report", "grid", "--json").stdout)
    arms = figures["arms"]
    assert [(arm["arm"], arm["seeds"], arm["exact"]["count"]) for arm in arms] == [
        ("copied", [0, 1], 4),
        ("planned again", [0, 1], 4),
    ]
    assert figures["card"]["split"] == "valid_seen" and arms[0]["card"]["model"] == "none"
    assert "executed_exact" in arms[1] and "executed_exact" not in arms[0]
    assert call("verify", "grid").returncode == 0
    (tmp_path / "grid" / "copied-seed0" / "results.jsonl").write_text("{}\n")
    assert call("verify", "grid").returncode == 1


def test_a_sweep_is_of_games_or_of_plans(call: Run, tmp_path: Path) -> None:
    (tmp_path / "both.yaml").write_text("arms:\n  a: {world: alfred-plans}\n  b: {world: scripted, agent: expert}\n")
    done = call("eval", "--sweep", "both.yaml")
    assert done.returncode == 2 and "The arm 'b' plays games" in done.stderr
    (tmp_path / "steps.yaml").write_text("arms:\n  a: {world: alfred-plans}\n")
    done = call("eval", "--sweep", "steps.yaml", "--max-steps", "3")
    assert done.returncode == 2 and "--max-steps is for games" in done.stderr


@pytest.mark.heavy
@pytest.mark.parametrize("file", SWEEPS, ids=[file.name for file in SWEEPS])
def test_the_sweeps_over_plans_that_ship_run(call: Run, tmp_path: Path, file: Path) -> None:
    (tmp_path / "plans.yaml").write_text(SCRIPT)
    split = () if "split:" in file.read_text() else ("--split", "valid_seen")
    done = call("eval", "--sweep", str(file), *split, "--model", "scripted:plans.yaml", "--out", "run")
    assert done.returncode == 0 and "Not begun" not in done.stdout
