"""Planners that write ALFRED's plans themselves: one copies the most similar plan, others prompt a language model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from typing import Any, ClassVar, Literal, Protocol

from pydantic import ConfigDict

from housequest.agent.agents.socratic.roles import DECOMPOSER, QUESTIONER, dialogue_text
from housequest.agent.agents.socratic.roles import PACKAGE as SOCRATIC
from housequest.agent.alfred.plans.pool import Choice, PlanTask, Pool
from housequest.agent.episodes import events
from housequest.agent.models.base import Message, Model, Timing
from housequest.agent.roles.base import Answer, ReplyError, Role, Sampling, ask, load_prompt
from housequest.worlds.alfred.model import Cause, Execution, Scene, able, execute, receptacles_of
from housequest.worlds.alfred.plans import ARGUMENTS, Plan, PlanError, plan_text, read_loosely, read_plan
from housequest.worlds.alfred.tasks import Instruction
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.options import Scalar, option

PACKAGE = "housequest.agent.alfred.plans"


@dataclass(frozen=True)
class PlannerSettings:
    """The settings of all planners; `PLANNERS` says which planner takes which, and its defaults.

    ``pool`` examples are drawn from ``train`` (None: all of it); ``steps`` adds the step-by-step instructions; ``shots`` of
    the pool are shown, chosen by ``choose``. ``bias``, in nats, favours actions and what the room holds, where the model takes
    one (LLM-Planner, section 5.3: 0.1). ``replanning`` carries the plan out on the symbolic model, and asks again, at most
    ``revisions`` times, where that refuses it; ``feedback`` then tells what is held and which subgoal failed, as the paper does
    not. ``decompose`` is how the Socratic Planner takes an instruction apart.
    """

    # A manifest with other settings is damaged.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    pool: int | None = option(100, least=1)
    steps: bool = option(False)
    shots: int = option(9, most=50)
    choose: Choice = option("bm25")
    max_tokens: int = option(512, least=1, most=100_000)
    temperature: float = option(0.0, most=10)
    embedder: str = option("")
    bias: float = option(0.0, most=100)
    replanning: bool = option(False)
    revisions: int = option(10)
    feedback: bool = option(False)
    decompose: Literal["questions", "chain-of-thought", "none"] = option("questions")


@dataclass(frozen=True, slots=True)
class PlannerSort:
    """What kind of planner a name means: where its ``defaults`` differ, and what it ``takes`` that not every planner does."""

    defaults: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    takes: frozenset[str] = frozenset()
    needs_model: bool = True


_EXAMPLES = frozenset({"embedder"})
_PROMPTED = _EXAMPLES | {"bias", "replanning", "revisions", "feedback"}
PLANNERS: dict[str, PlannerSort] = {
    "nearest": PlannerSort(takes=_EXAMPLES, needs_model=False),
    "in-context": PlannerSort(takes=_PROMPTED),
    "llm-planner": PlannerSort({"bias": 0.1, "replanning": True}, _PROMPTED),
    "socratic": PlannerSort({"shots": 0, "max_tokens": 1024}, _EXAMPLES | {"decompose"}),
    "lota": PlannerSort({"shots": 18, "choose": "stratified"}, _EXAMPLES),
}
"""The planners by name. ``llm-planner`` is ``in-context`` with its paper's bias and re-planning."""


def _read(text: str) -> Plan:
    """Read a plan as it should be written, or else the plan among other words."""
    with suppress(PlanError):
        return read_plan(text)
    try:
        return read_loosely(text)
    except PlanError as error:
        raise ReplyError(f"{error} Write one step a line, as in 'PutObject apple fridge'.") from error


ALFRED_PLAN: Role[Plan] = Role("alfred_plan", _read, stop=("\nTask:",))
"""Writes a whole ALFRED plan for an instruction (LLM-Planner, section 4.2, static setting)."""


@dataclass(frozen=True, slots=True)
class PlanProposal:
    """A planner's answer: a plan, or the ``reason`` why there is none, with the calls of the model.

    ``executed`` is what the symbolic model carried out of this plan and of ``revisions`` later ones, where the planner was
    asked again; None where it is not.
    """

    plan: Plan | None
    reason: str = ""
    calls: tuple[events.ModelCall, ...] = ()
    executed: Plan | None = None
    revisions: int = 0


