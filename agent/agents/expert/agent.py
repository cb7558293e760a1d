"""The world's own expert as an agent: it plays from observations, without a language model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent.base import Act, Decision, Emitter, GiveUp, Grants, Turn
from agent.episodes import events
from worlds.base import Observation, Policy


@dataclass(frozen=True, slots=True)
class ExpertMemory:
    """The policy's state."""

    policy: Any


class Expert:
    """Plays by a ``Policy``. Calls a step: 0; ignores hints and rules."""

    name = "expert"

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def begin(self, goal: str, observation: Observation, grants: Grants) -> ExpertMemory:
        del grants
        return ExpertMemory(self._policy.begin(goal, observation))

    async def decide(self, memory: ExpertMemory, turn: Turn, emit: Emitter) -> tuple[Decision, ExpertMemory]:
        state = memory.policy
        for transition in turn.transitions:
            state = self._policy.observe(state, transition.command, transition.observation)
        command, thought, state = self._policy.decide(state)
        if command is None:
            return GiveUp(thought), ExpertMemory(state)
        if thought:
            emit(events.Thought(role=self.name, text=thought))
        return Act(command), ExpertMemory(state)
