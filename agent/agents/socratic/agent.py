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
from typing import Literal, get_args

from agent.agents.examples import Chooser
from agent.agents.following import Course, Ended, Follower, Stuck, seen_kinds, was_seen
from agent.agents.socratic.advisor import CAUSE, VALIDITY
from agent.agents.socratic.decomposer import DECOMPOSER
from agent.agents.socratic.planner import SOCRATIC_PLANNER, system_text, written
from agent.agents.socratic.questioner import QUESTIONER
from agent.agents.socratic.questioner import written as told_dialogue
from agent.base import Act, Decision, Emitter, GiveUp, Grants, ParseFailure, Turn
from agent.episodes import events
from agent.models.base import Message, Model
from agent.roles.base import Conversation, Sampling, ask, load_prompt
from agent.roles.shots import Shot, shot_of, without_navigation
from agent.roles.story import additions, rules_after, tell_rules
from agent.roles.subgoals import Subgoal, as_triple
from agent.skills.controller import Execute
from knowledge.rules import Rule
from worlds.base import Observation

Decomposition = Literal["questions", "chain-of-thought", "none"]
"""How a task is taken apart before it is planned: the method's way, or one of those that table 3 compares it with."""

DECOMPOSITIONS: tuple[Decomposition, ...] = get_args(Decomposition)


@dataclass(frozen=True, slots=True)
class Socratics:
    """What of the method is in use: decomposition, re-planning, and bounds on the latter, which the paper does not set.

    ``retries`` is how often one subgoal is tried again in a row because it was judged valid: in a household in text the same
    commands fail alike, where the paper's controller may have had bad luck. ``most`` bounds the revisions of an episode.
    """

    decompose: Decomposition = "questions"
    replanning: bool = True
    retries: int = 1
    most: int = 10


@dataclass(frozen=True, slots=True)
class SocraticMemory:
    """The roles' conversations, what was found out about the task, and how far the plan is.

    ``scene`` is the latest observation; ``retried`` counts tries of the present subgoal beyond the first. ``revision`` is -1
    before the first plan; ``asked`` counts the calls for another one.
    """

    goal: str
    grants: Grants
    course: Course
    scene: str
    decomposer: Conversation
    planner: Conversation
    advisor: Conversation
    shots: tuple[Shot, ...] = ()
    found: str | None = None
    shown_rules: tuple[Rule, ...] = ()
    retried: int = 0
    revision: int = -1
    asked: int = 0


