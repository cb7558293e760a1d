"""LLM-Planner (Song et al., ICCV 2023): few-shot high-level plans, grounded by re-planning.

A language model is shown similar tasks with their plans, and writes a plan of (action, object) pairs; a low-level planner turns
each pair into commands. Dynamically (Algorithm 1), it is asked again whenever a subgoal fails or takes too many steps, with the
completed subgoals and the objects seen: the kinds of things that the texts named, in place of the paper's object detector.
Statically, the first plan is followed to its end, whatever fails.

The paper's step-by-step instructions (section 4.2) are an annotator's, and only published games have them. There they are part
of the goal sentence, if the world was made to show them (goals ``human+steps``), and not a line of their own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from housequest.agent.agents.bodies import PLANNER, PlanFollower, PlannerMemory
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Decision, Emitter, GiveUp, Grants, ParseFailure, Turn
from housequest.agent.models.base import Message, Request, in_role
from housequest.agent.models.forms import Choice, Form, Listed, Name
from housequest.agent.roles.base import Role, ask, is_unheld, load_prompt, note, noted
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, with_ways
from housequest.agent.roles.messages import additions, emit_rules, planning
from housequest.agent.roles.reading import PAIR_NAMES, as_pair, as_subgoal, high_level_plan, names_in, read_subgoals
from housequest.knowledge.examples import Example
from housequest.worlds.base import Observation
from housequest.worlds.household.goals import Skill

if TYPE_CHECKING:
    from housequest.agent.agents.llm_planner import LlmPlannerSettings, Wording


PACKAGE = "housequest.agent.agents.llm_planner"
_NAMES = tuple(PAIR_NAMES.values())
UNREADABLE = f"{PLANNER} unreadable"  # Noted if a model wrote no plan; another model may, if asked the same.
MOST_HELD = 20  # Subgoals of a plan that is held to its form: one more than the longest of ALFRED's train split.


def prompted_plan(plan: Sequence[Skill], wording: Wording) -> str:
    """A plan in the form in which the prompt shows it and the model writes it."""
    if wording == "pairs":
        return ", ".join(map(as_pair, plan))
    return "".join(f"\n{number}. {as_pair(subgoal)}" for number, subgoal in enumerate(plan, 1))


def planner_message(wording: Wording, names: Sequence[str] = _NAMES) -> str:
    """The planner's system message; ``names`` are the allowed actions."""
    prompt = load_prompt(PACKAGE, "llm_planner")
    return prompt.render("system", actions=", ".join(names), form=prompt.render(wording))


def request_text(
    goal: str,
    shots: Sequence[Example],
    wording: Wording,
    *,
    added: str = "",
    grounding: tuple[str, str] | None = None,
    holding: str = "",
    failed: str = "",
) -> str:
    """The planner's prompt: examples, what is ``added`` (rules, hints), the task, and "Next plan:" (figure 2). ``grounding``
    are the completed subgoals and the objects seen, for dynamic planning (section 4.4). The paper's prompt has no lines for
    ``holding`` (the object in the hand) and ``failed`` (the subgoal that did not work)."""
    prompt = load_prompt(PACKAGE, "llm_planner")
    plans = [(shot.goal, prompted_plan(high_level_plan(shot), wording)) for shot in shots]
    parts = [prompt.render("example", goal=goal, plan=plan) for goal, plan in plans]
    task = [prompt.render("task", goal=goal)]
    if grounding is not None:
        task.append(prompt.render("grounding", completed=grounding[0], objects=grounding[1]))
    task += [prompt.render(name, words=words) for name, words in (("holding", holding), ("failed", failed)) if words]
    return "\n\n".join([*parts, *([added] if added else []), "\n".join([*task, prompt.render("ask")])])


LLM_PLANNER: Role[tuple[Skill, ...]] = Role(PLANNER, partial(read_subgoals, names=_NAMES), stop=("\nTask description:",))


def plan_form(wording: Wording, names: Sequence[str] = _NAMES) -> Form:
    """The form of a plan; ``names`` are the allowed actions."""
    pair = Form((("action", Choice(tuple(names))), " ", ("object", Name(40))))
    pairs = Listed(pair, MOST_HELD, between=", ") if wording == "pairs" else Listed(pair, MOST_HELD, first=1)
    return Form((("plan", pairs),))


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmPlannerMemory(PlannerMemory):
    """The requests so far, each with what was known of the house, and with False if the reply was held to a form."""

    requests: frozenset[tuple[str, Hashable, bool]] = frozenset()


