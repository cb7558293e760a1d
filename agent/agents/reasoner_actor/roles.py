"""The reasoner, which writes and revises the plan, and the actor, which grounds its present step (OPEx, section 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from housequest.agent.roles.base import Role
from housequest.agent.roles.reading import bounded, items, json_fields, labelled, read_command, thought

_EXACT = re.compile(r"Thought:(?P<thought>.*)\nPlan:(?: keep|(?P<steps>(?:\n\d{1,2}\. \S.*)+))")
_PLAN = re.compile(r"(?im)^[\W_]{0,40}(?:general |revised |new )?plan\b[\s*_`]*:")
_KEEP = re.compile(r"[\W_]{0,40}keep\b.{0,60}", re.IGNORECASE)
STUCK = "stuck"
"""What the actor says in place of a command when the plan cannot be followed."""
MOST_HELD = 8
"""Steps of a plan that is held to its form; its prompt asks for two to six."""

_STUCK = re.compile(r"stuck\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,2}")


@dataclass(frozen=True, slots=True)
class ReasonerReply:
    """A thought with a plan; ``steps`` of None keeps the present plan."""

    thought: str
    steps: tuple[str, ...] | None


def _read_plan(text: str) -> ReasonerReply:
    exact = _EXACT.fullmatch("\n".join(line.rstrip() for line in text.splitlines() if line.strip()))
    if exact:
        steps = [line.partition(". ")[2] for line in (exact["steps"] or "").splitlines()[1:]]
        return ReasonerReply(thought(exact["thought"]), bounded(steps) if steps else None)
    fields = json_fields(text)
    if "plan" in fields:
        text = f"Thought: {fields.get('thought', '')}\nPlan:\n{fields['plan']}"
    said = next((thought(rest.split("\n")[0]) for label, rest in labelled(text) if label in {"thought", "think"}), "")
    plan = _PLAN.split(text)[-1]
    return ReasonerReply(said, None if _KEEP.fullmatch(plan.strip()) else bounded(items(plan)))


REASONER: Role[ReasonerReply] = Role("reasoner", _read_plan)


@dataclass(frozen=True, slots=True)
class ActorReply:
    """A thought, the plan's present step (from 0; None if not given), and a command; None when stuck."""

    thought: str
    step: int | None
    command: str | None


def _read_action(text: str) -> ActorReply:
    said = read_command(text)
    number = _NUMBER.search(said.step)
    step = max(0, int(number[0]) - 1) if number else None
    return ActorReply(said.thought, step, None if _STUCK.match(said.command) else said.command)


ACTOR: Role[ActorReply] = Role("actor", _read_action, stop=("\nObservation:",))
