"""Several players in one house: the same game and the time it takes, and the rounds of experts that share it.

Experts take turns, in an order drawn anew in each round. Gain is the rounds of one alone over those of several, as a ratio of
sums with a 95 % interval by bootstrap over tasks; a lost game counts all rounds. They do not talk or divide the work.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from housequest.worlds.base import Env, Task, World
from housequest.worlds.env import expert_of, shared_house
from housequest.worlds.registry import make_world
from housequest.worlds.shared import WAIT, Seat

PLAYERS = ("Ann", "Bob", "Cleo", "Dan")
WORLDS = {"alfworld": "generated", "household-graph": "generated"}
STEPS = 20_000
FIRST, TASKS = 200_000, 120
MOST_ROUNDS = 100
_DRAWS = 2_000


def run(data: Path | None) -> Iterator[str]:
    """The figures, each a line."""
    for part in PARTS.values():
        yield from part(data)


def _alone(data: Path | None) -> Iterator[str]:
    """One player through a seat, against the env of before."""
    del data
    for name, split in WORLDS.items():
        world, spent, differences, steps, seed = make_world(name), [0.0, 0.0], 0, 0, FIRST
        while steps < STEPS:
            task, dice = world.task(f"{split}:{seed}"), random.Random(seed)
            envs: tuple[Env, Env] = (world.open(task), Seat(shared_house(world, task, PLAYERS[:1]), PLAYERS[0]))
            differences += envs[0].reset() != envs[1].reset()
            for _ in range(100):
                command = dice.choice(envs[0].admissible_commands() or ("look",)) if dice.random() < 0.9 else "dance"
                answers: list[object] = []
                for number, env in enumerate(envs):
                    start = time.perf_counter()
                    answers.append((env.step(command), env.admissible_commands()))
                    spent[number] += time.perf_counter() - start
                differences += answers[0] != answers[1]
            steps, seed = steps + 100, seed + 1
        yield f"{name}: {steps:,} steps through a seat, {differences} differences, {spent[1] / spent[0]:.2f} times as long"


class Played(NamedTuple):
    """The rounds until it was won, at most `MOST_ROUNDS`, and the share of refused commands."""

    rounds: int
    refused: float


def _shared(data: Path | None) -> Iterator[str]:
    """Experts that share a house, against one."""
    del data
    for name, split in WORLDS.items():
        world = make_world(name)
        tasks = [world.task(f"{split}:{FIRST + number}") for number in range(TASKS)]
        alone = [played_by(world, task, 1, hears=False) for task in tasks]
        yield f"{name}: {TASKS} tasks, {mean(one.rounds for one in alone):.1f} rounds alone"
        for number in (2, 3, 4):
            for hears in (False, True) if number == 2 else (True,):
                played = [played_by(world, task, number, hears=hears) for task in tasks]
                low, high = _interval([one.rounds for one in alone], [one.rounds for one in played])
                gain = sum(one.rounds for one in alone) / sum(one.rounds for one in played)
                slower = sum(one.rounds > before.rounds for before, one in zip(alone, played, strict=True))
                lost = sum(one.rounds == MOST_ROUNDS for one in played)
                yield (
                    f"  {number} experts that {'hear news' if hears else 'know nothing of each other'}: gain {gain:.2f} "
                    f"[{low:.2f}, {high:.2f}], slower than alone {slower}, not won {lost}, "
                    f"refused {100 * mean(one.refused for one in played):.1f} %"
                )


def played_by(world: World, task: Task, number: int, *, hears: bool) -> Played:
    """One task played by a number of experts, each in its turn, which hear news of each other or not."""
    shared, expert, household = shared_house(world, task, PLAYERS[:number]), expert_of(world), world.household
    memories = {player: expert.begin(task.goal, step.observation) for player, step in shared.reset().items()}
    acted = refused = 0
    for turn in range(1, MOST_ROUNDS + 1):
        order = random.Random(f"{task.id} {turn}").sample(shared.players, number)
        for player in order:
            memory = memories[player]
            if hears and household is not None:
                memory = replace(memory, belief=household.hear(memory.belief, shared.news(player)))
            command, _, memory = expert.decide(memory)
            step = shared.step(player, command or WAIT)
            memories[player] = expert.observe(memory, command or WAIT, step.observation)
            acted, refused = acted + 1, refused + (not step.observation.accepted)
            if step.won:
                return Played(turn, refused / acted)
    return Played(MOST_ROUNDS, refused / acted)


def _interval(alone: Sequence[int], played: Sequence[int]) -> tuple[float, float]:
    dice, pairs = random.Random(0), list(zip(alone, played, strict=True))
    drawn = (dice.choices(pairs, k=len(pairs)) for _ in range(_DRAWS))
    gains = sorted(sum(one for one, _ in draw) / sum(two for _, two in draw) for draw in drawn)
    return gains[round(0.025 * _DRAWS)], gains[round(0.975 * _DRAWS) - 1]


PARTS: dict[str, Callable[[Path | None], Iterator[str]]] = {"alone": _alone, "shared": _shared}
