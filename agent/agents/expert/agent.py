"""The world's own expert as an agent: it plays from observations, without a language model."""

from __future__ import annotations

from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, Memory, Turn
from housequest.agent.roles.messages import emit_thought
from housequest.worlds.base import Observation, Policy


class Expert:
    """Plays by a ``Policy``, whose state is its memory. Calls a step: 0; ignores hints and rules."""

    name = "expert"

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def begin(self, goal: str, observation: Observation, grants: Grants) -> Memory:
        del grants
        return self._policy.begin(goal, observation)

    async def decide(self, memory: Memory, turn: Turn, emit: Emitter) -> tuple[Decision, Memory]:
        for transition in turn.transitions:
            memory = self._policy.observe(memory, transition.command, transition.observation)
        command, thought, memory = self._policy.decide(memory)
        if command is None:
            return GiveUp(thought), memory
        emit_thought(self.name, thought, emit)
        return Act(command), memory
