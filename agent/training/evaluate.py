"""How well the built-in model plays: the figures of its card, from the file as it is shipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

from agent.models.base import Model
from agent.training.corpus import EVALUATION_SEEDS
from agent.training.held_out import HINTS
from agent.training.playing import Conditions, as_expert, lines, play, play_all, summary
from agent.training.rules import rules
from worlds.alfworld.text.reader import begin
from worlds.alfworld.world import AlfworldWorld
from worlds.base import Task, World
from worlds.registry import make_world

RULE_GAMES = 60


def evaluate(model: Model, names: Sequence[str], *, data: Path | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """The figures of each set of ``SETS`` that is named, printed as they come, and every game that was lost beside them."""
    found: list[dict[str, Any]] = []
    for figures in measured(model, names, data=data, limit=limit):
        print("\n".join(shown(figures)), flush=True)
        found.append(figures)
    return found


def shown(figures: dict[str, Any]) -> list[str]:
    """The figures of one set as lines, without the games that were lost."""
    return lines({key: value for key, value in figures.items() if key not in {"lost", "missed"}})


def measured(
    model: Model, names: Sequence[str], *, data: Path | None = None, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """The figures of each set of ``SETS`` that is named, as they come."""
    for name in names:
        if name == "hints":
            yield hints(model)
        elif name == "rules":
            yield from rules(model, limit or RULE_GAMES)
        else:
            yield from (_games(one, model, limit) for one in _sets(name, data))


@dataclass(frozen=True, slots=True)
class _Set:
    """Games to play. ``plain`` is the world with its own goal sentences, which alone the expert reads."""

    name: str
    world: World
    plain: World
    tasks: Sequence[Task]
    grants: frozenset[str] = frozenset()


def _games(one: _Set, model: Model, limit: int | None) -> dict[str, Any]:
    tasks = one.tasks[:limit]
    began = perf_counter()
    games = play_all(one.world, tasks, model, Conditions(one.grants))
    seconds = perf_counter() - began
    expert = as_expert(one.plain, (one.plain.task(task.reference) for task in tasks))
    lost = [f"{game.task} ({game.goal}) {game.outcome}: {game.plans}" for game in games if not game.won]
    return summary(one.name, games, seconds, expert) | {"lost": lost}


def hints(model: Model) -> dict[str, Any]:
    """How many of the held-out hints are followed: one of the next two commands goes to the place."""
    world = AlfworldWorld()
    missed: list[str] = []
    for number, text in enumerate(HINTS):
        task = world.task(f"generated:{EVALUATION_SEEDS + number}")
        names = [one.name for one in begin(world.open(task).reset().observation).receptacles]
        place = Random(f"hint {number}").choice(names)
        hint = text.format(place=place)
        game = play(world, task, model, Conditions(hint=hint))
        if f"go to {place}" not in game.commands[:2]:
            missed.append(f"{hint} -> {game.plans} {game.commands[:2]}")
    return {"set": "hints", "hints": len(HINTS), "followed": len(HINTS) - len(missed), "missed": missed}


def _sets(name: str, data: Path | None) -> Iterable[_Set]:
    world = make_world(data=data)
    if name == "seen":
        yield _Set("valid_seen, freely", world, world, world.tasks("valid_seen"))
    elif name == "admissible":
        yield _Set("valid_seen, admissible", world, world, world.tasks("valid_seen"), frozenset({"admissible"}))
    elif name == "houses":
        seeds = range(EVALUATION_SEEDS, EVALUATION_SEEDS + 500)
        yield _Set("500 made-up houses", world, world, [world.task(f"generated:{seed}") for seed in seeds])
    elif name == "human":
        for annotator in (1, 2, 3):
            human = make_world(data=data, goals=f"human:{annotator}")
            yield _Set(f"valid_seen, annotator {annotator}", human, world, human.tasks("valid_seen"))
