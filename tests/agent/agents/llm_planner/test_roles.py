"""How LLM-Planner's plans are read, whatever the reply."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given

from housequest.agent.agents.llm_planner.agent import LLM_PLANNER, plan_form
from housequest.agent.agents.llm_planner.agent import prompted_plan as as_line
from housequest.agent.roles.base import Role
from housequest.agent.roles.reading import PAIR_NAMES, high_level_plan, read_subgoals
from housequest.knowledge.examples import shipped
from housequest.worlds.household.goals import Skill
from scripts.leave_one_out import same_plan
from tests.agent.agents.test_planning_roles import TEXT, blanks, read_or_refused
from tests.agent.role_forms import check_form


def test_plans_are_read_as_they_are_written() -> None:
    for example in shipped():
        plan = high_level_plan(example)
        assert same_plan(LLM_PLANNER.read(as_line(plan, "pairs")), plan)
        assert same_plan(LLM_PLANNER.read(as_line(plan, "lines")), plan)


@pytest.mark.heavy
@blanks(LLM_PLANNER)
def test_an_endless_blank_is_read_in_linear_time(role: Role[Any], reply: str) -> None:
    read_or_refused(role, reply)


@given(TEXT)
def test_any_reply_is_a_value_or_a_reply_error(reply: str) -> None:
    for role in (LLM_PLANNER,):
        read_or_refused(role, reply)


FORMS: dict[str, Role[Any]] = {
    "pairs": LLM_PLANNER.held_to(plan_form("pairs")),
    "lines": LLM_PLANNER.held_to(plan_form("lines")),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_role_reads_what_its_form_allows(name: str) -> None:
    check_form(FORMS[name], Random(name))


def test_an_exact_match_cares_for_what_is_done_and_not_for_how_it_is_spelt() -> None:
    names = tuple(PAIR_NAMES.values())
    said = read_subgoals("Navigation CounterTop, PutObject CounterTop", names)
    assert same_plan(said, (Skill("go", "counter top"), Skill("put", "egg", "countertop")))
    assert not same_plan(said, said[:1])
    assert not same_plan(said, read_subgoals("Navigation countertop, PutObject fridge", names))
