"""How reasoner and actor are spoken to: in conversations that grow, for chat models, or briefly, as a small model was taught.

Which of the two is the model's to say (``Model.brief``). When the roles are asked, and what comes of it, is the agent's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from agent.agents.reasoner_actor.actor import ACTOR, Grounding
from agent.agents.reasoner_actor.reasoner import REASONER, Plan
from agent.base import Emitter, Grants, Turn
from agent.episodes import events
from agent.models.base import Message, Model, Request
from agent.roles import brief
from agent.roles.base import Answer, Conversation, Sampling, ask, clean, load_prompt
from agent.roles.story import additions, numbered, rules_after, tell_rules, told
from knowledge.rules import Rule
from worlds.base import Observation, Transition


@dataclass(frozen=True, slots=True)
class Minds:
    """One role's side of the memory: its conversation, and the rules it was shown."""

    conversation: Conversation
    shown_rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanMemory:
    """What reasoner and actor remember.

    ``played`` is all that has happened, ``unreviewed`` what of it the reasoner has not been told, ``recent`` the latest few
    since the plan was last looked at, ``asked`` how often the reasoner was asked again. ``scene`` is what short prompts are
    rendered from; None where the roles are spoken to at length. A person may change from one model to another, so each way of
    speaking finds what it needs.
    """

    goal: str
    opening: Observation
    grants: Grants
    reasoner: Minds
    actor: Minds
    plan: tuple[str, ...] = ()
    step: int = 0
    moved_on: bool = False
    asked: int = 0
    revision: int = -1
    played: tuple[Transition, ...] = ()
    unreviewed: tuple[Transition, ...] = ()
    recent: tuple[Transition, ...] = ()
    last: str | None = None
    scene: brief.Scene | None = None


class Talk(Protocol):
    """A way to ask the two roles; each call gives the answer, and the memory with what was said."""

    @property
    def reviews(self) -> bool:
        """Whether the reasoner is told how it went, so that it is worth asking whenever something happened."""
        ...

    def hear(self, memory: PlanMemory, transitions: tuple[Transition, ...]) -> PlanMemory:
        """The memory once these commands have been executed."""
        ...

    async def plan(self, memory: PlanMemory, turn: Turn, reason: str, emit: Emitter) -> tuple[Answer[Plan], PlanMemory]:
        """Ask the reasoner for a plan, or about the one there is, because ``reason``."""
        ...

    async def act(
        self, memory: PlanMemory, turn: Turn, emit: Emitter, *, revised: bool, again: bool
    ) -> tuple[Answer[Grounding], PlanMemory]:
        """Ask the actor for a command; ``revised``: the plan is a new one; ``again``: it has just said that it is stuck."""
        ...


class Chat:
    """Two conversations, each of whose prompts begins with the one before."""

    reviews = True

    def __init__(self, model: Model, sampling: Sampling) -> None:
        self._model = model
        self._sampling = sampling

    def hear(self, memory: PlanMemory, transitions: tuple[Transition, ...]) -> PlanMemory:
        return replace(
            memory,
            played=memory.played + transitions,
            unreviewed=memory.unreviewed + transitions,
            recent=memory.recent + transitions,
            scene=None,
        )

    async def plan(self, memory: PlanMemory, turn: Turn, reason: str, emit: Emitter) -> tuple[Answer[Plan], PlanMemory]:
        prompt = load_prompt("reasoner")
        first = len(memory.reasoner.conversation) == 1
        if first:
            text = prompt.render("opening", observation=memory.opening.text, goal=memory.goal)
            if memory.played:
                text += "\n\n" + told(memory.played)
        else:
            plan = numbered(memory.plan) or "There is none yet."
            text = prompt.render("review", story=told(memory.unreviewed), plan=plan, reason=reason)
        text += additions(replace(turn, admissible=None), memory.reasoner.shown_rules, memory.grants, first=first)
        tell_rules(turn.rules, memory.reasoner.shown_rules, emit)
        answer = await ask(REASONER, self._model, memory.reasoner.conversation, text, emit, self._sampling)
        minds = Minds(answer.conversation, rules_after(turn, memory.reasoner.shown_rules))
        return answer, replace(memory, reasoner=minds)

    async def act(
        self, memory: PlanMemory, turn: Turn, emit: Emitter, *, revised: bool, again: bool
    ) -> tuple[Answer[Grounding], PlanMemory]:
        prompt = load_prompt("actor")
        first = len(memory.actor.conversation) == 1
        parts: list[str] = []
        if first:
            parts.append(
                prompt.render("opening", observation=memory.opening.text, goal=memory.goal, plan=numbered(memory.plan))
            )
            if memory.played:
                parts.append(told(memory.played))
        elif not again:
            parts.append(prompt.render("turn", observation=told(turn.transitions, own=memory.last)))
        if revised and not first:
            parts.append(prompt.render("revised", plan=numbered(memory.plan)))
        elif again:
            parts.append(prompt.render("kept", plan=numbered(memory.plan)))
        text = "\n\n".join(parts)
        if not again:
            text += additions(turn, memory.actor.shown_rules, memory.grants, first=first)
            tell_rules(turn.rules, memory.actor.shown_rules, emit)
        answer = await ask(ACTOR, self._model, memory.actor.conversation, text, emit, self._sampling)
        minds = Minds(answer.conversation, rules_after(turn, memory.actor.shown_rules))
        return answer, replace(memory, actor=minds, last=None)


