"""The native engine against the real alfworld + textworld: the same games and commands, in this one process.

The reference is timed as it is installed, without what `scripts.parity.quick` saves, and loads as its own ``load`` does: the
file read, its grammar parsed, its PDDL translated. A step includes the admissible commands after it, which the reference makes
with each. Each engine plays a game's whole walk by itself, as in real use: first the reference, then the native engine with the
same commands from a freshly loaded game, so that no state is cached. If they took turns, the reference, which uses much memory,
would evict the native engine from the processor's caches and make its steps some four times slower. Figures are medians over
games of each game's median step.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter

from housequest.worlds.alfworld.engine.game import load_game, read_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.games import GAME_FILE, LAYOUT
from housequest.worlds.base import Task
from housequest.worlds.dropin.reference import Reference, check_installed, versions
from housequest.worlds.errors import ConfigurationError

GAMES = 12
STEPS = 20
TARGETS = {"step": 1_500, "load": 400, "reset": 100_000}


@dataclass
class _Seconds:
    """One entry a game."""

    step: list[float] = field(default_factory=list[float])
    load: list[float] = field(default_factory=list[float])
    reset: list[float] = field(default_factory=list[float])


def run(data: Path | None) -> list[str]:
    """Measure over games spread evenly over train. Lines to print."""
    try:
        check_installed()
    except ConfigurationError as error:
        return [f"not measured: {error}"]
    paths = sorted((data / LAYOUT / "train").glob(f"*/*/{GAME_FILE}")) if data else []
    if not paths:
        return ["not measured: the games of train are not here (set ALFWORLD_DATA)"]
    chosen = paths[:: max(1, len(paths) // GAMES)][:GAMES]
    native, reference, game = _Seconds(), _Seconds(), Reference()
    for path in chosen:
        _measure(path, game, native, reference)
    lines = [f"medians over {len(chosen)} train games, {STEPS} steps each, against {versions()}:"]
    for name, target in TARGETS.items():
        ours, theirs = median(getattr(native, name)), median(getattr(reference, name))
        lines.append(
            f"  {name:<5} {ours * 1e6:9,.1f} us against {theirs * 1e3:8,.1f} ms: {theirs / ours:9,.0f} times as fast "
            f"(wanted: {target:,})"
        )
    return lines


def _measure(path: Path, game: Reference, native: _Seconds, reference: _Seconds) -> None:
    task = Task(path.parent.name, "alfworld", "bench", 0, "", "", source=path)
    loaded = load_game(path)  # brings the file into the page cache
    env = NativeEnv(task, loaded)
    native.load.append(median(_timed(lambda: load_game(path)) for _ in range(3)))
    native.reset.append(median(_timed(env.reset) for _ in range(9)))
    reference.load.append(_timed(lambda: game.load(read_game(path))))
    reference.reset.append(_timed(game.reset))
    walk, theirs = _walk(game)
    reference.step.append(median(theirs))
    native.step.append(median(_steps(NativeEnv(task, load_game(path)), walk)))


def _walk(game: Reference) -> tuple[list[str], list[float]]:
    """Play random commands on the reference; returns them and the seconds of each."""
    rng = random.Random(1)
    told = game.reset()
    walk: list[str] = []
    seconds: list[float] = []
    for _ in range(STEPS):
        walk.append(rng.choice(told.commands))
        start = perf_counter()
        told = game.step(walk[-1])
        seconds.append(perf_counter() - start)
    return walk, seconds


def _steps(env: NativeEnv, walk: list[str]) -> list[float]:
    env.reset()
    return [_timed(lambda command=command: (env.step(command), env.admissible_commands())) for command in walk]


def _timed(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start
