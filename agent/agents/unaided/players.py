"""The world's own expert, which plays from observations; and a person, asked for each command by a callable."""

from __future__ import annotations

import re

from housequest.agent.base import Act, AskPerson, Decision, Emitter, GiveUp, Grants, Leave, Memory, Turn
from housequest.agent.roles.base import clean
from housequest.agent.roles.messages import emit_rules, emit_thought
from housequest.agent.skills.searching import ToldPrior
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Policy
from housequest.worlds.household.base import Household, PriorSearch
from housequest.worlds.shared import Companion


class PolicyAgent:
    """Plays by a ``Policy``, whose state is its memory. Calls a step: 0; ignores hints, and all rules but those that say where
    things are, by which a policy of a household searches."""

    name = "expert"

    def __init__(self, policy: Policy, household: Household | None = None) -> None:
        self._policy, self._household = policy, household

    def begin(self, goal: str, observation: Observation, grants: Grants) -> Memory:
        del grants
        return self._policy.begin(goal, observation)

    async def decide(self, memory: Memory, turn: Turn, emit: Emitter) -> tuple[Decision, Memory]:
        for transition in turn.transitions:
            memory = self._policy.observe(memory, transition.command, transition.observation)
        if turn.others and isinstance(self._policy, Companion):
            memory = self._policy.hear(memory, turn.player, turn.others, turn.news)
        told = self._told(turn)
        policy = self._policy if told is None or not isinstance(self._policy, PriorSearch) else self._policy.searching_by(told)
        command, thought, memory = policy.decide(memory)
        rule: Rule | None = None
        if command is None:
            return GiveUp(thought), memory
        if told is not None and turn.belief is not None:
            # The thought of a search names what is looked for.
            said = (told.says_of_command(thing, command, turn.belief) for thing in re.findall("[a-z]+", thought))
            if (rule := next(filter(None, said), None)) is not None:
                emit_rules((rule,), (), emit)
                thought = f"{thought} ({rule.statement})"
        emit_thought(self.name, thought, emit, rule)
        return Act(command, policy.says(memory) if turn.others and isinstance(policy, Companion) else ()), memory

    def _told(self, turn: Turn) -> ToldPrior | None:
        if self._household is None or turn.belief is None or not any(rule.kind == "location" for rule in turn.rules):
            return None
        counts = self._household.counts()
        return ToldPrior(counts, counts, turn.rules, turn.belief)


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
