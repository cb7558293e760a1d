"""1,000 episodes of the expert in one process, in 4 shards, and in 2 and 4 players in processes and on Ray.

Wall, processor, and whether the bytes are equal. On Ray, the players' processor is that of all processes of Ray, their start
included. The last lines are what a call of ``react`` costs the driver and its player, for `scripts.scale`: by how much more 300
episodes take than 100, so that no start is among it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from scripts.bench.batch import serving

EPISODES = 1_000
SHARDS = 4
FLYING = (100, 300)
_LOOKS = 0.1
"""Seconds between two looks at the processor that a run's processes took."""
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
        kinds = ["processes"] if find_spec("ray") is None else ["processes", "ray"]
        for kind in kinds:
            for players in (2, 4):
                told = _played(folder / f"{kind}-{players}", kind, players, EPISODES, players)
                apart = f"Ray itself begins in {told['start']:.1f} s; " if kind == "ray" else ""
                yield (
                    f"{players} players, {kind}: {told['wall']:.1f} s; {told['driver'] + told['players']:.1f} s of processor, "
                    f"{told['players']:.1f} s of it in players and {told['driver']:.1f} s in the driver "
                    f"({1_000 * told['driver'] / EPISODES:.1f} ms an episode); {apart}"
                    f"{_same(folder / f'{kind}-{players}' / 'run', digest)}"
                )
        for kind in kinds:
            few, many = (_calls(folder / f"{kind}-calls-{number}", kind, number) for number in FLYING)
            each = {who: 1_000 * (many[who] - few[who]) / (many["calls"] - few["calls"]) for who in ("driver", "players")}
            yield (
                f"a call of 2 players, {kind}: {each['driver']:.2f} ms of the driver's processor, records included, "
                f"{each['players']:.2f} of its player's"
            )
        if "ray" not in kinds:
            yield "on Ray: not measured, for it is not installed"


def _calls(folder: Path, kind: str, episodes: int) -> dict[str, float]:
    """So many episodes of ``react`` at once in 2 players."""
    with serving(0.5) as served:
        return _played(folder, kind, 2, episodes, episodes, served.port)


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


def _played(folder: Path, kind: str, *numbers: int) -> dict[str, float]:
    folder.mkdir()
    command = [sys.executable, "-m", "scripts.bench.cluster_run", str(folder), kind, *map(str, numbers)]
    busy: dict[int, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        while process.poll() is None:
            time.sleep(_LOOKS)
            if kind == "ray":
                busy |= _descendants(process.pid)
        assert process.stdout is not None
        lines = process.stdout.read().splitlines()
    if process.returncode:
        raise RuntimeError(f"{command} failed")
    told = json.loads(lines[-1])
    return told | {"players": sum(busy.values())} if kind == "ray" else told


def _descendants(process: int) -> dict[int, float]:
    """Seconds of processor so far of what ``process`` started, and what that started, by the process's number.

    Ray's processes do not wait for what they start, so the system does not add these up. There are none but on Linux.
    """
    parents, seconds = dict[int, int](), dict[int, float]()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = file.read_text().rpartition(")")[2].split()
            number = int(file.parent.name)
            parents[number] = int(fields[1])
            seconds[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    found, new = set[int](), {process}
    while new:
        new = {number for number, parent in parents.items() if parent in new}
        found |= new
    return {number: seconds[number] for number in found}


def _digest(run: Path) -> str:
    """Of what equal runs have in common."""
    files = [run / "run.json", run / "index.jsonl", *sorted((run / "episodes").iterdir())]
    return sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


def _same(run: Path, digest: str) -> str:
    return "equal bytes" if _digest(run) == digest else "OTHER BYTES"
