"""Scores variants of LLM-Planner's prompt on its own examples: how many, how they are chosen, how plans are worded.

    python -m scripts.leave_one_out --model openai:NAME@http://127.0.0.1:8000/v1
    python -m scripts.leave_one_out --model llama:FILE.gguf --examples train --goals human:seed=0 --shots 1,3,5,9

Every combination of ``--shots``, ``--choose`` and ``--wording`` is an arm; each example is planned for with the others to
choose from. With ``--examples train`` and ``--goals human`` the sentences are people's, which is what the paper plans for.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import get_args

from housequest.agent.agents.examples import MADE_UP, ExampleSelector, make_example_selector
from housequest.agent.agents.llm_planner import LlmPlannerSettings, Wording
from housequest.agent.agents.llm_planner.agent import LLM_PLANNER, planner_message, request_text
from housequest.agent.agents.spec import Strategy
from housequest.agent.base import AgentEvent
from housequest.agent.episodes.events import ModelCall
from housequest.agent.evaluation.analysis.statistics import Interval, wilson
from housequest.agent.models.base import Message, Model, Timing
from housequest.agent.models.registry import make_model
from housequest.agent.roles.base import Sampling, ask
from housequest.agent.roles.reading import as_pair, high_level_plan
from housequest.knowledge.examples import Example
from housequest.worlds.alfworld.text import begin
from housequest.worlds.base import Observation
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.household.goals import Skill
from housequest.worlds.options import read_options
from housequest.worlds.registry import make_world


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to write the prompt: how its examples are chosen, how many of them, and how plans are worded."""

    choose: str
    shots: int
    wording: Wording


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one example; ``tokens`` of its prompts, None if the model did not count them."""

    type: str
    right: bool
    readable: bool
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Score:
    """The results of an arm, example by example."""

    arm: Arm
    verdicts: tuple[Verdict, ...]

    @property
    def right(self) -> int:
        """Plans that match exactly."""
        return sum(verdict.right for verdict in self.verdicts)

    @property
    def unreadable(self) -> int:
        """Replies that could not be parsed, even after a retry."""
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
        """Mean prompt tokens of an example; None if the model did not count them."""
        counted = [verdict.tokens for verdict in self.verdicts if verdict.tokens is not None]
        return sum(counted) / len(counted) if counted else None

    def by_type(self) -> Iterator[tuple[str, int, int]]:
        """(task type, exact matches, examples), by name."""
        for name in sorted({verdict.type for verdict in self.verdicts}):
            members = [verdict.right for verdict in self.verdicts if verdict.type == name]
            yield name, sum(members), len(members)


def same_plan(one: Sequence[Skill], other: Sequence[Skill]) -> bool:
    """Whether both plans match exactly, apart from the spacing and capitals of names."""
    return _plain(one) == _plain(other)


def _plain(plan: Sequence[Skill]) -> list[str]:
    return [as_pair(each).lower().replace(" ", "") for each in plan]


async def score_arms(
    model: Model,
    examples: Sequence[Example],
    arms: Sequence[Arm],
    selector: Callable[[Arm], ExampleSelector],
    sampling: Sampling,
    *,
    concurrency: int = 4,
) -> tuple[Score, ...]:
    """Score ``arms`` over ``examples``; ``chooser`` makes the selector of an arm; at most ``concurrency`` calls run at once.

    Raises ``ModelError`` if the model fails.
    """
    gate = asyncio.Semaphore(concurrency)

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
            # The first failure cancelled the others.
            raise errors.exceptions[0] from None
        scores.append(Score(arm, tuple(task.result() for task in tasks)))
    return tuple(scores)


async def _judged(model: Model, arm: Arm, chosen_by: ExampleSelector, example: Example, sampling: Sampling) -> Verdict:
    house = begin(Observation(example.opening))
    chosen = await chosen_by.choose(example.goal, {one.kind for one in house.receptacles}, without=example.origin)
    text = request_text(example.goal, chosen, arm.wording)
    calls: list[ModelCall] = []

    def hear(body: AgentEvent, timing: Timing | None = None) -> None:
        del timing
        if isinstance(body, ModelCall):
            calls.append(body)

    answer = await ask(LLM_PLANNER, model, (Message("system", planner_message(arm.wording)),), text, hear, sampling)
    counts = [call.prompt_tokens for call in calls if call.prompt_tokens is not None]
    right = answer.value is not None and same_plan(answer.value, high_level_plan(example))
    return Verdict(example.type, right, answer.value is not None, sum(counts) if len(counts) == len(calls) else None)


def table(scores: Sequence[Score]) -> list[str]:
    """The arms as lines, the best first."""
    lines = [f"{'choose':<12}{'shots':>6}  {'wording':<8}{'exact':>9}{'%':>7}  {'95 % interval':<16}{'unread':>7}{'tokens':>9}"]
    for score in sorted(scores, key=lambda one: -one.accuracy):
        arm, interval = score.arm, score.interval
        exact = f"{score.right}/{len(score.verdicts)}"
        span = f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"
        tokens = "-" if score.tokens is None else f"{score.tokens:,.0f}"
        lines.append(
            f"{arm.choose:<12}{arm.shots:>6}  {arm.wording:<8}{exact:>9}{100 * score.accuracy:>7.1f}  {span:<16}"
            f"{score.unreadable:>7}{tokens:>9}"
        )
    return lines


async def scored(given: argparse.Namespace) -> tuple[Score, ...]:
    """Score every arm that the arguments name."""
    world = make_world("alfworld", goals=given.goals)

    def selector(choose: str, shots: int) -> ExampleSelector:
        named = {"examples": given.examples, "choose": choose, "shots": shots, "embedder": given.embedder, "pool": given.pool}
        settings = read_options(LlmPlannerSettings, named, owner="The planner", word="setting")
        return make_example_selector(world, settings, given.seed)

    examples = selector("random", 1).store[: given.limit]
    wordings = [wording for wording in get_args(Wording) if wording in given.wording.split(",")]
    if unknown := set(given.wording.split(",")) - set(wordings):
        raise ConfigurationError(f"--wording: there is no {', '.join(sorted(unknown))}; known: {', '.join(get_args(Wording))}.")
    arms = [
        Arm(choose, int(shots), wording)
        for choose, shots, wording in product(given.choose.split(","), given.shots.split(","), wordings)
    ]
    model = make_model(given.model, timeout=given.timeout)
    sampling = Sampling(max_tokens=given.max_tokens, seed=given.seed)
    try:
        return await score_arms(
            model, examples, arms, lambda arm: selector(arm.choose, arm.shots), sampling, concurrency=given.concurrency
        )
    finally:
        await model.aclose()


def main(arguments: Sequence[str] | None = None) -> int:
    """Score and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="any model, named as for `housequest eval`")
    parser.add_argument("--examples", default=MADE_UP, help="made-up, train, a file or a run's folder (default %(default)s)")
    parser.add_argument("--goals", default="template", help="whose sentences the examples of train have (default %(default)s)")
    parser.add_argument("--pool", type=int, default=100, help="examples, stratified by task type (default %(default)s)")
    parser.add_argument("--limit", type=int, help="plan for only this many of them")
    parser.add_argument("--shots", default="1,3,5,9", help="examples in a prompt (default %(default)s)")
    parser.add_argument("--choose", default="bm25,random", help=f"of {', '.join(get_args(Strategy))} (default %(default)s)")
    parser.add_argument("--wording", default="pairs", help=f"of {', '.join(get_args(Wording))} (default %(default)s)")
    parser.add_argument("--embedder", default="", help="an embedding model, for --choose embeddings")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one call (default %(default)s)")
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    try:
        scores = asyncio.run(scored(given))
    except (HousequestError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(table(scores)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
