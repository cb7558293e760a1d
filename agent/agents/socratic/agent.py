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
from typing import TYPE_CHECKING, Any

from housequest.agent.agents.following import PLANNER, PlanFollower, PlannerMemory
from housequest.agent.agents.socratic.roles import (
    CAUSE,
    DECOMPOSER,
    PACKAGE,
    QUESTIONER,
    SOCRATIC_PLANNER,
    VALIDITY,
    dialogue_text,
    numbered_subgoals,
    plan_form,
    planner_instructions,
    revised_form,
)
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Decision, Emitter, Grants, ParseFailure, Turn
from housequest.agent.models.base import Message
from housequest.agent.roles.base import Conversation, Role, ask, load_prompt
from housequest.agent.roles.messages import additions, emit_rules, emit_thought, planning, rules_after
from housequest.agent.roles.subgoals import TRIPLE_NAMES, Subgoal, as_triple, names_in, without_navigation
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation

if TYPE_CHECKING:
    from housequest.agent.agents.socratic import SocraticSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SocraticMemory(PlannerMemory):
    """The latest observation (``scene``), the roles' conversations, and what was found out about the task."""

    scene: str
    decomposer: Conversation
    planner: Conversation
    advisor: Conversation
    found: str | None = None
    shown_rules: tuple[Rule, ...] = ()


