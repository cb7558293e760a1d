"""A form's grammar, JSON schema and strict reader are of the same texts, and each role reads what its form allows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.react.agent import REACT
from housequest.agent.agents.reasoner_actor.agent import ACTOR, REASONER
from housequest.agent.models.forms import Choice, Form, grammar_of
from housequest.agent.roles.base import Role
from housequest.agent.roles.reading import acting_form, command_value, planning_form
from housequest.agent.skills.controller import reader_of as places_of
from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief
from housequest.worlds.registry import make_world
from tests.agent.role_forms import check_form

WORLD = make_world("alfworld")
OPENING = Observation(
    "You are in the middle of a room. Looking quickly around you, you see a fridge 1, a shelf 2, and a shelf 1.\n\n"
    "Your task is to: put a mug in shelf."
)


def seen() -> Belief:
    household = WORLD.household
    assert household is not None
    there = Observation("You arrive at shelf 1. On the shelf 1, you see a mug 2.")
    belief = household.update(household.begin(OPENING), "go to shelf 1", there)
    return household.update(
        belief, "open fridge 1", Observation("You open the fridge 1. The fridge 1 is open. In it, you see a potato 1.")
    )


COMMAND = command_value(WORLD, seen(), others=("stuck",))

ROLES: dict[str, Role[Any]] = {
    "react": REACT.held_to(acting_form(COMMAND)),
    "actor": ACTOR.held_to(acting_form(COMMAND, 4)),
    "reasoner": REASONER.held_to(planning_form(8, begun=False)),
    "reasoner again": REASONER.held_to(planning_form(8, begun=True)),
    "searcher": places_of(["fridge 1", "shelf 1", "shelf 2"]),
}


@pytest.mark.parametrize("name", ROLES)
def test_a_role_reads_what_its_form_allows(name: str) -> None:
    check_form(ROLES[name], Random(name))


def test_a_command_is_held_to_the_worlds_forms_over_the_names_that_were_seen() -> None:
    form = acting_form(COMMAND)
    assert form is not None

    def allowed(command: str) -> bool:
        return form.read(f"Thought: So.\nAction: {command}") is not None

    commands = ("look", "stuck", "go to shelf 2", "open fridge 1", "take mug 2 from shelf 1", "move mug 2 to fridge 1")
    assert all(map(allowed, commands))
    assert allowed("examine mug 2")
    assert allowed("examine fridge 1")
    assert allowed("clean potato 1 with shelf 1"), "whether it is possible is not known"
    for command in ("go to drawer 1", "take mug 1 from shelf 1", "go to mug 2", "help", "go to", "look\nlook", "help me"):
        assert not allowed(command)


def test_granted_commands_are_the_only_ones() -> None:
    value = command_value(WORLD, seen(), ["look", "go to shelf 1"])
    assert value == Choice(("look", "go to shelf 1"))


def test_before_anything_is_seen_no_command_names_a_thing() -> None:
    household = WORLD.household
    assert household is not None
    form = acting_form(command_value(WORLD, household.begin(OPENING)))
    assert form is not None
    assert form.read("Thought: So.\nAction: go to fridge 1") is not None
    assert form.read("Thought: So.\nAction: take mug 2 from shelf 1") is None


def test_in_a_world_that_is_no_household_names_are_plain_words() -> None:
    form = acting_form(command_value(make_world("scripted"), None))
    assert form is not None
    assert form.read("Thought: So.\nAction: go to the kitchen") is not None
    assert form.read("Thought: So.\nAction: unlock box") is not None
    assert form.read("Thought: So.\nAction: fly") is None


def test_json_by_the_schema_becomes_the_text_that_the_grammar_allows() -> None:
    form = acting_form(COMMAND, 3)
    assert form is not None
    said = {"thought": "it is in the fridge", "step": "2", "action": {"take": "potato 1", "from": "fridge 1"}}
    assert form.from_json(json.dumps(said)) == "Thought: It is in the fridge\nStep: 2\nAction: take potato 1 from fridge 1"
    assert form.from_json(json.dumps({**said, "action": "look"})) == "Thought: It is in the fridge\nStep: 2\nAction: look"
    for wrong in ({**said, "action": "fly"}, {**said, "step": 9}, [said], "look", {**said, "action": {"take": "moon 1"}}):
        assert form.from_json(json.dumps(wrong)) is None
    assert form.from_json("no JSON") is None


@given(st.text(max_size=60))
def test_reading_is_strict_and_never_fails(text: str) -> None:
    form = acting_form(COMMAND)
    assert form is not None
    found = form.read(text)
    assert found is None or text == f"Thought: {found['thought']}\nAction: {found['action']}"
    form.from_json(text)


def test_equal_parts_are_written_once() -> None:
    names = Choice(("mug 1", "mug 2"))
    grammar = grammar_of(Form(("take ", ("one", names), " and ", ("other", names))))
    assert grammar.splitlines() == ['root ::= "take " r0 " and " r0', 'r0 ::= "mug " r1', 'r1 ::= "1" | "2"']


def spelt(grammar: str) -> list[str]:
    """All that a grammar without loops allows."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.split("\n"))

    def texts(name: str) -> Iterator[str]:
        rest, decoder = rules[name], json.JSONDecoder()
        while rest:
            start, end = decoder.raw_decode(rest)
            rest = rest[end:].removeprefix(" ")
            below, _, rest = rest.partition("| ")
            yield from (start + text for text in (texts(below.strip()) if below.strip() else [""]))
            rest = rest.removeprefix(" ")

    return list(texts("root"))


@given(st.lists(st.text(st.sampled_from('ab" \\|é.-'), max_size=6), min_size=1, max_size=30))
def test_a_trie_of_texts_is_those_texts(choices: list[str]) -> None:
    assert sorted(spelt(grammar_of(Choice(tuple(choices))))) == sorted(set(choices))
