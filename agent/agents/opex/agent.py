"""OPEx: a planner breaks the task down, an observer describes the state, an executor picks skills (Shi et al., section 3).

The planner writes subtasks once, by chain of thought and with examples of similar tasks. For each subtask the executor is
asked for one skill after the other, each time with what the observer makes of the state; its memory is the conversation about
this subtask, and ``Finish`` ends the subtask and clears it. A skill unfolds into text commands from belief (``agent.skills``),
each of which is a turn without a call. The planner is asked again when the executor requires it, when the plan is carried out
and the task is not, and when a person gives a hint.

The paper's agent sees pixels, and its skills turn into motions; here the observations' text stands in for what was detected,
and commands for motions. The paper's planner is told the task alone; this one also the kinds of place that the opening lists.
Of ALFWorld the paper has four lines in table 2, and leaves open how its skills were fitted to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.agents.examples import Chooser
from agent.agents.opex.executor import EXECUTOR, SKILLS, Order, library
from agent.agents.opex.observer import OBSERVER
from agent.agents.opex.planner import KINDS, PLANNER
from agent.base import Act, Decision, Emitter, GiveUp, Grants, Idle, ParseFailure, Turn
from agent.episodes import events
from agent.models.base import Message, Model
from agent.roles.base import Conversation, Sampling, ask, load_prompt
from agent.roles.story import additions, numbered_from, rules_after, tell_rules, told
from agent.skills import facts
from agent.skills.controller import Controller, Done, Execute, Pursuit
from agent.skills.shown import skills_of
from knowledge.examples import Example
from knowledge.rules import Rule
from worlds.base import Observation, Transition

NOTHING_YET = "none yet"


@dataclass(frozen=True, slots=True)
class Parts:
    """Which parts of OPEx play: without its planner, observer or single skills it is the paper's ablation (table 2).

    Without the planner the task itself is the only subtask; without the observer the executor is told what the text said.
    ``revisions``: how often the plan is made again in an episode at most. ``on_hint``: whether a person's hint is a reason.
    ``tries``: how often the executor is asked within a turn at most, before the turn is spent.
    """

    planner: bool = True
    observer: bool = True
    left_out: frozenset[str] = frozenset()
    revisions: int = 6
    on_hint: bool = True
    tries: int = 8


@dataclass(frozen=True, slots=True)
class Minds:
    """One role's side of the memory: its conversation, and the rules it was shown in it."""

    conversation: Conversation
    shown_rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class OpexMemory:
    """What OPEx remembers.

    ``state`` is what is believed, with the skill that is being carried out. ``unplanned`` and ``unseen`` are the transitions
    that the planner and the executor have not been told. ``note`` is how the last skill went, in words.
    """

    goal: str
    grants: Grants
    state: Pursuit
    planner: Minds
    executor: Minds
    plan: tuple[str, ...] = ()
    step: int = 0
    revision: int = -1
    asked: int = 0
    note: str = NOTHING_YET
    unplanned: tuple[Transition, ...] = ()
    unseen: tuple[Transition, ...] = ()


