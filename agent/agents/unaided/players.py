"""The world's own expert, which plays from observations; and a person, asked for each command by a callable."""

from __future__ import annotations

from housequest.agent.base import Act, AskPerson, Decision, Emitter, GiveUp, Grants, Leave, Memory, Turn
from housequest.agent.roles.base import clean
from housequest.agent.roles.messages import emit_rules, emit_thought
from housequest.worlds.base import Observation, Policy


class PolicyAgent:
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


class Human:
    """Plays what a person types; has no memory."""

    name = "human"

    def __init__(self, ask: AskPerson) -> None:
        self._ask = ask

    def begin(self, goal: str, observation: Observation, grants: Grants) -> None:
        del goal, observation, grants

    async def decide(self, memory: None, turn: Turn, emit: Emitter) -> tuple[Decision, None]:
        del memory
        # The screen shows the rules from the event.
        emit_rules(turn.rules, (), emit)
        command = await self._ask(turn)
        return (Leave("the player left") if command is None else Act(clean(command))), None
