"""What distiller, judge and arbiter say is read in the form that was asked for, in others that models use, or not at all."""

from __future__ import annotations

import json
from random import Random
from string import Template
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.explorer.distiller import DISTILLER, MOST_RULES, MOST_STEPS, ProposedRule, distilling_form
from housequest.agent.explorer.filtering import ARBITER, JUDGE, judging_form
from housequest.agent.roles.base import ReplyError, Role, load_prompt, template_hashes
from housequest.knowledge.checks import parse_check
from housequest.worlds.registry import household
from tests.agent.agents.test_planning_roles import blanks, read_or_refused
from tests.agent.role_forms import check_form
from tests.backends.teacher import rule

HANDS = ProposedRule(
    statement="Only one thing can be carried.",
    kind="mechanic",
    objects=("mug", "fridge"),
    steps=(3, 17),
    check="take {object} from {receptacle}; when holding something; then refused",
)
FIELDS = {"rule": HANDS.statement, "kind": "mechanic", "objects": ["mug", "fridge"], "steps": [3, 17], "check": HANDS.check}
PLAIN = f"Rule: {HANDS.statement}\nKind: mechanic\nObjects: mug, fridge\nSteps: 3, 17\nCheck: {HANDS.check}"


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        f"<think>hm, Rule: none</think>\n\n{PLAIN}\n",
        f"Here are the rules.\n\n```\n{PLAIN}\n```",
        f"1. **Rule:** {HANDS.statement}\n   - **Kind:** Mechanic.\n   - **Objects:** a mug, Fridge 1\n"
        f"   - Steps: [3], [17]\n   - **Check:** `{HANDS.check}`",
        f"- rule: {HANDS.statement}\n  kind: mechanic\n  objects: [mug, fridge]\n  steps: 3 and 17\n"
        "  check: take {object} from\n    {receptacle}; when holding something; then refused",
        json.dumps([FIELDS]),
        f"```json\n{json.dumps({'rules': [FIELDS]}, indent=2)}\n```",
        json.dumps(FIELDS).replace('"rule"', '"Statement"'),
    ],
)
def test_a_rule_is_read_in_many_forms(reply: str) -> None:
    assert DISTILLER.read(reply) == (HANDS,)


def test_an_underscore_at_the_beginning_of_a_rule_belongs_to_it() -> None:
    assert DISTILLER.read(rule("_wait_ passes a turn."))[0].statement == "_wait_ passes a turn."


def test_several_rules_and_none() -> None:
    found = DISTILLER.read(f"{PLAIN}\n\n{rule('Be quick.', kind='strategy', steps='2-4')}")
    assert found[0] == HANDS
    assert found[1] == ProposedRule("Be quick.", "strategy", (), (2, 3, 4))
    for nothing in ("Rules: none", "**Rules:** none.", "None", "no rules here"):
        assert DISTILLER.read(nothing) == ()
    many = DISTILLER.read("\n\n".join(rule(f"Rule {number}.") for number in range(MOST_RULES + 7)))
    assert len(many) == MOST_RULES + 7
    assert len(DISTILLER.read(rule("x", steps="1-999999, 5"))[0].steps) == MOST_STEPS


@pytest.mark.parametrize(
    "reply", ["", "I have learned a lot.", "[]", "[" * 5_000, '{"a": ' * 3_000, "Kind: mechanic", "&a [*a, *a]"]
)
def test_what_holds_no_rule_is_refused(reply: str) -> None:
    with pytest.raises(ReplyError):
        DISTILLER.read(reply)


def test_judgements_are_read() -> None:
    assert JUDGE.read("1: same\n2: contrary\n3: different") == {1: "same", 2: "contrary", 3: "different"}
    for reply in (
        "1. Same\n2) **Contradictory** - they clash",
        "Pair 1: duplicate\npair 2 - contrary",
        '{"1": "same", "2": "contradict"}',
    ):
        assert JUDGE.read(reply) == {1: "same", 2: "contrary"}
    with pytest.raises(ReplyError):
        JUDGE.read("They are all fine.")


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("Thought: so it was.\nRight: A", "first"),
        ("**Right:** B", "second"),
        ("Thought: A says more.\n\nRight: unsure.", "unsure"),
        ('{"thought": "x", "right": "B"}', "second"),
        ("b", "second"),
    ],
)
def test_decisions_are_read(reply: str, right: str) -> None:
    assert ARBITER.read(reply) == right


@given(st.text(max_size=300) | st.text(alphabet='RuleStpsChck:json[]{}",0123456789-\n ', max_size=400))
def test_any_reply_is_read_or_refused(reply: str) -> None:
    for role in (DISTILLER, JUDGE, ARBITER):
        try:
            role.read(reply)
        except ReplyError as error:
            assert str(error)


@pytest.mark.parametrize("world", ["alfworld", "household-graph"])
def test_the_checks_in_the_prompt_are_about_commands_of_the_world(world: str) -> None:
    reader = household(world)
    assert reader is not None
    forms = {form.pattern for form in reader.commands.forms}
    assert {parse_check(line).command for line in reader.commands.checks} <= forms
    system = load_prompt("housequest.agent.explorer", "distiller").render(
        "system", manual="", most="1", checks="\n".join(reader.commands.checks)
    )
    assert all(check in system for check in reader.commands.checks)


@pytest.mark.parametrize("role", [DISTILLER.held_to(distilling_form(12)), JUDGE.held_to(judging_form(3)), ARBITER])
def test_a_role_reads_what_its_form_allows(role: Role[Any]) -> None:
    check_form(role, Random(role.name))


@pytest.mark.heavy
@blanks(ARBITER)
def test_an_endless_blank_is_read_in_linear_time(role: Role[Any], reply: str) -> None:
    read_or_refused(role, reply)


def test_prompts_hold_sections_that_are_templates() -> None:
    assert set(template_hashes("housequest.agent.explorer")) == {"distiller", "judge"}
    for name in template_hashes("housequest.agent.explorer"):
        sections = load_prompt("housequest.agent.explorer", name).sections
        assert sections
        assert all(Template(text).is_valid() for text in sections.values())
