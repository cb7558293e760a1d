"""The one role of ReAct: a thought and a command (Yao et al., ReAct, ICLR 2023, section 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.roles.base import ReplyError, Role
from agent.roles.reading import checked, plain, thought, words

_STRICT = re.compile(r"Thought: ?(?P<thought>[^\n]*)\nAction: ?(?P<command>[^\n]+)")


@dataclass(frozen=True, slots=True)
class Move:
    """A thought with the command that follows from it."""

    thought: str
    command: str


def _strict(text: str) -> Move:
    match = _STRICT.fullmatch(text)
    if match is None or not plain(match["command"].strip()):
        raise ReplyError('there is no line "Thought: ..." followed by one line "Action: ...".')
    return Move(thought(match["thought"]), checked(match["command"].strip()))


def _lenient(text: str) -> Move:
    said = words(text)
    return Move(said.thought, said.command)


REACT: Role[Move] = Role("react", _strict, _lenient, stop=("\nObservation:",))
