"""A policy that plays as `coela` through its prompts: it sends what it takes, and selects the plan that is furthest on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.backends.server import Messages

_ORDER = ("put the {} into", "turn on", "heat", "cool", "clean", "take", "look into", "put the {} down", "wait")
_LISTED = re.compile(r"(?m)^\d+\. (?P<plan>.+)$")


class Choosing:
    """Sends every message if it ``talks``; takes nothing that somebody said to take."""

    def __init__(self, *, talks: bool = False) -> None:
        self.talks = talks

    def __call__(self, messages: Messages) -> str:
        system, text = messages[0]["content"], messages[-1]["content"]
        if "Message: one or two sentences" in system:
            held = re.search(r"and hold (?P<held>[^.\n]*)\.", text)
            return f"Message: I hold {held['held'] if held else 'nothing'}."
        plans = [found["plan"] for found in _LISTED.finditer(text.partition("Possible plans:")[2])]
        if self.talks and plans[0].startswith("send the message"):
            return f"Thought: They should know.\nPlan: {plans[0]}"
        best = min(plans, key=lambda plan: next(rank for rank, _ in _rank(plan)))
        return f"Thought: So it is done.\nPlan: {best}"


def _rank(plan: str) -> Iterator[tuple[int, str]]:
    for rank, words in enumerate(_ORDER):
        if re.match(re.escape(words).replace(r"\{\}", r"\w+ \d+"), plan):
            yield rank, words
    yield len(_ORDER), ""
