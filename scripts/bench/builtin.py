"""The builtin model: seconds a game and milliseconds a call with 1, 8 and 32 workers, and the time to its first command.

The benchmark ``card`` measures how well it plays.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker
from housequest.agent.evaluation.runs.spec import make_run_spec

GAMES = 60
RUNS = 5
_PLAY = "from housequest.tui.cli import main; import sys; sys.argv = ['housequest', 'play', '--plain', '--no-record']; main()"


def run(data: Path | None) -> list[str]:
    """A line for each number of workers, and one for the start."""
    del data
    lines = [_played(workers) for workers in (1, 8, 32)]
    waits = [_first_command() for _ in range(RUNS)]
    return [
        *lines,
        f"from the command line to the first command: {median(waits):.2f} s, the median of {RUNS} (fastest {min(waits):.2f})",
    ]


def _played(workers: int) -> str:
    # Drawn from all seeds: the model was trained on the first few thousand houses.
    chosen = {"split": "generated", "sample": GAMES, "seed": 1}
    plan = make_run_spec(configure({"agent": "reasoner-actor", "model": "builtin", **chosen}))
    with TemporaryDirectory() as folder:
        began, spent = time.perf_counter(), time.process_time()
        summary = asyncio.run(run_batch(plan, Path(folder), RunOptions(concurrency=workers), BudgetTracker(Budget()))).overall
        seconds, spent = time.perf_counter() - began, time.process_time() - spent
    won = f"{summary.won} of {summary.finished} won"
    call = 1000 * seconds / max(1, summary.calls)
    each = f"{seconds / GAMES:.3f} s a game ({spent / GAMES:.3f} of a processor), {call:.1f} ms a call with all around it"
    return f"{GAMES} made-up houses, {workers} worker{'s' if workers > 1 else ''}: {each}; {won}"


def _first_command() -> float:
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-u", "-c", _PLAY],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(" 1 > "):
                seconds = time.perf_counter() - began
                process.kill()
                return seconds
    raise RuntimeError("the game ended before its first command")
