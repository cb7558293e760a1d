"""LLM-Planner (Song et al., ICCV 2023): few-shot high-level plans, grounded by re-planning.

A language model is shown similar tasks with their plans, and writes a plan of (action, object) pairs; a low-level planner turns
each pair into commands. Dynamically (Algorithm 1), it is asked again whenever a subgoal fails or takes too many steps, and told
which subgoals are completed and which objects were seen: the kinds of things that the observation texts named stand in for the
paper's object detector. Statically, the first plan is followed to its end, whatever fails.

The paper's step-by-step instructions (section 4.2) are an annotator's, which only published games have. There they are part of
the goal sentence, if the world was made to show them (goals ``human+steps``), and not a line of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent.agents.examples import ExampleSelector
from agent.agents.following import PlanDone, PlanFollower, PlanProgress, SubgoalFailed, seen_kinds
from agent.base import Act, Decision, Emitter, GiveUp, Grants, ParseFailure, Turn
from agent.episodes import events
from agent.models.base import Message, Model
from agent.roles.base import Prompt, ReplyError, Role, Sampling, ask, load_prompt
from agent.roles.messages import additions, emit_rules
from agent.roles.subgoals import MOST_SUBGOALS, PAIR_NAMES, Action, PlanExample, Subgoal, as_pair, plan_example, read_plan
from agent.skills.controller import Execute
from worlds.base import Observation
from worlds.household.belief import Belief

if TYPE_CHECKING:
    from agent.agents.llm_planner import LlmPlannerSettings, Wording

_NAMES = tuple(PAIR_NAMES.values())
_ACTIONS: dict[str, Action] = {name: action for action, name in PAIR_NAMES.items()}


def _template() -> Prompt:
    return load_prompt("agent.agents.llm_planner", "llm_planner")


def plan_text(plan: Sequence[Subgoal], wording: Wording) -> str:
    """A plan as the prompt shows it and as the model shall write it."""
    if wording == "pairs":
        return ", ".join(as_pair(subgoal) for subgoal in plan)
    return "".join(f"\n{number}. {as_pair(subgoal)}" for number, subgoal in enumerate(plan, 1))


def system_text(wording: Wording) -> str:
    """What the planner is told before any task."""
    prompt = _template()
    return prompt.render("system", actions=", ".join(_NAMES), form=prompt.render(wording))


def request_text(
    goal: str, shots: Sequence[PlanExample], wording: Wording, *, added: str = "", grounding: tuple[str, str] | None = None
) -> str:
    """What the planner is asked: examples, what is ``added`` (rules, hints), the task, and "Next plan:" (figure 2).

    ``grounding`` are the completed subgoals and the objects seen, for dynamic planning (section 4.4).
    """
    prompt = _template()
    parts = [prompt.render("example", goal=shot.goal, plan=plan_text(shot.plan, wording)) for shot in shots]
    task = [prompt.render("task", goal=goal)]
    if grounding is not None:
        completed, objects = grounding
        task.append(prompt.render("grounding", completed=completed, objects=objects))
    return "\n\n".join([*parts, *([added] if added else []), "\n".join([*task, prompt.render("ask")])])


def _strict(text: str) -> tuple[Subgoal, ...]:
    pairs = [pair.partition(" ") for pair in text.split(", ")]
    if len(pairs) > MOST_SUBGOALS or not all(name in _ACTIONS and thing.isalnum() for name, _, thing in pairs):
        raise ReplyError("the plan is not one line of allowed actions, each with an object.")
    return tuple(Subgoal(_ACTIONS[name], thing) for name, _, thing in pairs)


def _lenient(text: str) -> tuple[Subgoal, ...]:
    return read_plan(text, _NAMES)


LLM_PLANNER: Role[tuple[Subgoal, ...]] = Role("planner", _strict, _lenient, stop=("\nTask description:",))


@dataclass(frozen=True, slots=True)
class LlmPlannerMemory:
    """What is known, how far the plan is, and what the planner was asked last.

    ``revision`` is -1 before the first plan; ``asked`` counts the calls for another one. ``known`` is what was believed when
    the plan was made.
    """

    goal: str
    grants: Grants
    progress: PlanProgress
    shots: tuple[PlanExample, ...] = ()
    revision: int = -1
    asked: int = 0
    request: str = ""
    known: Belief | None = None


class LlmPlanner:
    """Calls an episode: 1, and 1 more whenever the plan is made anew; needs a chat model.

    Where the model takes a bias, the tokens of allowed actions and seen objects are favoured. The prompt is rendered anew at
    each call, as in the paper: only its last lines differ, so that a prefix cache still serves the rest. It is not shown the
    diagnosis of refused commands nor the admissible ones.
    """

    name = "llm-planner"

    def __init__(
        self,
        model: Model,
        follower: PlanFollower,
        examples: ExampleSelector,
        sampling: Sampling,
        settings: LlmPlannerSettings,
    ) -> None:
        self._model = model
        self._follower = follower
        self._examples = examples
        self._sampling = sampling
        self._settings = settings
        self._system = Message("system", system_text(settings.wording))

    def begin(self, goal: str, observation: Observation, grants: Grants) -> LlmPlannerMemory:
        return LlmPlannerMemory(goal, grants, self._follower.begin(observation, goal))

    async def decide(self, memory: LlmPlannerMemory, turn: Turn, emit: Emitter) -> tuple[Decision, LlmPlannerMemory]:
        memory = replace(memory, progress=self._follower.observe(memory.progress, turn.transitions))
        failure: Decision | None = None
        if memory.revision < 0:
            if not memory.shots:
                chosen = await self._examples.choose(memory.goal, seen_kinds(memory.progress.belief))
                memory = replace(memory, shots=tuple(map(plan_example, chosen)))
            failure, memory = await self._plan(memory, turn, "the episode begins", emit)
        elif turn.hints and self._settings.replanning and memory.asked < self._settings.revisions:
            failure, memory = await self._plan(memory, turn, "the person beside you gave a hint", emit)
        while failure is None:
            before = memory.progress.at
            came, progress = self._follower.advance(memory.progress)
            memory = replace(memory, progress=progress)
            if progress.at != before and progress.subgoal is not None:
                emit(events.Progressed(role=LLM_PLANNER.name, step=progress.at))
            match came:
                case Execute(command=command):
                    return Act(command), memory
                case PlanDone():
                    failure = GiveUp("the plan is carried out, and the task goes on")
                case SubgoalFailed():
                    failure, memory = await self._recover(memory, came, turn, emit)
        return failure, memory

    async def _recover(
        self, memory: LlmPlannerMemory, failed: SubgoalFailed, turn: Turn, emit: Emitter
    ) -> tuple[Decision | None, LlmPlannerMemory]:
        """Another plan where there is re-planning and it can bring one; else on with the rest of this one."""
        reason = f"{as_pair(failed.subgoal)} failed: {failed.reason}"
        if self._settings.replanning and memory.asked >= self._settings.revisions:
            return GiveUp(f"{reason}; it was planned anew {memory.asked} times, which is as often as is allowed"), memory
        if self._settings.replanning and not self._same_again(memory, turn):
            return await self._plan(memory, turn, reason, emit)
        emit(events.Thought(role=LLM_PLANNER.name, text=f"{reason}; on with the rest of the plan."))
        return None, replace(memory, progress=self._follower.skip(memory.progress))

    def _same_again(self, memory: LlmPlannerMemory, turn: Turn) -> bool:
        """Whether the planner would be asked what it was asked before, nothing having been learnt since.

        A model that is not to vary then plans the same, and that fails the same, for ever.
        """
        unchanged = memory.known == memory.progress.belief and memory.request == self._request(memory, turn)
        return unchanged and not self._sampling.temperature

    async def _plan(
        self, memory: LlmPlannerMemory, turn: Turn, reason: str, emit: Emitter
    ) -> tuple[Decision | None, LlmPlannerMemory]:
        """Another plan; or what comes of there being none."""
        again = memory.revision >= 0
        request = self._request(memory, turn)
        sampling = replace(self._sampling, bias=await self._bias(memory))
        emit_rules(turn.rules, (), emit)
        answer = await ask(LLM_PLANNER, self._model, (self._system,), request, emit, sampling)
        memory = replace(memory, asked=memory.asked + again)
        if answer.value is None:
            return ParseFailure(LLM_PLANNER.name, answer.reason), memory
        memory = replace(
            memory,
            progress=self._follower.take(memory.progress, answer.value),
            revision=memory.revision + 1,
            request=request,
            known=memory.progress.belief,
        )
        steps = tuple(as_pair(subgoal) for subgoal in answer.value)
        emit(events.Planned(role=LLM_PLANNER.name, steps=steps, revision=memory.revision, reason=reason))
        return None, memory

    async def _bias(self, memory: LlmPlannerMemory) -> tuple[tuple[str, float], ...]:
        if not (self._settings.bias and (await self._model.capabilities()).bias):
            return ()
        # Within a plan, a name stands behind a space, which many vocabularies make part of its first token.
        objects = (f" {name}" for name in seen_kinds(memory.progress.belief)) if self._settings.replanning else ()
        return tuple((text, self._settings.bias) for text in (*PAIR_NAMES.values(), *objects))

    def _request(self, memory: LlmPlannerMemory, turn: Turn) -> str:
        added = additions(replace(turn, admissible=None), (), memory.grants, first=True).strip()
        completed = plan_text(memory.progress.completed, self._settings.wording) or "nothing yet"
        objects = ", ".join(seen_kinds(memory.progress.belief)) or "none yet"
        grounding = (completed, objects) if self._settings.replanning else None
        return request_text(memory.goal, memory.shots, self._settings.wording, added=added, grounding=grounding)
