"""What a prompt tells, read back out of its messages: the opening, the commands with their answers, the plan."""

from __future__ import annotations

import re
from dataclasses import dataclass

from housequest.worlds.base import Observation, Transition
from tests.backends.server import Messages

REFUSED = re.compile(
    r"Nothing happens\.|You (?:have seen no|are not close to|have no free hand|do not hold) .*|Nothing can be put .*"
    r"|The .* (?:cannot be \w+.*|is \w+ already|has no switch|is closed; open it first|is open; close it first"
    r"|is in the .*; open that first)\."
)
"""What ALFWorld, and an apartment of household graphs, say to what is not possible."""

_ACTION = re.compile(r"^Action: (?P<command>.+)$", re.MULTILINE)
_EXECUTED = re.compile(r"^> (?P<command>[^\n]+)\n", re.MULTILINE)
_STEPS = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
_PLAN = re.compile(r"^(Plan|The plan was [^\n]*|The present plan):\n(?P<steps>(\d+\. .+\n?)+)", re.MULTILINE)
_SILENT = ("No command was executed.", "That reply could not be read", "The plan was")


@dataclass(frozen=True)
class Heard:
    """One user message: what it says was executed, and the plan it shows (None: none)."""

    transitions: tuple[Transition, ...]
    plan: tuple[str, ...] | None


def said_by(messages: Messages, role: str) -> list[str]:
    return [message["content"] for message in messages if message["role"] == role]


def opening(messages: Messages) -> Observation:
    """The room as it is first described."""
    return Observation(said_by(messages, "user")[0].partition("\n\nTask: ")[0])


def goal(messages: Messages) -> str:
    """The task sentence."""
    return said_by(messages, "user")[0].partition("\n\nTask: ")[2].partition("\n")[0]


def heard(messages: Messages) -> list[Heard]:
    """Each user message in turn, read with the command that the player had just given."""
    told: list[Heard] = []
    command: str | None = None
    for message in messages:
        if message["role"] == "assistant":
            action = _ACTION.search(message["content"])
            command = action["command"] if action else None
        elif message["role"] == "user":
            text = message["content"] if told else message["content"].partition("\n\nTask: ")[2]
            told.append(Heard(_transitions(text, command if told else None), _plan(text)))
            command = None
    return told


def _transitions(text: str, command: str | None) -> tuple[Transition, ...]:
    pieces = _EXECUTED.split(text)
    if len(pieces) > 1:
        pairs = zip(pieces[1::2], pieces[2::2], strict=True)
        return tuple(_transition(executed, answer) for executed, answer in pairs)
    return () if command is None or text.startswith(_SILENT) else (_transition(command, text),)


def _transition(command: str, answer: str) -> Transition:
    # Rules, hints and plans are appended after an empty line; no answer of the game's holds one.
    text = answer.strip().partition("\n\n")[0]
    return Transition(command, Observation(text, accepted=REFUSED.fullmatch(text) is None))


def _plan(text: str) -> tuple[str, ...] | None:
    plans = list(_PLAN.finditer(text))
    return tuple(_STEPS.findall(plans[-1]["steps"])) if plans else None
