"""A question that is answered yes or no: how the answer is read, and how sure the model was where it can tell."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from agent.roles.base import ReplyError

ALTERNATIVES = 10
"""First words that are looked at; yes and no are among the likeliest where they are an answer at all."""

_STRICT = re.compile(r"(?P<word>Yes|No)\.?")
_BEGUN = re.compile(r"[\W_]{0,8}(?:(?:the |my )?answer\b\W{0,8}(?:is\b\W{0,4})?)?(?P<word>yes|no)\b", re.IGNORECASE)
_ANSWER = re.compile(r"\banswer\b\W{0,8}(?:is\b\W{0,4})?(?P<word>yes|no)\b", re.IGNORECASE)


def strict(text: str) -> bool:
    """Read a bare "Yes" or "No". Raises ``ReplyError``."""
    return _said(_STRICT.fullmatch(text))


def lenient(text: str) -> bool:
    """Read a reply that begins with yes or no, or names one of them its answer. Raises ``ReplyError``."""
    return _said(_BEGUN.match(text) or _ANSWER.search(text))


def _said(found: re.Match[str] | None) -> bool:
    if found is None:
        raise ReplyError('it is neither "Yes" nor "No".')
    return found["word"].lower() == "yes"


def probability(alternatives: Sequence[tuple[str, float]]) -> float | None:
    """p(yes) against p(no) from the log-probabilities (nats) of the ways to begin a reply; None where neither is among them."""
    masses = {"yes": 0.0, "no": 0.0}
    for text, logprob in dict(alternatives).items():
        word = text.strip(" \t\r\n\"'*▁Ġ").rstrip(".,").lower()
        if word in masses and not math.isnan(logprob):
            masses[word] += math.exp(min(logprob, 0.0))
    total = sum(masses.values())
    return masses["yes"] / total if total else None
