"""A policy that knows which skills win a task, and says them one a message."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.backends.prompts import said_by
from tests.backends.server import Messages

_NUMBER = re.compile(r"(?:^|\s)(\d+)\.$")


@dataclass(frozen=True)
class Knowing:
    """Says ``skills``, then that it is done. With ``hasty`` it first puts down what it does not hold."""

    skills: tuple[str, ...]
    hasty: str = ""

    def __call__(self, messages: Messages) -> str:
        asked = _NUMBER.search(said_by(messages, "user")[-1])
        assert asked is not None
        skills = (self.hasty, *self.skills) if self.hasty else self.skills
        number = int(asked[1])
        return f"{skills[number - 1] if number <= len(skills) else 'done'},"
