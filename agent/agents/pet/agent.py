"""PET wraps an acting agent: it plans sub-tasks, masks irrelevant names in observations, and tracks progress.

Plan, Eliminate and Track (Wu et al., 2023, section 3) guide an agent that acts; they do not act themselves. The paper's acting
agent is a network trained by imitation on the same texts (here ``action-attention``); any other sees what PET leaves in too.

The acting agent starts a new conversation whenever the sub-task changes: its task is then the sub-task, and its first prompt
holds everything that happened so far, without masked names. Within a sub-task its prompts only grow. So the prefix cache is
lost with each sub-task, two to six times an episode, at the cost of reading the history again. Plan, Eliminate and Track each
ask short questions of their own, which share the system message.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from housequest.agent.agents.examples import TRAIN, ExampleSelector, make_example_selector
from housequest.agent.agents.pet import roles
from housequest.agent.agents.pet.thresholds import Thresholds, read_thresholds
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Agent, AgentEvent, Decision, Emitter, Grants, Memory, ParseFailure, Turn
from housequest.agent.episodes import events
from housequest.agent.models.base import Timing
from housequest.agent.roles.base import Answer, ReplyError, Role, ask, continues, load_prompt
from housequest.agent.roles.messages import additions, emit_rules, numbered, system_message, transcript
from housequest.knowledge.examples import subtasks, tasks_of
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import ConfigurationError, Unsupported, shown
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.reading import masked, possible
from housequest.worlds.paths import given_path

if TYPE_CHECKING:
    from housequest.agent.agents.pet import PetSettings

T = TypeVar("T")

VERDICT_TOKENS = 4
"""Tokens of a verdict that is read off the first word."""

MOST_JUDGED = 500
"""Names judged for one target; any further ones are shown unjudged."""


@dataclass(frozen=True, slots=True)
class PetMemory:
    """What PET remembers.

    ``plan`` is None until the planner was asked. ``step`` is the index of the present sub-task, ``len(plan)`` after the last
    one; ``since`` counts the steps since it began. ``acting`` is the memory of the acting agent, ``began`` its first
    ``step``.
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
    judged: tuple[events.Judged, ...] = ()
    acting: Memory = None
    began: int | None = None

    @property
    def subtask(self) -> str | None:
        """The present sub-task; None before the plan and after its end."""
        return self.plan[self.step] if self.plan and self.step < len(self.plan) else None


