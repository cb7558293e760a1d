"""How well the built-in model plays: the figures of its card, from the file as it is shipped.

Every game is an ordinary episode of the agent reasoner-actor.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

from agent import events
from agent.agents.registry import make_agent
from agent.episode import Terms, run_episode
from agent.events import Clocked, Ended, Event
from agent.models.base import Model
from agent.overseer import Proceed, Unattended
from agent.training.corpus import EVALUATION_SEEDS
from agent.training.held_out import HINTS
from worlds.alfworld.belief import begin
from worlds.alfworld.generated import GeneratedTasks
from worlds.alfworld.habits import Habits, counted
from worlds.alfworld.world import AlfworldWorld
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
    commands: tuple[str, ...] = ()


class _Hinting(Unattended):
    """Gives one hint before the first turn."""

    def __init__(self, hint: str) -> None:
        self._hint = hint

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed:
        del possible
        return Proceed((self._hint,) if turn == 1 else ())


async def play(
    world: World, task: Task, model: Model, *, grants: frozenset[str] = frozenset(), rules: tuple[str, ...] = (), hint: str = ""
) -> Played:
    """Play ``task`` to its end."""
    told: list[events.Body] = []

    def listen(event: Event | Clocked) -> None:
        if isinstance(event, Event):
            told.append(event.body)

    env = world.open(task)
    agent = make_agent("reasoner-actor", world=world, model=model)
    ended: Ended = await run_episode(
        env, agent, Terms(world.engine, grants, rule_statements=rules), listen, _Hinting(hint) if hint else None
    )
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
        tuple(body.command for body in told if isinstance(body, events.Stepped)),
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


def evaluate(model: Model, names: Sequence[str], *, data: Path | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """The figures of each set of ``SETS`` that is named, and every game that was lost beside them."""
    found: list[dict[str, Any]] = []
    for name in names:
        if name == "hints":
            found.append(hints(model))
        elif name == "rules":
            found += rules(model, limit or 60)
        else:
            found += _games(name, model, data, limit)
    return found


def _games(name: str, model: Model, data: Path | None, limit: int | None) -> Iterable[dict[str, Any]]:
    for label, world, tasks, grants in _sets(name, data):
        began = perf_counter()
        games = asyncio.run(play_all(world, tasks[:limit], model, grants=grants))
        figures = summary(label, games, perf_counter() - began)
        lost = [f"{game.task} ({game.goal}) {game.outcome}: {game.plans}" for game in games if game.outcome != "won"]
        print(json.dumps(figures), flush=True)
        yield figures | {"lost": lost}


def hints(model: Model) -> dict[str, Any]:
    """How many of the held-out hints are followed: one of the next two commands goes to the place."""
    world = AlfworldWorld()
    missed: list[str] = []
    for number, text in enumerate(HINTS):
        task = world.task(f"generated:{EVALUATION_SEEDS + number}")
        names = [one.name for one in begin(world.open(task).reset().observation).receptacles]
        place = Random(f"hint {number}").choice(names)
        hint = text.format(place=place)
        game = asyncio.run(play(world, task, model, hint=hint))
        if f"go to {place}" not in game.commands[:2]:
            missed.append(f"{hint} -> {game.plans} {game.commands[:2]}")
    figures: dict[str, Any] = {"set": "hints", "hints": len(HINTS), "followed": len(HINTS) - len(missed)}
    print(json.dumps(figures), flush=True)
    return figures | {"missed": missed}


HABITS: dict[str, dict[str, dict[str, int]]] = {
    "kitchen things in odd places": {"mug": {"microwave": 1}, "knife": {"garbagecan": 1}, "apple": {"cabinet": 1}},
    "all in the safe": {"book": {"safe": 1}, "pillow": {"safe": 1}, "keychain": {"armchair": 1}, "cloth": {"cart": 1}},
}
"""Two altered habits: where some things lie, in place of where they lie in ``train``."""


def rules(model: Model, games: int) -> list[dict[str, Any]]:
    """Steps with a true, a false and no rule on where the wanted thing lies, in made-up houses of two altered habits."""
    found: list[dict[str, Any]] = []
    for name, altered in HABITS.items():
        habits = counted()
        for thing, places in altered.items():
            habits = habits.placing(thing, places)
        world = AlfworldWorld(habits=habits)
        tasks = list(_asking_for(tuple(altered), habits, games))
        for kind in ("none", "true", "false"):
            played: list[Played] = []
            began = perf_counter()
            for number, (task, thing) in enumerate(tasks):
                (true,) = altered[thing]
                false = Random(f"false {number}").choice(
                    [place for place in ("drawer", "shelf", "sofa", "fridge") if place != true]
                )
                statement = f"In this house every {thing} is kept in the {true if kind == 'true' else false}."
                given = () if kind == "none" else (statement,)
                played.append(asyncio.run(play(world, task, model, rules=given)))
            figures = summary(f"{name}, rule {kind}", played, perf_counter() - began)
            figures["steps"] = round(sum(game.steps for game in played) / max(1, len(played)), 2)
            print(json.dumps(figures), flush=True)
            found.append(figures)
    return found


def _asking_for(things: tuple[str, ...], habits: Habits, games: int) -> Iterable[tuple[Task, str]]:
    """The first so many made-up houses for evaluation whose task is to do with one of ``things``."""
    houses = GeneratedTasks(habits)
    seed = EVALUATION_SEEDS
    while games:
        goal = houses.house(seed).goal
        if goal.object in things:
            games -= 1
            yield houses[seed], goal.object
        seed += 1


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
