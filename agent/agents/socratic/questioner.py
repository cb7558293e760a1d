"""The Socratic Task Decomposer: questions itself about a task and answers (Socratic Planner, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.roles.base import ReplyError, Role

MOST_QUESTIONS = 40
LONGEST_ANSWER = 1_000

_STRICT = re.compile(r"(?P<mark>[QA])(?P<number>\d{1,2}): ?(?P<words>\S.*)")
_LABEL = re.compile(
    r"^[\W_\d]{0,8}(?P<mark>q|a|question|answer)\s?\d{0,3}[\s*_`]{0,4}[:.)：][\s*_`]{0,4}(?P<words>.*)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question that the model asked itself, with its answer."""

    question: str
    answer: str


Dialogue = tuple[Exchange, ...]


def written(dialogue: Sequence[Exchange]) -> str:
    """The dialogue as a planner is shown it."""
    return "\n".join(f"Q{at}: {each.question}\nA{at}: {each.answer}" for at, each in enumerate(dialogue, 1))


def _bounded(exchanges: list[Exchange]) -> Dialogue:
    if not exchanges:
        raise ReplyError('there is no question with its answer, as in "Q1: ..." and "A1: ...".')
    if len(exchanges) > MOST_QUESTIONS:
        raise ReplyError(f"there are more than {MOST_QUESTIONS} questions.")
    return tuple(exchanges)


def _strict(text: str) -> Dialogue:
    lines = [_STRICT.fullmatch(line.strip()) for line in text.splitlines() if line.strip()]
    marks = [f"{line['mark']}{line['number']}" if line else "" for line in lines]
    if not lines or marks != [f"{mark}{at}" for at in range(1, len(lines) // 2 + 1) for mark in "QA"]:
        raise ReplyError("these are not questions and answers in turn.")
    words = [line["words"][:LONGEST_ANSWER] for line in lines if line]
    return _bounded([Exchange(question, answer) for question, answer in zip(words[::2], words[1::2], strict=True)])


def _lenient(text: str) -> Dialogue:
    said: list[tuple[str, str]] = []
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label:
            said.append((label["mark"][0].lower(), label["words"].strip(" *_`")))
        elif said and line.strip():
            mark, words = said[-1]
            said[-1] = (mark, f"{words} {line.strip()}".strip())
    pairs = pairwise(said)
    found = [(asked[1], told[1]) for asked, told in pairs if asked[0] == "q" and told[0] == "a" and asked[1] and told[1]]
    return _bounded([Exchange(question[:LONGEST_ANSWER], answer[:LONGEST_ANSWER]) for question, answer in found])


QUESTIONER: Role[Dialogue] = Role("questioner", _strict, _lenient)
