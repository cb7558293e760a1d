"""A model that explores: it plays as ``policy`` does, and says of what was played what a test tells it to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.backends import prompts
from tests.backends.policy import Solver
from tests.backends.server import Messages, Policy

GOOD = "Opening a receptacle makes it open."
FALSE = "The command open is always refused."
THERE = "Who goes to a receptacle is at it."
NOT_THERE = "Who goes to a receptacle is not at it."
DRAWERS = "Look into drawers before you look into cabinets."
CABINETS = "Look into cabinets before you look into drawers."
SHELVES = "It is wise to begin with shelves."
NO_SHELVES = "It is not wise to begin with shelves."


def rule(statement: str, *, kind: str = "mechanic", steps: str = "1", check: str = "none", objects: str = "none") -> str:
    return f"Rule: {statement}\nKind: {kind}\nObjects: {objects}\nSteps: {steps}\nCheck: {check}"


LESSON = (
    rule(GOOD, check="open {receptacle}; then {receptacle} is open", steps="1, 2"),
    rule("Opening the receptacle makes it OPEN"),
    rule("A receptacle is open once you have opened it.", kind="affordance", steps="3"),
    rule(FALSE, check="open {receptacle}; then refused"),
    rule(NOT_THERE, check="go to {receptacle}; then not at {receptacle}"),
    rule(THERE, check="go to {receptacle}; then at {receptacle}"),
    rule(DRAWERS, kind="strategy", objects="drawer, cabinets 1"),
    rule(CABINETS, kind="strategy", steps="2-3"),
    rule(SHELVES, kind="strategy"),
    rule(NO_SHELVES, kind="strategy"),
    rule("Lamps give light.", check="__import__('os').system('true')"),
    rule("Nothing shows this.", steps="none"),
    rule("This is not of here.", steps="9999"),
    rule("x" * 500),
    rule("..."),
)
"""What a reply may hold: good, false, said twice, contradictory and malformed."""


@dataclass
class Teacher:
    """Answers the distiller's chunk N with ``lessons[N]``, the last one again and again; the judge by ``like``, by the
    statements of a pair; the arbiter with ``right``, by a statement that is in dispute.
    """

    lessons: Sequence[str] = ("\n\n".join(LESSON), "Rules: none")
    like: Mapping[frozenset[str], str] = field(
        default_factory=lambda: {
            frozenset({GOOD, "A receptacle is open once you have opened it."}): "same",
            frozenset({DRAWERS, CABINETS}): "contrary",
            frozenset({SHELVES, NO_SHELVES}): "contrary",
        }
    )
    right: Mapping[str, str] = field(default_factory=lambda: {CABINETS: "B", SHELVES: "unsure"})
    policy: Policy = field(default_factory=Solver)
    chunks: list[str] = field(default_factory=list[str])

    def __call__(self, messages: Messages) -> str:
        system = prompts.said_by(messages, "system")[0]
        last = messages[-1]["content"]
        roles: dict[str, Callable[[str], str]] = {
            "You learn how": self._distil,
            "You compare rules": self._judge,
            "You decide between": self._decide,
        }
        role = next((each for words, each in roles.items() if system.startswith(words)), None)
        return self.policy(messages) if role is None else role(last)

    def _distil(self, text: str) -> str:
        if text not in self.chunks:
            self.chunks.append(text)
        return self.lessons[min(self.chunks.index(text), len(self.lessons) - 1)]

    def _judge(self, text: str) -> str:
        lines = text.splitlines()
        said: list[str] = []
        for place, line in enumerate(lines):
            if line.startswith("A: "):
                pair = frozenset({line[3:], lines[place + 1][3:]})
                said.append(f"{lines[place - 1].rstrip('.')}: {self.like.get(pair, 'different')}")
        return "\n".join(said)

    def _decide(self, text: str) -> str:
        word = next((word for statement, word in self.right.items() if statement in text), "unsure")
        return f"Thought: the steps.\nRight: {word}"
