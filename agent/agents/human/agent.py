"""A person as an agent: a callable asks them for each command."""

from __future__ import annotations

from housequest.agent.base import Act, AskPerson, Decision, Emitter, Grants, Leave, Turn
from housequest.agent.roles.base import clean
from housequest.agent.roles.messages import emit_rules
from housequest.worlds.base import Observation


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
