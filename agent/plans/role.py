"""The role that writes a whole ALFRED plan for an instruction (LLM-Planner, section 4.2, static setting)."""

from __future__ import annotations

from agent.roles.base import ReplyError, Role
from worlds.alfred.plans import Plan, PlanError, read_loosely, read_plan


def _strict(text: str) -> Plan:
    try:
        return read_plan(text)
    except PlanError as error:
        raise ReplyError(str(error)) from error


def _lenient(text: str) -> Plan:
    try:
        return read_loosely(text)
    except PlanError as error:
        raise ReplyError(f"{error} Write one step a line, as in 'PutObject apple fridge'.") from error


ALFRED_PLAN: Role[Plan] = Role("alfred_plan", _strict, _lenient, stop=("\nTask:",))
