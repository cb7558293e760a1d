"""The actor: grounds the plan's present step into one executable command (OPEx, section 3, "Prior Knowledge Integration")."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.roles.base import ReplyError, Role
from agent.roles.reading import checked, plain, thought, words

_STRICT = re.compile(r"Thought: ?(?P<thought>[^\n]*)\nStep: ?(?P<step>\d{1,2})\nAction: ?(?P<command>[^\n]+)")
_STUCK = re.compile(r"stuck\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,2}")


@dataclass(frozen=True, slots=True)
class Grounding:
    """A thought, the plan's step worked on (from 0; None where not said), and its command; None when stuck."""

    thought: str
    step: int | None
    command: str | None


def _grounding(said: str, step: str, command: str) -> Grounding:
    number = _NUMBER.search(step)
    at = max(0, int(number[0]) - 1) if number else None
    return Grounding(said, at, None if _STUCK.match(command) else command)


def _strict(text: str) -> Grounding:
    match = _STRICT.fullmatch(text)
    if match is None or not plain(match["command"].strip()):
        raise ReplyError('there are no three lines "Thought: ...", "Step: ..." and "Action: ...".')
    return _grounding(thought(match["thought"]), match["step"], checked(match["command"].strip()))


def _lenient(text: str) -> Grounding:
    said = words(text)
    return _grounding(said.thought, said.step, said.command)


ACTOR: Role[Grounding] = Role("actor", _strict, _lenient, stop=("\nObservation:",))
