"""The cost of an episode with each agent: calls and prompt tokens on the same games, with one policy behind a local endpoint.

The policy reads each agent's prompts, answers in its format and knows how to solve the task: the figures are costs with a model
that plans well, and say nothing about a model's quality. A second set has a wrong first plan, so that the agent plans again;
for `lota` and `saycan`, which do not plan again by default, the first skill fails and ``replanning=on`` is set. The endpoint
returns log probabilities of a prompt's tokens, so that `saycan` can score. Tokens are those of
Mistral's Tekken where mistral-common is installed, else words. A third table counts pictures, where the view is granted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from housequest.agent.agents.spec import agent_names, agent_spec, make_agent, resolve_settings
from housequest.agent.base import Agent
from housequest.agent.episodes.config import VIEW, EpisodeConfig
from housequest.agent.episodes.emitter import EventListener
from housequest.agent.episodes.events import CallTiming, Event, ModelCall
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.registry import make_model
from housequest.worlds.alfworld.games import LAYOUT
from housequest.worlds.base import Task, World
from housequest.worlds.errors import HousequestError
from housequest.worlds.registry import make_world
from scripts.bench.prompts import counter
from scripts.bench.searches import searches
from tests.backends.few_shot import Continuing
from tests.backends.lota import Lister
from tests.backends.policy import Solver
from tests.backends.server import Recorded, Server, seeing, serve

GAMES = 20
LISTING = frozenset({"lota", "saycan"})


@dataclass(frozen=True, slots=True)
class _Episode:
    """The result of one episode; ``error`` is what went wrong in it."""

    won: bool
    error: str | None
    steps: int
    calls: int
    tokens: int


def run(data: Path | None) -> list[str]:
    """A table with a row for each agent that needs a model. Lines to print."""
    count, name = counter() or (lambda text: len(text.split()), "words")
    split = "valid_seen" if data is not None and (data / LAYOUT / "valid_seen").is_dir() else "generated"
    world = make_world("alfworld", data=data)
    tasks = _games(world, split)
    figures = f"{'calls':>9}{'prompt tokens':>15}{'commands':>10}{'won':>9}"
    lines = [
        f"{len(tasks)} games of {split}, a won episode in the mean; tokens by {name}",
        f"{'':<24}{'':>43}{'with a wrong first plan':>43}",
        f"{'agent':<16}{'search':<8}{figures}{figures}",
    ]
    with serve() as server:
        server.probing = seeing
        for agent in agent_names():
            if "model" in agent_spec(agent).needs:
                lines.append(asyncio.run(_row(agent, world, tasks, server, count)))
        lines.append(asyncio.run(_with_exemplars(world, tasks, server, count)))
        lines += ["", f"{'--grant view':<16}{'pictures':>9}{'in all prompts':>16}"]
        for agent in agent_names():
            if "images" in agent_spec(agent).takes:
                lines.append(asyncio.run(_pictures(agent, world, tasks, server)))
    return [*lines, "", *searches(world, tasks, count)]


def _games(world: World, split: str) -> list[Task]:
    if split == "generated":
        return [world.task(f"{split}:{seed}") for seed in range(GAMES)]
    tasks = world.tasks(split)
    return [tasks[place * len(tasks) // GAMES] for place in range(GAMES)]


async def _row(agent: str, world: World, tasks: Sequence[Task], server: Server, count: Callable[[str], int]) -> str:
    row = f"{agent:<16}{resolve_settings(agent, {}).get('search', ''):<8}"
    model = make_model(server.model())
    try:
        for wrong in (False, True):
            server.policy = Solver(wrong_first_plan=wrong, lister=Lister(hasty=wrong))
            settings = {"replanning": True} if wrong and agent in LISTING else {}
            player = make_agent(agent, world=world, model=model, settings=settings)
            episodes = [await _played(player, world, task, server, count) for task in tasks]
            error = next((each.error for each in episodes if each.error), None)
            if error:
                return f"{row} not measured: {error}"
            row += _figures(episodes)
    except HousequestError as error:
        return f"{row} not measured: {error}"
    finally:
        await model.aclose()
    return row


async def _with_exemplars(world: World, tasks: Sequence[Task], server: Server, count: Callable[[str], int]) -> str:
    """The row of `react` as its authors played: its policy is the expert, which thinks at the start and before each take."""
    server.policy, server.continues = Continuing(), True
    model = make_model(server.model())
    try:
        player = make_agent("react", world=world, model=model, settings={"exemplars": "own"})
        return f"{'react, exemplars':<24}{_figures([await _played(player, world, task, server, count) for task in tasks])}"
    finally:
        server.continues = False
        await model.aclose()


async def _pictures(agent: str, world: World, tasks: Sequence[Task], server: Server) -> str:
    """How many pictures an episode sends, and how many of them its prompts hold, those of earlier turns counted again."""
    model = make_model(server.model())
    server.policy = Solver()
    sent: list[int] = []
    held: list[int] = []
    try:
        player = make_agent(agent, world=world, model=model)
        for task in tasks:
            calls: list[ModelCall] = []
            server.requests.clear()
            env = world.open(task)
            try:
                await run_episode(env, player, EpisodeConfig(world, frozenset({VIEW})), _calls_in(calls))
            finally:
                env.close()
            sent.append(sum(message.image is not None for call in calls for message in call.added))
            held.append(sum(len(request.pngs) for request in server.requests))
    finally:
        await model.aclose()
    return f"{agent:<16}{mean(sent):>9.1f}{mean(held):>16.1f}"


def _calls_in(calls: list[ModelCall]) -> EventListener:
    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event) and isinstance(event.body, ModelCall):
            calls.append(event.body)

    return listen


def _figures(episodes: Sequence[_Episode]) -> str:
    # A lost episode ends early or late: its cost is not that of a solved task.
    won = [each for each in episodes if each.won]
    if not won:
        return f"{'lost all':>43}"
    calls, tokens, steps = (mean(getattr(each, part) for each in won) for part in ("calls", "tokens", "steps"))
    return f"{calls:>9.1f}{tokens:>15,.0f}{steps:>10.1f}{f'{len(won)}/{len(episodes)}':>9}"


async def _played(player: Agent, world: World, task: Task, server: Server, count: Callable[[str], int]) -> _Episode:
    server.requests.clear()
    env = world.open(task)
    try:
        ended = await run_episode(env, player, EpisodeConfig(world), _unheard)
    finally:
        env.close()
    tokens = sum(_size(request, count) for request in server.requests)
    return _Episode(ended.outcome == "won", ended.message, ended.steps, len(server.requests), tokens)


def _size(request: Recorded, count: Callable[[str], int]) -> int:
    return sum(count(message["content"]) for message in request.messages)


def _unheard(event: object) -> None:
    """Drop events."""
