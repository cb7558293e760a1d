"""Choices about LLM-Planner's prompt, scored by leave-one-out cross-validation over the examples themselves.

The true few-shot setting (LLM-Planner, sections 3 and 4.2): prompts are designed on the same small set that they show examples
from, never on a validation split. Each example is planned for in turn, with the others to choose from; a plan is right where it
is the example's own to the letter (high-level planning accuracy, section 5.2). What could not be read is wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent.agents.examples import ExampleSelector
from agent.agents.llm_planner import Wording
from agent.agents.llm_planner.agent import LLM_PLANNER, request_text, system_text
from agent.base import AgentEvent
from agent.episodes.events import ModelCall
from agent.evaluation.analysis.statistics import Interval, wilson
from agent.models.base import Message, Model, Timing
from agent.roles.base import Sampling, ask
from agent.roles.subgoals import plan_example, same_plan
from knowledge.examples import Example
from worlds.alfworld.text.reader import begin


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to write the prompt: how its examples are chosen, how many of them, and how plans are worded."""

    choose: str
    shots: int
    wording: Wording


@dataclass(frozen=True, slots=True)
class Verdict:
    """One example, planned for without itself; ``tokens`` of its prompts, None where the model did not count them."""

    type: str
    right: bool
    readable: bool
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Score:
    """What an arm came to, example by example."""

    arm: Arm
    verdicts: tuple[Verdict, ...]

    @property
    def right(self) -> int:
        """Plans that match exactly."""
        return sum(verdict.right for verdict in self.verdicts)

    @property
    def unreadable(self) -> int:
        """Replies that could not be read, even asked for again."""
        return sum(not verdict.readable for verdict in self.verdicts)

    @property
    def accuracy(self) -> float:
        """The share of exact matches."""
        return self.right / len(self.verdicts) if self.verdicts else 0.0

    @property
    def interval(self) -> Interval:
        """Its 95 % interval (Wilson)."""
        return wilson(self.right, len(self.verdicts))

    @property
    def tokens(self) -> float | None:
        """Prompt tokens of an example in the mean; None where the model did not count them."""
        counted = [verdict.tokens for verdict in self.verdicts if verdict.tokens is not None]
        return sum(counted) / len(counted) if counted else None

    def by_type(self) -> Iterator[tuple[str, int, int]]:
        """(task type, exact matches, examples), by name."""
        for name in sorted({verdict.type for verdict in self.verdicts}):
            members = [verdict.right for verdict in self.verdicts if verdict.type == name]
            yield name, sum(members), len(members)


async def leave_one_out(
    model: Model,
    examples: Sequence[Example],
    arms: Sequence[Arm],
    selector: Callable[[Arm], ExampleSelector],
    sampling: Sampling,
    *,
    workers: int = 4,
) -> tuple[Score, ...]:
    """Score ``arms`` over ``examples``; ``chooser`` makes what chooses among them, ``workers`` bounds the calls in flight.

    Raises ``ModelError`` when the model fails.
    """
    gate = asyncio.Semaphore(workers)

    async def judged(arm: Arm, chosen_by: ExampleSelector, example: Example) -> Verdict:
        async with gate:
            return await _judged(model, arm, chosen_by, example, sampling)

    scores: list[Score] = []
    for arm in arms:
        chosen_by = selector(arm)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(judged(arm, chosen_by, example)) for example in examples]
        except ExceptionGroup as errors:
            # What failed first has cancelled the others.
            raise errors.exceptions[0] from None
        scores.append(Score(arm, tuple(task.result() for task in tasks)))
    return tuple(scores)


async def _judged(model: Model, arm: Arm, chosen_by: ExampleSelector, example: Example, sampling: Sampling) -> Verdict:
    house = begin(example.trajectory.opening)
    chosen = await chosen_by.choose(example.goal, {one.kind for one in house.receptacles}, without=example.origin)
    text = request_text(example.goal, tuple(map(plan_example, chosen)), arm.wording)
    calls: list[ModelCall] = []

    def hear(body: AgentEvent, timing: Timing | None = None) -> None:
        del timing
        if isinstance(body, ModelCall):
            calls.append(body)

    answer = await ask(LLM_PLANNER, model, (Message("system", system_text(arm.wording)),), text, hear, sampling)
    counts = [call.prompt_tokens for call in calls if call.prompt_tokens is not None]
    right = answer.value is not None and same_plan(answer.value, plan_example(example).plan)
    return Verdict(example.type, right, answer.value is not None, sum(counts) if len(counts) == len(calls) else None)
