"""Houses written as game files: what alfworld wants of them, that both engines play them alike, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import Problem, load_game, parse_game, parse_problem, problem_text, read_published
from housequest.worlds.alfworld.engine.planner import plan
from housequest.worlds.alfworld.exchange import Exported, Logic, export_game, export_task, installed_logic, write_game
from housequest.worlds.alfworld.houses.house import make_house
from housequest.worlds.alfworld.world import AlfworldWorld, room_of
from housequest.worlds.errors import ConfigurationError, GameError, HousequestError
from housequest.worlds.household.goals import TASK_TYPES, TYPES
from housequest.worlds.household.planner import SearchLimitReached
from tests.parts import installed
from tests.worlds.alfworld.engine.test_planner import crowd
from tests.worlds.alfworld.play import BUNDLED, GOLDEN, any_commands, env_of, name_of, published, wins

if TYPE_CHECKING:
    from housequest.worlds.dropin.reference import Reference

REFERENCE = all(find_spec(name) for name in ("alfworld", "textworld", "fast_downward"))
NONE = Logic("(define (domain none))", '"Your task is to: UNKNOWN GOAL."')


@pytest.fixture(scope="module")
def logic(alfworld_games: Path) -> Logic:
    """Domain and grammar of a published game, with the task sentence taken out."""
    game = json.loads(published(alfworld_games, "valid_seen", 1)[0].read_bytes())
    grammar = re.sub(r'("Your task is to: )[^"]*', r"\1UNKNOWN GOAL.", game["grammar"])
    return Logic(game["pddl_domain"], grammar)


@contextmanager
def stranger(folder: Path, domain: str, grammar: str) -> Iterator[None]:
    """An installed package named alfworld, which cannot be imported."""
    (folder / "alfworld" / "data").mkdir(parents=True)
    (folder / "alfworld" / "__init__.py").write_text("raise SystemExit('imported')")
    (folder / "alfworld" / "data" / "alfred.pddl").write_text(domain)
    (folder / "alfworld" / "data" / "alfred.twl2").write_text(grammar)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.path_importer_cache.clear()


def checked(exported: Exported, folder: Path) -> Path:
    """Write a game, and read it back as the loader and alfworld's collector do."""
    path = write_game(exported, folder)
    raw = json.loads(path.read_bytes())
    assert set(raw) == {"pddl_domain", "grammar", "pddl_problem", "solvable", "walkthrough"}
    assert raw["solvable"] is True
    told = json.loads(path.with_name("traj_data.json").read_bytes())
    assert told["task_type"] in TASK_TYPES
    assert "movable" not in str(path) and "Sliced" not in str(path)
    game = load_game(path)
    assert told["task_type"] == TYPES[game.goal.form]
    assert game.walkthrough == exported.walkthrough
    assert wins(game, exported.walkthrough)
    return path


@pytest.mark.games
@pytest.mark.parametrize("path", [*BUNDLED, *GOLDEN], ids=name_of)
def test_houses_are_read_back_as_they_were(path: Path, logic: Logic, tmp_path: Path) -> None:
    house = json.loads(path.read_bytes())
    before = load_game(path)
    if not isinstance(plan(before), tuple):
        with pytest.raises(GameError, match="nothing wins"):
            export_game(house["pddl_problem"], house["goal"], "house", logic)
        return
    after = load_game(checked(export_game(house["pddl_problem"], house["goal"], "house", logic), tmp_path))
    assert (after.objects, after.receptacles, after.start) == (before.objects, before.receptacles, before.start)
    assert (after.sentence, after.goal, after.accepts, after.inside) == (
        before.sentence,
        before.goal,
        before.accepts,
        before.inside,
    )
    assert env_of(after).reset() == env_of(before).reset()


@pytest.mark.games
def test_an_exported_house_is_a_task_of_a_split_of_ones_own(logic: Logic, tmp_path: Path) -> None:
    for seed in (7, 690):
        house = make_house(seed)
        write_game(export_game(house.problem, house.sentence, f"generated_{seed}", logic), tmp_path / "json_2.1.1" / "mine")
    world = AlfworldWorld(data=tmp_path)
    tasks = world.tasks("mine")
    assert {(task.goal, task.type) for task in tasks} == {
        (house.sentence, house.goal.type) for house in (make_house(7), make_house(690))
    }
    assert {world.room(task).walls for task in tasks} == {
        room_of(house.problem, house.game).walls for house in (make_house(7), make_house(690))
    }


