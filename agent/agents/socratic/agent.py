"""The Socratic Planner (Shin et al., 2024): a zero-shot plan from questions that the model asks itself, revised by feedback.

The Socratic Task Decomposer asks and answers questions about the task (section 3.3), the Task Planner makes subgoals of the
conversation (section 3.4), and a low-level controller carries them out. When one fails (Algorithm 1), the advisor is told what
is seen and judges whether the subgoal is valid: it is tried again where its target was observed and it is judged valid; else
the advisor explains the cause, and the planner revises the plan (section 3.5). The texts stand in for what the paper takes from
images: the latest observation with what is known of the present place for the caption, the things named by then for the
detected objects; the advisor is the same language model in place of a vision-language model.

Its ablation (table 3) leaves the decomposer out, or lets it think step by step in place of questioning itself; its static
setting never plans again (table 1); where it is few-shot, its planner is shown tasks with their plans.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent.agents.examples import ExampleSelector
from agent.agents.following import PlanDone, PlanFollower, PlanProgress, SubgoalFailed, seen_kinds, was_seen
from agent.agents.socratic.roles import (
    CAUSE,
    DECOMPOSER,
    PACKAGE,
    QUESTIONER,
    SOCRATIC_PLANNER,
    VALIDITY,
    dialogue_text,
    plan_text,
    system_text,
)
from agent.base import Act, Decision, Emitter, GiveUp, Grants, ParseFailure, Turn
from agent.episodes import events
from agent.models.base import Message, Model
from agent.roles.base import Conversation, Sampling, ask, load_prompt
from agent.roles.messages import additions, emit_rules, rules_after
from agent.roles.subgoals import PlanExample, Subgoal, as_triple, plan_example, without_navigation
from agent.skills.controller import Execute
from knowledge.rules import Rule
from worlds.base import Observation

if TYPE_CHECKING:
    from agent.agents.socratic import SocraticSettings


@dataclass(frozen=True, slots=True)
class SocraticMemory:
    """The roles' conversations, what was found out about the task, and how far the plan is.

    ``scene`` is the latest observation; ``retried`` counts tries of the present subgoal beyond the first. ``revision`` is -1
    before the first plan; ``asked`` counts the calls for another one.
    """

    goal: str
    grants: Grants
    progress: PlanProgress
    scene: str
    decomposer: Conversation
    planner: Conversation
    advisor: Conversation
    shots: tuple[PlanExample, ...] = ()
    found: str | None = None
    shown_rules: tuple[Rule, ...] = ()
    retried: int = 0
    revision: int = -1
    asked: int = 0


class Socratic:
    """Calls an episode: 2 before the first command, and up to 3 more at each failure; needs a chat model."""

    name = "socratic"

    def __init__(
        self,
        model: Model,
        follower: PlanFollower,
        examples: ExampleSelector,
        sampling: Sampling,
        settings: SocraticSettings,
    ) -> None:
        self._model = model
        self._follower = follower
        self._examples = examples
        self._sampling = sampling
        self._settings = settings
        household = load_prompt(PACKAGE, "socratic")
        rules, subtask = household.render("rules"), household.render("subtask")
        self._decompose = load_prompt(
            PACKAGE, "socratic_questioner" if settings.decompose == "questions" else "socratic_decomposer"
        )
        self._decomposer = Message("system", self._decompose.render("system", rules=rules, subtask=subtask))
        self._planner = Message("system", system_text())
        self._advisor = Message("system", load_prompt(PACKAGE, "socratic_advisor").render("system", rules=rules))

    def begin(self, goal: str, observation: Observation, grants: Grants) -> SocraticMemory:
        return SocraticMemory(
            goal,
            grants,
            self._follower.begin(observation, goal),
            observation.text.partition("Your task is to:")[0].strip(),
            (self._decomposer,),
            (self._planner,),
            (self._advisor,),
        )

    async def decide(self, memory: SocraticMemory, turn: Turn, emit: Emitter) -> tuple[Decision, SocraticMemory]:
        memory = replace(memory, progress=self._follower.observe(memory.progress, turn.transitions))
        if turn.transitions:
            memory = replace(memory, scene=str(turn.transitions[-1].observation))
        failure, memory = await self._prepare(memory, turn, emit)
        while failure is None:
            before = memory.progress.at
            came, progress = self._follower.advance(memory.progress)
            memory = replace(memory, progress=progress, retried=memory.retried if progress.at == before else 0)
            if progress.at != before and progress.subgoal is not None:
                emit(events.Progressed(role=SOCRATIC_PLANNER.name, step=progress.at))
            match came:
                case Execute(command=command):
                    return Act(command), memory
                case PlanDone():
                    failure = GiveUp("the plan is carried out, and the task goes on")
                case SubgoalFailed() if self._settings.replanning:
                    failure, memory = await self._recover(memory, came, turn, emit)
                case SubgoalFailed():
                    emit(events.Thought(role=SOCRATIC_PLANNER.name, text=f"{as_triple(came.subgoal)} failed: {came.reason}"))
                    memory = replace(memory, progress=self._follower.skip(memory.progress))
        return failure, memory

    async def _prepare(self, memory: SocraticMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, SocraticMemory]:
        """What is found out and the first plan, where there are none yet; a revised plan where a person gave a hint."""
        if memory.revision >= 0:
            if not (turn.hints and self._settings.replanning):
                return None, memory
            text = load_prompt(PACKAGE, "socratic_planner").render("hint", **self._progress(memory))
            return await self._plan(memory, turn, text, "the person beside you gave a hint", emit)
        if self._settings.decompose != "none" and memory.found is None:
            failure, memory = await self._discover(memory, turn, emit)
            if failure is not None:
                return failure, memory
        if not memory.shots:
            chosen = await self._examples.choose(memory.goal, seen_kinds(memory.progress.belief))
            memory = replace(memory, shots=tuple(map(plan_example, chosen)))
        return await self._plan(memory, turn, self._opening(memory), "the episode begins", emit)

    async def _discover(self, memory: SocraticMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, SocraticMemory]:
        """What the decomposer finds out, by questions and answers or by a chain of thought."""
        text = self._decompose.render("task", goal=memory.goal) + _additions(turn, memory, first=True)
        emit_rules(turn.rules, memory.shown_rules, emit)
        if self._settings.decompose == "questions":
            asked = await ask(QUESTIONER, self._model, memory.decomposer, text, emit, self._sampling)
            role, reason, conversation = QUESTIONER.name, asked.reason, asked.conversation
            found = dialogue_text(asked.value) if asked.value else None
        else:
            thought = await ask(DECOMPOSER, self._model, memory.decomposer, text, emit, self._sampling)
            role, reason, conversation, found = DECOMPOSER.name, thought.reason, thought.conversation, thought.value
        memory = replace(memory, decomposer=conversation, found=found)
        if found is None:
            return ParseFailure(role, reason), memory
        emit(events.Thought(role=role, text=found))
        return None, memory

    def _opening(self, memory: SocraticMemory) -> str:
        prompt = load_prompt(PACKAGE, "socratic_planner")
        parts = [
            prompt.render("example", goal=shot.goal, plan=plan_text(without_navigation(shot.plan))) for shot in memory.shots
        ]
        if memory.found is None:
            parts.append(prompt.render("bare", goal=memory.goal))
        elif self._settings.decompose == "questions":
            parts.append(prompt.render("task", goal=memory.goal, dialogue=memory.found))
        else:
            parts.append(prompt.render("reasoned", goal=memory.goal, reasoning=memory.found))
        return "\n\n".join(parts)

    async def _recover(
        self, memory: SocraticMemory, failed: SubgoalFailed, turn: Turn, emit: Emitter
    ) -> tuple[Decision | None, SocraticMemory]:
        """Algorithm 1, lines 9 to 18: another try where the failure was bad luck, else a revised plan."""
        prompt = load_prompt(PACKAGE, "socratic_advisor")
        subgoal, reason = as_triple(failed.subgoal), f"{as_triple(failed.subgoal)} failed: {failed.reason}"
        if memory.asked >= self._settings.revisions:
            return GiveUp(f"{reason}; it was planned anew {memory.asked} times, which is as often as is allowed"), memory
        scene = _caption(memory)
        text = prompt.render("validity", scene=scene, subgoal=subgoal)
        judged = await ask(VALIDITY, self._model, memory.advisor, text, emit, self._sampling)
        memory = replace(memory, advisor=judged.conversation)
        seen = was_seen(memory.progress.belief, failed.subgoal.object)
        if judged.value and seen and memory.retried < self._settings.retries:
            emit(events.Thought(role=VALIDITY.name, text=f"{reason}. It is valid, and its target was seen: it is tried again."))
            return None, replace(memory, retried=memory.retried + 1)
        target = prompt.render("seen" if seen else "unseen", object=failed.subgoal.object)
        explained = await ask(
            CAUSE, self._model, memory.advisor, prompt.render("cause", target=target, subgoal=subgoal), emit, self._sampling
        )
        cause = explained.value or "It is not known."
        if explained.value:
            emit(events.Thought(role=CAUSE.name, text=cause))
        memory = replace(memory, advisor=explained.conversation)
        text = load_prompt(PACKAGE, "socratic_planner").render(
            "revise", subgoal=subgoal, scene=scene, cause=cause, **self._progress(memory)
        )
        return await self._plan(memory, turn, text, reason, emit)

    def _progress(self, memory: SocraticMemory) -> dict[str, str]:
        progress = memory.progress
        return {
            "objects": ", ".join(seen_kinds(progress.belief)) or "nothing yet",
            "completed": _listed(progress.completed),
            "left": _listed(progress.plan[progress.at :]),
        }

    async def _plan(
        self, memory: SocraticMemory, turn: Turn, text: str, reason: str, emit: Emitter
    ) -> tuple[Decision | None, SocraticMemory]:
        text += _additions(turn, memory, first=memory.revision < 0)
        emit_rules(turn.rules, memory.shown_rules, emit)
        answer = await ask(SOCRATIC_PLANNER, self._model, memory.planner, text, emit, self._sampling)
        memory = replace(
            memory,
            planner=answer.conversation,
            shown_rules=rules_after(turn, memory.shown_rules),
            asked=memory.asked + (memory.revision >= 0),
        )
        if answer.value is None:
            return ParseFailure(SOCRATIC_PLANNER.name, answer.reason), memory
        if answer.value.change:
            emit(events.Thought(role=SOCRATIC_PLANNER.name, text=answer.value.change))
        progress = self._follower.take(memory.progress, answer.value.subgoals)
        memory = replace(memory, progress=progress, revision=memory.revision + 1, retried=0)
        steps = tuple(as_triple(subgoal) for subgoal in answer.value.subgoals)
        emit(events.Planned(role=SOCRATIC_PLANNER.name, steps=steps, revision=memory.revision, reason=reason))
        return None, memory


def _additions(turn: Turn, memory: SocraticMemory, *, first: bool) -> str:
    return additions(replace(turn, admissible=None), memory.shown_rules, memory.grants, first=first)


def _listed(subgoals: tuple[Subgoal, ...]) -> str:
    return ", ".join(map(as_triple, subgoals)) or "nothing"


def _caption(memory: SocraticMemory) -> str:
    """What is seen, in words: the latest text, where the robot is, and what it holds."""
    belief = memory.progress.belief
    where = f"at the {belief.at}" if belief.at else "in the middle of the room"
    return f"{memory.scene} The robot is {where}, holding {belief.held or 'nothing'}."