class Planner(Protocol):
    """Writes whole plans; safe to call concurrently."""

    async def plan(self, task: PlanTask) -> PlanProposal:
        """Plan for the task's instruction, without examples of its demonstration. Raises ``ModelError``."""
        ...


@dataclass(frozen=True, slots=True)
class NearestPlanner:
    """Copies the plan of the most similar example. It calls no model: the baseline that a model has to beat."""

    pool: Pool
    settings: PlannerSettings

    async def plan(self, task: PlanTask) -> PlanProposal:
        """Plan for the task's instruction, without examples of its demonstration."""
        text = task.instruction.text(stepwise=self.settings.steps)
        found = await self.pool.nearest(text, 1, without=task.demonstration.id)
        return PlanProposal(found[0].demonstration.plan) if found else PlanProposal(None, "There is no example to copy.")


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks a model for the parts of one plan, and keeps the ``calls``."""

    model: Model
    sampling: Sampling
    calls: list[events.ModelCall] = field(default_factory=list[events.ModelCall])

    async def ask(self, role: Role[Any], system: str, question: str) -> Answer[Any]:
        """One question of a conversation of its own. Raises ``ModelError``."""

        def listen(body: object, timing: Timing | None = None) -> None:
            del timing  # timings are not part of a result
            if isinstance(body, events.ModelCall):
                self.calls.append(body)

        return await ask(role, self.model, (Message("system", system),), question, listen, self.sampling)

    def proposal(self, plan: Plan | None, reason: str = "", executed: Plan | None = None, revisions: int = 0) -> PlanProposal:
        """A proposal with the calls so far."""
        return PlanProposal(plan, reason, tuple(self.calls), executed, revisions)


@dataclass(frozen=True, slots=True)
class PromptingPlanner(ABC):
    """A planner that prompts a language model with examples of the ``pool``."""

    model: Model
    pool: Pool
    settings: PlannerSettings
    seed: int

    @abstractmethod
    async def plan(self, task: PlanTask) -> PlanProposal:
        """Plan for the task's instruction, without examples of its demonstration. Raises ``ModelError``."""

    def asking(self, bias: tuple[tuple[str, float], ...] = ()) -> Asking:
        """What asks for one plan."""
        return Asking(self.model, Sampling(self.settings.max_tokens, self.settings.temperature, self.seed, bias))

    async def shots(self, task: PlanTask) -> tuple[PlanTask, ...]:
        """The examples that a prompt shows for ``task``, in their order."""
        own, text = self.settings, task.instruction.text(stepwise=self.settings.steps)
        return await self.pool.choose(own.choose, text, own.shots, self.seed, without=task.demonstration.id)


class InContextPlanner(PromptingPlanner):
    """Prompts a language model with examples (LLM-Planner, sections 4.2 and 4.3), and again where its plan fails (4.4).

    One call per instruction, a second where the reply cannot be parsed, and one for each revision. Dynamically the symbolic
    model is the low-level controller: where it refuses a subgoal, the model is told what was carried out and what was seen.
    """

    async def plan(self, task: PlanTask) -> PlanProposal:
        own, scene = self.settings, task.demonstration.scene
        biased = own.bias and (await self.model.capabilities()).bias
        bias = tuple((text, own.bias) for text in _favoured(scene)) if biased else ()
        asking, shots = self.asking(bias), await self.shots(task)
        answer = await asking.ask(ALFRED_PLAN, instructions(), question(own, shots, task.instruction))
        first: Plan | None = answer.value
        if first is None or not own.replanning:
            return asking.proposal(first, answer.reason)
        plan, told, revisions = first, frozenset[str](), 0
        while (outcome := execute(plan, scene)).refusal is not None:
            # Going where it stands already is no progress.
            done = tuple(step for step, _ in groupby(plan[: outcome.refusal.step - 1]))
            again = question(own, shots, task.instruction, _grounding(done, outcome, scene, feedback=own.feedback))
            plan = done
            if revisions >= own.revisions or (again in told and not own.temperature):
                break
            told, revisions = told | {again}, revisions + 1
            answer = await asking.ask(ALFRED_PLAN, instructions(), again)
            plan = done + (answer.value or ())
        return asking.proposal(first, "", plan, revisions)


