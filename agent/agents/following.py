"""What LLM-Planner and the Socratic Planner share: they write a high-level plan and follow it, one subgoal after the other.

The low-level planner, which LLM-Planner (section 4.5) and the Socratic Planner (section 3.5) both take from HLSM, is the shared
body: it goes to a subgoal's object, and searches for it if it was not seen yet, in text or by a camera.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from housequest.agent.agents.bodies import make_body
from housequest.agent.agents.examples import ExampleSource, make_example_selector
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, Turn
from housequest.agent.episodes import events
from housequest.agent.impression import Impression
from housequest.agent.roles.subgoals import PlanExample, Subgoal, plan_example
from housequest.agent.skills.controller import Done, Execute, Failed, PlannerSearch
from housequest.agent.skills.skill import Skill, Verb
from housequest.knowledge.rules import Rule

PLANNER = "planner"
"""The role that writes the plan."""
MOST_COMPLETED = 200
EXPLORE = Skill("explore")
_VERBS: dict[str, Verb] = {"toggle": "use", "slice": "slice", "pick": "pick"}


class PlannerSettings(ExampleSource, Protocol):
    """The settings of a planner: by what it searches, when a subgoal has failed, and how often it plans again."""

    @property
    def search(self) -> PlannerSearch: ...
    @property
    def replanning(self) -> bool: ...
    @property
    def patience(self) -> int: ...
    @property
    def actions(self) -> int: ...
    @property
    def revisions(self) -> int: ...


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """How far a plan is carried out; immutable plain data.

    ``state`` is the body's. ``at`` is the index of the present subgoal, ``ahead`` the skills left of it (None before it was
    begun), ``steps`` the commands executed for it, and ``unknown`` why it cannot begin while it is looked for what it names.
    ``completed`` are the subgoals completed in the episode, in this plan or an earlier one.
    """

    state: Any
    plan: tuple[Subgoal, ...] = ()
    at: int = 0
    ahead: tuple[Skill, ...] | None = None
    steps: int = 0
    unknown: str | None = None
    completed: tuple[Subgoal, ...] = ()

    @property
    def subgoal(self) -> Subgoal | None:
        """The present subgoal; None at the end of the plan."""
        return self.plan[self.at] if self.at < len(self.plan) else None

    def advanced(self, subgoal: Subgoal) -> bool:
        """Whether completing ``subgoal`` is progress: it took a command, and is no going to and fro."""
        going = takewhile(lambda done: done.action == "navigate", reversed(self.completed))
        return self.steps > 0 and not (subgoal.action == "navigate" and subgoal in going)

    def moved(self, at: int) -> PlanProgress:
        """The progress at the beginning of the subgoal ``at``."""
        return replace(self, at=at, ahead=None, steps=0, unknown=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerMemory:
    """What a planner remembers: how far its plan is, and the examples that it was shown.

    ``revision`` is -1 before the first plan; ``asked`` counts the calls for another one, and ``retried`` the tries of the
    present subgoal beyond the first.
    """

    goal: str
    grants: Grants
    progress: PlanProgress
    shots: tuple[PlanExample, ...] = ()
    revision: int = -1
    asked: int = 0
    retried: int = 0


M = TypeVar("M", bound=PlannerMemory)


class PlanFollower(ABC, Generic[M]):
    """An agent that plans, and plans again when a subgoal fails, or after ``patience`` commands for it (0: no limit).

    Without re-planning the first plan is followed to its end, whatever fails.
    """

    words: ClassVar[Callable[[Subgoal], str]]
    """A subgoal as the planner writes it."""
    skipping: ClassVar[str] = ""
    """What is added to the reason for which a subgoal is skipped."""

    def __init__(self, parts: AgentParts[Any]) -> None:
        settings: PlannerSettings = parts.settings
        self._model, self._sampling = parts.model, parts.sampling
        self._body = make_body(parts, settings.search)
        self.picture_size = self._body.picture_size
        self._examples = make_example_selector(parts.world, settings, parts.seed)
        self._patience = settings.actions if parts.world.pictured else settings.patience
        self._revisions, self._replanning = settings.revisions, settings.replanning

    @abstractmethod
    async def _prepare(self, memory: M, turn: Turn, emit: Emitter) -> tuple[Decision | None, M]:
        """The first plan, where there is none yet; a revised one where a person gave a hint."""

    @abstractmethod
    async def _recover(self, memory: M, failed: Subgoal, reason: str, turn: Turn, emit: Emitter) -> tuple[Decision | None, M]:
        """What comes of the subgoal that ``failed``, if the plan may be revised."""

    async def attend(self, memory: M, turn: Turn) -> M:
        progress = memory.progress
        return replace(memory, progress=replace(progress, state=await self._body.observe(progress.state, turn)))

    def doing(self, memory: M) -> str:
        skill: Skill | None = memory.progress.state.skill
        return skill.text if skill is not None else ""

    def impression(self, memory: M) -> Impression | None:
        return self._body.impression(memory.progress.state)

    async def decide(self, memory: M, turn: Turn, emit: Emitter) -> tuple[Decision, M]:
        """Plan if need be, then follow the plan up to its next command."""
        progress = memory.progress
        state = await self._body.observe(progress.state, turn)
        memory = replace(memory, progress=replace(progress, state=state, steps=progress.steps + len(turn.transitions)))
        failure, memory = await self._prepare(memory, turn, emit)
        while failure is None:
            before = memory.progress.at
            outcome, progress = await self._advance(memory.progress, memory.goal, turn.rules, emit)
            memory = replace(memory, progress=progress, retried=memory.retried if progress.at == before else 0)
            subgoal = progress.subgoal
            if progress.at != before and subgoal is not None:
                emit(events.Progressed(role=PLANNER, step=progress.at))
            if isinstance(outcome, Execute):
                return Act(outcome.command), memory
            if outcome is None or subgoal is None:
                return GiveUp("the plan is carried out, and the task goes on"), memory
            reason = f"{type(self).words(subgoal)} failed: {outcome.reason.rstrip('.')}"
            if not self._replanning:
                memory = self._skipped(memory, reason, emit)
            elif memory.asked >= self._revisions:
                failure = GiveUp(f"{reason}; it was planned anew {memory.asked} times, which is as often as is allowed")
            else:
                failure, memory = await self._recover(memory, subgoal, reason, turn, emit)
        return failure, memory

    async def _with_examples(self, memory: M) -> M:
        """``memory`` with the examples for its task."""
        if memory.shots:
            return memory
        chosen = await self._examples.choose(memory.goal, self._body.told(memory.progress.state).seen)
        return replace(memory, shots=tuple(map(plan_example, chosen)))

    def _planned(self, memory: M, plan: tuple[Subgoal, ...], reason: str, emit: Emitter) -> M:
        """``memory`` at the beginning of a new ``plan``."""
        progress = replace(memory.progress, plan=plan).moved(0)
        memory = replace(memory, progress=progress, revision=memory.revision + 1, retried=0)
        steps = tuple(map(type(self).words, plan))
        emit(events.Planned(role=PLANNER, steps=steps, revision=memory.revision, reason=reason))
        return memory

    def _skipped(self, memory: M, reason: str, emit: Emitter) -> M:
        """``memory`` at the next subgoal."""
        emit(events.Thought(role=PLANNER, text=f"{reason}{self.skipping}"))
        return replace(memory, progress=memory.progress.moved(memory.progress.at + 1))

    async def _advance(
        self, progress: PlanProgress, goal: str, rules: Sequence[Rule], emit: Emitter
    ) -> tuple[Execute | Failed | None, PlanProgress]:
        """The next command, or why the present subgoal failed, or None at the end of the plan.

        Subgoals that already hold are skipped, and are no progress. One that names what nobody has heard of is put off while
        the room is explored, for ``patience`` commands, in case it is seen. Advancing again after a failure retries the
        subgoal.
        """
        while (subgoal := progress.subgoal) is not None:
            if progress.ahead is None:
                progress = self._begun(replace(progress, steps=0), skills_of(subgoal))
            if not progress.ahead:
                if progress.unknown is not None:
                    # It was looked into a place for what is unknown: it may have been there.
                    progress = self._begun(progress, skills_of(subgoal))
                    continue
                done = (*progress.completed, subgoal) if progress.advanced(subgoal) else progress.completed
                progress = replace(progress, completed=done[-MOST_COMPLETED:]).moved(progress.at + 1)
                continue
            ahead = progress.ahead
            outcome, state = await self._body.proceed(progress.state, goal, emit, rules)
            heard = not (isinstance(outcome, Failed) and outcome.unknown)
            exploring = ahead == (EXPLORE,)
            if progress.unknown is not None and heard and not exploring:
                progress = replace(progress, unknown=None)
            if isinstance(outcome, Done):
                progress = self._begun(replace(progress, state=state), ahead[1:])
                continue
            spent = bool(self._patience) and progress.steps >= self._patience
            if exploring and progress.unknown is not None and (spent or isinstance(outcome, Failed)):
                looked = f"{progress.steps} commands of looking around did not show it" if progress.steps else ""
                reason = "; ".join(filter(None, (progress.unknown.rstrip("."), looked)))
                return Failed(reason), replace(progress, state=state).moved(progress.at)
            if isinstance(outcome, Failed) and outcome.unknown and self._replanning:
                if progress.unknown is None:
                    emit(events.Thought(role=PLANNER, text=f"{outcome.reason.rstrip('.')}; the room is explored for it."))
                progress = self._begun(replace(progress, state=state, unknown=progress.unknown or outcome.reason), (EXPLORE,))
                continue
            if isinstance(outcome, Failed):
                return outcome, replace(progress, state=state).moved(progress.at)
            if spent:
                left = ", ".join(self._body.unsearched(state))
                more = f"; not looked into yet: {left}" if left else ""
                reason = f"{progress.steps} commands were not enough{more}"
                return Failed(reason), replace(progress, state=state).moved(progress.at)
            return outcome, replace(progress, state=state)
        return None, progress

    def _begun(self, progress: PlanProgress, skills: tuple[Skill, ...]) -> PlanProgress:
        state = self._body.start(progress.state, skills[0]) if skills else progress.state
        return replace(progress, state=state, ahead=skills)


def skills_of(subgoal: Subgoal) -> tuple[Skill, ...]:
    """The skills that carry ``subgoal`` out: an object to be picked up, switched or sliced is found first."""
    match subgoal.action:
        case "navigate":
            return (Skill("go", subgoal.object),)
        case "open" | "close" as verb:
            return (Skill(verb, receptacle=subgoal.place),)
        case "put":
            return (Skill("put", subgoal.object if subgoal.receptacle else None, subgoal.place),)
        case "heat" | "cool" | "clean" as verb:
            return (Skill(verb, subgoal.object, subgoal.receptacle),)
        case action:
            return (Skill("find", subgoal.object), Skill(_VERBS[action], subgoal.object))
