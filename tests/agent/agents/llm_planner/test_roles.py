"""How LLM-Planner's plans are read, whatever the reply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from housequest.agent.agents.llm_planner.agent import LLM_PLANNER
from housequest.agent.agents.llm_planner.agent import prompted_plan as as_line
from housequest.agent.roles.base import Role
from housequest.agent.roles.subgoals import (
    plan_example,
    same_plan,
)
from housequest.knowledge.examples import shipped
from tests.agent.agents.test_planning_roles import TEXT, blanks, read_or_refused


def test_plans_are_read_as_they_are_written() -> None:
    for example in shipped():
        plan = plan_example(example).plan
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
