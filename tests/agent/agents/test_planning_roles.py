"""How high-level plans, dialogues and judgements are read: strictly, then leniently, and never with anything but a value."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.reasoner_actor.agent import REASONER
from housequest.agent.roles.base import LONGEST_REPLY, ReplyError, Role
from housequest.agent.roles.reading import LONGEST_TARGET, MOST_SUBGOALS, PAIR_NAMES, read_subgoals
from housequest.worlds.household.goals import Skill

NAMES = tuple(PAIR_NAMES.values())
FETCH = (Skill("go", "fridge"), Skill("open", receptacle="fridge"), Skill("pick", "egg"))
STORE = (Skill("pick", "pan"), Skill("put", "pan", "fridge"))


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
        ("(Toggle, Desk Lamp 2)", (Skill("use", "Desk Lamp 2"),)),
        ("turn on the desklamp", (Skill("use", "desklamp"),)),
        ('[["Pickup", "clean mug"]]', (Skill("pick", "clean mug"),)),
        ("PickupObject pan, Dance pan", None),
        ("1. Navigation fridge\n2. Sing", None),
        ("I would rather not.", None),
        ("Navigation", None),
        ("Navigation egg, " * (MOST_SUBGOALS + 1), None),
        ("[" * 10_000, None),
        ("", None),
    ],
)
def test_a_plan_is_read_in_any_dress(text: str, plan: tuple[Skill, ...] | None) -> None:
    if plan is None:
        with pytest.raises(ReplyError):
            read_subgoals(text, NAMES)
    else:
        assert read_subgoals(text, NAMES) == plan


def blanks(*roles: Role[Any]) -> pytest.MarkDecorator:
    """Replies that are blank but for their ends; read in the square of their length, one holds a run up for a minute."""
    every = [
        pytest.param(role, f"so{filling * (LONGEST_REPLY // len(filling))}so", id=f"{role.name}-{number}")
        for role in roles
        for number, filling in enumerate(("\n", "\N{NO-BREAK SPACE}", "- \n"))
    ]
    return pytest.mark.parametrize(("role", "reply"), every)


def read_or_refused(role: Role[Any], reply: str) -> None:
    with suppress(ReplyError):
        role.read(reply)


_PARTS = ["Q1: x", "A1: y", "Plan:", "Change: z", "Valid:", "Cause:", "1. (Put, a, b)", "Navigation", "(", ",", "[[", "]"]
TEXT = st.lists(st.one_of(st.text(max_size=60), st.sampled_from(_PARTS)), max_size=14).map("\n".join)


@pytest.mark.heavy
@blanks(REASONER)
def test_an_endless_blank_is_read_in_linear_time(role: Role[Any], reply: str) -> None:
    read_or_refused(role, reply)


@given(TEXT)
def test_any_reply_is_a_plan_or_a_reply_error(reply: str) -> None:
    with suppress(ReplyError):
        plan = read_subgoals(reply, NAMES)
        assert 0 < len(plan) <= MOST_SUBGOALS
        targets = [target for each in plan for target in (each.object, each.receptacle) if target is not None]
        assert all(len(target) <= LONGEST_TARGET and target.isprintable() for target in targets)
