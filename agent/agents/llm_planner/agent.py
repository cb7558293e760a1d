"""LLM-Planner (Song et al., ICCV 2023): few-shot high-level plans, grounded by re-planning.

A language model is shown similar tasks with their plans, and writes a plan of (action, object) pairs; a low-level planner turns
each pair into commands. Dynamically (Algorithm 1), it is asked again whenever a subgoal fails or takes too many steps, and told
which subgoals are completed and which objects were seen: the kinds of things that the observation texts named stand in for the
paper's object detector. Statically, the first plan is followed to its end, whatever fails.

The paper's step-by-step instructions (section 4.2) are an annotator's, which only published games have. There they are part of
the goal sentence, if the world was made to show them (goals ``human+steps``), and not a line of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.agents.examples import Chooser
from agent.agents.following import Course, Ended, Follower, Stuck, seen_kinds
from agent.agents.llm_planner.role import LLM_PLANNER, Wording, request_text, system_text, written
from agent.base import Act, Decision, Emitter, GiveUp, Grants, ParseFailure, Turn
from agent.episodes import events
from agent.models.base import Message, Model
from agent.roles.base import Sampling, ask
from agent.roles.shots import Shot, shot_of
from agent.roles.story import additions, tell_rules
from agent.roles.subgoals import PAIR_NAMES, as_pair
from agent.skills.controller import Execute
from worlds.base import Observation
from worlds.household.belief import Belief


@dataclass(frozen=True, slots=True)
class Grounding:
    """What ties plans to the house.

    ``dynamic``: there is re-planning, at most ``most`` times in an episode, for which the paper sets no bound. ``bias`` is what
    the tokens of allowed actions and seen objects are favoured by, in nats (section 5.3: 0.1), where the model takes one.
    """

    dynamic: bool = True
    most: int = 10
    bias: float = 0.1


@dataclass(frozen=True, slots=True)
class PlannerMemory:
    """What is known, how far the plan is, and what the planner was asked last.

    ``revision`` is -1 before the first plan; ``asked`` counts the calls for another one. ``known`` is what was believed when
    the plan was made.
    """

    goal: str
    grants: Grants
    course: Course
    shots: tuple[Shot, ...] = ()
    revision: int = -1
    asked: int = 0
    request: str = ""
    known: Belief | None = None


class LlmPlanner:
    """Calls an episode: 1, and 1 more whenever the plan is made anew; needs a chat model.

    Where the model takes a bias, the tokens of allowed actions and seen objects are favoured; elsewhere they are not, and
    nothing else changes. The prompt is rendered anew at each call, as in the paper: only its last lines differ, so that a
    prefix cache still serves the rest. The diagnosis of refused commands and the list of admissible ones are not for it.
    """

    name = "llm-planner"

    def __init__(
        self, model: Model, follower: Follower, chooser: Chooser, sampling: Sampling, grounding: Grounding, wording: Wording
    ) -> None:
        self._model = model
        self._follower = follower
        self._chooser = chooser
        self._sampling = sampling
        self._grounding = grounding
        self._wording: Wording = wording
        self._system = Message("system", system_text(wording))

    def begin(self, goal: str, observation: Observation, grants: Grants) -> PlannerMemory:
        return PlannerMemory(goal, grants, self._follower.begin(observation, goal))

    async def decide(self, memory: PlannerMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PlannerMemory]:
        memory = replace(memory, course=self._follower.told(memory.course, turn.transitions))
        failure: Decision | None = None
        if memory.revision < 0:
            if not memory.shots:
                chosen = await self._chooser.choose(memory.goal, seen_kinds(memory.course.belief))
                memory = replace(memory, shots=tuple(map(shot_of, chosen)))
            failure, memory = await self._plan(memory, turn, "the episode begins", emit)
        elif turn.hints and self._grounding.dynamic and memory.asked < self._grounding.most:
            failure, memory = await self._plan(memory, turn, "the person beside you gave a hint", emit)
        while failure is None:
            before = memory.course.at
            came, course = self._follower.advance(memory.course)
            memory = replace(memory, course=course)
            if course.at != before and course.subgoal is not None:
                emit(events.Progressed(role=LLM_PLANNER.name, step=course.at))
            match came:
                case Execute(command=command):
                    return Act(command), memory
                case Ended():
                    failure = GiveUp("the plan is carried out, and the task goes on")
                case Stuck():
                    failure, memory = await self._recover(memory, came, turn, emit)
        return failure, memory

    async def _recover(
        self, memory: PlannerMemory, stuck: Stuck, turn: Turn, emit: Emitter
    ) -> tuple[Decision | None, PlannerMemory]:
        """Another plan where there is re-planning and it can bring one; else on with the rest of this one."""
        reason = f"{as_pair(stuck.subgoal)} failed: {stuck.reason}"
        if self._grounding.dynamic and memory.asked >= self._grounding.most:
            return GiveUp(f"{reason}; it was planned anew {memory.asked} times, which is as often as is allowed"), memory
        if self._grounding.dynamic and not self._same_again(memory, turn):
            return await self._plan(memory, turn, reason, emit)
        emit(events.Thought(role=LLM_PLANNER.name, text=f"{reason}; on with the rest of the plan."))
        return None, replace(memory, course=self._follower.skip(memory.course))

    def _same_again(self, memory: PlannerMemory, turn: Turn) -> bool:
        """Whether the planner would be asked what it was asked before, nothing having been learnt since.

        A model that is not to vary then plans the same, and that fails the same, for ever.
        """
        unchanged = memory.known == memory.course.belief and memory.request == self._request(memory, turn)
        return unchanged and not self._sampling.temperature

    async def _plan(
        self, memory: PlannerMemory, turn: Turn, reason: str, emit: Emitter
    ) -> tuple[Decision | None, PlannerMemory]:
        """Another plan; or what comes of there being none."""
        again = memory.revision >= 0
        request = self._request(memory, turn)
        sampling = replace(self._sampling, bias=await self._bias(memory))
        tell_rules(turn.rules, (), emit)
        answer = await ask(LLM_PLANNER, self._model, (self._system,), request, emit, sampling)
        memory = replace(memory, asked=memory.asked + again)
        if answer.value is None:
            return ParseFailure(LLM_PLANNER.name, answer.reason), memory
        memory = replace(
            memory,
            course=self._follower.take(memory.course, answer.value),
            revision=memory.revision + 1,
            request=request,
            known=memory.course.belief,
        )
        steps = tuple(as_pair(subgoal) for subgoal in answer.value)
        emit(events.Planned(role=LLM_PLANNER.name, steps=steps, revision=memory.revision, reason=reason))
        return None, memory

    async def _bias(self, memory: PlannerMemory) -> tuple[tuple[str, float], ...]:
        if not (self._grounding.bias and (await self._model.capabilities()).bias):
            return ()
        # Within a plan, a name stands behind a space, which many vocabularies make part of its first token.
        objects = (f" {name}" for name in seen_kinds(memory.course.belief)) if self._grounding.dynamic else ()
        return tuple((text, self._grounding.bias) for text in (*PAIR_NAMES.values(), *objects))

    def _request(self, memory: PlannerMemory, turn: Turn) -> str:
        added = additions(replace(turn, admissible=None), (), memory.grants, first=True).strip()
        completed = written(memory.course.completed, self._wording) or "nothing yet"
        objects = ", ".join(seen_kinds(memory.course.belief)) or "none yet"
        grounding = (completed, objects) if self._grounding.dynamic else None
        return request_text(memory.goal, memory.shots, self._wording, added=added, grounding=grounding)
