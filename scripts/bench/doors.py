"""What trainers and clusters get: many games at once, the drop-in against alfworld's own, and many episodes in flight.

**drop-in**: the same script and random agent on each, in one process each. The script is `scripts.bench.doors_agent`, told
which module to import. Both play the same games in the same order with the same commands, and their texts are compared. An
episode is a reset, which loads the next game, and steps to the end or the limit, each after the admissible commands. Setting
up, which lists all games of train, is timed separately.

**games**: `build_alfworld_envs` at 1 to 1,024 games, in groups of 8, as trainers have them, and of 1, where all differ. Steps a
second of processor, admissible commands included; the choices of the random agent are not counted. Memory is what the process
grew by. Each line is a process of its own (`scripts.bench.doors_batch`).

**calls**: `scripts.bench.batch.in_flight`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from scripts.bench.batch import in_flight
from worlds.alfworld.data.tasks import LAYOUT
from worlds.alfworld.reference.worker import check_installed, versions
from worlds.errors import ConfigurationError

EPISODES = 10
STEPS = 50
OURS, THEIRS = "worlds.alfworld.dropin", "alfworld.agents.environment"


@dataclass(frozen=True, slots=True)
class _Played:
    """Seconds to set up and of each episode; a digest of all texts."""

    setup: float
    episodes: list[float]
    digest: str


def run(data: Path | None) -> Iterator[str]:
    """All parts one after the other; lines to print."""
    for name, part in PARTS.items():
        for line in part(data):
            yield f"{name}: {line}"


def _drop_in(data: Path | None) -> list[str]:
    """Episodes a second on both, by the median episode, and their ratio. Lines to print."""
    if data is None or not (data / LAYOUT / "train").is_dir():
        return ["not measured: the games of train are not here (set ALFWORLD_DATA)"]
    try:
        check_installed()
    except ConfigurationError as error:
        return [f"not measured: {error}"]
    ours, theirs = _played(OURS, data), _played(THEIRS, data)
    fast, slow = median(ours.episodes), median(theirs.episodes)
    same = (
        "were told the same" if ours.digest == theirs.digest else "WERE TOLD DIFFERENT THINGS, so that the ratio means nothing"
    )
    return [
        f"medians over {EPISODES} train games, at most {STEPS} steps each, against {versions()}; both {same}:",
        f"  {1 / fast:8,.1f} episodes a second against {1 / slow:.3f}: {slow / fast:,.0f} times as many",
        f"  {ours.setup:8,.1f} s to set up against {theirs.setup:.1f} s",
    ]


def _games(data: Path | None) -> Iterator[str]:
    """Steps a second, resets and memory of many games at once."""
    if data is None or not (data / LAYOUT / "train").is_dir():
        yield "not measured: the games of train are not here (set ALFWORLD_DATA)"
        return
    for each in (1, 8):
        for number in (1, 8, 64, 256, 1_024):
            if number >= each:
                found = json.loads(_said("scripts.bench.doors_batch", data, str(number), str(each)))
                yield (
                    f"{number:5,} in groups of {each}: {found['steps']:9,.0f} steps a second, "
                    f"reset {found['reset']:.2f} ms a game ({found['first']:.2f} ms the first time), "
                    f"{found['memory']:6.1f} kB a game"
                )


def _played(module: str, data: Path) -> _Played:
    folder = str(data / LAYOUT / "train")
    return _Played(**json.loads(_said("scripts.bench.doors_agent", data, module, folder, str(EPISODES), str(STEPS))))


def _said(program: str, data: Path, *arguments: str) -> str:
    """The last line of a program; alfworld prints others before."""
    command = [sys.executable, "-m", program, *arguments]
    environment = {**os.environ, "ALFWORLD_DATA": str(data)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    return done.stdout.splitlines()[-1]


PARTS: Mapping[str, Callable[[Path | None], Iterable[str]]] = {"games": _games, "drop-in": _drop_in, "calls": in_flight}
"""What is measured: ``make bench ARGS=doors:calls``."""
