"""A policy behind ReAct with a window: it knows what the prompt says, and chooses among what can be done."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from housequest.worlds.alfworld.expert import HouseholdExpertMemory, make_expert
from housequest.worlds.base import Observation
from tests.backends.server import Messages

_STEP = re.compile(r'Step (?P<number>\d+): you saw "(?P<seen>.*?)" and did: (?P<command>[^\n]+)', re.DOTALL)
_NOW = re.compile(r"This is step (?P<number>\d+), and you see:\n(?P<seen>.*?)\n\n(?:What you can do|Commands have)", re.DOTALL)


@dataclass
class Windowed:
    """Plays one episode as the expert would who remembers it; the prompts must tell it what happened since the one before."""

    goal: str
    memory: HouseholdExpertMemory | None = None
    command: str | None = None
    prompts: list[str] = field(default_factory=list[str])

    def __call__(self, messages: Messages) -> str:
        (message,) = messages
        text, expert = message["content"], make_expert()
        self.prompts.append(text)
        if self.memory is None:
            opening = text.partition("\n\n")[2].partition("\n\nWhat you can do")[0]
            self.memory = expert.begin(self.goal, Observation(opening))
        else:
            now = _NOW.search(text)
            assert now is not None
            steps = [found.groupdict() for found in _STEP.finditer(text)]
            assert steps[-1]["command"] == self.command
            self.memory = expert.observe(self.memory, self.command or "", Observation(now["seen"]))
        self.command, _, self.memory = expert.decide(self.memory)
        return f"<think>\nstep by step\n</think>\n<action>{self.command}</action>"