class Socratic(PlanFollower[SocraticMemory]):
    """Calls an episode: 2 before the first command, and up to 3 more at each failure; needs a chat model."""

    name = "socratic"
    words = staticmethod(as_triple)

    def __init__(self, parts: AgentParts[SocraticSettings]) -> None:
        super().__init__(parts)
        self._decomposition, self._retries = parts.settings.decompose, parts.settings.retries
        household = load_prompt(PACKAGE, "socratic")
        rules, subtask = household.render("rules"), household.render("subtask")
        questions = self._decomposition == "questions"
        self._decompose = load_prompt(PACKAGE, "socratic_questioner" if questions else "socratic_decomposer")
        self._advise = load_prompt(PACKAGE, "socratic_advisor")
        self._prompt = load_prompt(PACKAGE, "socratic_planner")
        names = names_in(TRIPLE_NAMES, parts.world)
        self._reads = SOCRATIC_PLANNER.held_to(plan_form(names)), SOCRATIC_PLANNER.held_to(revised_form(names))
        texts = (
            self._decompose.render("system", rules=rules, subtask=subtask),
            planner_instructions(names),
            self._advise.render("system", rules=rules),
        )
        self._decomposer, self._planner, self._advisor = (Message("system", planning(text, parts.world)) for text in texts)

    def begin(self, goal: str, observation: Observation, grants: Grants) -> SocraticMemory:
        return SocraticMemory(
            goal=goal,
            grants=grants,
            state=self._body.begin(goal, observation),
            scene=observation.text.partition("Your task is to:")[0].strip(),
            decomposer=(self._decomposer,),
            planner=(self._planner,),
            advisor=(self._advisor,),
        )

    async def _prepare(self, memory: SocraticMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, SocraticMemory]:
        if turn.transitions:
            memory = replace(memory, scene=str(turn.transitions[-1].observation))
        if memory.revision >= 0:
            if not (turn.hints and self._replanning):
                return None, memory
            text = self._prompt.render("hint", **self._progress(memory))
            return await self._plan(memory, turn, text, "the person beside you gave a hint", emit)
        if self._decomposition != "none" and memory.found is None:
            failure, memory = await self._discover(memory, turn, emit)
            if failure is not None:
                return failure, memory
        memory = await self._with_examples(memory)
        return await self._plan(memory, turn, self._opening(memory), "the episode begins", emit)

    async def _discover(self, memory: SocraticMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, SocraticMemory]:
        """What the decomposer finds out, by questions and answers or by a chain of thought."""
        text = self._decompose.render("task", goal=memory.goal) + _additions(turn, memory, first=True)
        emit_rules(turn.rules, memory.shown_rules, emit)
        role: Role[Any] = QUESTIONER if self._decomposition == "questions" else DECOMPOSER
        answer = await ask(role, self._model, memory.decomposer, text, emit, self._sampling)
        found = dialogue_text(answer.value) if answer.value and role is QUESTIONER else answer.value
        memory = replace(memory, decomposer=answer.conversation, found=found)
        if found is None:
            return ParseFailure(role.name, answer.reason), memory
        emit_thought(role.name, found, emit)
        return None, memory

    def _opening(self, memory: SocraticMemory) -> str:
        shots = ((shot.goal, numbered_subgoals(without_navigation(shot.plan))) for shot in memory.shots)
        parts = [self._prompt.render("example", goal=goal, plan=plan) for goal, plan in shots]
        if memory.found is None:
            parts.append(self._prompt.render("bare", goal=memory.goal))
        elif self._decomposition == "questions":
            parts.append(self._prompt.render("task", goal=memory.goal, dialogue=memory.found))
        else:
            parts.append(self._prompt.render("reasoned", goal=memory.goal, reasoning=memory.found))
        return "\n\n".join(parts)

    async def _recover(
        self, memory: SocraticMemory, failed: Subgoal, reason: str, turn: Turn, emit: Emitter
    ) -> tuple[Decision | None, SocraticMemory]:
        """Algorithm 1, lines 9 to 18: another try where the failure was bad luck, else a revised plan."""
        subgoal, how = as_triple(failed), reason.partition(" failed: ")[2]
        scene = self._body.caption(memory.state, memory.scene)
        text = self._advise.render("validity", scene=scene, subgoal=subgoal, how=how)
        judged = await ask(VALIDITY, self._model, memory.advisor, text, emit, self._sampling, image=turn.image)
        memory = replace(memory, advisor=judged.conversation)
        seen = self._body.was_seen(memory.state, failed.object)
        if judged.value and seen and memory.retried < self._retries:
            emit_thought(VALIDITY.name, f"{reason}. It is valid, and its target was seen: it is tried again.", emit)
            return None, replace(memory, retried=memory.retried + 1)
        target = self._advise.render("seen" if seen else "unseen", object=failed.object)
        text = self._advise.render("cause", target=target, subgoal=subgoal, how=how)
        explained = await ask(CAUSE, self._model, memory.advisor, text, emit, self._sampling, image=turn.image)
        emit_thought(CAUSE.name, explained.value or "", emit)
        memory, cause = replace(memory, advisor=explained.conversation), explained.value or "It is not known."
        text = self._prompt.render("revise", subgoal=subgoal, how=how, scene=scene, cause=cause, **self._progress(memory))
        return await self._plan(memory, turn, text, reason, emit)

    async def _plan(
        self, memory: SocraticMemory, turn: Turn, text: str, reason: str, emit: Emitter
    ) -> tuple[Decision | None, SocraticMemory]:
        again = memory.revision >= 0
        text += _additions(turn, memory, first=not again)
        emit_rules(turn.rules, memory.shown_rules, emit)
        role = self._reads[again]
        answer = await ask(role, self._model, memory.planner, text, emit, self._sampling)
        rules = rules_after(turn, memory.shown_rules)
        memory = replace(memory, planner=answer.conversation, shown_rules=rules, asked=memory.asked + again)
        if answer.value is None:
            return ParseFailure(PLANNER, answer.reason), memory
        emit_thought(PLANNER, answer.value.change, emit)
        return None, self._planned(memory, answer.value.subgoals, reason, emit)

    def _progress(self, memory: SocraticMemory) -> dict[str, str]:
        return {
            "objects": ", ".join(self._body.told(memory.state).seen) or "nothing yet",
            "completed": ", ".join(map(as_triple, memory.completed)) or "nothing",
            "left": ", ".join(map(as_triple, memory.plan[memory.at :])) or "nothing",
        }


def _additions(turn: Turn, memory: SocraticMemory, *, first: bool) -> str:
    return additions(replace(turn, admissible=None), memory.shown_rules, memory.grants, first=first)
