"""A policy behind ReAct with exemplars: it continues the text of an episode by the line that the expert would play."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from housequest.worlds.alfworld.expert import make_expert
from housequest.worlds.base import Observation
from tests.backends.server import Messages

_LINE = re.compile(r"^> ?(?P<line>.*)\n(?P<answer>(?:(?!>).*\n?)*)", re.MULTILINE)


def text_of(messages: Messages) -> str:
    """The prompt as one text, whether it came as a chat or as that."""
    return "".join(f" {each['content']}\n" if each["role"] == "assistant" else each["content"] for each in messages)


def episode_of(messages: Messages) -> tuple[str, list[tuple[str, str]]]:
    """The opening of the episode that is played, and its lines with their answers."""
    told = text_of(messages).partition("Now it is your turn.\n\n")[2].removesuffix(">")
    opening, sign, rest = told.partition("\n> ")
    return opening, [(found["line"], found["answer"].strip()) for found in _LINE.finditer(f"> {rest}" if sign else "")]


@dataclass(frozen=True)
class Continuing:
    """Thinks before its first command and before every take; ``wording`` changes its commands."""

    wording: Callable[[str], str] = str
    thinking: bool = True

    def __call__(self, messages: Messages) -> str:
        opening, lines = episode_of(messages)
        expert = make_expert()
        goal = opening.partition("Your task is to: ")[2].splitlines()[0]
        memory = expert.begin(goal, Observation(opening))
        for line, answer in lines:
            if line.startswith("think:"):
                continue
            command = re.sub(r"^put (\S+ \d+) (?:in/on|in|on) ", r"move \1 to ", line)
            arrived = f"You arrive at {command.removeprefix('go to ')}. " if command.startswith("go to ") else ""
            memory = expert.observe(memory, command, Observation(f"{arrived}{answer}"))
        command = expert.decide(memory)[0] or "look"
        thought = not lines or (command.startswith("take ") and not lines[-1][0].startswith("think:"))
        return " think: so be it.\nmore" if self.thinking and thought else f" {self.wording(command)}\nYou see"


def put(command: str) -> str:
    """The command as older games had it."""
    return re.sub(r"^move (\S+ \d+) to ", r"put \1 in/on ", command)
