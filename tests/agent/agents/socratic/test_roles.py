"""How dialogues, judgements and plans are read: strictly, then leniently, and never with anything but a value."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given

from housequest.agent.agents.socratic.agent import (
    CAUSE,
    DECOMPOSER,
    LONGEST_REASONING,
    QUESTIONER,
    SOCRATIC_PLANNER,
    VALIDITY,
    Exchange,
    SubgoalPlan,
    revised_form,
)
from housequest.agent.agents.socratic.agent import dialogue_text as as_dialogue
from housequest.agent.agents.socratic.agent import numbered_subgoals as as_lines
from housequest.agent.roles.base import LONGEST_REPLY, ReplyError, Role
from housequest.agent.roles.reading import high_level_plan, without_navigation
from housequest.knowledge.examples import shipped
from housequest.worlds.household.goals import Skill
from tests.agent.agents.test_planning_roles import TEXT, blanks, read_or_refused
from tests.agent.role_forms import check_form


def test_plans_are_read_as_they_are_written() -> None:
    for example in shipped():
        bare = without_navigation(high_level_plan(example))
        assert SOCRATIC_PLANNER.read(f"Plan:\n{as_lines(bare)}") == SubgoalPlan("", bare)


@pytest.mark.parametrize(
    ("reply", "change"),
    [
        ("Change: open it first\nPlan:\n1. (Open, fridge)", "open it first"),
        ("**Change:** open it first\n\n**Plan:**\n1. Open the fridge", "open it first"),
        ("Plan:\n1. (Open, fridge)", ""),
        ("1. Open fridge", ""),
    ],
)
def test_a_revised_plan_says_what_changed(reply: str, change: str) -> None:
    assert SOCRATIC_PLANNER.read(reply) == SubgoalPlan(change, (Skill("open", receptacle="fridge"),))


@pytest.mark.parametrize(
    "reply",
    [
        "Q1: What is it?\nA1: An egg.\nQ2: Where?\nA2: In the fridge.",
        "Sure!\n\n**Q1:** What is it?\n**A1:** An egg.\n\n**Q2:** Where?\n**A2:** In the\nfridge.",
        "Question 1: What is it?\nAnswer 1: An egg.\nQuestion 2: Where?\nAnswer: In the fridge.\nQ3: And then?",
    ],
)
def test_a_dialogue_is_read(reply: str) -> None:
    dialogue = QUESTIONER.read(reply)
    assert dialogue == (Exchange("What is it?", "An egg."), Exchange("Where?", "In the fridge."))
    assert QUESTIONER.read(as_dialogue(dialogue)) == dialogue


@pytest.mark.parametrize("reply", ["", "Q1: What?\nQ2: Why?", "An egg.", "Q: A:", "Q1:\nA1:"])
def test_what_is_no_dialogue_is_not_read(reply: str) -> None:
    with pytest.raises(ReplyError):
        QUESTIONER.read(reply)


@pytest.mark.parametrize(
    ("reply", "valid"),
    [
        ("Valid: yes", True),
        ("Valid: no", False),
        ("**Valid:** No, it is too heavy.", False),
        ("No.", False),
        ("yes", True),
        ("The subgoal is not valid here.", False),
        ("The subgoal is valid.", True),
        ("It is invalid.", False),
        ("It is valid, or invalid.", None),
        ("Who knows?", None),
    ],
)
def test_validity_is_read(reply: str, valid: bool | None) -> None:
    if valid is None:
        with pytest.raises(ReplyError):
            VALIDITY.read(reply)
    else:
        assert VALIDITY.read(reply) is valid


def test_a_cause_is_read() -> None:
    assert CAUSE.read("Cause: it is too heavy") == "it is too heavy"
    assert CAUSE.read("**Cause:** it is\ntoo heavy") == "it is too heavy"
    assert CAUSE.read("It is too heavy.") == "It is too heavy."
    for reply in ("", "?!", "Cause:  "):
        with pytest.raises(ReplyError):
            CAUSE.read(reply)


def test_a_chain_of_thought_is_any_text_that_says_something() -> None:
    assert DECOMPOSER.read("<think>hm</think>First find it.\n\nThen heat it. ") == "First find it.\n\nThen heat it."
    assert len(DECOMPOSER.read("x" * LONGEST_REPLY)) == LONGEST_REASONING
    for reply in ("", "...", "1. 2. 3.", "<think>So it is heated."):
        with pytest.raises(ReplyError):
            DECOMPOSER.read(reply)


@pytest.mark.heavy
@blanks(SOCRATIC_PLANNER, QUESTIONER, VALIDITY, CAUSE, DECOMPOSER)
def test_an_endless_blank_is_read_in_linear_time(role: Role[Any], reply: str) -> None:
    read_or_refused(role, reply)


@given(TEXT)
def test_any_reply_is_a_value_or_a_reply_error(reply: str) -> None:
    for role in (SOCRATIC_PLANNER, QUESTIONER, VALIDITY, CAUSE):
        read_or_refused(role, reply)


FORMS: dict[str, Role[Any]] = {
    "questioner": QUESTIONER,
    "planner": SOCRATIC_PLANNER,
    "planner again": SOCRATIC_PLANNER.held_to(revised_form()),
    "validity": VALIDITY,
    "cause": CAUSE,
}


@pytest.mark.parametrize("name", FORMS)
def test_a_role_reads_what_its_form_allows(name: str) -> None:
    check_form(FORMS[name], Random(name))
