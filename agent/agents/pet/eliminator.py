"""The eliminator of PET: how relevant places and objects are to what is to be done (PET, section 3.2).

Either each name is a question of its own, answered by yes against no, or one question lists them and the model writes a number
behind each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from agent.agents.pet import verdict
from agent.roles.base import ReplyError, Role, load_prompt

NAME = "eliminator"

MOST_LISTED = 40
"""Names in one question, so that the answer fits a reply."""

Scores = Mapping[str, float]

_LINE = re.compile(
    r"(?P<name>[A-Za-z][\w-]{0,59} \d{1,6})[\"'*`]{0,4}\s{0,3}[:=\u2013-]\s{0,3}[\"'*`]{0,4}"
    r"(?P<score>\d{1,3}(?:\.\d{1,9})?|\.\d{1,9})(?P<percent>\s?%)?(?![\w.]*\w)"
)


def listing(names: Sequence[str]) -> Role[Scores]:
    """The role that scores all of ``names`` in one reply; a name that it leaves out has no score."""
    return Role(NAME, partial(_strict, names), partial(_lenient, names))


ONE: Role[bool] = Role(NAME, verdict.strict, verdict.lenient)
"""The role that is asked about a single name."""


def question_all(target: str, names: Sequence[str], *, places: bool) -> str:
    """The question about ``names``, all of them places or all of them objects."""
    section = "places" if places else "objects"
    return load_prompt(NAME).render(section, target=target, names="\n".join(names))


def question_one(target: str, name: str, *, place: bool) -> str:
    """The question about one name, which comes last, so that what comes before is the same for all."""
    return load_prompt(NAME).render("place" if place else "object", target=target, name=name)


def _strict(names: Sequence[str], text: str) -> Scores:
    scores: dict[str, float] = {}
    for line in text.splitlines():
        name, _, score = line.partition(": ")
        if name not in names or not re.fullmatch(r"0|1|[01]\.\d{1,9}", score, re.ASCII) or float(score) > 1:
            raise ReplyError("there are lines other than a name with a number between 0 and 1.")
        scores[name] = float(score)
    if len(scores) < len(names):
        raise ReplyError("there is not a line for every name.")
    return scores


def _lenient(names: Sequence[str], text: str) -> Scores:
    known = {name.lower(): name for name in names}
    scores: dict[str, float] = {}
    for found in _LINE.finditer(text):
        score = float(found["score"]) / (100 if found["percent"] else 1)
        if (name := known.get(found["name"].lower())) is not None and score <= 1:
            scores.setdefault(name, score)
    if not scores:
        raise ReplyError("there is no line that has a name with a number between 0 and 1.")
    return scores
