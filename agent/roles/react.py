"""The one role of ReAct: a thought and a command (Yao et al., ReAct, ICLR 2023, section 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.roles.base import ReplyError, Role
from agent.roles.reading import checked, json_fields, labelled, lone_line, thought, undress

_STRICT = re.compile(r"Thought: ?(?P<thought>[^\n]*)\nAction: ?(?P<command>[^\n]+)")


@dataclass(frozen=True, slots=True)
class Move:
    """A thought with the command that follows from it."""

    thought: str
    command: str


def _strict(text: str) -> Move:
    match = _STRICT.fullmatch(text)
    if match is None:
        raise ReplyError('there is no line "Thought: ..." followed by one line "Action: ...".')
    return Move(thought(match["thought"]), checked(match["command"].strip()))


def _lenient(text: str) -> Move:
    said = ""
    for label, rest in labelled(text):
        if label in {"action", "act", "command"}:
            # What follows the first action is the model's imagination of the answer.
            return Move(said, checked(undress(rest.split("\n")[0])))
        if label in {"thought", "think"}:
            said = thought(rest)
    fields = json_fields(text)
    command = fields.get("action") or fields.get("command")
    if command is None and not fields:
        command = lone_line(text)
    if command is None:
        raise ReplyError('there is no line that begins with "Action:".')
    return Move(thought(fields.get("thought", "")), checked(undress(command)))


REACT: Role[Move] = Role("react", _strict, _lenient, stop=("\nObservation:",))
