"""Planners by each way of searching, with a policy that plans rightly and one that errs; part of `planners`.

The erring policy errs in one of its agent's ways (`tests.backends.erring`), another one in each game, and recovers from what it
is told. Beside stands what the expert reaches with the same prior. A lost game counts its turns too. A second table leaves out,
one by one, parts that cost calls or tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from housequest.agent.agents.spec import agent_names, agent_spec, make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.analysis.run import TURNS, expert_turns
from housequest.agent.models.base import Completion, Model, Request
from housequest.worlds.base import Task, World
from tests.backends.erring import ERRORS, Erring
from tests.backends.policy import Solver
from tests.backends.server import Policy

WAYS = ("llm", "counts", "random")
Policies = Callable[[int], Policy]
"""The policy of each game, by its number."""

BOUGHT: Mapping[str, Sequence[Mapping[str, str]]] = {
    "opex": ({}, {"explore": "off"}, {"observer": "off"}),
    "llm-planner": ({}, {"feedback": "off"}, {"replanning": "off"}),
    "socratic": ({}, {"decompose": "none"}, {"replanning": "off"}),
    "lota": ({}, {"replanning": "off"}),
}
"""What is left out of each agent in the second table."""


def searches(world: World, tasks: Sequence[Task], count: Callable[[str], int]) -> Iterator[str]:
    """A table with a row for each planner and way, without `saycan`, whose calls are 266 times `lota`'s. Lines to print."""
    figures = f"{'won':>5}{'turns':>7}{'calls':>7}{'prompt tokens':>15}"
    for agent, ways in ERRORS.items():
        yield f"{agent} errs by: {', '.join(ways)}"
    yield ""
    yield f"{'':<20}{'a right policy':>34}{'an erring policy':>34}{'the expert':>12}"
    yield f"{'agent':<13}{'search':<7}{figures}{figures}{'won':>5}{'turns':>7}"
    for agent in agent_names():
        if agent_spec(agent).searches and agent in ERRORS:
            for search in WAYS:
                right = asyncio.run(_arm(agent, {"search": search}, world, tasks, count, lambda _: Solver()))
                wrong = asyncio.run(_arm(agent, _recovering(agent, {"search": search}), world, tasks, count, _erring(agent)))
                yield f"{agent:<13}{search:<7}{right}{wrong}{_ceiling(world, tasks, search)}"
    yield ""
    yield f"{'the erring policy, search=random':<44}{figures}"
    for agent, settings in BOUGHT.items():
        for each in settings:
            named = " ".join([agent, *(f"{name}={value}" for name, value in each.items())])
            chosen = {**_recovering(agent, {"search": "random"}), **each}
            yield f"{named:<44}{asyncio.run(_arm(agent, chosen, world, tasks, count, _erring(agent)))}"
    for looks in (1, 4, 10):
        policy = Erring("explore", most=looks)
        arm = asyncio.run(_arm("opex", {"search": "random"}, world, tasks, count, lambda _, policy=policy: policy))
        yield f"{f'opex, a right plan after {looks} looks round':<44}{arm}"


def _recovering(agent: str, settings: Mapping[str, str]) -> dict[str, str]:
    return {**settings, **({"replanning": "on"} if agent == "lota" else {})}


def _erring(agent: str) -> Policies:
    return lambda number: Erring(ERRORS[agent][number % len(ERRORS[agent])])


@dataclass
class _Counting(Model):
    """A model in this process that answers by ``policy``, and counts calls and the tokens of their prompts."""

    policy: Policy
    count: Callable[[str], int]
    name: str = "counting"
    calls: int = 0
    tokens: int = 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        self.tokens += sum(self.count(message.content) for message in request.messages)
        return Completion(self.policy([{"role": message.role, "content": message.content} for message in request.messages]))


async def _arm(
    agent: str,
    settings: Mapping[str, str],
    world: World,
    tasks: Sequence[Task],
    count: Callable[[str], int],
    policies: Policies,
) -> str:
    won = turns = 0
    model = _Counting(Solver(), count)
    player = make_agent(agent, world=world, model=model, settings=settings)
    for number, task in enumerate(tasks):
        model.policy = policies(number)
        env = world.open(task)
        try:
            ended = await run_episode(env, player, EpisodeConfig(world), _unheard)
        finally:
            env.close()
        won, turns = won + (ended.outcome == "won"), turns + ended.turns
    games = len(tasks)
    return f"{won:>5}{turns / games:>7.1f}{model.calls / games:>7.1f}{model.tokens / games:>15,.0f}"


def _ceiling(world: World, tasks: Sequence[Task], search: str) -> str:
    prior = "random" if search == "llm" else search
    turns = [expert_turns(world, task, settings={"search": prior}) for task in tasks]
    won = sum(taken is not None for taken in turns)
    return f"{won:>5}{mean(TURNS if taken is None else taken for taken in turns):>7.1f}"


def _unheard(event: object) -> None:
    """Drop events."""
