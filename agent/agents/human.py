"""A person as an agent: every turn is asked for through a callable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent.base import Act, Decision, Emitter, Grants, Leave, Turn
from agent.roles.base import clean
from agent.roles.story import tell_rules
from worlds.base import Observation

Question = Callable[[Turn], Awaitable[str | None]]
"""Asks the person for a command; None means that they leave."""


class Human:
    """Plays what a person types. Remembers nothing: the person does."""

    name = "human"

    def __init__(self, question: Question) -> None:
        self._question = question

    def begin(self, goal: str, observation: Observation, grants: Grants) -> None:
        del goal, observation, grants

    async def decide(self, memory: None, turn: Turn, emit: Emitter) -> tuple[Decision, None]:
        del memory
        # Whoever watches an episode sees the rules that its agent is shown, and a person watches their own.
        tell_rules(turn.rules, (), emit)
        command = await self._question(turn)
        return (Leave("the player left") if command is None else Act(clean(command))), None
