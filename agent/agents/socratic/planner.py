"""The Task Planner of the Socratic Planner (sections 3.4 and 3.5): a conversation to subgoals, and their revision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.roles.base import ReplyError, Role, load_prompt
from agent.roles.reading import thought
from agent.roles.subgoals import MOST_SUBGOALS, TRIPLE_NAMES, Action, Subgoal, as_triple, read_plan

_NAMES = tuple(TRIPLE_NAMES.values())
_ACTIONS: dict[str, Action] = {name: action for action, name in TRIPLE_NAMES.items()}
_STRICT = re.compile(r"(?P<number>\d{1,2})\. \((?P<action>\w+), (?P<object>[\w ]{1,60})(?:, (?P<place>[\w ]{1,60}))?\)")
_CHANGE = re.compile(r"(?im)^[\W_]{0,40}change\b[\s*_`]*[:：][\s*_`]*(?P<words>.*)$")


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan, with what was said to have to change about the one before; empty where nothing was said."""

    change: str
    subgoals: tuple[Subgoal, ...]


def written(plan: Sequence[Subgoal]) -> str:
    """A plan as numbered lines, in the form that the planner is to write."""
    return "\n".join(f"{number}. {as_triple(subgoal)}" for number, subgoal in enumerate(plan, 1))


def system_text() -> str:
    """What the planner is told before any task."""
    household = load_prompt("socratic")
    return load_prompt("socratic_planner").render(
        "system", subtask=household.render("subtask"), rules=household.render("rules"), actions=", ".join(_NAMES)
    )


def _strict(text: str) -> Plan:
    head, label, body = text.partition("Plan:\n")
    change = head.strip()
    lines = [_STRICT.fullmatch(line.rstrip()) for line in body.splitlines() if line.strip()]
    known = all(line is not None and line["action"] in _ACTIONS for line in lines)
    if not label or not 0 < len(lines) <= MOST_SUBGOALS or not known or (change and not change.startswith("Change:")):
        raise ReplyError('there is no line "Plan:" followed by numbered subgoals.')
    found = [Subgoal(_ACTIONS[line["action"]], line["object"], line["place"]) for line in lines if line]
    return Plan(thought(change.removeprefix("Change:")), tuple(found))


def _lenient(text: str) -> Plan:
    change = _CHANGE.search(text)
    return Plan(thought(change["words"]) if change else "", read_plan(text, _NAMES))


SOCRATIC_PLANNER: Role[Plan] = Role("planner", _strict, _lenient)
