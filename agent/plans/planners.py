"""Planners: one copies the plan of the most similar instruction, one prompts a language model with similar examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

from pydantic import ConfigDict

from agent.episodes import events
from agent.models.base import Message, Model, Timing
from agent.roles.base import ReplyError, Role, Sampling, ask, load_prompt
from knowledge.selection import Bm25, at_random, best, stratified
from worlds.alfred.model import able, receptacles_of
from worlds.alfred.plans import Plan, PlanError, plan_text, read_loosely, read_plan
from worlds.alfred.tasks import Demonstration, Instruction
from worlds.alfworld.data.counts import load_counts
from worlds.options import option


@dataclass(frozen=True)
class PlannerSettings:
    """The settings of both planners.

    ``pool`` examples are drawn from ``train`` (None: all of it); ``steps`` adds the step-by-step instructions; ``shots`` of
    the pool are shown, chosen by ``choose``. The last four apply to the model only.
    """

    # A manifest with other settings is damaged.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    pool: int | None = option(100, least=1)
    steps: bool = option(False)
    shots: int = option(9, most=50)
    choose: Literal["bm25", "random"] = option("bm25")
    max_tokens: int = option(512, least=1, most=100_000)
    temperature: float = option(0.0, most=10)


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
class WorkedExample:
    """An instruction with its annotated plan; ``goal`` is the text that similarity is computed on."""

    origin: str
    type: str
    goal: str
    instruction: Instruction
    plan: Plan


def worked(demonstrations: Iterable[Demonstration], *, stepwise: bool) -> tuple[WorkedExample, ...]:
    """Every annotation as an example, indexed by the goal alone or (``stepwise``) with the step instructions."""
    return tuple(
        WorkedExample(one.id, one.type, instruction.text(stepwise=stepwise), instruction, one.plan)
        for one in demonstrations
        for instruction in one.instructions
    )


def drawn(examples: Sequence[WorkedExample], most: int | None, seed: int) -> tuple[WorkedExample, ...]:
    """``most`` of ``examples``, stratified by task type (LLM-Planner, section 5.1 and appendix); all of them for None."""
    return tuple(examples) if most is None else stratified(examples, most, str(seed))


class Pool:
    """Examples to choose from, indexed once."""

    def __init__(self, examples: Sequence[WorkedExample]) -> None:
        self.examples = tuple(examples)
        self._index = Bm25.over(example.goal for example in examples)
        self._origins = Counter(example.origin for example in examples)

    def nearest(self, text: str, most: int, *, without: str) -> tuple[WorkedExample, ...]:
        """The ``most`` examples most similar to ``text``, best first, without those of the demonstration ``without``."""
        found = best(self.examples, self._index.scores(text), most + self._origins[without])
        return tuple(example for example in found if example.origin != without)[:most]

    def random(self, text: str, most: int, seed: int, *, without: str) -> tuple[WorkedExample, ...]:
        """``most`` random examples, seeded by ``seed`` and ``text``, without those of the demonstration ``without``."""
        others = [example for example in self.examples if example.origin != without]
        return at_random(others, most, f"{seed} {text}")


@dataclass(frozen=True, slots=True)
class PlanProposal:
    """A planner's answer: a plan, or the ``reason`` why there is none, with the calls of the model."""

    plan: Plan | None
    reason: str = ""
    calls: tuple[events.ModelCall, ...] = ()


@dataclass(frozen=True, slots=True)
class NearestPlanner:
    """Copies the plan of the most similar example by BM25. It calls no model: the baseline that a model has to beat."""

    pool: Pool
    settings: PlannerSettings

    async def plan(self, instruction: Instruction, *, without: str) -> PlanProposal:
        """Plan for ``instruction`` without examples of the demonstration ``without``."""
        found = self.pool.nearest(instruction.text(stepwise=self.settings.steps), 1, without=without)
        return PlanProposal(found[0].plan) if found else PlanProposal(None, "There is no example to copy.")


@dataclass(frozen=True, slots=True)
class InContextPlanner:
    """Prompts a language model with examples (LLM-Planner's static setting, sections 4.2 and 4.3).

    One call per instruction, and a second where the reply cannot be parsed. Any chat model will do: unlike the paper, it uses
    no logit biases, and BM25 instead of BERT for similarity.
    """

    model: Model
    pool: Pool
    settings: PlannerSettings
    seed: int

    async def plan(self, instruction: Instruction, *, without: str) -> PlanProposal:
        """Plan for ``instruction`` without examples of the demonstration ``without``. Raises ``ModelError``."""
        called: list[events.ModelCall] = []

        def listen(body: object, timing: Timing | None = None) -> None:
            del timing  # timings are not part of a result
            if isinstance(body, events.ModelCall):
                called.append(body)

        system, question = Message("system", _system()), self._question(instruction, without)
        sampling = Sampling(self.settings.max_tokens, self.settings.temperature, self.seed)
        answer = await ask(ALFRED_PLAN, self.model, (system,), question, listen, sampling)
        return PlanProposal(answer.value, answer.reason, tuple(called))

    def _question(self, instruction: Instruction, without: str) -> str:
        text, shots = instruction.text(stepwise=self.settings.steps), self.settings.shots
        if self.settings.choose == "random":
            chosen = self.pool.random(text, shots, self.seed, without=without)
        else:
            # The most similar example comes last, next to the question.
            chosen = self.pool.nearest(text, shots, without=without)[::-1]
        prompt = load_prompt("agent.plans", "alfred_plan")
        shown = [f"{self._told(one.instruction)}\n{prompt.render('plan', plan=plan_text(one.plan))}" for one in chosen]
        return "\n\n".join([*shown, f"{self._told(instruction)}\n{prompt.render('ask')}"])

    def _told(self, instruction: Instruction) -> str:
        prompt = load_prompt("agent.plans", "alfred_plan")
        if not self.settings.steps:
            return prompt.render("task", goal=instruction.goal)
        return prompt.render("instructions", goal=instruction.goal, steps=" ".join(instruction.steps))


Planner = NearestPlanner | InContextPlanner
"""Writes whole plans; safe to call concurrently."""


@cache
def _system() -> str:
    kinds = [kind for kind in load_counts().can if able(kind, "pickupable") or able(kind, "toggleable")]
    return load_prompt("agent.plans", "alfred_plan").render(
        "system", objects=", ".join(sorted(kinds)), places=", ".join(sorted(receptacles_of(None)))
    )