class Brief:
    """One short message each time (`agent.roles.brief`), rendered anew from belief.

    The reasoner is told of nothing but goal, rules, hints and plans that failed, so it is asked at the beginning, on a hint and
    when the actor is stuck. A command that was given before while just as much was known, or is not among those granted, is
    not given again: the actor then chooses among others.
    """

    reviews = False

    def __init__(self, model: Model, sampling: Sampling) -> None:
        self._model = model
        self._sampling = sampling

    def hear(self, memory: PlanMemory, transitions: tuple[Transition, ...]) -> PlanMemory:
        scene = memory.scene or brief.scene(memory.opening).after(memory.played)
        return replace(memory, played=memory.played + transitions, scene=scene.after(transitions))

    async def plan(self, memory: PlanMemory, turn: Turn, reason: str, emit: Emitter) -> tuple[Answer[Plan], PlanMemory]:
        del reason
        scene = memory.scene or brief.scene(memory.opening)
        if memory.plan and not turn.hints:
            scene = replace(scene, failed=(*scene.failed, memory.plan))
        scene = replace(scene, hints=scene.hints + turn.hints)
        rules = brief.about(memory.goal, scene.belief, turn.rules)
        tell_rules(rules, (), emit)
        text = brief.planning(memory.goal, scene.belief, rules, scene.hints, scene.failed)
        answer = await ask(REASONER, self._model, (), text, emit, self._sampling)
        return answer, replace(memory, scene=scene)

    async def act(
        self, memory: PlanMemory, turn: Turn, emit: Emitter, *, revised: bool, again: bool
    ) -> tuple[Answer[Grounding], PlanMemory]:
        del revised
        scene = memory.scene or brief.scene(memory.opening)
        text = brief.acting(memory.plan, scene.belief, scene.tried)
        answer = await ask(ACTOR, self._model, (), text, emit, self._sampling)
        if answer.value is not None:
            options = _options(answer.value.command, scene, turn.admissible, again=again)
            if options:
                answer = await self._chosen(answer, answer.value, options, emit)
        return answer, memory

    async def _chosen(
        self, answer: Answer[Grounding], said: Grounding, options: tuple[str, ...], emit: Emitter
    ) -> Answer[Grounding]:
        begun = f"Thought: {said.thought}\nStep: {(said.step or 0) + 1}\nAction:"
        conversation = (*answer.conversation[:-1], Message("assistant", begun))
        completion = await self._model.complete(
            Request(conversation, choices=options, temperature=self._sampling.temperature, seed=self._sampling.seed)
        )
        reply = clean(completion.text)
        emit(
            events.ModelCall(
                role=ACTOR.name,
                kept=0,
                added=tuple(events.Message(role=m.role, content=m.content) for m in conversation),
                reply=reply,
                finish=completion.finish,
                prompt_tokens=completion.usage.prompt,
                completion_tokens=completion.usage.completion,
            ),
            completion.timing,
        )
        return Answer(replace(said, command=reply), "", conversation)


def _options(command: str | None, scene: brief.Scene, admissible: tuple[str, ...] | None, *, again: bool) -> tuple[str, ...]:
    """What to choose from in place of ``command``; nothing where it can stand."""
    if command is None:
        return _fresh(scene, admissible) if again else ()
    if command in scene.idle or (admissible is not None and command not in admissible):
        return _fresh(scene, admissible)
    return ()


def _fresh(scene: brief.Scene, admissible: tuple[str, ...] | None) -> tuple[str, ...]:
    if admissible is None:
        return scene.instead()
    return tuple(command for command in admissible if command not in scene.idle) or admissible
