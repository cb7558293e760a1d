"""The comparison of engines itself: what it compares, that it sees a difference, and that it goes on where it stopped."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import parse_game
from housequest.worlds.alfworld.engine.native import REFUSED
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.errors import ConfigurationError
from scripts.parity.__main__ import main
from scripts.parity.compare import compare, shrink
from scripts.parity.plan import STEPS, WALKS, WALKTHROUGH, Item, commands_of, full, slice_of_games, slice_of_houses
from scripts.parity.report import difference, left_out, totals
from scripts.parity.sweep import Editions, Record, Results, Sweep, editions, read_record
from tests.worlds.alfworld.play import BUNDLED, GOLDEN, env_of, loaded, name_of

ROOT = Path(__file__).parents[4]
KITCHEN = next(path for path in BUNDLED if path.stem == "kitchen")
HOUSES = [*BUNDLED, *GOLDEN]
NATIVE = Editions("the native engine", "itself", "tests.worlds.dropin.reference.native_worker")
NO_REFERENCE = not all(importlib.util.find_spec(name) for name in ("alfworld", "textworld", "fast_downward"))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AlfworldWorld:
    """The world without published games."""
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "nothing"))
    return AlfworldWorld()


def swept(world: AlfworldWorld, items: Sequence[Item], deadline: float = math.inf, threads: int = 2) -> list[Record]:
    records: list[Record] = []
    sweep = Sweep(world, NATIVE, threads, deadline, records.append)
    sweep.run(items)
    assert sweep.broken == []
    return records


@pytest.mark.parametrize("house", HOUSES, ids=name_of)
@pytest.mark.parametrize("kind", WALKS)
def test_the_commands_of_a_walk_are_always_the_same(kind: str, house: Path) -> None:
    item = Item(kind, str(house))
    commands = commands_of(item, loaded(house))
    assert commands == commands_of(replace(item, task=f"/elsewhere/{house.name}"), loaded(house))
    assert len(commands) == STEPS


def test_each_kind_of_walk_is_what_it_says() -> None:
    refused, older = Counter[str](), Counter[str]()
    for kind in WALKS:
        for house in HOUSES:
            env = env_of(loaded(house))
            env.reset()
            for command in commands_of(Item(kind, str(house)), loaded(house)):
                refused[kind] += not env.step(command).observation.accepted
                older[kind] += command.startswith("put ")
    total = STEPS * len(HOUSES)
    assert refused["admissible"] == refused["prefix"] == older["admissible"] == older["invalid"] == 0
    assert refused["invalid"] > total / 2
    assert older["older"] == refused["older"] > total / 10
    assert older["mixed"] > 0 < refused["mixed"] < total


@given(st.lists(st.integers(0, 9), max_size=40), st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_what_is_left_after_shrinking_shows_the_difference_and_is_needed(commands: list[int], needed: list[int]) -> None:
    def differs(fewer: Sequence[str]) -> bool:
        rest = iter(fewer)
        return all(str(number) in rest for number in needed)

    long = [str(number) for number in (*commands, *needed)]
    left = shrink(long, differs)
    assert differs(left)
    assert left == [str(number) for number in needed]
    assert shrink(long, lambda fewer: True) == []
    assert shrink(long, lambda fewer: len(fewer) == len(long)) == long


def test_a_house_that_differs_is_seen_to_differ() -> None:
    problem = json.loads(KITCHEN.read_text())["pddl_problem"]
    sentence = loaded(KITCHEN).sentence
    fact = next(line for line in problem.split("\n") if "(openable Fridge" in line)
    changed = parse_game(problem.replace(fact, ""), sentence, "the changed house")
    one, two = env_of(loaded(KITCHEN)), env_of(changed)
    commands = ["look", "go to fridge 1", "look"]
    played = compare(one, two, commands)
    assert (played.steps, played.difference and played.difference.field) == (2, "text")
    assert shrink(commands[:2], lambda fewer: compare(one, two, fewer).difference is not None) == ["go to fridge 1"]
    same = compare(one, env_of(loaded(KITCHEN)), ["look", "dance", "go to fridge 1"])
    assert (same.steps, same.refused, same.verbs, same.difference) == (3, 1, {"look": 1, "go": 1}, None)


def test_a_difference_comes_with_the_fewest_commands_that_show_it(
    world: AlfworldWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNLIKE", "Thou")  # the other engine says so in place of "You", in the opening already
    (record,) = swept(world, [Item("admissible", "example/kitchen")])
    assert record.played.difference is not None
    assert record.script == ()
    told = "\n".join(difference(record))
    assert "DIFFERENCE in admissible example/kitchen: text after 0 commands" in told
    assert "--try example/kitchen" in told
    assert "Thou are in the middle" in told


@pytest.mark.heavy
def test_a_sweep_plays_every_item_and_reports_what_it_saw(world: AlfworldWorld) -> None:
    items = slice_of_houses(world)[:8]
    records = swept(world, items)
    assert {record.item for record in records} == set(items)
    lines = totals(records, NATIVE)
    assert lines[-1] == (
        "8 comparisons of native edition the native engine (this one) with itself in "
        "tests.worlds.dropin.reference.native_worker"
    )
    assert any(line.split() == ["admissible", "2", "80", "80", "0", *line.split()[5:]] for line in lines)
    assert lines[0].split() == ["kind", "games", "steps", "accepted", "refused", "won", "differences"]
    assert next(line for line in lines if line.startswith("all")).split()[1:3] == ["2", "320"]


def test_a_sweep_stops_when_its_time_is_over(world: AlfworldWorld) -> None:
    assert swept(world, slice_of_houses(world), deadline=0.0) == []


def test_what_breaks_off_is_tried_again_then_named_and_not_done(world: AlfworldWorld, tmp_path: Path) -> None:
    (tmp_path / "gone.json").write_bytes(KITCHEN.read_bytes())
    gone = world.task(str(tmp_path / "gone.json"))
    (tmp_path / "gone.json").unlink()
    records: list[Record] = []
    sweep = Sweep(world, NATIVE, 1, math.inf, records.append)
    item = Item("mixed", gone.reference)
    sweep.run([item, Item("mixed", "example/kitchen")])
    assert [record.task for record in records] == ["example/kitchen"]
    assert len(sweep.broken) == 1
    assert sweep.broken[0].startswith(f"{item.key}: ")
    assert left_out([item]) == ["not compared: 1 of kind mixed"]


def test_results_are_read_back_whatever_became_of_the_last_line(world: AlfworldWorld, tmp_path: Path) -> None:
    records = swept(world, [Item("older", "example/kitchen"), Item("mixed", "example/kitchen")])
    assert [read_record(record.dump()) for record in records] == records
    results = Results(tmp_path / "results")
    assert results.read() == []
    with results.open() as file:
        file.write(records[0].dump())
        file.write(records[1].dump()[:50])
    with results.open() as file:
        file.write(records[1].dump())
    assert results.read() == records


def test_two_sweeps_do_not_write_to_one_file(tmp_path: Path) -> None:
    results = Results(tmp_path)
    with results.open(), pytest.raises(ConfigurationError, match="Another sweep"):
        results.open()
    with results.open():
        pass


def test_an_edition_is_that_of_the_code() -> None:
    assert editions(plain=False).native == editions(plain=True).native
    assert editions(plain=False).worker != editions(plain=True).worker


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scripts.parity", *arguments],
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_without_the_games_there_is_no_plan(world: AlfworldWorld, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--report", "--results", str(tmp_path)]) == 2
    assert "There is no split 'train'" in capsys.readouterr().err


def test_results_that_cannot_be_written_say_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="give another --results"):
        Results(tmp_path / "file" / "folder").open()


def test_no_workers_at_all_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--processes", "0"])
    assert "give at least 1" in capsys.readouterr().err


@pytest.mark.skipif(not NO_REFERENCE, reason="the real game is installed here")
@pytest.mark.heavy
def test_without_the_reference_a_slice_says_that_it_was_skipped(tmp_path: Path) -> None:
    done = run("--slice", ALFWORLD_DATA=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("skipped: the comparison with the reference. The engine 'textworld' needs ")
    done = run("--try", "example:1", "look", ALFWORLD_DATA=str(tmp_path))
    assert done.returncode == 2
    assert 'pip install "housequest[alfworld]"' in done.stderr


@pytest.mark.skipif(NO_REFERENCE, reason='needs the real game: pip install "housequest[alfworld]"')
def test_commands_can_be_tried_on_both_engines(tmp_path: Path) -> None:
    done = run("--try", "example:1", "look", "dance", ALFWORLD_DATA=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert f"> dance\n{REFUSED}\n(textworld 1." in done.stdout


@pytest.mark.games
def test_the_plan_is_every_walkthrough_and_300_games_of_walks(alfworld_games: Path, tmp_path: Path) -> None:
    world = AlfworldWorld(data=alfworld_games)
    plan = full(world)
    assert plan == full(AlfworldWorld(data=alfworld_games))
    assert len(set(plan)) == len(plan) == 3_993
    assert Counter(item.kind for item in plan) == {WALKTHROUGH: 3_693, **dict.fromkeys(WALKS, 60)}
    assert len({item.task for item in plan if item.kind != WALKTHROUGH}) == 300
    part = slice_of_games(world)
    assert set(part) < set(plan)
    assert Counter(item.kind for item in part) == {WALKTHROUGH: 12, **dict.fromkeys(WALKS, 6)}
    task = world.task(next(item.task for item in part if item.kind == WALKTHROUGH))
    assert task.source is not None
    assert commands_of(Item(WALKTHROUGH, task.id), loaded(task.source)) == list(loaded(task.source).walkthrough or ())