class Pet:
    """Plans, eliminates and tracks for ``acting``. Needs a chat model; uses log-probabilities if it gives them.

    Calls an episode, besides those of ``acting``: 1 for the plan; 1 a step to track; to eliminate, 1 for each name and sub-task
    with probabilities, else 1 or 2 (places, objects) whenever new names appear.

    An unreadable plan uses up the turn, and the task takes its place. A name with an unreadable score is shown; an unreadable
    verdict is a no. Without Track the acting agent gets the task with the whole list, and relevance is judged against the task;
    without Plan there is nothing to track. The held object and the present place are never masked. As in the paper, nothing
    masked in error comes back, and a sub-task finished in error is not resumed. Outside households nothing is eliminated.
    """

    name = "pet"

    def __init__(self, parts: AgentParts[PetSettings], acting: Agent) -> None:
        self._model, self._sampling, self.settings = parts.model, parts.sampling, parts.settings
        self._acting = acting
        calibrated = read_thresholds(given_path(self.settings.thresholds)) if self.settings.thresholds else {}
        same = Thresholds(self.settings.threshold, self.settings.threshold)
        self._thresholds = calibrated or dict.fromkeys(("probability", "answer"), same)
        self._world, self._household = parts.world, parts.world.household
        # The planner's examples have no trajectory, so the tasks of train need not be played.
        store = tasks_of(parts.world, TRAIN) if self.settings.plan and self.settings.examples == TRAIN else None
        examples = make_example_selector(parts.world, self.settings, parts.seed, store=store) if self.settings.plan else None
        self._examples = examples or ExampleSelector(())

    async def check(self) -> None:
        """Raise ``Unsupported`` if the model cannot do what the settings ask for."""
        if self._model.brief or self.settings.scores == "probability" or self.settings.thresholds:
            self._least(probable=await self._probable())

    def begin(self, goal: str, observation: Observation, grants: Grants) -> PetMemory:
        belief = None if self._household is None else self._household.begin(observation)
        return PetMemory(goal, observation, grants, belief)

    async def decide(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PetMemory]:
        failure, memory = await self.look(memory, turn, emit)
        if failure is not None:
            return failure, memory
        return await self._act(memory, turn, emit)

    async def look(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[ParseFailure | None, PetMemory]:
        """Plan, track and eliminate, but do not act. A failure uses up the turn. Raises ``Unsupported`` and ``ModelError``."""
        probable = await self._probable()
        belief = memory.belief
        for transition in turn.transitions:
            if belief is not None and self._household is not None:
                belief = self._household.update(belief, transition.command, transition.observation)
        played, since = memory.played + turn.transitions, memory.since + len(turn.transitions)
        memory = replace(memory, belief=belief, played=played, since=since, hints=memory.hints + turn.hints)
        if self.settings.plan and memory.plan is None:
            failure, memory = await self._plan(memory, turn, emit)
            if failure is not None:
                return failure, memory
        elif self.settings.track and turn.transitions and memory.subtask is not None:
            # Track (section 3.3).
            story = transcript(memory.played[-min(memory.since, roles.CONTEXT) :])
            text = load_prompt(roles.PACKAGE, roles.TRACKER.name).render("question", story=story, subtask=memory.subtask)
            if (await self._chance(roles.TRACKER, text, emit, probable=probable) or 0) > 0.5:
                emit(events.Progressed(role=roles.TRACKER.name, step=memory.step + 1))
                memory = replace(memory, step=memory.step + 1, since=0)
        if self.settings.eliminate and memory.belief is not None:
            memory = await self._eliminate(memory, memory.belief, emit, probable=probable)
        return None, memory

    def _least(self, *, probable: bool) -> Thresholds:
        """Below which scores names are masked. Raises ``ConfigurationError`` where that was calibrated for another way."""
        way = "probability" if probable else "answer"
        if way not in self._thresholds:
            raise ConfigurationError(
                f"{shown(self.settings.thresholds, 200)} has no thresholds of scores={way}; calibrate them with "
                f"`housequest modules RUN --model NAME --set scores={way} --calibrate FILE`."
            )
        return self._thresholds[way]

    async def _probable(self) -> bool:
        """Whether questions are answered by probability. Raises ``Unsupported``."""
        if self._model.brief:
            raise Unsupported(
                f"{self._model.name} reads short prompts of its own alone, and 'pet' asks questions; "
                "name a chat model, such as openai:NAME, or another agent."
            )
        able = await self._model.capabilities()
        if await continues(self._model, self._sampling):
            able = replace(able, log_probabilities=False)
        if self.settings.scores == "probability" and not able.log_probabilities:
            raise Unsupported(
                f"{self._model.name} gives no log-probabilities, which --set scores=probability needs; "
                "leave that out, and 'pet' takes the model's answers."
            )
        return able.log_probabilities and self.settings.scores != "answer"

    # Plan (section 3.1).

    async def _plan(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[ParseFailure | None, PetMemory]:
        examples = await self._examples.choose(memory.goal, memory.belief.kinds if memory.belief else ())
        # The most similar example comes last, right before the question.
        shots = [(example.goal, subtasks(example, self._household)) for example in reversed(examples)]
        text = roles.plan_question(memory.goal, shots)
        text += additions(replace(turn, admissible=None), (), memory.grants, first=True)
        emit_rules(turn.rules, (), emit)
        answer = await self._ask(roles.SUBTASKS, text, emit)
        if answer.value is None:
            return ParseFailure(roles.SUBTASKS.name, answer.reason), replace(memory, plan=())
        emit(events.Planned(role=roles.SUBTASKS.name, steps=answer.value, revision=0, reason="the episode begins"))
        return None, replace(memory, plan=answer.value, since=0)

    # Eliminate (section 3.2).

    def target(self, memory: PetMemory) -> str:
        """What relevance is judged against now."""
        subtask = memory.subtask if self.settings.track and self.settings.judged == "subtask" else None
        return roles.bare(subtask or memory.goal)

    async def _eliminate(self, memory: PetMemory, belief: Belief, emit: Emitter, *, probable: bool) -> PetMemory:
        target, least = self.target(memory), self._least(probable=probable)
        prompt = load_prompt(roles.PACKAGE, roles.ELIMINATOR)
        known = {one.name for judged in memory.judged if judged.target == target for one in judged.things}
        found: list[events.Relevance] = []
        for place, everything in ((True, belief.receptacles), (False, belief.items)):
            new = [one.name for one in everything if one.name not in known][: max(0, MOST_JUDGED - len(known))]
            known.update(new)
            scores: dict[str, float | None] = {}
            # One call after the other: a resumed episode repeats them in their order.
            if probable:
                for name in new:
                    # The name stands last in the question, so that all questions share a prefix.
                    text = prompt.render("place" if place else "object", target=target, name=name)
                    scores[name] = await self._chance(roles.ONE, text, emit, probable=True)
            else:
                for start in range(0, len(new), roles.MOST_LISTED):
                    some = new[start : start + roles.MOST_LISTED]
                    text = prompt.render("places" if place else "objects", target=target, names="\n".join(some))
                    answer = await self._ask(roles.listing(some), text, emit)
                    scores |= answer.value or {}
            for name in new:
                score = scores.get(name)
                below = score is not None and score < (least.places if place else least.objects)
                found.append(events.Relevance(name=name, place=place, score=score, masked=below))
        if not found:
            return memory
        judged = events.Judged(role=roles.ELIMINATOR, target=target, things=tuple(found))
        emit(judged)
        return replace(memory, judged=(*memory.judged, judged))

    def hidden(self, memory: PetMemory) -> frozenset[str]:
        """The names that are masked now."""
        if memory.belief is None or not self.settings.eliminate:
            return frozenset()
        target = self.target(memory)
        low = {one.name for judged in memory.judged if judged.target == target for one in judged.things if one.masked}
        return frozenset(low.difference(memory.belief.carried) - {one.name for one in memory.belief.here()})

    # Acting (section 3.4 has an agent of its own).

    async def _act(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PetMemory]:
        hidden = self.hidden(memory)
        if memory.began != memory.step:
            memory = replace(memory, acting=self._begun(memory, hidden), began=memory.step)
            turn = replace(turn, transitions=memory.played, hints=memory.hints)
        seen = tuple(replace(one, observation=_without(one.observation, hidden)) for one in turn.transitions)
        admissible = None if turn.admissible is None else possible(turn.admissible, hidden)
        turn = replace(turn, transitions=seen, admissible=admissible)
        decision, acting = await self._acting.decide(memory.acting, turn, _as_thoughts(emit) if memory.plan else emit)
        return decision, replace(memory, acting=acting)

    def _begun(self, memory: PetMemory, hidden: frozenset[str]) -> Memory:
        """The acting agent's memory at the start of its present task, which has no granted type."""
        goal = memory.goal
        if memory.plan and memory.subtask is not None:
            prompt, steps = load_prompt(roles.PACKAGE, "subtasks"), ", ".join(memory.plan)
            whole = prompt.render("whole", goal=roles.bare(goal), subtasks=steps)
            goal = memory.subtask if self.settings.track else whole
        # The game's opening ends with the task.
        opening = replace(memory.opening, text=memory.opening.text.replace(memory.goal or goal, goal))
        grants = memory.grants if goal == memory.goal else replace(memory.grants, task_type=None)
        return self._acting.begin(goal, _without(opening, hidden), grants)

    async def _ask(self, role: Role[T], text: str, emit: Emitter, *, alternatives: int = 0, once: bool = False) -> Answer[T]:
        system = system_message(load_prompt(roles.PACKAGE, role.name), self._world)
        return await ask(role, self._model, (system,), text, emit, self._sampling, alternatives=alternatives, once=once)

    async def _chance(self, role: Role[bool], text: str, emit: Emitter, *, probable: bool) -> float | None:
        """p(yes) against p(no); 1 or 0 if only the answer is known, None if it cannot be read."""
        if probable and self._sampling.form != "free":
            first = await self._ask(_first_word(role), text, emit, alternatives=roles.ALTERNATIVES, once=True)
            chance = _chance_of(first)
            if chance is not None:
                return chance
            # It may think before it answers, so it is let write its answer.
            reason = "it does not begin with yes or no, and neither is likely to."
            emit(events.ParseFailed(role=role.name, reply=first.conversation[-1].content, reason=reason, final=False))
            probable = False
        # Free replies are asked for as they were before there were forms.
        role = replace(role, first_tokens=VERDICT_TOKENS) if probable else role
        return _chance_of(await self._ask(role, text, emit, alternatives=roles.ALTERNATIVES if probable else 0))


def _chance_of(answer: Answer[bool] | Answer[bool | None]) -> float | None:
    """p(yes) against p(no) of the first word, else 1 or 0 for an answer that was read."""
    chance = roles.probability(answer.alternatives)
    return chance if chance is not None or answer.value is None else float(answer.value)


def _first_word(role: Role[bool]) -> Role[bool | None]:
    """``role`` where the first word counts, as the model would have it: not held, not written on, and never unreadable."""

    def read(reply: str) -> bool | None:
        with suppress(ReplyError):
            return role.read(reply)
        return None

    return Role(role.name, read, stop=role.stop, first_tokens=VERDICT_TOKENS)


def _as_thoughts(emit: Emitter) -> Emitter:
    """Emits the acting agent's events, with its own plan as a thought, since the episode's plan is the list of sub-tasks."""

    def told(body: AgentEvent, timing: Timing | None = None) -> None:
        if isinstance(body, events.Planned):
            emit(events.Thought(role=body.role, text=f"Plan:\n{numbered(body.steps)}"))
        elif not isinstance(body, events.Progressed):
            emit(body, timing)

    return told


def _without(observation: Observation, hidden: frozenset[str]) -> Observation:
    return replace(observation, text=masked(observation.text, hidden))
