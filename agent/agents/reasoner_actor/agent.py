"""Reasoner and actor: one role plans, another grounds the plan (OPEx, section 3, "Prior Knowledge Integration").

The reasoner writes and revises the general plan; the actor turns it into one executable command at a time; both see the rules.
The paper does not say when the reasoner is asked again. Here it is asked when a subgoal ends, when the actor is stuck, and when
a person gives a hint, each by a setting.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent.agents.reasoner_actor.prompting import PACKAGE, BriefPrompting, ChatPrompting, PlanMemory, Prompting
from agent.agents.reasoner_actor.roles import ACTOR, REASONER, ActorReply
from agent.base import Act, Decision, Emitter, Grants, Idle, ParseFailure, Turn
from agent.episodes import events
from agent.models.base import Model
from agent.roles.base import Sampling, load_prompt
from agent.roles.messages import RoleMemory, system_message
from worlds.base import Observation, Transition, World
from worlds.errors import Unsupported

if TYPE_CHECKING:
    from agent.agents.reasoner_actor import ReasonerActorSettings


class ReasonerActor:
    """Plays by a plan. Calls a step: 1, and 1 more when the plan is made or reviewed."""

    name = "reasoner-actor"

    def __init__(self, model: Model, world: World, sampling: Sampling, settings: ReasonerActorSettings) -> None:
        self._model = model
        self._household = world.household
        self._sampling = sampling
        self._settings = settings
        self._reasoner, self._actor = (
            RoleMemory((system_message(load_prompt(PACKAGE, name), world, manual=world.manual),))
            for name in ("reasoner", "actor")
        )

    def begin(self, goal: str, observation: Observation, grants: Grants) -> PlanMemory:
        return PlanMemory(goal, observation, grants, self._reasoner, self._actor)

    async def decide(self, memory: PlanMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PlanMemory]:
        prompting = self._prompting()
        memory = prompting.observe(memory, turn.transitions)
        reason = self._trigger(memory, turn, reviews=prompting.reviews)
        revised = False
        if reason:
            before = memory.revision
            failure, memory = await self._plan(prompting, memory, turn, reason, emit)
            if failure is not None:
                return failure, memory
            revised = memory.revision != before
        answer, memory = await prompting.act(memory, turn, emit, revised=revised, again=False)
        if answer.value is not None and answer.value.command is None and self._may_ask(memory) and self._settings.stuck_after:
            why = f"the actor is stuck: {answer.value.thought or 'it did not say why'}"
            before = memory.revision
            failure, memory = await self._plan(prompting, memory, replace(turn, hints=()), why, emit)
            if failure is not None:
                return failure, memory
            answer, memory = await prompting.act(memory, turn, emit, revised=memory.revision != before, again=True)
        if answer.value is None:
            return ParseFailure(ACTOR.name, answer.reason), memory
        return self._grounded(answer.value, memory, emit)

    def _trigger(self, memory: PlanMemory, turn: Turn, *, reviews: bool) -> str | None:
        if memory.revision < 0:
            return "the episode begins"
        # Without reviews only the plan carries a hint to the actor, so the reasoner is always asked.
        if turn.hints and (not reviews or (self._settings.on_hint and self._may_ask(memory))):
            return "the person beside you gave a hint"
        if not reviews or not self._may_ask(memory):
            return None
        if _stuck(memory.recent, self._settings.stuck_after):
            return f"the last {self._settings.stuck_after} commands led nowhere"
        if memory.moved_on and self._settings.on_subgoal:
            return f"the actor has gone on to step {memory.step + 1} of the plan"
        return None

    def _may_ask(self, memory: PlanMemory) -> bool:
        return memory.asked < self._settings.revisions

    def _prompting(self) -> Prompting:
        if not self._model.brief:
            return ChatPrompting(self._model, self._sampling)
        if self._household is None:
            raise Unsupported(
                f"{self._model.name} reads households alone; name another model for this world, such as openai:NAME."
            )
        return BriefPrompting(self._model, self._sampling, self._household)

    async def _plan(
        self, prompting: Prompting, memory: PlanMemory, turn: Turn, reason: str, emit: Emitter
    ) -> tuple[ParseFailure | Idle | None, PlanMemory]:
        answer, memory = await prompting.plan(memory, turn, reason, emit)
        memory = replace(
            memory,
            asked=memory.asked + (memory.revision >= 0),
            unreviewed=(),
            recent=(),
            moved_on=False,
        )
        if answer.value is None:
            # An older plan can still be followed; without one the turn is used up.
            return (None if memory.plan else ParseFailure(REASONER.name, answer.reason)), memory
        if answer.value.thought:
            emit(events.Thought(role=REASONER.name, text=answer.value.thought))
        steps = answer.value.steps
        if steps is None and not memory.plan:
            return Idle("the reasoner keeps a plan, and there is none yet"), memory
        if steps is not None and steps != memory.plan:
            memory = replace(memory, plan=steps, step=0, revision=memory.revision + 1)
            emit(events.Planned(role=REASONER.name, steps=steps, revision=memory.revision, reason=reason))
        return None, memory

    def _grounded(self, grounding: ActorReply, memory: PlanMemory, emit: Emitter) -> tuple[Decision, PlanMemory]:
        if grounding.thought:
            emit(events.Thought(role=ACTOR.name, text=grounding.thought))
        if grounding.command is None:
            return Idle("the actor is stuck and names no command"), memory
        step = memory.step if grounding.step is None else min(grounding.step, len(memory.plan) - 1)
        if step != memory.step:
            emit(events.Progressed(role=ACTOR.name, step=step))
            memory = replace(memory, moved_on=step > memory.step, step=step)
        return Act(grounding.command), replace(memory, last=grounding.command)


def _stuck(recent: tuple[Transition, ...], after: int) -> bool:
    if after == 0 or len(recent) < after:
        return False
    latest = recent[-after:]
    return all(not t.observation.accepted for t in latest) or (after > 1 and len(set(latest)) == 1)
