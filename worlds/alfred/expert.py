"""The expert of the world ``alfred``: it plays what people did, whatever comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from housequest.worlds.base import Observation

Demonstrations = Callable[[str], tuple[str, ...]]
"""The commands of the annotated demonstration of the task that has this opening; none if it is not known."""


@dataclass(frozen=True, slots=True)
class Playing:
    """The expert's memory: the opening of its task, how many commands were played, and whether all were the annotated ones."""

    opening: str
    played: int = 0
    alone: bool = True


class AlfredExpert:
    """Plays the annotated low-level actions. Hidden knowledge: it is for people and benches, and no agent sees it.

    It gives up where somebody else has acted, since people's actions lead nowhere from another place.
    """

    def __init__(self, demonstrations: Demonstrations) -> None:
        self._demonstrations = demonstrations

    def begin(self, goal: str, observation: Observation) -> Playing:  # noqa: ARG002 (the opening has it)
        return Playing(observation.text)

    def observe(self, memory: Playing, command: str, observation: Observation) -> Playing:  # noqa: ARG002 (what failed is gone on from)
        commands = self._demonstrations(memory.opening)
        expected = commands[memory.played] if memory.played < len(commands) else None
        return replace(memory, played=memory.played + 1, alone=memory.alone and command.strip() == expected)

    def decide(self, memory: Playing) -> tuple[str | None, str, Playing]:
        commands = self._demonstrations(memory.opening)
        if not commands:
            return None, "nobody showed how this task is done", memory
        if not memory.alone:
            return None, "somebody else has acted, and the demonstration does not go on from here", memory
        if memory.played >= len(commands):
            return None, "the demonstration is over", memory
        return commands[memory.played], f"action {memory.played + 1} of {len(commands)} of the demonstration", memory