class LlmPlanner(PlanFollower[LlmPlannerMemory]):
    """Calls an episode: 1, and 1 more for each new plan; needs a chat model. If the model takes a bias, the tokens of
    allowed actions and seen objects are favoured. The prompt is rendered anew at each call, as in the paper, but only its
    last lines differ, so a prefix cache still serves the rest. It shows neither the diagnosis of refused commands nor the
    admissible ones."""

    name = "llm-planner"
    words = staticmethod(as_pair)
    skipping = "; on with the rest of the plan."

    def __init__(self, parts: AgentParts[LlmPlannerSettings]) -> None:
        super().__init__(parts)
        self._wording: Wording = parts.settings.wording
        self._favoured, self._feedback = parts.settings.bias, parts.settings.feedback
        names = names_in(PAIR_NAMES, parts.world)
        self._role = LLM_PLANNER.held_to(plan_form(self._wording, names))
        self._system = Message("system", planning(planner_message(self._wording, names), parts.world))

    def begin(self, goal: str, observation: Observation, grants: Grants) -> LlmPlannerMemory:
        return LlmPlannerMemory(goal=goal, grants=grants, state=self._body.begin(observation, goal))

    async def _prepare(self, memory: LlmPlannerMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, LlmPlannerMemory]:
        if memory.revision < 0:
            memory = await self._with_examples(memory)
            if self._sampling.form != "free" and noted(UNREADABLE) and self._asked_before(memory, turn):
                return GiveUp("no plan could be read, and the same question would bring the same reply"), memory
            return await self._plan(memory, turn, "the episode begins", emit)
        if turn.hints and self._replanning and memory.asked < self._revisions:
            return await self._plan(memory, turn, "the person beside you gave a hint", emit)
        return None, memory

    async def _recover(
        self, memory: LlmPlannerMemory, failed: Skill, reason: str, turn: Turn, emit: Emitter
    ) -> tuple[Decision | None, LlmPlannerMemory]:
        del failed
        if self._asked_before(memory, turn, reason):
            return None, self._skipped(memory, reason, emit)
        return await self._plan(memory, turn, reason, emit, failed=reason)

    def _asked_before(self, memory: LlmPlannerMemory, turn: Turn, failed: str = "") -> bool:
        """True if the same was asked with the same knowledge: without randomness, the model would give the same reply."""
        asked = self._asking(memory, self._request(memory, turn, failed))
        return asked in memory.requests and not self._sampling.temperature

    def _asking(self, memory: LlmPlannerMemory, request: str) -> tuple[str, Hashable, bool]:
        """The parts that decide a model's reply: ``request``, what is known, and if the reply is free."""
        # Going back and forth teaches nothing, so the robot's place does not count.
        return request, self._body.known(memory.state), is_unheld(PLANNER)

    async def _plan(
        self, memory: LlmPlannerMemory, turn: Turn, reason: str, emit: Emitter, *, failed: str = ""
    ) -> tuple[Decision | None, LlmPlannerMemory]:
        request = self._request(memory, turn, failed)
        memory = replace(memory, requests=memory.requests | {self._asking(memory, request)})
        bias: tuple[tuple[str, float], ...] = ()
        if self._favoured and (await in_role(self._model, PLANNER).capabilities()).bias:
            # Within a plan, a space precedes a name, and many vocabularies make it part of the first token.
            objects = (f" {name}" for name in self._body.told(memory.state).seen) if self._replanning else ()
            bias = tuple((text, self._favoured) for text in (*_NAMES, *objects))
        sampling = replace(self._sampling, bias=bias)
        emit_rules(turn.rules, (), emit)
        answer = await ask(self._role, self._model, (self._system,), request, emit, sampling, image=turn.image)
        memory = replace(memory, asked=memory.asked + (memory.revision >= 0))
        if answer.value is None:
            note(UNREADABLE)
            return ParseFailure(PLANNER, answer.reason), memory
        return None, self._planned(memory, answer.value, reason, emit)

    def _request(self, memory: LlmPlannerMemory, turn: Turn, failed: str = "") -> str:
        added = additions(replace(turn, admissible=None), (), memory.grants, first=True).strip()
        completed = prompted_plan(memory.completed, self._wording) or "nothing yet"
        known = self._body.told(memory.state)
        objects = ", ".join(known.seen) or "none yet"
        grounding = (completed, objects) if self._replanning else None
        told = self._feedback and grounding is not None
        return request_text(
            memory.goal,
            memory.shots,
            self._wording,
            added=added,
            grounding=grounding,
            holding=known.holding if told else "",
            failed=failed.replace(" failed: ", ": ", 1) if told else "",
        )


# The expert's replies in these roles.


def _planner(knows: Demonstrator, request: Request) -> Reply:
    lines = load_prompt(PACKAGE, "llm_planner").render("lines") in request.messages[0].content
    plan = tuple(map(as_subgoal, with_ways(knows.left())))
    return Reply(prompted_plan(plan, "lines" if lines else "pairs").strip())


ROLES = (DemonstratedRole(PACKAGE, "llm_planner", _planner),)
