"""A form's grammar, JSON schema and strict reader are of the same texts, and each role reads what its form allows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.llm_planner.agent import LLM_PLANNER, plan_form
from housequest.agent.agents.lota.selector import reader_of as skills_of
from housequest.agent.agents.opex.roles import EXECUTOR, KINDS, OBSERVER, PLANNER, SKILLS, executor_form, planner_form
from housequest.agent.agents.pet.roles import ONE, SUBTASKS, TRACKER, listing
from housequest.agent.agents.react.agent import REACT
from housequest.agent.agents.reasoner_actor.roles import ACTOR, REASONER
from housequest.agent.agents.socratic.roles import CAUSE, QUESTIONER, SOCRATIC_PLANNER, VALIDITY, revised_form
from housequest.agent.explorer.distiller import DISTILLER, distilling_form
from housequest.agent.explorer.judges import ARBITER, JUDGE, judging_form
from housequest.agent.models.forms import Choice, Either, Form, Listed, Name, Value, Words, grammar_of
from housequest.agent.roles.base import Role
from housequest.agent.roles.commands import acting_form, command_value, planning_form
from housequest.agent.skills.searcher import reader_of as places_of
from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief
from housequest.worlds.registry import make_world

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
    "planner of opex": PLANNER.held_to(planner_form(KINDS)),
    "observer": OBSERVER,
    "executor": EXECUTOR.held_to(executor_form(SKILLS)),
    "subtasks": SUBTASKS,
    "tracker": TRACKER,
    "one": ONE,
    "listing": listing(["fridge 1", "shelf 2"]),
    "llm-planner": LLM_PLANNER.held_to(plan_form("pairs")),
    "llm-planner in lines": LLM_PLANNER.held_to(plan_form("lines")),
    "questioner": QUESTIONER,
    "socratic": SOCRATIC_PLANNER,
    "socratic again": SOCRATIC_PLANNER.held_to(revised_form()),
    "validity": VALIDITY,
    "cause": CAUSE,
    "searcher": places_of(["fridge 1", "shelf 1", "shelf 2"]),
    "distiller": DISTILLER.held_to(distilling_form(12)),
    "judge": JUDGE.held_to(judging_form(3)),
    "arbiter": ARBITER,
    "selector": skills_of(["find a mug", "done"], ["find a mug"]),
    "selector of lists": skills_of(
        ["find a mug", "pick up the mug", "done"], ["find a mug", "pick up the mug", "done"], whole=True
    ),
}


def json_of(value: Value, chance: Random) -> object:
    """Some JSON that the schema of ``value`` allows."""
    match value:
        case Words():
            return chance.choice(["I see a mug.", "look for it", "Ja, größer\nals \x00 das", "Go" * 400, "1. First"])
        case Name():
            return chance.choice(["mug 1", "The Big Mug", "sidetable 2", "mug (the red one)"])
        case Choice(texts):
            return chance.choice(texts).strip()
        case Either(options):
            return json_of(chance.choice(options), chance)
        case Listed(item=item, most=most):
            return [json_of(item, chance) for _ in range(chance.randint(1, most))]
        case Form(parts):
            return {part[0]: json_of(part[1], chance) for part in parts if not isinstance(part, str)}
        case _:
            raise AssertionError(value)


@pytest.mark.parametrize("name", ROLES)
def test_a_role_reads_all_that_its_form_allows(name: str) -> None:
    role, chance = ROLES[name], Random(name)
    assert role.form is not None
    for _ in range(60):
        text = role.form.from_json(json.dumps(json_of(role.form, chance)))
        assert text is not None
        assert role.form.read(text) is not None, text
        assert len(text) <= role.form.longest
        role.read(text)


@pytest.mark.parametrize("name", ROLES)
def test_a_form_without_its_thought_is_read_too(name: str) -> None:
    role, chance = ROLES[name], Random(name)
    assert role.form is not None
    short = role.form.without_thought
    for _ in range(20):
        text = short.written(json_of(short, chance))
        assert text is not None
        role.read(text)


@pytest.mark.parametrize("name", ROLES)
def test_a_schema_asks_for_all_that_it_names_and_nothing_else(name: str) -> None:
    form = ROLES[name].form
    assert form is not None
    objects = [form.schema]
    for each in objects:
        if each.get("type") == "object":
            assert each["required"] == list(each["properties"])
            assert each["additionalProperties"] is False
        objects += [*each.get("properties", {}).values(), *each.get("anyOf", ()), *([each["items"]] if "items" in each else [])]


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


def test_what_no_belief_holds_such_as_a_room_is_any_name() -> None:
    world = make_world("household-graph")
    assert world.household is not None
    form = acting_form(command_value(world, seen()))
    assert form is not None
    assert form.read("Thought: So.\nAction: walk to kitchen 1") is not None
    assert form.read("Thought: So.\nAction: grab mug 2") is not None
    assert form.read("Thought: So.\nAction: grab moon 1") is None


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


def test_a_grammar_names_each_rule_that_it_refers_to() -> None:
    for role in ROLES.values():
        assert role.form is not None
        rules = dict(line.split(" ::= ", 1) for line in role.form.grammar.splitlines())
        bare = re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\d+,\d+\}', "", "\n".join(rules.values()))
        assert set(re.findall(r"[a-z]\w*", bare)) | {"root"} == set(rules)


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
