"""What is compared: which games, and which commands in each. All of it is fixed by the seed, so totals are comparable."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from housequest.worlds.alfworld.engine.game import Game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.games import PUBLISHED
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.goals import TASK_TYPES
from housequest.worlds.household.world import EXAMPLE, GENERATED
from scripts.record_golden import GOLDEN, STRAYS, USEFUL, WEIGHTS

SEED = 1
STEPS = 40
SPLITS = ("train", "valid_seen")
WALKTHROUGH = "walkthrough"
WALKS = ("admissible", "prefix", "invalid", "older", "mixed")
"""Kinds of walk: admissible commands; a piece of the walkthrough first; mostly refused ones; with the ``put X in/on Y`` of the
older grammar; and all of these in turn.
"""
EACH = 10
"""Games of each task type that each kind of walk is taken in: 5 x 6 x 10 = 300 games."""


MADE_UP = 6
"""Made-up houses in a slice."""


@dataclass(frozen=True, slots=True)
class Item:
    """One comparison: a task and the kind of commands to be played in it."""

    kind: str
    task: str

    @property
    def key(self) -> str:
        return f"{self.kind} {self.task}"


def full(world: AlfworldWorld) -> list[Item]:
    """Walks in 300 games of the two splits, then every walkthrough, in an order that mixes them."""
    missing = [split for split in SPLITS if split in world.splits() and len(world.tasks(split)) != PUBLISHED[split]]
    tasks = [task for split in SPLITS for task in world.tasks(split)]
    if missing:
        counts = ", ".join(f"{split} has {len(world.tasks(split))} of {PUBLISHED[split]}" for split in missing)
        raise ConfigurationError(f"The published games are not all here: {counts}.")
    rest = [Item(WALKTHROUGH, task.id) for task in tasks]
    random.Random(f"{SEED} order").shuffle(rest)
    return [*_walks(tasks, EACH), *rest]


def slice_of_games(world: AlfworldWorld) -> list[Item]:
    """Two walkthroughs and one walk of each kind for every task type; a part of `full`."""
    items = full(world)
    types = {task.id: task.type for split in SPLITS for task in world.tasks(split)}
    found: list[Item] = []
    for kind, each in [(kind, 1) for kind in WALKS] + [(WALKTHROUGH, 2)]:
        for name in TASK_TYPES:
            found += [item for item in items if item.kind == kind and types[item.task] == name][:each]
    return found


def slice_of_houses(world: AlfworldWorld) -> list[Item]:
    """The houses of ours, bundled, golden and made up, in walks of every kind but the one that needs a walkthrough."""
    houses = [task.id for task in world.tasks(EXAMPLE)]
    houses += [str(path) for path in sorted((GOLDEN / "houses").glob("*.json"))]
    houses += [f"{GENERATED}:{seed}" for seed in range(MADE_UP)]
    return [Item(kind, house) for house in houses for kind in WALKS if kind != "prefix"]


def commands_of(item: Item, game: Game) -> list[str]:
    """The commands to play, generated with the native engine alone."""
    if item.kind == WALKTHROUGH:
        return list(game.walkthrough or ())
    name = Path(item.task).name if item.task.endswith(".json") else item.task
    return list(_walk(item.kind, game, random.Random(f"{SEED} {item.kind} {name}")))


def _walks(tasks: Sequence[Task], each: int) -> list[Item]:
    found: list[Item] = []
    for name in TASK_TYPES:
        ids = sorted(task.id for task in tasks if task.type == name)
        chosen = random.Random(f"{SEED} {name}").sample(ids, each * len(WALKS))
        found += [Item(kind, task) for place, kind in enumerate(WALKS) for task in chosen[place * each : (place + 1) * each]]
    return sorted(found, key=lambda item: (WALKS.index(item.kind), item.task))


def _walk(kind: str, game: Game, rng: random.Random) -> Iterator[str]:
    """``STEPS`` commands for an env that plays along."""
    env = NativeEnv(Task("parity", "alfworld", "parity", 0, "", game.sentence), game)
    env.reset()
    prefix = list(game.walkthrough or ())[: rng.randint(1, len(game.walkthrough or " "))] if kind == "prefix" else []
    for number in range(STEPS):
        listed = env.admissible_commands()
        this = rng.choice(("admissible", "invalid", "older")) if kind == "mixed" else kind
        if number < len(prefix):
            command = prefix[number]
        elif this == "invalid" and rng.random() < 0.7:
            command = _invalid(listed, game, rng)
        elif this == "older":
            command = _older(listed, game, rng)
        else:
            command = _admissible(listed, rng)
        env.step(command)
        yield command


def _admissible(listed: Sequence[str], rng: random.Random) -> str:
    """Choose the verb first, because most commands are `go to`; prefer knives and appliances."""
    by_verb: dict[str, list[str]] = {}
    for command in listed:
        by_verb.setdefault(command.split()[0], []).append(command)
    (verb,) = rng.choices(list(by_verb), [WEIGHTS.get(verb, 5) for verb in by_verb])
    useful = [command for command in by_verb[verb] if any(word in command for word in USEFUL)]
    return rng.choice(useful if useful and rng.random() < 0.4 else by_verb[verb])


def _invalid(listed: Sequence[str], game: Game, rng: random.Random) -> str:
    """A command that is probably refused: nearly valid, or a random verb and names."""
    thing, other = (rng.choice(game.objects or ("mug 1",)) for _ in range(2))
    place = rng.choice(game.receptacles or ("desk 1",))
    near = rng.choice(listed)
    return rng.choice(
        (
            rng.choice(STRAYS),
            near.upper(),
            near.title(),
            near.replace(" ", "  "),
            f"{near} 1",
            f"{near}.",
            near.rpartition(" ")[0],
            f"\t{near}\n",
            f"take {thing} from {place}",
            f"move {thing} to {place}",
            f"{rng.choice(('open', 'close', 'examine', 'go to', 'use'))} {place}",
            f"{rng.choice(('examine', 'use', 'go to', 'open'))} {thing}",
            f"{rng.choice(('heat', 'cool', 'clean'))} {thing} with {place}",
            f"slice {thing} with {other}",
        )
    )


def _older(listed: Sequence[str], game: Game, rng: random.Random) -> str:
    """Pick objects up, and put them down in the older grammar half of the time."""
    moves = [command for command in listed if command.startswith("move ")]
    if moves:
        move = rng.choice(moves)
        thing, _, place = move.removeprefix("move ").partition(" to ")
        older = (f"put {thing} in/on {place}", f"put {thing} in {place}", f"put {thing} on {place}", f"put {thing} to {place}")
        return rng.choice((move, *older)) if rng.random() < 0.6 else _admissible(listed, rng)
    takes = [command for command in listed if command.startswith("take ")]
    if takes and rng.random() < 0.6:
        return rng.choice(takes)
    if rng.random() < 0.1:
        return f"put {rng.choice(game.objects or ('mug 1',))} in/on {rng.choice(game.receptacles or ('desk 1',))}"
    return _admissible(listed, rng)
