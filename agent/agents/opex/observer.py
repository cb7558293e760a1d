"""The observer: describes the present state with the subtask in mind, and nothing else (OPEx, section 3, "LLM-based Observer").

It is asked without examples and keeps nothing: each call is its instructions and one message (figure 4). So its prompts are not
appended to, and share only the instructions as a prefix; a conversation would cost far more than that saves. Where the
paper's gets what a detector saw, this one gets what the text has told, put together.
"""

from __future__ import annotations

import re

from agent.roles.base import ReplyError, Role
from agent.roles.reading import json_fields

LONGEST_DESCRIPTION = 1_500

_MISSING = 'there is no line that begins with "Observation:".'
_LABEL = re.compile(r"(?is)\A.*?^[\W_]{0,40}(?:observation|description)\b[\s*_`]*[:：]", re.MULTILINE)


def _strict(text: str) -> str:
    if not text.startswith("Observation: "):
        raise ReplyError(_MISSING)
    return _described(text.removeprefix("Observation: "))


def _lenient(text: str) -> str:
    described = json_fields(text).get("observation")
    label = None if described else _LABEL.match(text)
    if described is None and label is None:
        raise ReplyError(_MISSING)
    return _described(described or text[label.end() if label else 0 :])


def _described(text: str) -> str:
    description = " ".join(text.split())[:LONGEST_DESCRIPTION]
    if not description:
        raise ReplyError("the observation is empty.")
    return description


OBSERVER: Role[str] = Role("observer", _strict, _lenient, stop=("\nObjective:",))
