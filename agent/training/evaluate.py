"""How well the built-in model plays: the figures of its card, from the file as it is shipped.

Every game is an ordinary episode of the agent reasoner-actor.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from agent import events
from agent.agents.registry import make_agent
from agent.episode import Terms, run_episode
from agent.events import Clocked, Ended, Event
from agent.models.base import Model
from agent.training.corpus import EVALUATION_SEEDS
from worlds.base import Task, World
from worlds.registry import make_world


@dataclass(frozen=True, slots=True)
class Played:
    """One game: what was asked, how it ended, and what it took."""

    task: str
    type: str
    outcome: str
    steps: int
    refused: int
    unreadable: int
    calls: int
    tokens: int
    plans: tuple[tuple[str, ...], ...]
    goal: str


async def play(
    world: World, task: Task, model: Model, *, grants: frozenset[str] = frozenset(), rules: tuple[str, ...] = ()
) -> Played:
    """Play ``task`` to its end."""
    told: list[events.Body] = []

    def listen(event: Event | Clocked) -> None:
        if isinstance(event, Event):
            told.append(event.body)

    env = world.open(task)
    agent = make_agent("reasoner-actor", world=world, model=model)
    ended: Ended = await run_episode(env, agent, Terms(world.engine, grants, rule_statements=rules), listen)
    env.close()
    called = [body for body in told if isinstance(body, events.Called)]
    return Played(
        task.reference,
        task.type,
        ended.outcome,
        ended.steps,
        ended.refused,
        sum(isinstance(body, events.Unreadable) for body in told),
        len(called),
        sum(body.completion_tokens or 0 for body in called),
        tuple(body.steps for body in told if isinstance(body, events.Planned)),
        task.goal,
    )


async def play_all(world: World, tasks: Iterable[Task], model: Model, **given: Any) -> list[Played]:
    """Play every one of ``tasks``, one after the other."""
    return [await play(world, task, model, **given) for task in tasks]


def summary(name: str, games: Sequence[Played], seconds: float) -> dict[str, Any]:
    """The figures of one set of games."""
    types = sorted({game.type for game in games})
    won = [game for game in games if game.outcome == "won"]
    return {
        "set": name,
        "games": len(games),
        "won": len(won),
        "success": round(100 * len(won) / max(1, len(games)), 1),
        "by_type": {
            kind: f"{sum(game.type == kind for game in won)}/{sum(game.type == kind for game in games)}" for kind in types
        },
        "steps_when_won": round(sum(game.steps for game in won) / max(1, len(won)), 2),
        "refused": sum(game.refused for game in games),
        "unreadable": sum(game.unreadable for game in games),
        "seconds_a_game": round(seconds / max(1, len(games)), 3),
        "ms_a_call": round(1000 * seconds / max(1, sum(game.calls for game in games)), 2),
    }


SETS = ("seen", "admissible", "houses", "human")


def evaluate(model: Model, names: Sequence[str], *, data: Path | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """The figures of each set of ``SETS`` that is named, and every game that was lost beside them."""
    found: list[dict[str, Any]] = []
    for name in names:
        for label, world, tasks, grants in _sets(name, data):
            began = perf_counter()
            games = asyncio.run(play_all(world, tasks[:limit], model, grants=grants))
            figures = summary(label, games, perf_counter() - began)
            lost = [f"{game.task} ({game.goal}) {game.outcome}: {game.plans}" for game in games if game.outcome != "won"]
            found.append(figures | {"lost": lost})
            print(json.dumps(figures), flush=True)
    return found


def _sets(name: str, data: Path | None) -> Iterable[tuple[str, World, list[Task], frozenset[str]]]:
    world = make_world(data=data)
    if name == "seen":
        yield "valid_seen, freely", world, list(world.tasks("valid_seen")), frozenset()
    elif name == "admissible":
        yield "valid_seen, admissible", world, list(world.tasks("valid_seen")), frozenset({"admissible"})
    elif name == "houses":
        seeds = range(EVALUATION_SEEDS, EVALUATION_SEEDS + 500)
        yield "500 made-up houses", world, [world.task(f"generated:{seed}") for seed in seeds], frozenset()
    elif name == "human":
        for annotator in (1, 2, 3):
            human = make_world(data=data, goals=f"human:{annotator}")
            yield f"valid_seen, annotator {annotator}", human, list(human.tasks("valid_seen")), frozenset()
