"""What LLM-Planner and the Socratic Planner share: they write a high-level plan and follow it, one subgoal after the other.

The low-level planner, which LLM-Planner (section 4.5) and the Socratic Planner (section 3.5) both take from HLSM, is the shared
body: it goes to a subgoal's object, and searches for it if it was not seen yet, in text or by a camera.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, ClassVar, Generic, TypeVar

from housequest.agent.agents.bodies import BodyPlayer, make_body
from housequest.agent.agents.examples import make_example_selector
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, Turn
from housequest.agent.episodes import events
from housequest.agent.roles.subgoals import PlanExample, Subgoal, plan_example
from housequest.agent.skills.controller import Done, Execute, Failed
from housequest.agent.skills.skill import Skill, Verb
from housequest.knowledge.rules import Rule

PLANNER = "planner"
MOST_COMPLETED = 200
EXPLORE = Skill("explore")
_VERBS: dict[str, Verb] = {"toggle": "use", "slice": "slice", "pick": "pick"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerMemory:
    """What a planner remembers: the body's ``state``, its plan, and the examples that it was shown (``shots``).

    ``at`` is the index of the present subgoal, ``ahead`` the skills left of it (None before it was begun), ``steps`` the
    commands executed for it, ``unknown`` why it cannot begin while it is looked for what it names, and ``retried`` how often it
    was tried beyond the first time. ``completed`` are the subgoals completed in the episode, in this plan or an earlier one.
    ``revision`` is -1 before the first plan; ``asked`` counts the calls for another one.
    """

    goal: str
    grants: Grants
    state: Any
    shots: tuple[PlanExample, ...] = ()
    plan: tuple[Subgoal, ...] = ()
    at: int = 0
    ahead: tuple[Skill, ...] | None = None
    steps: int = 0
    unknown: str | None = None
    retried: int = 0
    completed: tuple[Subgoal, ...] = ()
    revision: int = -1
    asked: int = 0

    @property
    def subgoal(self) -> Subgoal | None:
        """The present subgoal; None at the end of the plan."""
        return self.plan[self.at] if self.at < len(self.plan) else None

    def advanced(self, subgoal: Subgoal) -> bool:
        """Whether completing ``subgoal`` is progress: it took a command, and is no going to and fro."""
        going = takewhile(lambda done: done.action == "navigate", reversed(self.completed))
        return self.steps > 0 and not (subgoal.action == "navigate" and subgoal in going)


M = TypeVar("M", bound=PlannerMemory)


class PlanFollower(BodyPlayer, ABC, Generic[M]):
    """An agent that plans, and, with re-planning, again when a subgoal fails or took ``patience`` commands (0: no limit)."""

    words: ClassVar[Callable[[Subgoal], str]]
    """A subgoal as the planner writes it."""
    skipping: ClassVar[str] = ""
    """What is added to the reason for which a subgoal is skipped."""

    def __init__(self, parts: AgentParts[Any]) -> None:
        settings = parts.settings
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

    async def decide(self, memory: M, turn: Turn, emit: Emitter) -> tuple[Decision, M]:
        """Plan if need be, then follow the plan up to its next command."""
        memory = replace(await self.attend(memory, turn), steps=memory.steps + len(turn.transitions))
        failure, memory = await self._prepare(memory, turn, emit)
        while failure is None:
            before = memory.at
            outcome, memory = await self._advance(memory, turn.rules, emit)
            subgoal = memory.subgoal
            if memory.at != before and subgoal is not None:
                emit(events.Progressed(role=PLANNER, step=memory.at))
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
        if memory.shots:
            return memory
        chosen = await self._examples.choose(memory.goal, self._body.told(memory.state).seen)
        return replace(memory, shots=tuple(map(plan_example, chosen)))

    def _planned(self, memory: M, plan: tuple[Subgoal, ...], reason: str, emit: Emitter) -> M:
        memory = _moved(replace(memory, plan=plan, revision=memory.revision + 1), 0)
        steps = tuple(map(type(self).words, plan))
        emit(events.Planned(role=PLANNER, steps=steps, revision=memory.revision, reason=reason))
        return memory

    def _skipped(self, memory: M, reason: str, emit: Emitter) -> M:
        emit(events.Thought(role=PLANNER, text=f"{reason}{self.skipping}"))
        return _moved(memory, memory.at + 1)

    async def _advance(self, memory: M, rules: Sequence[Rule], emit: Emitter) -> tuple[Execute | Failed | None, M]:
        """The next command, or why the present subgoal failed, or None at the end of the plan.

        Subgoals that already hold are skipped, and are no progress. One that names what nobody has heard of is put off while
        the room is explored, for ``patience`` commands, in case it is seen. Advancing again after a failure retries the
        subgoal.
        """
        while (subgoal := memory.subgoal) is not None:
            if memory.ahead is None:
                memory = self._begun(replace(memory, steps=0), skills_of(subgoal))
            if not memory.ahead:
                if memory.unknown is not None:
                    # It was looked into a place for what is unknown: it may have been there.
                    memory = self._begun(memory, skills_of(subgoal))
                    continue
                done = (*memory.completed, subgoal) if memory.advanced(subgoal) else memory.completed
                memory = _moved(replace(memory, completed=done[-MOST_COMPLETED:]), memory.at + 1)
                continue
            ahead = memory.ahead
            outcome, state = await self._body.proceed(memory.state, memory.goal, emit, rules)
            memory = replace(memory, state=state)
            exploring = ahead == (EXPLORE,)
            if not (exploring or (isinstance(outcome, Failed) and outcome.unknown)):
                memory = replace(memory, unknown=None)
            if isinstance(outcome, Done):
                memory = self._begun(memory, ahead[1:])
                continue
            spent = bool(self._patience) and memory.steps >= self._patience
            if exploring and memory.unknown is not None and (spent or isinstance(outcome, Failed)):
                looked = f"{memory.steps} commands of looking around did not show it" if memory.steps else ""
                outcome = Failed("; ".join(filter(None, (memory.unknown.rstrip("."), looked))))
            elif isinstance(outcome, Failed) and outcome.unknown and self._replanning:
                if memory.unknown is None:
                    emit(events.Thought(role=PLANNER, text=f"{outcome.reason.rstrip('.')}; the room is explored for it."))
                memory = self._begun(replace(memory, unknown=memory.unknown or outcome.reason), (EXPLORE,))
                continue
            elif isinstance(outcome, Execute) and spent:
                left = ", ".join(self._body.unsearched(state))
                more = f"; not looked into yet: {left}" if left else ""
                outcome = Failed(f"{memory.steps} commands were not enough{more}")
            return outcome, memory if isinstance(outcome, Execute) else _moved(memory, memory.at, retried=memory.retried)
        return None, memory

    def _begun(self, memory: M, skills: tuple[Skill, ...]) -> M:
        state = self._body.start(memory.state, skills[0]) if skills else memory.state
        return replace(memory, state=state, ahead=skills)


def _moved(memory: M, at: int, *, retried: int = 0) -> M:
    return replace(memory, at=at, ahead=None, steps=0, unknown=None, retried=retried)


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