class Opex:
    """Plays by subtasks and skills; needs a chat model.

    Calls: 1 for the plan and for each revision; 2, observer and executor, for each skill and each ``Finish``. Steps: as many as
    the skills have commands. Admissible commands are shown to nobody, since what is decided on are skills. The observer's
    prompts are not appended to (``agent.agents.opex.observer``), and the executor's begin anew with each subtask.
    """

    name = "opex"

    def __init__(self, model: Model, controller: Controller, chooser: Chooser, sampling: Sampling, parts: Parts) -> None:
        self._model = model
        self._controller = controller
        self._chooser = chooser
        self._sampling = sampling
        self._parts = parts
        kinds = "\n".join(f"- {kind}" for kind in KINDS.values())
        self._planner = Message("system", load_prompt("opex_planner").render("system", kinds=kinds))
        self._observer = Message("system", load_prompt("opex_observer").render("system"))
        self._executor = Message("system", load_prompt("opex_executor").render("system", skills=library(parts.left_out)))

    def begin(self, goal: str, observation: Observation, grants: Grants) -> OpexMemory:
        state = self._controller.begin(observation, goal)
        return OpexMemory(goal, grants, state, Minds((self._planner,)), Minds((self._executor,)))

    async def decide(self, memory: OpexMemory, turn: Turn, emit: Emitter) -> tuple[Decision, OpexMemory]:
        # What the world shows an agent that names commands is of no use to one that names skills.
        turn = replace(turn, admissible=None)
        memory = replace(
            memory,
            state=self._controller.observe(memory.state, turn.transitions),
            unplanned=memory.unplanned + turn.transitions,
            unseen=memory.unseen + turn.transitions,
        )
        hinted = bool(turn.hints)
        if hinted:
            # Whoever gives a hint wants it heard before the skill has run its course.
            memory = replace(memory, state=replace(memory.state, skill=None))
        if memory.revision < 0 or (hinted and self._parts.on_hint and self._may_replan(memory)):
            reason = "the person beside the robot gave a hint" if memory.plan else "the episode begins"
            refusal, memory = await self._plan(memory, turn, reason, emit)
            if refusal is not None:
                return refusal, memory
        for _ in range(self._parts.tries):
            if memory.state.skill is not None:
                outcome, state = self._controller.next(memory.state)
                memory = replace(memory, state=state)
                if isinstance(outcome, Execute):
                    return Act(outcome.command), memory
                memory = replace(memory, note=outcome.said if isinstance(outcome, Done) else f"it failed: {outcome.reason}")
            if memory.step >= len(memory.plan):
                if not self._may_replan(memory):
                    return GiveUp(f"the plan is carried out, and the task is not done after {memory.asked} revisions"), memory
                refusal, memory = await self._plan(memory, turn, "the plan is carried out, and the task is not done", emit)
                if refusal is not None:
                    return refusal, memory
            order, reason, memory = await self._order(memory, turn, emit)
            if order is None:
                return ParseFailure(EXECUTOR.name, reason), memory
            refusal, memory = await self._follow(order, memory, turn, emit)
            if refusal is not None:
                return refusal, memory
            turn = replace(turn, hints=())
        outcome, state = self._controller.next(memory.state) if memory.state.skill else (None, memory.state)
        if isinstance(outcome, Execute):
            return Act(outcome.command), replace(memory, state=state)
        return Idle(f"asked {self._parts.tries} times, the executor named no skill that leads to a command"), memory

    def _may_replan(self, memory: OpexMemory) -> bool:
        return self._parts.planner and memory.asked < self._parts.revisions

    # The planner.

    async def _plan(self, memory: OpexMemory, turn: Turn, reason: str, emit: Emitter) -> tuple[ParseFailure | None, OpexMemory]:
        if not self._parts.planner:
            return None, self._planned(memory, (memory.goal,), reason, emit)
        first = len(memory.planner.conversation) == 1
        text = await self._task(memory) if first else self._review(memory, reason)
        text += additions(turn, memory.planner.shown_rules, memory.grants, first=first)
        tell_rules(turn.rules, memory.planner.shown_rules, emit)
        answer = await ask(PLANNER, self._model, memory.planner.conversation, text, emit, self._sampling)
        memory = replace(
            memory,
            planner=Minds(answer.conversation, rules_after(turn, memory.planner.shown_rules)),
            asked=memory.asked + (memory.revision >= 0),
            unplanned=(),
        )
        if answer.value is None:
            # What is left of a plan can still be followed.
            return (None if memory.step < len(memory.plan) else ParseFailure(PLANNER.name, answer.reason)), memory
        said = [part for part in (answer.value.kind and f"Kind of task: {answer.value.kind}.", answer.value.thought) if part]
        if said:
            emit(events.Thought(role=PLANNER.name, text=" ".join(said)))
        return None, self._planned(memory, answer.value.steps, reason, emit)

    def _planned(self, memory: OpexMemory, steps: tuple[str, ...], reason: str, emit: Emitter) -> OpexMemory:
        revision = memory.revision + 1
        emit(events.Planned(role=PLANNER.name, steps=steps, revision=revision, reason=reason))
        return replace(memory, plan=steps, step=0, revision=revision, executor=Minds((self._executor,)))

    async def _task(self, memory: OpexMemory) -> str:
        prompt, belief = load_prompt("opex_planner"), memory.state.belief
        chosen = await self._chooser.choose(memory.goal, (one.kind for one in belief.receptacles))
        examples = prompt.render("examples", examples="\n\n".join(map(_shown, chosen))) + "\n" if chosen else ""
        text = prompt.render("opening", examples=examples, places=facts.places(belief), goal=memory.goal)
        return f"{text}\n\n{told(memory.unplanned)}" if memory.unplanned else text

    def _review(self, memory: OpexMemory, reason: str) -> str:
        belief = memory.state.belief
        known = f"It holds {facts.held(belief)}. Found so far: {facts.found(belief)}"
        return load_prompt("opex_planner").render(
            "review",
            story=told(memory.unplanned),
            known=known,
            plan=numbered_from(memory.plan, 0),
            step=f"step {memory.step}" if memory.step < len(memory.plan) else "the end",
            reason=reason,
            goal=memory.goal,
        )

    # The observer and the executor.

    async def _order(self, memory: OpexMemory, turn: Turn, emit: Emitter) -> tuple[Order | None, str, OpexMemory]:
        belief = memory.state.belief
        state = {
            "found": facts.found(belief),
            "here": facts.here(belief),
            "held": facts.held(belief),
            "note": memory.note,
            "objective": memory.plan[memory.step],
        }
        story = told(memory.unseen)
        description = story
        if self._parts.observer:
            text = load_prompt("opex_observer").render("user", story=story, **state)
            seen = await ask(OBSERVER, self._model, (self._observer,), text, emit, self._sampling)
            # A description that cannot be read is no reason to stand still: the text itself is there.
            description = seen.value or story
            if seen.value:
                emit(events.Thought(role=OBSERVER.name, text=seen.value))
        first = len(memory.executor.conversation) == 1
        text = load_prompt("opex_executor").render("user", observation=description, **state)
        text += additions(turn, memory.executor.shown_rules, Grants(), first=first)
        tell_rules(turn.rules, memory.executor.shown_rules, emit)
        answer = await ask(EXECUTOR, self._model, memory.executor.conversation, text, emit, self._sampling)
        executor = Minds(answer.conversation, rules_after(turn, memory.executor.shown_rules))
        return answer.value, answer.reason, replace(memory, executor=executor, unseen=())

    async def _follow(
        self, order: Order, memory: OpexMemory, turn: Turn, emit: Emitter
    ) -> tuple[ParseFailure | None, OpexMemory]:
        if order.thought:
            emit(events.Thought(role=EXECUTOR.name, text=order.thought))
        if order.move == "finish" and order.done:
            if memory.step + 1 < len(memory.plan):
                emit(events.Progressed(role=EXECUTOR.name, step=memory.step + 1))
            note = f"the objective before is finished: {memory.plan[memory.step]}"
            return None, replace(memory, step=memory.step + 1, note=note, executor=Minds((self._executor,)))
        if order.move != "play":
            if not self._may_replan(memory):
                return None, replace(memory, note="the plan stays as it is; go on with it as well as you can")
            why = f"the executor requires it: {order.thought or 'it did not say why'}"
            return await self._plan(memory, turn, why, emit)
        if order.skill in self._parts.left_out:
            return None, replace(memory, note=f"it failed: there is no skill {order.skill}")
        return None, replace(memory, state=self._controller.start(memory.state, order.as_skill()))


def left_out(*, look_around: bool, explore: bool) -> frozenset[str]:
    """The skills that are missing where these are."""
    missing = {"LookAround": not look_around, "Explore": not explore}
    return frozenset(name for name in SKILLS if missing.get(name))


def _shown(example: Example) -> str:
    """An example as the planner would have answered it."""
    steps: list[str] = []
    for skill in skills_of(example):
        text = (
            skill.text.replace(skill.text.split()[1], "another", 1)
            if skill.text in steps and skill.verb == "find"
            else skill.text
        )
        steps += [] if skill.verb == "go" else [text]
    return load_prompt("opex_planner").render(
        "example",
        goal=example.goal,
        kind=KINDS.get(example.type, "another"),
        thought=_thought(steps),
        plan=numbered_from([f"{step[0].upper()}{step[1:]}." for step in steps], 0),
    )


def _thought(steps: Sequence[str]) -> str:
    return f"The robot has to {', then '.join(steps)}."
