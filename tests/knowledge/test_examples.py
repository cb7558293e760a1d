"""The store of in-context examples, and how some are chosen."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.knowledge.choosing import Bm25, at_random, best, cosines, nearest_examples, of_type, stratified
from housequest.knowledge.examples import (
    Example,
    from_world,
    load_examples,
    parse_examples,
    played,
    shipped,
    type_of_goal,
    written,
)
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.errors import KnowledgeError
from housequest.worlds.household.goals import TYPES, Skill
from housequest.worlds.registry import make_world


def test_what_ships_has_as_many_of_each_type_and_none_that_is_published() -> None:
    store = shipped()
    assert Counter(example.type for example in store) == dict.fromkeys(TYPES.values(), 17)
    assert all(example.origin.startswith("generated:") for example in store)
    assert parse_examples(written(store).encode(), "again") == store


def test_what_ships_can_be_made_again() -> None:
    world = make_world("alfworld")
    for example in shipped()[::20]:
        assert played(world, world.task(example.origin)) == example


def test_subgoals_are_what_had_to_be_done() -> None:
    world = make_world("alfworld")
    example = played(world, world.task("example:1"))
    assert example is not None
    assert example.subgoals() == (
        Skill("find", "egg"),
        Skill("pick", "egg", example.subgoals()[1].receptacle),
        Skill("go", receptacle="microwave"),
        Skill("heat", "egg", "microwave"),
        Skill("go", receptacle="diningtable"),
        Skill("put", "egg", "diningtable"),
    )
    assert played(world, world.task("example:1"), most=2) is None


@pytest.mark.games
def test_a_store_of_train(alfworld_games: Path) -> None:
    world = make_world("alfworld", data=alfworld_games)
    store = from_world(world, each=2, seed=3)
    assert Counter(example.type for example in store) == dict.fromkeys(TYPES.values(), 2)
    assert store == from_world(world, each=2, seed=3)
    assert store != from_world(world, each=2, seed=4)
    assert {example.origin.partition(":")[0] for example in store} == {"train"}


def test_without_train_there_is_no_store_of_it() -> None:
    with pytest.raises(KnowledgeError, match="train"):
        from_world(make_world("scripted"))


def test_the_nearest_examples_do_the_same_to_the_same() -> None:
    (first, *others) = nearest_examples(shipped(), "put a hot potato in fridge.", 5)
    assert first.type == "pick_heat_then_place_in_recep"
    assert "potato" in first.goal
    assert len(others) == 4
    assert nearest_examples(shipped(), "", 2) == shipped()[:2]


def test_every_strategy_is_reproducible_and_bounded() -> None:
    store = shipped()
    for chosen in (
        lambda seed: at_random(store, 6, seed),
        lambda seed: stratified(store, 6, seed),
        lambda seed: of_type(store, "pick_two_obj_and_place", 6, seed),
    ):
        assert len(chosen("a")) == 6
        assert chosen("a") == chosen("a") != chosen("b")
    assert len({example.type for example in stratified(store, 6, "a")}) == 6
    assert {example.type for example in of_type(store, "pick_two_obj_and_place", 6, "a")} == {"pick_two_obj_and_place"}
    assert len(of_type(store, "unheard of", 6, "a")) == 6
    assert len(at_random(store, 1_000, "a")) == len(store)
    assert best(store, cosines((1.0, 0.0), [(0.0, 1.0)] * (len(store) - 1) + [(2.0, 0.0)]), 1) == (store[-1],)
    assert Bm25.over([]).scores("mug") == []


def test_the_type_is_read_off_the_wording() -> None:
    places = ["fridge", "microwave", "countertop"]
    assert type_of_goal("put a hot mug in fridge.", places, HOUSEHOLD) == "pick_heat_then_place_in_recep"
    assert type_of_goal("Warm the potato and leave it on the counter", places, HOUSEHOLD) == "pick_heat_then_place_in_recep"
    assert type_of_goal("be nice", places, HOUSEHOLD) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"goal": "x"}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        json.dumps({"origin": "o", "type": "t", "goal": "g", "opening": "o", "steps": [["look"]]}).encode(),
        json.dumps({"origin": "o", "type": "t", "goal": "g" * 20_000, "opening": "o", "steps": [["look", "x"]]}).encode(),
        b"\n" * 20_000,
    ],
)
def test_a_damaged_store_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_bytes(content)
    with pytest.raises(KnowledgeError, match=r"own\.jsonl"):
        load_examples(tmp_path / "own.jsonl")


def test_a_store_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="cannot be read"):
        load_examples(tmp_path / "none.jsonl")
    with pytest.raises(KnowledgeError, match="cannot be read"):
        load_examples(tmp_path)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_store_or_an_error(content: bytes) -> None:
    with suppress(KnowledgeError):
        assert all(isinstance(example, Example) for example in parse_examples(content, "any"))


@given(st.text(), st.lists(st.text(), max_size=5))
def test_any_text_has_a_likeness(query: str, texts: list[str]) -> None:
    assert len(Bm25.over(texts).scores(query)) == len(texts)
