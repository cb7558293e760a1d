"""Numbered steps in what a language model wrote, however it numbers them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.roles.base import ReplyError

LONGEST_STEP = 300
MOST_STEPS = 20

_ITEM = re.compile(r"^\s*(?:(?:step\s*)?\d{1,2}\s*[.):]|[-*•])\s*(?P<step>\S.*)$", re.IGNORECASE)


def items(text: str) -> list[str]:
    """The numbered or bulleted lines of ``text``, without their numbers and marks."""
    matches = (_ITEM.match(line) for line in text.splitlines())
    steps = [match["step"].replace("**", "").strip(" *_`") for match in matches if match]
    return [step for step in steps if step]


def bounded(steps: Sequence[str]) -> tuple[str, ...]:
    """``steps`` as a plan: some, not too many, each a line of bounded length. Raises ``ReplyError``."""
    if not steps:
        raise ReplyError("the plan has no numbered steps.")
    if len(steps) > MOST_STEPS:
        raise ReplyError(f"the plan has more than {MOST_STEPS} steps.")
    return tuple(" ".join(step.split())[:LONGEST_STEP] for step in steps)
