"""PET: a plan of sub-tasks, an observation without what does not matter, and a watch on progress, round any acting agent.

Plan, Eliminate and Track (Wu et al., 2023, section 3) teach an agent that acts; they do not act themselves. The paper's acting
agent is a network trained by imitation, over the same texts; here it is any other agent, which sees what PET leaves in.

The acting agent starts a new conversation whenever the sub-task changes: its task is then the sub-task, and all that
happened so far is in its first prompt, without what does not matter now. Within a sub-task its prompts only grow. So a prefix
cache is lost with each sub-task, two to six times an episode; what that costs is the length of the story so far.
The questions of Plan, Eliminate and Track are each a short prompt of their own, whose prefix is the system message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from agent.agents.examples import ExampleSelector
from agent.agents.pet.roles import (
    ALTERNATIVES,
    CONTEXT,
    ELIMINATOR,
    MOST_LISTED,
    ONE,
    PACKAGE,
    SUBTASKS,
    TRACKER,
    SubtaskExample,
    bare,
    listing,
    plan_question,
    probability,
    question_all,
    question_one,
    track_question,
)
from agent.base import Agent, AgentEvent, Decision, Emitter, Grants, Memory, ParseFailure, Turn
from agent.episodes import events
from agent.models.base import Model, Timing
from agent.roles.base import Answer, Role, Sampling, ask, load_prompt
from agent.roles.messages import additions, emit_rules, numbered, system_message
from knowledge.examples import subtasks
from worlds.base import Observation, Transition, World
from worlds.errors import Unsupported
from worlds.household.belief import Belief
from worlds.household.masking import masked, possible

if TYPE_CHECKING:
    from agent.agents.pet import PetSettings

T = TypeVar("T")

MOST_JUDGED = 500
"""Names that are judged for one target; what comes after them is shown unjudged."""


@dataclass(frozen=True, slots=True)
class NameRelevance:
    """How relevant a name is to ``target``; a score of None could not be read."""

    target: str
    name: str
    score: float | None


@dataclass(frozen=True, slots=True)
class PetMemory:
    """What PET remembers.

    ``plan`` is None until it was asked for. ``step`` is the sub-task worked on, counted from 0, ``len(plan)`` once the list has
    ended, and ``since`` the steps since it began. ``acting`` is the memory of the acting agent, and ``began`` the ``step`` that
    it began with.
    """

    goal: str
    opening: Observation
    grants: Grants
    belief: Belief | None
    plan: tuple[str, ...] | None = None
    step: int = 0
    since: int = 0
    played: tuple[Transition, ...] = ()
    hints: tuple[str, ...] = ()
    relevance: tuple[NameRelevance, ...] = ()
    acting: Memory = None
    began: int | None = None

    @property
    def subtask(self) -> str | None:
        """The present sub-task; None where there is none, before the plan and after its end."""
        return self.plan[self.step] if self.plan and self.step < len(self.plan) else None


class Pet:
    """Plans, eliminates and tracks for ``acting``. Needs a chat model; log-probabilities are used where there are any.

    Calls an episode, besides those of ``acting``: 1 for the plan; 1 a step to track; to eliminate, where scores are
    probabilities 1 a name and sub-task, else 1 or 2 (places, objects) whenever new names come into sight.

    A plan that cannot be read spends the turn, and the task itself takes its place. A name whose score cannot be read is
    shown. A verdict that cannot be read is a no. Without Track nothing tells sub-tasks apart, so the acting agent is given the
    task with the whole list, and relevance is judged against the task; without Plan there is nothing to track. What is held,
    and where one stands, is never masked: the text names it in other words. As in the paper, what was masked in error stays so,
    and a sub-task that was finished in error is not gone back to. In a world that is no household, nothing is eliminated.
    """

    name = "pet"

    def __init__(
        self,
        model: Model,
        acting: Agent,
        sampling: Sampling,
        settings: PetSettings,
        examples: ExampleSelector,
        world: World,
    ) -> None:
        self._model = model
        self._acting = acting
        self._sampling = sampling
        self.settings = settings
        self._examples = examples
        self._world = world
        self._household = world.household

    async def check(self) -> None:
        """Raise ``Unsupported`` where the model cannot do what the settings ask for; where they leave it open, ask nothing."""
        if self._model.brief or self.settings.scores == "probability":
            await self._probable()

    def begin(self, goal: str, observation: Observation, grants: Grants) -> PetMemory:
        belief = None if self._household is None else self._household.begin(observation)
        return PetMemory(goal, observation, grants, belief)

    async def decide(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PetMemory]:
        failure, memory = await self.look(memory, turn, emit)
        if failure is not None:
            return failure, memory
        return await self._act(memory, turn, emit)

    async def look(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[ParseFailure | None, PetMemory]:
        """Plan, track and eliminate: everything but act. A failure spends the turn. Raises ``Unsupported``, ``ModelError``."""
        probable = await self._probable()
        memory = self._observe(memory, turn)
        if self.settings.plan and memory.plan is None:
            failure, memory = await self._plan(memory, turn, emit)
            if failure is not None:
                return failure, memory
        elif self.settings.track and turn.transitions and memory.subtask is not None:
            memory = await self._track(memory, memory.subtask, emit, probable=probable)
        if self.settings.eliminate and memory.belief is not None:
            memory = await self._eliminate(memory, memory.belief, emit, probable=probable)
        return None, memory

    async def _probable(self) -> bool:
        """Whether questions are answered by probability. Raises ``Unsupported`` before anything was asked."""
        if self._model.brief:
            raise Unsupported(
                f"{self._model.name} reads short prompts of its own alone, and 'pet' asks questions; "
                "name a chat model, such as openai:NAME, or another agent."
            )
        able = await self._model.capabilities()
        if self.settings.scores == "probability" and not able.log_probabilities:
            raise Unsupported(
                f"{self._model.name} gives no log-probabilities, which --set scores=probability needs; "
                "leave that out, and 'pet' takes the model's answers."
            )
        return able.log_probabilities and self.settings.scores != "answer"

    def _observe(self, memory: PetMemory, turn: Turn) -> PetMemory:
        belief = memory.belief
        if belief is not None and self._household is not None:
            for transition in turn.transitions:
                belief = self._household.update(belief, transition.command, transition.observation)
        return replace(
            memory,
            belief=belief,
            played=memory.played + turn.transitions,
            since=memory.since + len(turn.transitions),
            hints=memory.hints + turn.hints,
        )

    # Plan (section 3.1).

    async def _plan(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[ParseFailure | None, PetMemory]:
        kinds = () if memory.belief is None else (one.kind for one in memory.belief.receptacles)
        examples = await self._examples.choose(memory.goal, kinds)
        # The nearest comes last, right before the question.
        text = plan_question(
            memory.goal, [SubtaskExample(example.goal, subtasks(example, self._household)) for example in reversed(examples)]
        )
        text += additions(replace(turn, admissible=None), (), memory.grants, first=True)
        emit_rules(turn.rules, (), emit)
        answer = await self._ask(SUBTASKS, text, emit)
        if answer.value is None:
            return ParseFailure(SUBTASKS.name, answer.reason), replace(memory, plan=())
        emit(events.Planned(role=SUBTASKS.name, steps=answer.value, revision=0, reason="the episode begins"))
        return None, replace(memory, plan=answer.value, since=0)

    # Track (section 3.3).

    async def _track(self, memory: PetMemory, subtask: str, emit: Emitter, *, probable: bool) -> PetMemory:
        steps = memory.played[-min(memory.since, CONTEXT) :]
        finished = await self._chance(TRACKER, track_question(subtask, steps), emit, probable=probable)
        if finished is None or finished <= 0.5:
            return memory
        emit(events.Progressed(role=TRACKER.name, step=memory.step + 1))
        return replace(memory, step=memory.step + 1, since=0)

    # Eliminate (section 3.2).

    def target(self, memory: PetMemory) -> str:
        """What relevance is judged against now."""
        subtask = memory.subtask if self.settings.track and self.settings.judged == "subtask" else None
        return bare(subtask or memory.goal)

    async def _eliminate(self, memory: PetMemory, belief: Belief, emit: Emitter, *, probable: bool) -> PetMemory:
        target = self.target(memory)
        known = {one.name for one in memory.relevance if one.target == target}
        found: list[events.Relevance] = []
        for place, everything in ((True, belief.receptacles), (False, belief.items)):
            new = [one.name for one in everything if one.name not in known][: max(0, MOST_JUDGED - len(known))]
            known.update(new)
            judge = self._one_by_one if probable else self._together
            for name, score in await judge(target, new, emit, place=place):
                below = score is not None and score < self.settings.threshold
                found.append(events.Relevance(name=name, place=place, score=score, masked=below))
        if not found:
            return memory
        emit(events.Judged(role=ELIMINATOR, target=target, things=tuple(found)))
        return replace(memory, relevance=memory.relevance + tuple(NameRelevance(target, one.name, one.score) for one in found))

    async def _one_by_one(
        self, target: str, names: Sequence[str], emit: Emitter, *, place: bool
    ) -> list[tuple[str, float | None]]:
        # One after the other: a record is enacted in the order of its calls.
        return [(name, await self._chance(ONE, question_one(target, name, place=place), emit, probable=True)) for name in names]

    async def _together(
        self, target: str, names: Sequence[str], emit: Emitter, *, place: bool
    ) -> list[tuple[str, float | None]]:
        found: list[tuple[str, float | None]] = []
        for start in range(0, len(names), MOST_LISTED):
            some = names[start : start + MOST_LISTED]
            text = question_all(target, some, places=place)
            answer = await self._ask(listing(some), text, emit)
            found += [(name, (answer.value or {}).get(name)) for name in some]
        return found

    def hidden(self, memory: PetMemory) -> frozenset[str]:
        """The names that are masked now."""
        if memory.belief is None or not self.settings.eliminate:
            return frozenset()
        target = self.target(memory)
        low = {
            one.name
            for one in memory.relevance
            if one.target == target and one.score is not None and one.score < self.settings.threshold
        }
        return frozenset(low - {memory.belief.held} - {one.name for one in memory.belief.here()})

    # Acting (section 3.4 has an agent of its own).

    async def _act(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PetMemory]:
        hidden = self.hidden(memory)
        if memory.began != memory.step:
            memory = replace(memory, acting=self._begun(memory, hidden), began=memory.step)
            turn = replace(turn, transitions=memory.played, hints=memory.hints)
        told = tuple(replace(one, observation=_without(one.observation, hidden)) for one in turn.transitions)
        admissible = None if turn.admissible is None else possible(turn.admissible, hidden)
        turn = replace(turn, transitions=told, admissible=admissible)
        decision, acting = await self._acting.decide(memory.acting, turn, _ActingEmitter(emit) if memory.plan else emit)
        return decision, replace(memory, acting=acting)

    def _begun(self, memory: PetMemory, hidden: frozenset[str]) -> Memory:
        """The acting agent's memory at the beginning of what it is given now, which is no task of the granted type."""
        goal = self._acting_goal(memory)
        # The game's opening ends with the task.
        opening = replace(memory.opening, text=memory.opening.text.replace(memory.goal or goal, goal))
        grants = memory.grants if goal == memory.goal else replace(memory.grants, task_type=None)
        return self._acting.begin(goal, _without(opening, hidden), grants)

    def _acting_goal(self, memory: PetMemory) -> str:
        """What the acting agent is given as its task."""
        if not memory.plan or memory.subtask is None:
            return memory.goal
        if self.settings.track:
            return memory.subtask
        return load_prompt(PACKAGE, "subtasks").render("whole", goal=bare(memory.goal), subtasks=", ".join(memory.plan))

    async def _ask(self, role: Role[T], text: str, emit: Emitter, *, alternatives: int = 0) -> Answer[T]:
        system = system_message(load_prompt(PACKAGE, role.name), self._world)
        return await ask(role, self._model, (system,), text, emit, self._sampling, alternatives=alternatives)

    async def _chance(self, role: Role[bool], text: str, emit: Emitter, *, probable: bool) -> float | None:
        """How likely yes is against no; 1 or 0 where only the answer tells, None where nothing does."""
        answer = await self._ask(role, text, emit, alternatives=ALTERNATIVES if probable else 0)
        chance = probability(answer.alternatives)
        if chance is not None:
            return chance
        return None if answer.value is None else float(answer.value)


@dataclass(frozen=True, slots=True)
class _ActingEmitter:
    """Tells what an acting agent says: its own plan is a thought about a sub-task, since the plan is the list of those."""

    emit: Emitter

    def __call__(self, body: AgentEvent, timing: Timing | None = None) -> None:
        match body:
            case events.Planned(role=role, steps=steps):
                self.emit(events.Thought(role=role, text=f"Plan:\n{numbered(steps)}"))
            case events.Progressed():
                pass
            case _:
                self.emit(body, timing)


def _without(observation: Observation, hidden: frozenset[str]) -> Observation:
    return replace(observation, text=masked(observation.text, hidden))
