"""Reasoner and actor: one role plans, another grounds the plan (OPEx, section 3, "Prior Knowledge Integration").

The reasoner writes and revises the general plan; the actor turns it into one executable command at a time; both are given the
rules. The paper does not say when the reasoner is asked again. Here it is, each by a setting: when a subgoal ends, when the
actor is stuck, when a person gives a hint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.agents.reasoner_actor.actor import ACTOR, Grounding
from agent.agents.reasoner_actor.reasoner import REASONER
from agent.agents.reasoner_actor.talk import Brief, Chat, Minds, PlanMemory, Talk
from agent.base import Act, Decision, Emitter, Grants, Idle, ParseFailure, Turn
from agent.episodes import events
from agent.models.base import Message, Model
from agent.roles.base import Sampling, load_prompt
from worlds.base import Observation, Transition
from worlds.errors import Unsupported


@dataclass(frozen=True, slots=True)
class Replanning:
    """When the reasoner is asked again.

    ``subgoal``: the actor went on to another step of the plan. ``stuck_after``: that many of the latest commands in a row were
    refused, or were one and the same command with one and the same answer (0: never); an actor that says it is stuck counts
    wherever this is not 0. ``hint``: a person gave a hint, of which the actor is told in any case; a model that is spoken to
    briefly hears of it by the plan alone, and so is always asked. ``most``: revisions asked for in one episode at most.
    """

    subgoal: bool = True
    stuck_after: int = 3
    hint: bool = True
    most: int = 12


class ReasonerActor:
    """Plays by a plan. Calls a step: 1, and 1 more where the plan is made or looked at again.

    ``household``: the world's texts are those that belief reads, without which there are no short prompts.
    """

    name = "reasoner-actor"

    def __init__(
        self, model: Model, manual: str, sampling: Sampling, replanning: Replanning, *, household: bool = True
    ) -> None:
        self._model = model
        self._brief = household
        self._sampling = sampling
        self._when = replanning
        self._systems = {
            name: Message("system", load_prompt(name).render("system", manual=manual)) for name in ("reasoner", "actor")
        }

    def begin(self, goal: str, observation: Observation, grants: Grants) -> PlanMemory:
        minds = {name: Minds((system,)) for name, system in self._systems.items()}
        return PlanMemory(goal, observation, grants, minds["reasoner"], minds["actor"])

    async def decide(self, memory: PlanMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PlanMemory]:
        talk = self._talk()
        memory = talk.hear(memory, turn.transitions)
        reason = self._trigger(memory, turn, reviews=talk.reviews)
        revised = False
        if reason:
            before = memory.revision
            failure, memory = await self._plan(talk, memory, turn, reason, emit)
            if failure is not None:
                return failure, memory
            revised = memory.revision != before
        answer, memory = await talk.act(memory, turn, emit, revised=revised, again=False)
        if answer.value is not None and answer.value.command is None and self._may_ask(memory) and self._when.stuck_after:
            why = f"the actor is stuck: {answer.value.thought or 'it did not say why'}"
            before = memory.revision
            failure, memory = await self._plan(talk, memory, replace(turn, hints=()), why, emit)
            if failure is not None:
                return failure, memory
            answer, memory = await talk.act(memory, turn, emit, revised=memory.revision != before, again=True)
        if answer.value is None:
            return ParseFailure(ACTOR.name, answer.reason), memory
        return self._grounded(answer.value, memory, emit)

    def _trigger(self, memory: PlanMemory, turn: Turn, *, reviews: bool) -> str | None:
        if memory.revision < 0:
            return "the episode begins"
        # Without reviews the actor hears of a hint by the plan alone: it is never one too many, and nothing turns it off.
        if turn.hints and (not reviews or (self._when.hint and self._may_ask(memory))):
            return "the person beside you gave a hint"
        if not self._may_ask(memory):
            return None
        if not reviews:
            return None
        if _stuck(memory.recent, self._when.stuck_after):
            return f"the last {self._when.stuck_after} commands led nowhere"
        if memory.moved_on and self._when.subgoal:
            return f"the actor has gone on to step {memory.step + 1} of the plan"
        return None

    def _may_ask(self, memory: PlanMemory) -> bool:
        return memory.asked < self._when.most

    def _talk(self) -> Talk:
        """The way to speak to the model."""
        if not self._model.brief:
            return Chat(self._model, self._sampling)
        if not self._brief:
            raise Unsupported(
                f"{self._model.name} reads households alone; name another model for this world, such as openai:NAME."
            )
        return Brief(self._model, self._sampling)

    async def _plan(
        self, talk: Talk, memory: PlanMemory, turn: Turn, reason: str, emit: Emitter
    ) -> tuple[ParseFailure | Idle | None, PlanMemory]:
        answer, memory = await talk.plan(memory, turn, reason, emit)
        memory = replace(
            memory,
            asked=memory.asked + (memory.revision >= 0),
            unreviewed=(),
            recent=(),
            moved_on=False,
        )
        if answer.value is None:
            # A plan that is there can still be followed; without one the turn is spent.
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

    def _grounded(self, grounding: Grounding, memory: PlanMemory, emit: Emitter) -> tuple[Decision, PlanMemory]:
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
