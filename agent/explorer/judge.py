"""The judge: which rules say the same and which exclude each other; and the arbiter, who is asked which of two is right.

Together they are the filter that "eliminates contradictory and duplicated world knowledge" (OPEx, section 3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from agent.roles.base import ReplyError, Role
from agent.roles.reading import json_fields

Likeness = Literal["same", "contrary", "different"]
Right = Literal["first", "second", "unsure"]

_STRICT = re.compile(r"(?P<number>\d{1,4}): (?P<word>same|contrary|different)")
_LENIENT = re.compile(
    r"^[\W_]{0,6}(?:pair\s)?(?P<number>\d{1,4})\W{1,6}(?P<word>same|duplicate|contrary|contradict\w{0,5}|different)\b",
    re.IGNORECASE | re.MULTILINE,
)
_WORDS: Mapping[str, Likeness] = {"same": "same", "dupl": "same", "cont": "contrary", "diff": "different"}
_RIGHT: Mapping[str, Right] = {"a": "first", "b": "second", "unsure": "unsure"}
_DECIDED = re.compile(r"Thought: ?(?P<thought>[^\n]*)\nRight: ?(?P<word>A|B|unsure)")
_PERHAPS = re.compile(
    r"^[\W_]{0,40}(?:(?:right|answer)[\W_]{0,40})?\b(?P<word>a|b|unsure)\b[\W_]{0,40}$", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The word for each pair that the reply speaks of, by the pair's number from 1."""

    pairs: Mapping[int, Likeness]


def _strict(text: str) -> Judgement:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    matches = [_STRICT.fullmatch(line) for line in lines]
    if not lines or not all(matches):
        raise ReplyError('there are lines other than a number with "same", "contrary" or "different".')
    return Judgement({int(match["number"]): cast("Likeness", match["word"]) for match in matches if match})


def _lenient(text: str) -> Judgement:
    found: dict[int, Likeness] = {
        int(key): _WORDS[word.strip().lower()[:4]]
        for key, word in json_fields(text).items()
        if key.isascii() and key.isdecimal() and len(key) < 5 and word.strip().lower()[:4] in _WORDS
    }
    if not found:
        found = {int(match["number"]): _WORDS[match["word"].lower()[:4]] for match in _LENIENT.finditer(text)}
    if not found:
        raise ReplyError("there is no line with a pair's number and its word.")
    return Judgement(found)


def _decided(text: str) -> Right:
    match = _DECIDED.fullmatch(text)
    if match is None:
        raise ReplyError('there is no line "Thought: ..." followed by one line "Right: A, B or unsure".')
    return _RIGHT[match["word"].lower()]


def _perhaps(text: str) -> Right:
    said = json_fields(text).get("right")
    found = [said.strip().lower()] if said is not None else [match["word"].lower() for match in _PERHAPS.finditer(text)]
    if not found or found[-1] not in _RIGHT:
        raise ReplyError('there is no line that begins with "Right:".')
    return _RIGHT[found[-1]]


JUDGE: Role[Judgement] = Role("judge", _strict, _lenient)
ARBITER: Role[Right] = Role("arbiter", _decided, _perhaps)
