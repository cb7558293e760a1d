"""Which rules are told: those that matter for the task and the moment, each once, and never more than the budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.knowledge.choosing import RuleBudget, estimated_tokens, topic_of
from housequest.knowledge.rules import Rule
from housequest.worlds.alfworld.text import HOUSEHOLD, begin, update
from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.goals import Topic

OPENING = "-= Welcome =-\n\nYou are in the middle of a room. Looking quickly around you, you see {}."
KITCHEN = begin(Observation(OPENING.format("a cabinet 1, a fridge 1, a garbagecan 1, a microwave 1, and a sidetable 1")))

GENERAL = Rule("general", "One thing is carried at a time.")
HEATING = Rule("heating", "The microwave heats what is held.", types=("heat",), objects=("microwave",))
COOLING = Rule("cooling", "The fridge cools what is held.", types=("pick_cool_then_place_in_recep",))
EGGS = Rule("eggs", "An egg is most often in the fridge.", kind="location", objects=("egg",))
MUGS = Rule("mugs", "A mug is most often in the cabinet.", kind="location", objects=("mug",))
CABINETS = Rule("cabinets", "A cabinet is opened first.", kind="affordance", objects=("cabinet",))
KNIVES = Rule("knives", "A knife slices.", objects=("Butter Knife",))
BOOK = (GENERAL, HEATING, COOLING, EGGS, MUGS, CABINETS, KNIVES)
HOT_EGG = "put a hot egg in garbagecan."


def ids(rules: tuple[Rule, ...]) -> list[str]:
    return [rule.id for rule in rules]


def test_at_the_beginning_those_for_the_task_are_told() -> None:
    task = topic_of(HOT_EGG, None, None, HOUSEHOLD)
    assert (task.type, {"egg", "garbagecan", "microwave"} <= task.kinds | task.needed) == (
        "pick_heat_then_place_in_recep",
        True,
    )
    assert ids(RuleBudget(BOOK, 1_000).select(task, KITCHEN)) == ["general", "heating", "eggs"]


def test_a_rule_waits_until_its_thing_is_at_hand() -> None:
    choice, task = RuleBudget(BOOK, 1_000), topic_of(HOT_EGG, None, None, HOUSEHOLD)
    before = choice.select(task, KITCHEN)
    assert choice.select(task, KITCHEN, before) == ()
    cabinet = update(KITCHEN, "go to cabinet 1", Observation("You arrive at cabinet 1. The cabinet 1 is closed."))
    assert ids(choice.select(task, cabinet, before)) == ["cabinets"]
    opened = update(
        cabinet, "open cabinet 1", Observation("You open the cabinet 1. The cabinet 1 is open. In it, you see a mug 1.")
    )
    # Where mugs lie matters to nobody who seeks an egg.
    assert choice.select(task, opened, (*before, CABINETS)) == ()
    holding = replace(KITCHEN, carried=("butterknife 1",))
    assert ids(choice.select(task, holding, before)) == ["knives"]


@pytest.mark.parametrize(
    ("goal", "granted", "kind"),
    [
        ("put a hot egg in garbagecan.", None, "pick_heat_then_place_in_recep"),
        ("Your task is to: examine the book with the desklamp.", None, "look_at_obj_in_light"),
        ("Throw a chilled egg in the trash can", None, "pick_cool_then_place_in_recep"),
        ("do something nice", None, None),
        ("do something nice", "pick_two_obj_and_place", "pick_two_obj_and_place"),
        ("\ud800\x00" * 9_999, None, None),
    ],
)
def test_the_type_is_read_off_the_goal_or_granted(goal: str, granted: str | None, kind: str | None) -> None:
    assert topic_of(goal, granted, KITCHEN, HOUSEHOLD).type == kind


def test_a_people_s_sentence_names_things_too() -> None:
    assert {"desklamp", "book", "books"} <= topic_of("Read the books by the desk lamp", None, KITCHEN, HOUSEHOLD).kinds
    assert "fridge" in topic_of("Throw a chilled egg in the trash can", None, KITCHEN, HOUSEHOLD).needed


def test_where_the_type_cannot_be_told_rules_about_types_come_last() -> None:
    task = topic_of("do something with the microwave", None, None, HOUSEHOLD)
    assert ids(RuleBudget(BOOK, 1_000).select(task)) == ["general", "heating", "cooling"]
    short = RuleBudget(BOOK, estimated_tokens(GENERAL.statement) + 1)
    assert ids(short.select(task)) == []  # a part is kept for what waits
    assert ids(RuleBudget((HEATING, GENERAL), estimated_tokens(GENERAL.statement)).select(task)) == ["general"]


def test_a_part_of_the_budget_is_kept_for_what_comes_up() -> None:
    general = tuple(Rule(f"g{number}", f"General rule number {number} is this.") for number in range(30))
    choice = RuleBudget((*general, CABINETS), 100)
    first = choice.select(Topic(), KITCHEN)
    cost = sum(estimated_tokens(rule.statement) for rule in first)
    assert (
        100 - estimated_tokens(CABINETS.statement) - estimated_tokens(general[-1].statement)
        < cost
        <= 100 - estimated_tokens(CABINETS.statement)
    )
    at = update(KITCHEN, "go to cabinet 1", Observation("You arrive at cabinet 1. The cabinet 1 is closed."))
    assert choice.select(Topic(), at, first) == (CABINETS,)


_WORDS = st.sampled_from(["egg", "mug", "cabinet", "fridge", "heat", "cool", ""])
_RULES = st.lists(
    st.builds(
        Rule,
        id=st.just("a"),
        statement=st.text(max_size=60),
        kind=st.sampled_from([None, "location", "mechanic"]),
        types=st.lists(_WORDS, max_size=2).map(tuple),
        objects=st.lists(_WORDS, max_size=2).map(tuple),
    ),
    max_size=12,
)
_BELIEFS = st.sampled_from(
    [None, KITCHEN, replace(KITCHEN, at="cabinet 1"), replace(KITCHEN, carried=("mug 1",), at="fridge 1")]
)


@given(_RULES, st.integers(1, 80), st.text(max_size=40), st.lists(_BELIEFS, max_size=4))
def test_the_budget_holds_and_nothing_is_told_twice(
    rules: list[Rule], budget: int, goal: str, beliefs: list[Belief | None]
) -> None:
    choice, task = RuleBudget(tuple(rules), budget), topic_of(goal, None, None, HOUSEHOLD)
    said: tuple[Rule, ...] = ()
    for belief in beliefs:
        chosen = choice.select(task, belief, said)
        assert chosen == choice.select(task, belief, said)
        said += chosen
    statements = [rule.statement for rule in said]
    assert len(set(statements)) == len(statements)
    assert sum(map(estimated_tokens, statements)) <= budget


def test_a_token_is_four_bytes() -> None:
    assert [estimated_tokens(text) for text in ("", "a" * 5, "a" * 6, "é" * 3, "\ud800")] == [1, 2, 3, 3, 1]


@given(
    _RULES, st.integers(1, 80), st.text(max_size=40), st.sampled_from(["heat_then_place", None]), st.lists(_BELIEFS, max_size=4)
)
def test_a_rule_that_cannot_be_shown_makes_no_difference(
    rules: list[Rule], budget: int, goal: str, granted: str | None, beliefs: list[Belief | None]
) -> None:
    task, choice = topic_of(f"{goal} heat egg", granted, None, HOUSEHOLD), RuleBudget(tuple(rules), budget)
    fewer = replace(choice, rules=choice.possible(task))
    said: tuple[Rule, ...] = ()
    for belief in beliefs:
        chosen = choice.select(task, belief, said)
        assert chosen == fewer.select(task, belief, said)
        said += chosen