@pytest.mark.games
def test_what_is_there_is_kept_unless_forced(logic: Logic, tmp_path: Path) -> None:
    house = make_house(7)
    exported = export_game(house.problem, house.sentence, "seven", logic)
    path = write_game(exported, tmp_path / "mine.tw-pddl")
    assert path == tmp_path / "mine.tw-pddl"
    with pytest.raises(ConfigurationError, match="--force"):
        write_game(exported, path)
    assert write_game(exported, path, force=True) == path
    assert sorted(tmp_path.iterdir()) == [path], "a game of a name of its own has no trajectory, which would be another's too"
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_game(exported, path / "below")
    (tmp_path / "folder.tw-pddl").mkdir()
    assert write_game(exported, tmp_path / "folder.tw-pddl") == tmp_path / "folder.tw-pddl" / exported.folder / "game.tw-pddl"
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_game(exported, tmp_path / "a\0b")


@pytest.mark.games
def test_games_elsewhere_are_exported_side_by_side(logic: Logic, tmp_path: Path) -> None:
    house = make_house(7)
    for name in ("one", "two"):
        write_game(export_game(house.problem, house.sentence, name, logic), tmp_path / f"{name}.d" / "game.tw-pddl")
    with stranger(tmp_path, logic.domain, logic.grammar):
        folders = {export_task(AlfworldWorld(), str(tmp_path / f"{name}.d" / "game.tw-pddl")).folder for name in ("one", "two")}
    assert len(folders) == 2


@pytest.mark.skipif(REFERENCE, reason="alfworld is installed")
def test_without_alfworld_the_extra_is_named() -> None:
    with pytest.raises(ConfigurationError, match=re.escape("housequest[alfworld]")):
        installed_logic()


def test_alfworld_is_found_without_being_imported(tmp_path: Path) -> None:
    if "alfworld" in sys.modules:
        pytest.skip("alfworld was imported by another test")
    with stranger(tmp_path, NONE.domain, NONE.grammar):
        assert installed_logic() == NONE
        with pytest.raises(ConfigurationError, match="rules that are not known here"):
            export_task(AlfworldWorld(), "generated:7")
        (tmp_path / "alfworld" / "data" / "alfred.pddl").write_bytes(b"\xff\xfe")
        with pytest.raises(ConfigurationError, match="install it again"):
            installed_logic()
        assert "alfworld" not in sys.modules


@pytest.fixture(scope="module")
def reference() -> Reference:
    """The real game, for all tests of this file; they are skipped where it is not installed."""
    if not (REFERENCE and installed("dropin")):
        pytest.skip('needs the drop-in and the real game: pip install "housequest[alfworld]"')
    from housequest.worlds.dropin.reference import Reference

    return Reference()


def plays_alike(seed: int, reference: Reference, folder: Path) -> None:
    """The house of ``seed``, exported, says the same on both engines: a walk of all sorts, then the shortest way to win."""
    from housequest.worlds.alfworld.engine.game import GameFile

    path = checked(export_task(AlfworldWorld(), f"generated:{seed}"), folder)
    game, raw = load_game(path), json.loads(path.read_bytes())
    assert game.walkthrough is not None
    reference.load(GameFile(raw["pddl_problem"], "", raw["pddl_domain"], raw["grammar"]))
    for expert in (False, True):
        env = env_of(game)
        told, step = reference.reset(), env.reset()
        for command in game.walkthrough if expert else any_commands(env, seed, 15):
            assert (told.text, told.won, told.commands) == (step.observation.text, step.won, env.admissible_commands())
            told, step = reference.step(command), env.step(command)
        assert (told.text, told.won, told.commands) == (step.observation.text, step.won, env.admissible_commands())
        assert told.won or not expert


