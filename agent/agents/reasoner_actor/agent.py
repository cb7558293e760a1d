"""Reasoner and actor: one role plans, another grounds the plan (OPEx, section 3, "Prior Knowledge Integration").

The reasoner writes and revises the general plan; the actor turns it into one executable command at a time; both see the rules.
The paper does not say when the reasoner is asked again. Here it is asked when a subgoal ends, when the actor is stuck, and when
a person gives a hint, each by a setting.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from housequest.agent.agents.reasoner_actor.prompting import ACTOR, PACKAGE, REASONER, BriefPrompting, ChatPrompting, PlanMemory
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Act, Decision, Emitter, Grants, Idle, ParseFailure, Turn
from housequest.agent.episodes import events
from housequest.agent.roles.base import load_prompt
from housequest.agent.roles.messages import RoleMemory, emit_thought, system_message
from housequest.worlds.base import Observation
from housequest.worlds.errors import Unsupported

if TYPE_CHECKING:
    from housequest.agent.agents.reasoner_actor import ReasonerActorSettings


class ReasonerActor:
    """Plays by a plan. Calls a step: 1, 1 more when the plan is made or reviewed, and 1 more after a reply of `stuck`; with
    short prompts `READINGS` or more once a plan has failed.
    """

    name = "reasoner-actor"

    def __init__(self, parts: AgentParts[ReasonerActorSettings]) -> None:
        self._model, self._sampling, self._settings = parts.model, parts.sampling, parts.settings
        self._world, manual = parts.world, parts.world.manual
        self._reasoner, self._actor = (
            RoleMemory((system_message(load_prompt(PACKAGE, name), parts.world, plans=True, manual=manual),))
            for name in ("reasoner", "actor")
        )

    def begin(self, goal: str, observation: Observation, grants: Grants) -> PlanMemory:
        return PlanMemory(goal, observation, grants, self._reasoner, self._actor)

    async def decide(self, memory: PlanMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PlanMemory]:
        prompting = self._prompting()
        memory, turn = prompting.heed(prompting.observe(memory, turn.transitions), turn, emit)
        before = memory.revision
        if reason := self._trigger(memory, turn, prompting):
            failure, memory = await self._plan(prompting, memory, turn, reason, emit)
            if failure is not None:
                return failure, memory
        answer, memory = await prompting.act(memory, turn, emit, revised=memory.revision != before, again=False)
        if answer.value is not None and answer.value.command is None and self._may_ask(memory) and self._settings.stuck_after:
            why = f"the actor is stuck: {answer.value.thought or 'it did not say why'}"
            before = memory.revision
            failure, memory = await self._plan(prompting, memory, replace(turn, hints=()), why, emit)
            if failure is not None:
                return failure, memory
            answer, memory = await prompting.act(memory, turn, emit, revised=memory.revision != before, again=True)
        if answer.value is None:
            return ParseFailure(ACTOR.name, answer.reason), memory
        emit_thought(ACTOR.name, answer.value.thought, emit)
        if answer.value.command is None:
            return Idle("the actor is stuck and names no command"), memory
        step = memory.step if answer.value.step is None else min(answer.value.step, len(memory.plan) - 1)
        if step != memory.step:
            emit(events.Progressed(role=ACTOR.name, step=step))
            memory = replace(memory, moved_on=step > memory.step, step=step)
        return Act(answer.value.command), replace(memory, last=answer.value.command)

    def _trigger(self, memory: PlanMemory, turn: Turn, prompting: ChatPrompting | BriefPrompting) -> str | None:
        if memory.revision < 0:
            return "the episode begins"
        # Without reviews only the plan carries a hint to the actor, so the reasoner is always asked.
        if turn.hints and (not prompting.reviews or (self._settings.on_hint and self._may_ask(memory))):
            return "the person beside you gave a hint"
        if not self._may_ask(memory):
            return None
        after = self._settings.stuck_after
        if after > 0 and (why := prompting.led_nowhere(memory, after)):
            return why
        if prompting.reviews and memory.moved_on and self._settings.on_subgoal:
            return f"the actor has gone on to step {memory.step + 1} of the plan"
        return None

    def _may_ask(self, memory: PlanMemory) -> bool:
        return memory.asked < self._settings.revisions

    def _prompting(self) -> ChatPrompting | BriefPrompting:
        if not self._model.brief:
            return ChatPrompting(self._model, self._sampling, self._world, self._settings.stuck_after > 0)
        household = self._world.household
        if household is None:
            raise Unsupported(
                f"{self._model.name} reads households alone; name another model for this world, such as openai:NAME."
            )
        return BriefPrompting(self._model, self._sampling, household)

    async def _plan(
        self, prompting: ChatPrompting | BriefPrompting, memory: PlanMemory, turn: Turn, reason: str, emit: Emitter
    ) -> tuple[ParseFailure | Idle | None, PlanMemory]:
        answer, memory = await prompting.plan(memory, turn, reason, emit)
        another = answer.value.steps if answer.value is not None and answer.value.steps != memory.plan else None
        # Short prompts are asked a bounded number of times anyway, so only another plan counts.
        spent = memory.revision >= 0 and (prompting.reviews or another is not None)
        memory = replace(memory, asked=memory.asked + spent, unreviewed=(), moved_on=False)
        if answer.value is None:
            # An older plan can still be followed; without one the turn is used up.
            return (None if memory.plan else ParseFailure(REASONER.name, answer.reason)), memory
        emit_thought(REASONER.name, answer.value.thought, emit)
        if another is not None:
            memory = replace(memory, plan=another, step=0, revision=memory.revision + 1)
            emit(events.Planned(role=REASONER.name, steps=another, revision=memory.revision, reason=reason))
        elif not memory.plan:
            return Idle("the reasoner keeps a plan, and there is none yet"), memory
        return None, memory
