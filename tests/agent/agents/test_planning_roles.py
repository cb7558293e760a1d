"""How high-level plans, dialogues and judgements are read: strictly, then leniently, and never with anything but a value."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.llm_planner.agent import LLM_PLANNER
from housequest.agent.agents.llm_planner.agent import prompted_plan as as_line
from housequest.agent.agents.opex.roles import EXECUTOR, OBSERVER
from housequest.agent.agents.opex.roles import PLANNER as OPEX_PLANNER
from housequest.agent.agents.pet.roles import SUBTASKS
from housequest.agent.agents.reasoner_actor.roles import REASONER
from housequest.agent.agents.socratic.roles import (
    CAUSE,
    DECOMPOSER,
    LONGEST_REASONING,
    QUESTIONER,
    SOCRATIC_PLANNER,
    VALIDITY,
    Exchange,
    SubgoalPlan,
)
from housequest.agent.agents.socratic.roles import dialogue_text as as_dialogue
from housequest.agent.agents.socratic.roles import numbered_subgoals as as_lines
from housequest.agent.roles.base import LONGEST_REPLY, ReplyError, Role
from housequest.agent.roles.subgoals import (
    LONGEST_NAME,
    MOST_SUBGOALS,
    PAIR_NAMES,
    Subgoal,
    plan_example,
    read_subgoals,
    same_plan,
    without_navigation,
)
from housequest.knowledge.examples import shipped

NAMES = tuple(PAIR_NAMES.values())
FETCH = (Subgoal("navigate", "fridge"), Subgoal("open", "fridge"), Subgoal("pick", "egg"))
STORE = (Subgoal("pick", "pan"), Subgoal("put", "pan", "fridge"))


def test_the_list_of_allowed_actions_said_back_is_no_plan() -> None:
    for text in (", ".join(NAMES), f"Plan: {', '.join(NAMES)}", "Navigation egg, PickupObject, PutObject"):
        with pytest.raises(ReplyError):
            read_subgoals(text, NAMES)


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("Navigation fridge, OpenObject fridge, PickupObject egg", FETCH),
        ("Next plan: Navigation fridge, OpenObject fridge, PickupObject egg", FETCH),
        ("Here is the plan:\n\n1. Navigation fridge\n2. OpenObject fridge\n3. PickupObject egg\n\nThis should work.", FETCH),
        ("1) Go to the fridge\n2) Open the fridge\n3) Pick up the egg", FETCH),
        ("- **Navigation**: fridge\n- **OpenObject**: fridge\n- **PickupObject**: egg", FETCH),
        ("Navigation, fridge, OpenObject, fridge, PickupObject, egg", FETCH),
        ("(Navigation, fridge), (OpenObject, fridge), (PickupObject, egg)", FETCH),
        ("[(Navigation, fridge), (OpenObject, fridge), (PickupObject, egg)]", FETCH),
        ("Navigation(fridge) -> OpenObject(fridge) -> PickupObject(egg)", FETCH),
        ("```\nNavigation fridge; OpenObject fridge; PickupObject egg\n```", FETCH),
        ('["Navigation fridge", "OpenObject fridge", "PickupObject egg"]', FETCH),
        ('[["Navigation", "fridge"], ["OpenObject", "fridge"], ["PickupObject", "egg"]]', FETCH),
        ('[{"action": "Navigation", "object": "fridge"}, {"a": "OpenObject", "o": "fridge"}, ["Pickup", "egg"]]', FETCH),
        ("1. (Pickup, pan)\n2. (Put, pan, fridge)", STORE),
        ("Pickup(pan)\nPut(pan, fridge)", STORE),
        ("1. Pick up a pan.\n2. Put the pan in the fridge.", STORE),
        ("(Toggle, Desk Lamp 2)", (Subgoal("toggle", "Desk Lamp 2"),)),
        ("turn on the desklamp", (Subgoal("toggle", "desklamp"),)),
        ('[["Pickup", "clean mug"]]', (Subgoal("pick", "clean mug"),)),
        ("PickupObject pan, Dance pan", None),
        ("1. Navigation fridge\n2. Sing", None),
        ("I would rather not.", None),
        ("Navigation", None),
        ("Navigation egg, " * (MOST_SUBGOALS + 1), None),
        ("[" * 10_000, None),
        ("", None),
    ],
)
def test_a_plan_is_read_in_any_dress(text: str, plan: tuple[Subgoal, ...] | None) -> None:
    if plan is None:
        with pytest.raises(ReplyError):
            read_subgoals(text, NAMES)
    else:
        assert read_subgoals(text, NAMES) == plan


def test_plans_are_read_as_they_are_written() -> None:
    for example in shipped():
        plan = plan_example(example).plan
        assert same_plan(LLM_PLANNER.read(as_line(plan, "pairs")), plan)
        assert same_plan(LLM_PLANNER.read(as_line(plan, "lines")), plan)
        bare = without_navigation(plan)
        assert SOCRATIC_PLANNER.read(f"Plan:\n{as_lines(bare)}") == SubgoalPlan("", bare)


def test_an_exact_match_cares_for_what_is_done_and_not_for_how_it_is_spelt() -> None:
    said = read_subgoals("Navigation CounterTop, PutObject CounterTop", NAMES)
    assert same_plan(said, (Subgoal("navigate", "counter top"), Subgoal("put", "egg", "countertop")))
    assert not same_plan(said, said[:1])
    assert not same_plan(said, read_subgoals("Navigation countertop, PutObject fridge", NAMES))


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
    assert SOCRATIC_PLANNER.read(reply) == SubgoalPlan(change, (Subgoal("open", "fridge"),))


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


_PARTS = ["Q1: x", "A1: y", "Plan:", "Change: z", "Valid:", "Cause:", "1. (Put, a, b)", "Navigation", "(", ",", "[[", "]"]
_TEXT = st.lists(st.one_of(st.text(max_size=60), st.sampled_from(_PARTS)), max_size=14).map("\n".join)


_EVERY: list[Role[Any]] = [
    *(LLM_PLANNER, SOCRATIC_PLANNER, QUESTIONER, VALIDITY, CAUSE, REASONER, SUBTASKS),
    *(OPEX_PLANNER, OBSERVER, EXECUTOR, DECOMPOSER),
]


@pytest.mark.heavy
@pytest.mark.parametrize("role", _EVERY, ids=lambda role: role.name)
@pytest.mark.parametrize("filling", ["\n", "\N{NO-BREAK SPACE}", "- \n"])
def test_an_endless_blank_is_read_in_linear_time(role: Role[Any], filling: str) -> None:
    # Read in the square of its length, a reply of this size would hold up the whole run for a minute.
    with suppress(ReplyError):
        role.read(f"so{filling * (LONGEST_REPLY // len(filling))}so")


@given(_TEXT)
def test_any_reply_is_a_value_or_a_reply_error(reply: str) -> None:
    for role in (LLM_PLANNER, SOCRATIC_PLANNER, QUESTIONER, VALIDITY, CAUSE):
        with suppress(ReplyError):
            role.read(reply)
    with suppress(ReplyError):
        plan = read_subgoals(reply, NAMES)
        assert 0 < len(plan) <= MOST_SUBGOALS
        assert all(len(each.object) <= LONGEST_NAME and each.object.isprintable() for each in plan)
