"""What trainers and clusters get: the drop-in against alfworld's own AlfredTWEnv, and many episodes in flight.

**drop-in**: the same script and random agent on each, in one process each. The script is `scripts.bench.doors_agent`, told
which module to import. Both play the same games in the same order with the same commands, and their texts are compared. An
episode is a reset, which loads the next game, and steps to the end or the limit, each after the admissible commands. Setting
up, which lists all games of train, is timed separately.

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


def _played(module: str, data: Path) -> _Played:
    command = [
        sys.executable,
        "-m",
        "scripts.bench.doors_agent",
        module,
        str(data / LAYOUT / "train"),
        str(EPISODES),
        str(STEPS),
    ]
    environment = {**os.environ, "ALFWORLD_DATA": str(data)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    return _Played(**json.loads(done.stdout.splitlines()[-1]))  # alfworld prints other lines before


PARTS: Mapping[str, Callable[[Path | None], Iterable[str]]] = {"drop-in": _drop_in, "calls": in_flight}
"""What is measured: ``make bench ARGS=doors:calls``."""
