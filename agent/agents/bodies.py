"""Bodies, which carry out a planner's skills one command at a time and know what was seen; and following a high-level plan.

OPEx, LLM-Planner and the Socratic Planner plan alike for a household in text and for the body with a camera of the group
``housequest.bodies``. LLM-Planner (section 4.5) and the Socratic Planner (section 3.5) write a high-level plan and follow it,
one subgoal after the other; both take their low-level planner from HLSM. Here that is the body: it goes to a subgoal's object,
and searches for it if it was not seen yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from housequest.agent.agents.examples import make_example_selector
from housequest.agent.agents.spec import AgentParts, CameraSettings
from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, Impression, Memory, Turn
from housequest.agent.episodes import events
from housequest.agent.roles.messages import found_items, held_text, here_text, transcript
from housequest.agent.skills.controller import Controller, Done, Execute, Failed
from housequest.agent.skills.naming import resolve
from housequest.agent.skills.skill import ControllerState, Outcome, PlannerSearch
from housequest.knowledge.examples import Example
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.goals import Skill
from housequest.worlds.registry import load_plugin

PLANNER = "planner"
MOST_COMPLETED = 200
EXPLORE = Skill("explore")


class Told(NamedTuple):
    """Known facts in words for prompts; and the kinds of receptacle, of all things ``seen`` in order, and of the held thing."""

    found: str
    here: str
    held: str
    room: str
    places: tuple[str, ...]
    seen: tuple[str, ...]
    holding: str


class Body(Protocol):
    """Carries out skills, one command at a time. Its states are immutable, and have the ``skill`` in progress or None.

    Args:
        picture_size: Columns and rows of its pictures; None for text alone.
        steps: The skills that a goal sentence asks for, without searching; None if it is unclear.
        attend: The state after the commands since the last turn, whoever chose them. Slow work runs in a thread.
        start: Replaces the skill in progress by another one, or none.
        proceed: The skill's next command, or its end. Raises ``ModelError``.
        impression: The agent's reading of the last picture.
        story: The executed commands, in words for prompts.
        caption: The present view, in words for prompts, beside the ``text`` of the latest observation.
        unsearched: The kinds of place left to search, if the skill searches for something.
        known: Equal for two states if nothing was learned between them, wherever the body stands."""

    @property
    def picture_size(self) -> tuple[int, int] | None: ...
    def begin(self, opening: Observation, goal: str) -> Any: ...
    def steps(self, goal: str) -> tuple[Skill, ...] | None: ...
    async def attend(self, state: Any, turn: Turn) -> Any: ...
    def start(self, state: Any, skill: Skill | None) -> Any: ...
    async def proceed(self, state: Any, goal: str, emit: Emitter, rules: Sequence[Rule]) -> tuple[Outcome, Any]: ...
    def told(self, state: Any) -> Told: ...
    def impression(self, state: Any) -> Impression | None: ...
    def story(self, state: Any, transitions: Sequence[Transition]) -> str: ...
    def caption(self, state: Any, text: str) -> str: ...
    def was_seen(self, state: Any, said: str) -> bool: ...
    def unsearched(self, state: Any) -> tuple[str, ...]: ...
    def known(self, state: Any) -> Hashable: ...


class BodyPlayer:
    """The shared part of agents that move a body. Their memories have its ``state``."""

    _body: Body
    picture_size: tuple[int, int] | None

    async def attend(self, memory: Memory, turn: Turn) -> Memory:
        return replace(memory, state=await self._body.attend(memory.state, turn))

    def doing(self, memory: Memory) -> str:
        skill: Skill | None = memory.state.skill
        return skill.text if skill is not None else ""

    def impression(self, memory: Memory) -> Impression | None:
        return self._body.impression(memory.state)


@dataclass(frozen=True, slots=True, eq=False)
class SkillsMemory:
    """The skills of a fixed plan, the number of the one in progress, and if it is tried ``again``."""

    skills: tuple[Skill, ...]
    state: Any
    step: int = -1
    again: bool = False


class SkillsPlayer(BodyPlayer):
    """Carries out a fixed plan, without a model. It tries a failed skill once more, and then gives up. The event of the plan
    names its ``role`` and ``reason``."""

    role: ClassVar[str]
    reason: ClassVar[str]

    def __init__(self, name: str, body: Body) -> None:
        self.name = name
        self._body, self.picture_size = body, body.picture_size

    async def decide(self, memory: SkillsMemory, turn: Turn, emit: Emitter) -> tuple[Decision, SkillsMemory]:
        memory = await self.attend(memory, turn)
        if memory.step < 0:
            steps = tuple(skill.text for skill in memory.skills)
            emit(events.Planned(role=self.role, steps=steps, revision=0, reason=self.reason))
            memory = self._started(memory, 0, emit)
        while memory.step < len(memory.skills):
            outcome, state = await self._body.proceed(memory.state, "", emit, ())
            memory = replace(memory, state=state)
            skill = memory.skills[memory.step]
            match outcome:
                case Execute(command=command):
                    return Act(command), memory
                case Done():
                    memory = self._started(memory, memory.step + 1, emit)
                case Failed(reason=reason, final=final) if memory.again or final:
                    return GiveUp(f"{skill.text}: {reason}"), memory
                case Failed():
                    memory = replace(memory, again=True, state=self._body.start(memory.state, self.chosen(memory, skill)))
        return GiveUp("the plan is carried out, and the task is not done"), memory

    def chosen(self, memory: SkillsMemory, skill: Skill) -> Skill:
        """The skill to start for a step of the plan, by what is known now."""
        del memory
        return skill

    def _started(self, memory: SkillsMemory, step: int, emit: Emitter) -> SkillsMemory:
        if step >= len(memory.skills):
            return replace(memory, step=step)
        if step:
            emit(events.Progressed(role=self.role, step=step))
        memory = replace(memory, step=step, again=False)
        skill = self.chosen(memory, memory.skills[step])
        if skill.verb == "pick" and skill.object == self._body.told(memory.state).holding:
            # A person has picked it up already.
            return self._started(memory, step + 1, emit)
        return replace(memory, state=self._body.start(memory.state, skill))


class TextBody(Controller):
    """A household in text. The controller of skills is the body."""

    picture_size = None

    def steps(self, goal: str) -> tuple[Skill, ...] | None:
        return self._household.steps(goal)

    async def attend(self, state: ControllerState, turn: Turn) -> ControllerState:
        return self.observe(state, turn.transitions, turn.hints)

    def impression(self, state: ControllerState) -> None:
        del state

    def told(self, state: ControllerState) -> Told:
        belief = state.belief
        places = belief.kinds
        # OPEx's observer is told the kind of room, which is guessed from its furniture.
        room = self._household.counts().room_of(set(places)).replace("livingroom", "living room")
        found, here, held = found_items(belief), here_text(belief), held_text(belief)
        return Told(found, here, held, room, places, _seen_kinds(belief), kind(belief.held or ""))

    def story(self, state: ControllerState, transitions: Sequence[Transition]) -> str:
        del state
        return transcript(transitions)

    def caption(self, state: ControllerState, text: str) -> str:
        belief = state.belief
        where = f"at the {belief.at}" if belief.at else "in the middle of the room"
        there = f" There: {here_text(belief)}." if belief.at else ""
        return f"{text} The robot is {where}, holding {held_text(belief)}.{there}"

    def was_seen(self, state: ControllerState, said: str) -> bool:
        belief = state.belief
        names = [one.name for one in (*belief.receptacles, *belief.items)]
        return resolve(said, _seen_kinds(belief), names) is not None

    def unsearched(self, state: ControllerState) -> tuple[str, ...]:
        if state.skill is None or state.skill.verb != "find":
            return ()
        return tuple(dict.fromkeys(one.kind for one in state.belief.unsearched))

    def known(self, state: ControllerState) -> Hashable:
        return state.belief.elsewhere


def _seen_kinds(belief: Belief) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind(one.name) for one in (*belief.receptacles, *belief.items)))


def make_body(parts: AgentParts[CameraSettings], search: PlannerSearch) -> Body:
    """Make the body of an agent in its world; in text it searches by ``search``. Raises ``ConfigurationError``."""
    if parts.world.info.pictured:
        return load_plugin("housequest.bodies", "camera", "body")(parts)
    return TextBody(parts.household, parts.model, parts.sampling, search=search, seed=parts.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerMemory:
    """The memory of a planner: the body's ``state``, its plan, and the examples that it was shown (``shots``).

    ``at`` is the index of the present subgoal. ``ahead`` are the skills left of it (None before it begins), ``steps`` counts
    its commands, ``retried`` its tries beyond the first, and ``unknown`` is why it cannot begin while the body looks for
    what it names. ``completed`` are the subgoals completed in the episode, in this plan or an earlier one. ``revision`` is
    -1 before the first plan; ``asked`` counts the calls for another one."""

    goal: str
    grants: Grants
    state: Any
    shots: tuple[Example, ...] = ()
    plan: tuple[Skill, ...] = ()
    at: int = 0
    ahead: tuple[Skill, ...] | None = None
    steps: int = 0
    unknown: str | None = None
    retried: int = 0
    completed: tuple[Skill, ...] = ()
    revision: int = -1
    asked: int = 0

    @property
    def subgoal(self) -> Skill | None:
        return self.plan[self.at] if self.at < len(self.plan) else None

    def advanced(self, subgoal: Skill) -> bool:
        """True if completing ``subgoal`` is progress: it took a command, and was not just going back and forth."""
        going = takewhile(lambda done: done.verb == "go", reversed(self.completed))
        return self.steps > 0 and not (subgoal.verb == "go" and subgoal in going)


M = TypeVar("M", bound=PlannerMemory)


class PlanFollower(BodyPlayer, ABC, Generic[M]):
    """An agent that plans. With re-planning it plans again when a subgoal fails or took ``patience`` commands (0: no limit)."""

    words: ClassVar[Callable[[Skill], str]]  # A subgoal as the planner writes it.
    skipping: ClassVar[str] = ""  # Added to the reason why a subgoal is skipped.

    def __init__(self, parts: AgentParts[Any]) -> None:
        settings = parts.settings
        self._model, self._sampling = parts.model, parts.sampling
        self._body = make_body(parts, settings.search)
        self.picture_size = self._body.picture_size
        self._examples = make_example_selector(parts.world, settings, parts.seed)
        self._patience = settings.actions if parts.world.info.pictured else settings.patience
        self._revisions, self._replanning = settings.revisions, settings.replanning

    @abstractmethod
    async def _prepare(self, memory: M, turn: Turn, emit: Emitter) -> tuple[Decision | None, M]:
        """Make the first plan if there is none yet, and revise it after a person's hint."""

    @abstractmethod
    async def _recover(self, memory: M, failed: Skill, reason: str, turn: Turn, emit: Emitter) -> tuple[Decision | None, M]:
        """Handle a failed subgoal by replanning."""

    async def decide(self, memory: M, turn: Turn, emit: Emitter) -> tuple[Decision, M]:
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
        return replace(memory, shots=tuple(chosen))

    def _planned(self, memory: M, plan: tuple[Skill, ...], reason: str, emit: Emitter) -> M:
        memory = _moved(replace(memory, plan=plan, revision=memory.revision + 1), 0)
        steps = tuple(map(type(self).words, plan))
        emit(events.Planned(role=PLANNER, steps=steps, revision=memory.revision, reason=reason))
        return memory

    def _skipped(self, memory: M, reason: str, emit: Emitter) -> M:
        emit(events.Thought(role=PLANNER, text=f"{reason}{self.skipping}"))
        return _moved(memory, memory.at + 1)

    async def _advance(self, memory: M, rules: Sequence[Rule], emit: Emitter) -> tuple[Execute | Failed | None, M]:
        """Get the next command, or the reason why the present subgoal failed, or None at the end of the plan.

        Skills that already hold are skipped, and are no progress. If a subgoal names an unknown thing, the room is
        explored first, for ``patience`` commands, in case the thing is seen. Advancing again after a failure retries the
        subgoal."""
        while (subgoal := memory.subgoal) is not None:
            if memory.ahead is None:
                memory = self._begun(replace(memory, steps=0), skills_of(subgoal))
            if not memory.ahead:
                if memory.unknown is not None:
                    # A place was searched for the unknown thing, which may have been there.
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


def skills_of(subgoal: Skill) -> tuple[Skill, ...]:
    """The skills that carry ``subgoal`` out: an object is found before it is picked up, switched on or sliced."""
    fetched = subgoal.verb in ("pick", "use", "slice")
    return (Skill("find", subgoal.object), Skill(subgoal.verb, subgoal.object)) if fetched else (subgoal,)