class Socratic:
    """Calls an episode: 2 before the first command, and up to 3 more at each failure; needs a chat model."""

    name = "socratic"

    def __init__(self, model: Model, follower: Follower, chooser: Chooser, sampling: Sampling, socratics: Socratics) -> None:
        self._model = model
        self._follower = follower
        self._chooser = chooser
        self._sampling = sampling
        self._use = socratics
        household = load_prompt("socratic")
        rules, subtask = household.render("rules"), household.render("subtask")
        self._decompose = load_prompt("socratic_questioner" if socratics.decompose == "questions" else "socratic_decomposer")
        self._decomposer = Message("system", self._decompose.render("system", rules=rules, subtask=subtask))
        self._planner = Message("system", system_text())
        self._advisor = Message("system", load_prompt("socratic_advisor").render("system", rules=rules))

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
        memory = replace(memory, course=self._follower.told(memory.course, turn.transitions))
        if turn.transitions:
            memory = replace(memory, scene=str(turn.transitions[-1].observation))
        failure, memory = await self._prepare(memory, turn, emit)
        while failure is None:
            before = memory.course.at
            came, course = self._follower.advance(memory.course)
            memory = replace(memory, course=course, retried=memory.retried if course.at == before else 0)
            if course.at != before and course.subgoal is not None:
                emit(events.Progressed(role=SOCRATIC_PLANNER.name, step=course.at))
            match came:
                case Execute(command=command):
                    return Act(command), memory
                case Ended():
                    failure = GiveUp("the plan is carried out, and the task goes on")
                case Stuck() if self._use.replanning:
                    failure, memory = await self._recover(memory, came, turn, emit)
                case Stuck():
                    emit(events.Thought(role=SOCRATIC_PLANNER.name, text=f"{as_triple(came.subgoal)} failed: {came.reason}"))
                    memory = replace(memory, course=self._follower.skip(memory.course))
        return failure, memory

    async def _prepare(self, memory: SocraticMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, SocraticMemory]:
        """What is found out and the first plan, where there are none yet; a revised plan where a person gave a hint."""
        if memory.revision >= 0:
            if not (turn.hints and self._use.replanning):
                return None, memory
            text = load_prompt("socratic_planner").render("hint", **self._progress(memory))
            return await self._plan(memory, turn, text, "the person beside you gave a hint", emit)
        if self._use.decompose != "none" and memory.found is None:
            failure, memory = await self._discover(memory, turn, emit)
            if failure is not None:
                return failure, memory
        if not memory.shots:
            chosen = await self._chooser.choose(memory.goal, seen_kinds(memory.course.belief))
            memory = replace(memory, shots=tuple(map(shot_of, chosen)))
        return await self._plan(memory, turn, self._opening(memory), "the episode begins", emit)

    async def _discover(self, memory: SocraticMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, SocraticMemory]:
        """What the decomposer finds out, by questions and answers or by a chain of thought."""
        text = self._decompose.render("task", goal=memory.goal) + _additions(turn, memory, first=True)
        tell_rules(turn.rules, memory.shown_rules, emit)
        if self._use.decompose == "questions":
            asked = await ask(QUESTIONER, self._model, memory.decomposer, text, emit, self._sampling)
            role, reason, conversation = QUESTIONER.name, asked.reason, asked.conversation
            found = told_dialogue(asked.value) if asked.value else None
        else:
            thought = await ask(DECOMPOSER, self._model, memory.decomposer, text, emit, self._sampling)
            role, reason, conversation, found = DECOMPOSER.name, thought.reason, thought.conversation, thought.value
        memory = replace(memory, decomposer=conversation, found=found)
        if found is None:
            return ParseFailure(role, reason), memory
        emit(events.Thought(role=role, text=found))
        return None, memory

    def _opening(self, memory: SocraticMemory) -> str:
        prompt = load_prompt("socratic_planner")
        parts = [prompt.render("example", goal=shot.goal, plan=written(without_navigation(shot.plan))) for shot in memory.shots]
        if memory.found is None:
            parts.append(prompt.render("bare", goal=memory.goal))
        elif self._use.decompose == "questions":
            parts.append(prompt.render("task", goal=memory.goal, dialogue=memory.found))
        else:
            parts.append(prompt.render("reasoned", goal=memory.goal, reasoning=memory.found))
        return "\n\n".join(parts)

    async def _recover(
        self, memory: SocraticMemory, stuck: Stuck, turn: Turn, emit: Emitter
    ) -> tuple[Decision | None, SocraticMemory]:
        """Algorithm 1, lines 9 to 18: another try where the failure was bad luck, else a revised plan."""
        prompt = load_prompt("socratic_advisor")
        subgoal, reason = as_triple(stuck.subgoal), f"{as_triple(stuck.subgoal)} failed: {stuck.reason}"
        if memory.asked >= self._use.most:
            return GiveUp(f"{reason}; it was planned anew {memory.asked} times, which is as often as is allowed"), memory
        scene = _caption(memory)
        text = prompt.render("validity", scene=scene, subgoal=subgoal)
        judged = await ask(VALIDITY, self._model, memory.advisor, text, emit, self._sampling)
        memory = replace(memory, advisor=judged.conversation)
        seen = was_seen(memory.course.belief, stuck.subgoal.object)
        if judged.value and seen and memory.retried < self._use.retries:
            emit(events.Thought(role=VALIDITY.name, text=f"{reason}. It is valid, and its target was seen: it is tried again."))
            return None, replace(memory, retried=memory.retried + 1)
        target = prompt.render("seen" if seen else "unseen", object=stuck.subgoal.object)
        explained = await ask(
            CAUSE, self._model, memory.advisor, prompt.render("cause", target=target, subgoal=subgoal), emit, self._sampling
        )
        cause = explained.value or "It is not known."
        if explained.value:
            emit(events.Thought(role=CAUSE.name, text=cause))
        memory = replace(memory, advisor=explained.conversation)
        text = load_prompt("socratic_planner").render(
            "revise", subgoal=subgoal, scene=scene, cause=cause, **self._progress(memory)
        )
        return await self._plan(memory, turn, text, reason, emit)

    def _progress(self, memory: SocraticMemory) -> dict[str, str]:
        course = memory.course
        return {
            "objects": ", ".join(seen_kinds(course.belief)) or "nothing yet",
            "completed": _listed(course.completed),
            "left": _listed(course.plan[course.at :]),
        }

    async def _plan(
        self, memory: SocraticMemory, turn: Turn, text: str, reason: str, emit: Emitter
    ) -> tuple[Decision | None, SocraticMemory]:
        text += _additions(turn, memory, first=memory.revision < 0)
        tell_rules(turn.rules, memory.shown_rules, emit)
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
        course = self._follower.take(memory.course, answer.value.subgoals)
        memory = replace(memory, course=course, revision=memory.revision + 1, retried=0)
        steps = tuple(as_triple(subgoal) for subgoal in answer.value.subgoals)
        emit(events.Planned(role=SOCRATIC_PLANNER.name, steps=steps, revision=memory.revision, reason=reason))
        return None, memory


def _additions(turn: Turn, memory: SocraticMemory, *, first: bool) -> str:
    return additions(replace(turn, admissible=None), memory.shown_rules, memory.grants, first=first)


def _listed(subgoals: tuple[Subgoal, ...]) -> str:
    return ", ".join(map(as_triple, subgoals)) or "nothing"


def _caption(memory: SocraticMemory) -> str:
    """What is seen, in words: the latest text, where the robot is, and what it holds."""
    belief = memory.course.belief
    where = f"at the {belief.at}" if belief.at else "in the middle of the room"
    return f"{memory.scene} The robot is {where}, holding {belief.held or 'nothing'}."
