"""Reading games: what is accepted, what is refused and how, and that no file however damaged does worse than that."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import MAX_FACTS, MAX_FILE, MAX_GOAL, MAX_THINGS, Game, load_game, parse_game
from housequest.worlds.errors import GameError

HOUSES = Path(__file__).parents[1] / "golden" / "houses"
KITCHEN: dict[str, str] = json.loads((HOUSES / "slicing.json").read_text(encoding="utf-8"))
PROBLEM = KITCHEN["pddl_problem"]


def house(folder: Path, content: Any) -> Path:
    path = folder / "house.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_names_count_down_in_the_order_of_ids() -> None:
    game = load_game(HOUSES / "numbering.json")
    assert [name for name in game.receptacles if name.startswith("drawer")] == [f"drawer {n}" for n in range(14, 0, -1)]
    assert "sink 1" in game.receptacles
    assert "sink 2" in game.objects, "an object and a receptacle that share a stem are counted together"


def test_basins_are_named_for_what_their_id_says() -> None:
    names = set(load_game(HOUSES / "basin.json").receptacles)
    assert {"sinkbasin 1", "sinkbasin 2", "sink 1", "bathtubbasin 1", "bathtub 1"} <= names


def test_a_goal_of_ones_own_replaces_the_sentence_alone(tmp_path: Path) -> None:
    path = house(tmp_path, KITCHEN)
    own, other = load_game(path), load_game(path, goal="  Warm the apple,\nthen serve it.  ")
    assert other.sentence == "Warm the apple, then serve it."
    assert other.goal == own.goal


@pytest.mark.parametrize("goal", ["", " \n ", "a\x1b[2Jb", "\u202eabc", "x" * (MAX_GOAL + 1), "\ud800"])
def test_goals_that_are_no_line_of_text_are_refused(goal: str) -> None:
    with pytest.raises(GameError, match="somewhere: its goal"):
        parse_game(PROBLEM, goal, "somewhere")


def swap(old: str, new: str) -> Callable[[], str]:
    assert old in PROBLEM, old
    return lambda: PROBLEM.replace(old, new)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (lambda: "", "does not start with"),
        (lambda: "(define", "cut off"),
        (lambda: PROBLEM[:-10], "cut off|after its last bracket"),
        (lambda: PROBLEM + ")", "goes on after"),
        (lambda: PROBLEM + "x", "goes on after|stray"),
        (lambda: "(" * 100_000, "does not start"),
        (lambda: "(define" + "(" * 100_000, "cut off"),
        (lambda: "(define" + "(" * 100_000 + ")" * 100_001, "no :objects"),
        (lambda: "(define (:objects) (:init))", "no :goal"),
        (lambda: "(define (:init) (:init))", "two ':init'"),
        (swap("Apple", "Äpple"), "non-ASCII"),
        (lambda: "(define" + "x" * 3_000_000, "at most"),
        (swap("(pickupable ", "(pickable "), "not a predicate of the domain. Did you mean 'pickupable'"),
        (swap("(pickupable ", "(pickupable agent1 "), "takes one object, not 2"),
        (swap("(pickupable Knife", "(pickupable Fork"), "needs a declared object"),
        (swap("(inReceptacle ", "(objectAtLocation "), "needs a declared location"),
        (swap("(:init", "(:init (not (opened x))"), "'not' is not a predicate"),
        (swap("(:init", "(:init ()"), "is not a predicate"),
        (swap("(:init", "(:init opened"), "stray 'opened'"),
        (swap("agent1 - agent", "agent1 agent2 - agent"), "it has 2 agents"),
        (swap("agent1 - agent", "agent1 - agent agent1 - agent"), "declared twice"),
        (swap("agent1 - agent", "agent1 - person"), "not a kind of thing"),
        (swap("agent1 - agent", "agent1"), "declared|not a kind|cut off|needs a declared"),
        (swap("agent1 - agent", "agent1 - agent (either a b) - object"), "stray bracket"),
        (swap("(atLocation agent1", "(examined"), "0 of them somewhere|it has 1 agents|takes one"),
        (swap("(:objects", "(:objects " + " ".join(f"x{n}" for n in range(MAX_THINGS + 1)) + " - object "), "more than"),
        (swap("(:init", "(:init " + "(examined loc_bar_1_bar__minus_1_bar_0_bar_45)" * (MAX_FACTS + 1)), "more than"),
        (swap("Knife_bar_", "Knife_baz_"), "not of the form"),
        (swap("Knife_bar_", "kn|ife_bar_"), "not of the form"),
        (swap("isHot ?o", "isWarm ?o"), "one of ALFWorld's six forms"),
        (swap("(objectType ?o AppleType)", "(objectType ?o NoSuchType)"), "its goal needs a declared otype"),
        (swap("(objectType ?o AppleType)", "(objectType ?o ))"), "its goal needs a declared otype|cut off|goes on after"),
        (swap("(objectType ?o AppleType)", "(objectType ?o AppleType) (objectType ?o EggType)"), "one of ALFWorld's six forms"),
    ],
)
def test_a_broken_problem_is_refused_with_its_reason(problem: Callable[[], str], reason: str) -> None:
    with pytest.raises(GameError, match=f"^here: .*({reason})"):
        parse_game(problem(), "a goal", "here")


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        ("(objectType Knife_bar__plus_04_dot_10 AppleType)", "objecttype says two things"),
        ("(receptacleAtLocation Fridge_bar__plus_01_dot_00 loc_bar_2_bar__minus_1_bar_0_bar_45)", "says two things"),
        ("(atLocation agent1 loc_bar_2_bar__minus_1_bar_0_bar_45)", "says two things"),
    ],
)
def test_facts_that_contradict_each_other_are_refused(fact: str, reason: str) -> None:
    with pytest.raises(GameError, match=reason):
        parse_game(PROBLEM.replace("(:init", f"(:init {fact}"), "a goal", "here")


def test_case_comments_and_layout_do_not_matter() -> None:
    plain = parse_game(PROBLEM, "a goal", "here")
    for text in (PROBLEM.upper(), PROBLEM.replace("\n", " ; (opened ä) \n"), " ".join(PROBLEM.split())):
        assert parse_game(text.replace("; (opened ä)", "; (opened a)"), "a goal", "here") == plain


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 10_000,
        b"NaN",
        b"[]",
        b"{}",
        b'"text"',
        {"pddl_problem": PROBLEM},
        {"pddl_problem": PROBLEM, "goal": 7},
        {"pddl_problem": None, "goal": "x"},
        {"pddl_problem": [PROBLEM], "goal": "x"},
        {"pddl_problem": PROBLEM, "goal": "x", "extra": 1},
        {"pddl_problem": "\ud800", "goal": "x"},
        {"pddl_problem": PROBLEM, "goal": "\ud800"},
        {"\ud800": 1, "\x1b[2J": 2},
    ],
    ids=lambda content: f"{str(content)[:30]!a}",
)
@pytest.mark.parametrize("name", ["house.json", "game.tw-pddl"])
def test_files_that_are_no_game_are_refused_by_name(tmp_path: Path, content: Any, name: str) -> None:
    path = house(tmp_path, content).rename(tmp_path / name)
    with pytest.raises(GameError, match=name.replace(".", r"\.")) as caught:
        load_game(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1_500


def test_what_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.json", Path("nul\0byte.json")):
        with pytest.raises(GameError, match="cannot be read"):
            load_game(path)
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(MAX_FILE + 1)
    with pytest.raises(GameError, match="more than 8,000,000 bytes"):
        load_game(huge)


def test_games_of_the_older_grammar_are_refused_with_the_way_out(tmp_path: Path) -> None:
    grammar = '"rhs": "Your task is to: put a mug in desk." template :: "put {o} in/on {r}";'
    path = house(tmp_path, {"pddl_domain": "", "grammar": grammar, **KITCHEN}).rename(tmp_path / "game.tw-pddl")
    with pytest.raises(GameError, match=r"older grammar.*housequest data download.*alfworld-download"):
        load_game(path)
    path.write_text(json.dumps({"pddl_domain": "", "grammar": grammar.replace("in/on", "at"), **KITCHEN}), encoding="utf-8")
    with pytest.raises(GameError, match=r"is not known.*housequest data download"):
        load_game(path)


def loads_or_refuses(path: Path) -> None:
    try:
        assert isinstance(load_game(path), Game)
    except GameError as error:
        assert path.name in str(error)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_no_bytes_do_worse_than_a_refusal(tmp_path: Path, content: bytes) -> None:
    loads_or_refuses(house(tmp_path, content))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("pddl_problem", "goal")), inner),
    max_leaves=8,
)


@pytest.mark.heavy
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.fixed_dictionaries({"pddl_problem": JSON, "goal": JSON}) | JSON)
def test_no_json_does_worse_than_a_refusal(tmp_path: Path, content: Any) -> None:
    loads_or_refuses(house(tmp_path, content))


@pytest.mark.heavy
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), hits=st.integers(1, 30), stem=st.sampled_from(sorted(HOUSES.glob("*.json"))))
def test_no_damage_does_worse_than_a_refusal(tmp_path: Path, seed: int, hits: int, stem: Path) -> None:
    """Bytes flipped, cut and doubled in a good house, then tokens dropped, doubled and swapped in its problem."""
    rng = random.Random(seed)
    content = bytearray(stem.read_bytes())
    tokens: list[str] = json.loads(content)["pddl_problem"].replace("(", " ( ").replace(")", " ) ").split()
    for _ in range(hits):
        at, other = rng.randrange(len(content)), rng.randrange(len(content))
        content[at] = rng.choice((rng.randrange(256), content[other]))
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        tokens[at : at + 1] = rng.choice(([], [tokens[other]], [tokens[at], tokens[other]], ["("], [")"], ["-"]))
    if rng.random() < 0.5:
        del content[rng.randrange(len(content)) :]
    loads_or_refuses(house(tmp_path, bytes(content)))
    loads_or_refuses(house(tmp_path, {"pddl_problem": " ".join(tokens), "goal": "a goal"}))


@pytest.mark.games
def test_damaged_published_games_are_refused(alfworld_games: Path, tmp_path: Path) -> None:
    original = next((alfworld_games / "json_2.1.1" / "train").glob("*/*/game.tw-pddl"))
    data: dict[str, Any] = json.loads(original.read_text(encoding="utf-8"))
    assert load_game(original, goal="Do it.").sentence == "Do it."
    path = tmp_path / "game.tw-pddl"
    damages: list[dict[str, Any]] = [
        {"pddl_domain": data["pddl_domain"] + " "},
        {"pddl_domain": data["pddl_domain"].replace("(holds ?a ?o)", "", 1)},
        {"grammar": data["grammar"].replace("You open", "You shut")},
        {"grammar": data["grammar"].replace("Your task is to: ", 'Your task is to: "')},
        {"grammar": data["grammar"].replace("Your task is to: ", "Your task is to: {o.name} ")},
        {"grammar": data["grammar"].replace("Your task is to: ", "Your task is to: \x1b[2J")},
        {"grammar": None},
        {"pddl_problem": {}},
        {"pddl_problem": data["pddl_problem"][:5_000]},
        {"walkthrough": "look"},
        {"walkthrough": ["look", 3]},
        {"walkthrough": {"look": 1}},
    ]
    for damage in damages:
        path.write_text(json.dumps({**data, **damage}), encoding="utf-8")
        with pytest.raises(GameError, match=r"game\.tw-pddl"):
            load_game(path)
    text = original.read_bytes()
    for end in range(0, len(text), len(text) // 40):
        path.write_bytes(text[:end])
        with pytest.raises(GameError, match="not JSON"):
            load_game(path)
