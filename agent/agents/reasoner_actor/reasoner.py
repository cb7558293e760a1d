"""The reasoner: writes and revises the general plan (OPEx, section 3, "Prior Knowledge Integration")."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.roles.base import ReplyError, Role
from agent.roles.lists import bounded, items
from agent.roles.reading import json_fields, labelled, thought

_STRICT_ITEM = re.compile(r"^(\d{1,2})\. (\S.*)$")
_KEEP = re.compile(r"[\W_]{0,40}keep\b.{0,60}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Plan:
    """A thought with a plan; ``steps`` None keeps the plan there is."""

    thought: str
    steps: tuple[str, ...] | None


def _strict(text: str) -> Plan:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not lines[0].startswith("Thought:"):
        raise ReplyError('there is no line "Thought: ..." followed by a plan.')
    said = thought(lines[0].removeprefix("Thought:"))
    if lines[1:] == ["Plan: keep"]:
        return Plan(said, None)
    items = [_STRICT_ITEM.match(line) for line in lines[2:]]
    if lines[1] != "Plan:" or not all(items):
        raise ReplyError('there is no line "Plan:" followed by numbered steps.')
    return Plan(said, bounded([item[2] for item in items if item]))


def _lenient(text: str) -> Plan:
    fields = json_fields(text)
    if "plan" in fields:
        text = f"Thought: {fields.get('thought', '')}\nPlan:\n{fields['plan']}"
    said = next((thought(rest.split("\n")[0]) for label, rest in labelled(text) if label in {"thought", "think"}), "")
    plan = re.split(r"(?im)^[\W_]{0,40}(?:general |revised |new )?plan\b[\s*_`]*:", text)
    if _KEEP.fullmatch(plan[-1].strip()):
        return Plan(said, None)
    return Plan(said, bounded(items(plan[-1])))


REASONER: Role[Plan] = Role("reasoner", _strict, _lenient)