@pytest.mark.parametrize("seed", [7, 690])
def test_the_reference_plays_an_exported_house_to_the_same_text(seed: int, reference: Reference, tmp_path: Path) -> None:
    plays_alike(seed, reference, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_fifty_exported_houses_play_alike_on_both_engines(seed: int, reference: Reference, tmp_path: Path) -> None:
    plays_alike(seed, reference, tmp_path)


# What is damaged or hostile.

HOUSE = make_house(690)


NESTED = "(define (problem deep) (:objects) (:init) (:goal " + "(and " * 100_000 + ")" * 100_000 + "))"
MANY_THINGS = " ".join(f"a{number}" for number in range(3_000))
MANY = f"(define (problem many) (:objects {MANY_THINGS} - object) (:init) (:goal ()))"
TOLD_OFTEN = "(define (problem p) (:objects) (:init " + "(opened x)" * 30_000 + ") (:goal ()))"
PROBLEMS = [
    ("", r"does not start with \(define"),
    (HOUSE.problem[: len(HOUSE.problem) // 2], "cut off"),
    ("(" * 500_000, "does not start"),
    ("(define " + "(" * 500_000, "cut off"),
    (NESTED, "one of ALFWorld's six forms"),
    (HOUSE.problem.replace("isHot", "isCool"), "one of ALFWorld's six forms"),
    ("x" * 3_000_000, "at most"),
    (MANY, "2,000 things"),
    (TOLD_OFTEN, "declared receptacle"),
    (HOUSE.problem.replace("agent1 - agent", "agent1 - agent agent2 - agent"), "2 agents"),
]


@pytest.mark.parametrize(("problem", "reason"), PROBLEMS, ids=[reason for _, reason in PROBLEMS])
def test_damaged_and_hostile_problems_are_refused_with_a_reason(problem: str, reason: str) -> None:
    with pytest.raises(GameError, match=reason) as caught:
        export_game(problem, HOUSE.sentence, "hostile", NONE)
    assert len(str(caught.value)) < 500
    with pytest.raises(GameError, match=reason):
        parse_game(problem, HOUSE.sentence, "hostile")


def test_a_file_of_200_megabytes_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    with path.open("wb") as file:
        file.truncate(200_000_000)
    world = AlfworldWorld()
    with pytest.raises(GameError, match="more than 8,000,000 bytes"):
        world.task(str(path))


@pytest.mark.parametrize(
    "sentence", ["", "put {it}", 'put "it"', "put #it#", "put it | run", "a" * 3_000, "put\x1b[2Jit", "\ud800"]
)
def test_a_sentence_that_is_none_or_would_be_grammar_is_refused(sentence: str) -> None:
    with pytest.raises(GameError, match="goal"):
        export_game(HOUSE.problem, sentence, "hostile", NONE)


@pytest.mark.games
def test_what_cannot_be_vouched_for_is_not_exported(logic: Logic) -> None:
    unsolvable = HOUSE.problem.replace("(pickupable egg_bar", "(moveable egg_bar")
    with pytest.raises(GameError, match="nothing wins"):
        export_game(unsolvable, HOUSE.sentence, "stuck", logic)


def test_things_in_each_other_are_read_one_level_deep() -> None:
    """Published games have pots that contain each other, so that is no damage; it is never followed."""
    read = parse_problem(HOUSE.problem, "house")
    things = [thing for thing, sort in read.things.items() if sort == "object"]
    cyclic = [(inner, outer) for inner, outer in zip(things, [*things[1:], things[0]], strict=True)]
    facts = {**read.facts, "inreceptacleobject": [*cyclic, (things[0], things[0])]}
    facts["isreceptacleobject"] = [(thing,) for thing in things]
    game = parse_game(problem_text(Problem(read.things, facts, read.form, read.types), "cyclic"), HOUSE.sentence, "cyclic")
    assert wins(game, HOUSE.plan)
    assert len(game.inside) == len(things)


@given(cut=st.integers(0, len(HOUSE.problem)), by=st.text(max_size=30), length=st.integers(0, 200))
@settings(max_examples=60)
def test_a_problem_damaged_anywhere_is_a_game_or_refused(cut: int, by: str, length: int) -> None:
    problem = HOUSE.problem[:cut] + by + HOUSE.problem[cut + length :]
    try:
        game = parse_game(problem, HOUSE.sentence, "damaged")
    except GameError as error:
        assert str(error).isprintable()
        return
    outcome = plan(game)
    assert not isinstance(outcome, tuple) or wins(game, outcome)


@given(
    content=st.one_of(
        st.binary(max_size=300),
        st.dictionaries(st.text(max_size=20), st.text(max_size=50)).map(lambda d: json.dumps(d).encode()),
    )
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_a_game_or_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_bytes(content)
    with pytest.raises(HousequestError):
        AlfworldWorld().source(AlfworldWorld().task(str(path)))
    with pytest.raises(GameError):
        read_published(content, "any")


@pytest.mark.parametrize("path", [*BUNDLED, *GOLDEN], ids=name_of)
def test_a_problem_that_is_written_is_read_back(path: Path) -> None:
    problem = parse_problem(json.loads(path.read_bytes())["pddl_problem"], "first")
    again = parse_problem(problem_text(problem, "again"), "again")
    assert (again.things, again.form, again.types) == (problem.things, problem.form, problem.types)
    assert {name: set(facts) for name, facts in again.facts.items()} == {
        name: set(facts) for name, facts in problem.facts.items()
    }


def test_a_game_too_large_to_be_planned_is_said_to_be_unknown() -> None:
    assert isinstance(plan(crowd(1_200, 300, "two"), nodes=1_000), SearchLimitReached)
