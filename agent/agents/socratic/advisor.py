"""The feedback of Vision-based Socratic Re-planning (section 3.5): is a failed subgoal valid, and if not, why did it fail?

The paper asks a vision-language model about an image; here the observation text is what is seen, and the same model is asked.
"""

from __future__ import annotations

import re

from agent.roles.base import ReplyError, Role
from agent.roles.reading import thought

LONGEST_CAUSE = 500

_VALID = re.compile(
    r"(?im)^[\W_]{0,40}(?:(?:valid\b[\s*_`]{0,8}|answer)[:：][\s*_`\"']{0,40})?(?P<word>yes|no|true|false|valid|invalid)\b"
)
_ANYWHERE = re.compile(r"\b(?P<not>in|not )?valid\b", re.IGNORECASE)
_CAUSE = re.compile(r"(?is)\bcause\b[\s*_`]*[:：][\s*_`]*(?P<words>.*)")


def _valid_strict(text: str) -> bool:
    if text not in {"Valid: yes", "Valid: no"}:
        raise ReplyError('the answer is neither "Valid: yes" nor "Valid: no".')
    return text == "Valid: yes"


def _valid_lenient(text: str) -> bool:
    found = _VALID.search(text)
    if found:
        return found["word"].lower() in {"yes", "true", "valid"}
    words = {bool(each["not"]) for each in _ANYWHERE.finditer(text)}
    if len(words) != 1:
        raise ReplyError('the answer is neither "Valid: yes" nor "Valid: no".')
    return words == {False}


def _cause_strict(text: str) -> str:
    if not text.startswith("Cause: ") or "\n" in text or len(text) > LONGEST_CAUSE:
        raise ReplyError('there is no line "Cause: ...".')
    return thought(text.removeprefix("Cause:"))


def _cause_lenient(text: str) -> str:
    found = _CAUSE.search(text)
    words = " ".join((found["words"] if found else text).split())
    if not any(character.isalpha() for character in words):
        raise ReplyError("no cause is given.")
    return words[:LONGEST_CAUSE]


VALIDITY: Role[bool] = Role("advisor", _valid_strict, _valid_lenient)
CAUSE: Role[str] = Role("advisor", _cause_strict, _cause_lenient)