class SocraticPlanner(PromptingPlanner):
    """Has a model take the instruction apart, and then plan by what it found (Socratic Planner, sections 3.3 and 3.4).

    Two calls per instruction, or one with ``decompose=none``, and one more for each reply that cannot be read. Both prompts
    of the decomposer are those of the agent; the plan is asked for as of the other planners.
    """

    async def plan(self, task: PlanTask) -> PlanProposal:
        own, asking, found = self.settings, self.asking(), ""
        if own.decompose != "none":
            questions = own.decompose == "questions"
            prompt, household = load_prompt(SOCRATIC, _DECOMPOSERS[own.decompose]), load_prompt(SOCRATIC, "socratic")
            system = prompt.render("system", rules=household.render("rules"), subtask=household.render("subtask"))
            told = prompt.render("task", goal=task.instruction.text(stepwise=own.steps))
            answer = await asking.ask(QUESTIONER if questions else DECOMPOSER, system, told)
            if answer.value is None:
                return asking.proposal(None, answer.reason)
            words = dialogue_text(answer.value) if questions else answer.value
            found = load_prompt(PACKAGE, "alfred_found").render("dialogue" if questions else "reasoning", words=words)
        asked = question(own, await self.shots(task), task.instruction, found)
        answer = await asking.ask(ALFRED_PLAN, instructions(), asked)
        return asking.proposal(answer.value, answer.reason)


_DECOMPOSERS = {"questions": "socratic_questioner", "chain-of-thought": "socratic_decomposer"}


def question(settings: PlannerSettings, shots: Sequence[PlanTask], instruction: Instruction, known: str = "") -> str:
    """The prompt: examples with their plans, the instruction, and what is ``known`` beside it."""
    prompt = load_prompt(PACKAGE, "alfred_plan")
    shown = [
        f"{_told(one.instruction, settings)}\n{prompt.render('plan', plan=plan_text(one.demonstration.plan))}" for one in shots
    ]
    asked = "\n".join(filter(None, (_told(instruction, settings), known, prompt.render("ask"))))
    return "\n\n".join([*shown, asked])


def _told(instruction: Instruction, settings: PlannerSettings) -> str:
    prompt = load_prompt(PACKAGE, "alfred_plan")
    if not settings.steps:
        return prompt.render("task", goal=instruction.goal)
    return prompt.render("instructions", goal=instruction.goal, steps=" ".join(instruction.steps))


def _grounding(done: Plan, outcome: Execution, scene: Scene, *, feedback: bool) -> str:
    """What the re-planner is told: the completed subgoals and what was seen; with ``feedback``, what is held and failed."""
    been = {step.thing for step in done if step.action == "GotoLocation"}
    seen = {thing.kind for thing in scene.things if thing.place in been} | scene.receptacles
    told = load_prompt(PACKAGE, "alfred_grounding")
    lines = [told.render("seen", completed="; ".join(map(str, done)) or "nothing yet", objects=", ".join(sorted(seen)))]
    if feedback and (held := outcome.states[0].in_hand) is not None:
        lines.append(told.render("holding", words=held.kind))
    if feedback and (refusal := outcome.refusal) is not None:
        lines.append(told.render("failed", words=f"{refusal.subgoal} ({_NOT_FOUND.get(refusal.cause, refusal.cause)})"))
    return "\n".join([*lines, told.render("ask")])


_NOT_FOUND: dict[Cause, str] = {"not here": "not found", "not in this room": "not found"}
"""A robot that does not find a thing cannot know whether the room has one."""


def _favoured(scene: Scene) -> list[str]:
    """Allowed actions, and what the room holds; names stand behind a space, which many vocabularies make part of a token."""
    return [*ARGUMENTS, *(f" {name}" for name in sorted({thing.kind for thing in scene.things} | scene.receptacles))]


@cache
def instructions() -> str:
    """The system message: actions, what a robot can do, and how things are named."""
    kinds = [kind for kind in load_counts().can if able(kind, "pickupable") or able(kind, "toggleable")]
    return load_prompt(PACKAGE, "alfred_plan").render(
        "system", objects=", ".join(sorted(kinds)), places=", ".join(sorted(receptacles_of(None)))
    )
