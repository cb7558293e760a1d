"""The cost of the native engine: time to load, reset, step and copy, and memory of a game and of an episode.

A step is timed together with the admissible commands after it, as an agent uses it. *Cold* is a state that the env enters for
the first time; *hot* is a refused command or one that changes nothing, for which the list is cached.
"""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import TypeVar

from housequest.worlds import alfworld
from housequest.worlds.alfworld.engine.game import Game, load_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.base import Task

_T = TypeVar("_T")

STEPS = 50
GAMES = 40


@dataclass
class Timings:
    """Nanoseconds, one entry a call; bytes, one entry a game."""

    load: list[int] = field(default_factory=list[int])
    reset: list[int] = field(default_factory=list[int])
    cold: list[int] = field(default_factory=list[int])
    hot: list[int] = field(default_factory=list[int])
    copy: list[int] = field(default_factory=list[int])
    game: list[int] = field(default_factory=list[int])
    episode: list[int] = field(default_factory=list[int])


def run(data: Path | None) -> list[str]:
    """Measure on the houses that ship and, where ``data`` holds json_2.1.1, on games spread over train. Lines to print."""
    houses = sorted((Path(alfworld.__file__).parent / "houses").glob("*.json"))
    lines = _lines(f"{len(houses)} bundled houses", measure(houses))
    games = sorted((data / "json_2.1.1" / "train").glob("*/*/game.tw-pddl")) if data else []
    if games:
        spread = games[:: max(1, len(games) // GAMES)][:GAMES]
        lines += _lines(f"{len(spread)} train games", measure(spread))
    else:
        lines.append("train games: not here, so not measured (set ALFWORLD_DATA)")
    return lines


def measure(paths: Sequence[Path]) -> Timings:
    timings = Timings()
    for path in paths:
        load_game(path)  # brings the file into the page cache
        for _ in range(3):
            _timed(timings.load, lambda path=path: load_game(path))
        _play(load_game(path), timings)
        _weigh(path, timings)
    return timings


def _play(game: Game, timings: Timings) -> None:
    env = NativeEnv(Task("bench", "alfworld", "bench", 0, "", game.sentence), game)
    rng = random.Random(1)
    for _ in range(10):
        _timed(timings.reset, env.reset)
    listed = env.admissible_commands()
    for _ in range(STEPS):
        _timed(timings.copy, env.copy)
        before, command = env.state, rng.choice((*listed, "no such command"))
        spent: list[int] = []
        listed = _timed(spent, lambda command=command: (env.step(command), env.admissible_commands())[1])
        (timings.hot if env.state is before else timings.cold).extend(spent)


def _weigh(path: Path, timings: Timings) -> None:
    tracemalloc.start()
    try:
        game = load_game(path)
        loaded = tracemalloc.get_traced_memory()[0]
        env = NativeEnv(Task("bench", "alfworld", "bench", 0, "", game.sentence), game)
        env.reset()
        rng = random.Random(1)
        for _ in range(STEPS):
            env.step(rng.choice(env.admissible_commands()))
        timings.game.append(loaded)
        timings.episode.append(tracemalloc.get_traced_memory()[0] - loaded)
    finally:
        tracemalloc.stop()


def _timed(into: list[int], call: Callable[[], _T]) -> _T:
    start = perf_counter_ns()
    result = call()
    into.append(perf_counter_ns() - start)
    return result


def _lines(name: str, timings: Timings) -> list[str]:
    return [
        f"{name}, medians:",
        f"  load {median(timings.load) / 1e6:.1f} ms, reset {median(timings.reset) / 1e3:.1f} us, "
        f"copy {median(timings.copy) / 1e3:.2f} us",
        f"  a step with admissible commands: {median(timings.cold) / 1e3:.1f} us cold, {median(timings.hot) / 1e3:.1f} us hot",
        f"  memory: {median(timings.game) / 1024:.0f} kB a game, {median(timings.episode) / 1024:.1f} kB an episode in it",
    ]
