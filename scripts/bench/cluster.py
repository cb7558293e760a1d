"""1,000 episodes of the expert in one process, in 4 shards, and in 2 and 4 players on Ray: wall, processor, equal bytes.

The last line is of 100 episodes of ``react`` in 2 players: what the driver spends on a call, for `scripts.scale`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from scripts.bench.batch import serving
from scripts.bench.cluster_run import TURNS

EPISODES = 1_000
SHARDS = 4
_EVAL = ("eval", "--agent", "expert", "--split", "generated", "--limit", str(EPISODES))


def run(data: Path | None) -> Iterator[str]:
    """Lines to print."""
    del data
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wall, busy = _timed([[*_EVAL, "--out", str(folder / "one")]])
        yield f"one process: {wall:.1f} s, {busy:.1f} s of processor"
        digest = _digest(folder / "one")
        places = [str(folder / f"part-{number}") for number in range(1, SHARDS + 1)]
        wall, busy = _timed(
            [[*_EVAL, "--shard", f"{number}/{SHARDS}", "--out", place] for number, place in enumerate(places, start=1)]
        )
        merging, merged = _timed([["merge", *places, "--out", str(folder / "merged")]])
        yield (
            f"{SHARDS} shards at once: {wall:.1f} s, {busy:.1f} s of processor; merged in {merging:.1f} s, {merged:.1f} s; "
            f"{_same(folder / 'merged', digest)}"
        )
        if find_spec("ray") is None:
            yield "on Ray: not measured, for it is not installed"
            return
        for players in (2, 4):
            place = folder / f"ray-{players}"
            place.mkdir()
            told = _ray(place, players, EPISODES, players)
            yield (
                f"{players} players on Ray: {told['wall']:.1f} s, of which the driver's processor {told['driver']:.1f} s "
                f"({1_000 * told['driver'] / EPISODES:.1f} ms an episode); Ray itself begins in {told['start']:.1f} s; "
                f"{_same(place / 'run', digest)}"
            )
        with serving(0.2) as served:
            told = _ray(folder, 2, 100, 50, served.port)
        each = 1_000 * told["driver"] / (100 * TURNS)
        yield f"calls of 2 players: {each:.2f} ms of the driver's processor a call, records included"


def _timed(commands: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Seconds and seconds of processor of commands that run at once."""
    began, before = time.perf_counter(), os.times()
    processes = [
        subprocess.Popen([sys.executable, "-m", "housequest", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in commands
    ]
    for process in processes:
        if process.wait():
            raise RuntimeError(f"{process.args} failed")
    after = os.times()
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, busy


def _ray(folder: Path, *numbers: int) -> dict[str, float]:
    command = [sys.executable, "-m", "scripts.bench.cluster_run", str(folder), *map(str, numbers)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _digest(run: Path) -> str:
    """Of what equal runs have in common."""
    files = [run / "run.json", run / "index.jsonl", *sorted((run / "episodes").iterdir())]
    return sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


def _same(run: Path, digest: str) -> str:
    return "equal bytes" if _digest(run) == digest else "OTHER BYTES"
