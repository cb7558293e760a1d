"""The reasoner, which writes and revises the plan, and the actor, which grounds its present step (OPEx, section 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.roles.base import ReplyError, Role
from agent.roles.reading import bounded, checked, items, json_fields, labelled, plain, read_command, thought

_STRICT_ITEM = re.compile(r"^(\d{1,2})\. (\S.*)$")
_KEEP = re.compile(r"[\W_]{0,40}keep\b.{0,60}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReasonerReply:
    """A thought with a plan; ``steps`` of None keeps the present plan."""

    thought: str
    steps: tuple[str, ...] | None


def _strict_plan(text: str) -> ReasonerReply:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not lines[0].startswith("Thought:"):
        raise ReplyError('there is no line "Thought: ..." followed by a plan.')
    said = thought(lines[0].removeprefix("Thought:"))
    if lines[1:] == ["Plan: keep"]:
        return ReasonerReply(said, None)
    items = [_STRICT_ITEM.match(line) for line in lines[2:]]
    if lines[1] != "Plan:" or not all(items):
        raise ReplyError('there is no line "Plan:" followed by numbered steps.')
    return ReasonerReply(said, bounded([item[2] for item in items if item]))


def _lenient_plan(text: str) -> ReasonerReply:
    fields = json_fields(text)
    if "plan" in fields:
        text = f"Thought: {fields.get('thought', '')}\nPlan:\n{fields['plan']}"
    said = next((thought(rest.split("\n")[0]) for label, rest in labelled(text) if label in {"thought", "think"}), "")
    plan = re.split(r"(?im)^[\W_]{0,40}(?:general |revised |new )?plan\b[\s*_`]*:", text)
    if _KEEP.fullmatch(plan[-1].strip()):
        return ReasonerReply(said, None)
    return ReasonerReply(said, bounded(items(plan[-1])))


REASONER: Role[ReasonerReply] = Role("reasoner", _strict_plan, _lenient_plan)


_STRICT_ACTION = re.compile(r"Thought: ?(?P<thought>[^\n]*)\nStep: ?(?P<step>\d{1,2})\nAction: ?(?P<command>[^\n]+)")
_STUCK = re.compile(r"stuck\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,2}")


@dataclass(frozen=True, slots=True)
class ActorReply:
    """A thought, the plan's present step (from 0; None if not given), and a command; None when stuck."""

    thought: str
    step: int | None
    command: str | None


def _actor_reply(said: str, step: str, command: str) -> ActorReply:
    number = _NUMBER.search(step)
    at = max(0, int(number[0]) - 1) if number else None
    return ActorReply(said, at, None if _STUCK.match(command) else command)


def _strict_action(text: str) -> ActorReply:
    match = _STRICT_ACTION.fullmatch(text)
    if match is None or not plain(match["command"].strip()):
        raise ReplyError('there are no three lines "Thought: ...", "Step: ..." and "Action: ...".')
    return _actor_reply(thought(match["thought"]), match["step"], checked(match["command"].strip()))


def _lenient_action(text: str) -> ActorReply:
    said = read_command(text)
    return _actor_reply(said.thought, said.step, said.command)


ACTOR: Role[ActorReply] = Role("actor", _strict_action, _lenient_action, stop=("\nObservation:",))
