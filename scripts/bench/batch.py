"""A run of many episodes at once against a local endpoint that answers each call after a given time.

The endpoint (`scripts.bench.endpoint`) and the run (`scripts.bench.batch_run`) are separate processes. With equal calls and
episodes, the endpoint alone sets a lower bound: rounds of episodes x turns x the time of a call. A step's processor time is the
run's divided by its calls. The client's share is measured by sending the same calls with it alone; the rest is the loop's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 2
TURNS = 15
WANTED = 1.15
CROWDS = (16, 32, 64, 128, 256)
IN_FLIGHT = {140: 1.05, 500: 1.1, 1_000: 1.25}
"""Episodes in flight, and how many times the endpoint's bound they may take."""


@dataclass(frozen=True, slots=True)
class _Took:
    """The output of `scripts.bench.batch_run`: seconds, and KiB of memory before and at the peak.

    ``first`` and ``last``: until the first call, and until the last episode was on record; ``calling`` is the processor time
    between the two.
    """

    calls: int
    wall: float
    first: float
    last: float
    cpu: float
    calling: float
    imported: float
    before: int
    peak: int


def run(data: Path | None) -> list[str]:
    """A run's time against its bound, the rate at which a process saturates, and the cost of a step. Lines to print."""
    del data
    if sys.platform == "win32":
        return ["not measured: this needs the resource module"]
    return [*_against_the_bound(), *_saturated(), *_memory()]


def _against_the_bound() -> list[str]:
    lines: list[str] = []
    for workers in (32, 140):
        with serving(1.0) as endpoint:
            took = _play(endpoint, workers, ROUNDS * workers, TURNS)
        bound = ROUNDS * TURNS * 1.0
        ratio = (took.wall + took.imported) / bound
        wanted = f" (wanted: at most {WANTED})" if workers == 32 else ""
        lines.append(
            f"{workers} workers, calls of 1 s: {took.wall + took.imported:.1f} s for {took.calls:,} calls, the client's import "
            f"({took.imported:.1f} s) included: {ratio:.2f} times the bound of {bound:.0f} s{wanted}"
        )
    return lines


def in_flight(data: Path | None) -> Iterator[str]:
    """Many ``react`` episodes in flight, against the time that the endpoint alone takes. Lines to print."""
    del data
    for workers, wanted in IN_FLIGHT.items():
        with serving(1.0) as endpoint:
            took = _play(endpoint, workers, workers, TURNS)
        ratio, each = (took.last - took.first) / TURNS, took.calling / took.calls * 1_000
        yield (
            f"{workers:,} in flight, calls of 1 s: from the first call to the last record {ratio:.3f} times the endpoint's "
            f"bound (wanted: at most {wanted}); {each:.2f} ms of processor a call; apart: "
            f"{took.imported + took.first:.1f} s to start, {took.wall - took.last:.1f} s after the last record"
        )


def _saturated() -> list[str]:
    best: tuple[float, int, _Took] | None = None
    for workers in CROWDS:
        with serving(0.2) as endpoint:
            took = _play(endpoint, workers, ROUNDS * workers, TURNS)
        rate = took.calls / took.wall
        if best is None or rate > best[0]:
            best = (rate, workers, took)
    assert best is not None
    rate, workers, took = best
    with serving(0.2) as served:
        alone = _play(served, workers, ROUNDS * workers, TURNS, "calls")
    whole, client = took.cpu / took.calls * 1_000, alone.cpu / alone.calls * 1_000
    server = served.seconds / served.calls * 1_000 if served.calls else 0.0
    return [
        f"calls of 200 ms: one process saturates at {rate:,.0f} calls a second, with {workers} workers",
        f"  processor time of a step: {whole:.2f} ms, of which the client's {client:.2f} ms and the loop's "
        f"{whole - client:.2f} ms (wanted: the loop's under 2 ms); the server's, apart, {server:.2f} ms",
    ]


def _memory() -> list[str]:
    few, many = 16, 256
    with serving(0.2) as endpoint:
        small = _play(endpoint, few, few, TURNS)
    with serving(0.2) as endpoint:
        large = _play(endpoint, many, many, TURNS)
    each = (large.peak - small.peak) / (many - few) / 1_024
    return [
        f"memory of a live episode, its connection included: {each:.2f} MiB (wanted: under 1 MB), by {few} and {many} workers"
    ]


def _play(endpoint: _Endpoint, workers: int, episodes: int, turns: int, what: str = "run") -> _Took:
    command = [sys.executable, "-m", "scripts.bench.batch_run", *map(str, (endpoint.port, workers, episodes, turns)), what]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stderr[-2_000:])
    return _Took(**json.loads(ended.stdout.splitlines()[-1]))


@dataclass(slots=True)
class _Endpoint:
    """A running endpoint; after its end, the calls it answered and their processor time."""

    port: int
    calls: int = 0
    seconds: float = 0.0


@contextmanager
def serving(seconds: float) -> Generator[_Endpoint]:
    """An endpoint in its own process, which answers after ``seconds``."""
    command = [sys.executable, "-m", "scripts.bench.endpoint", str(seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        endpoint = _Endpoint(int(process.stdout.readline()))
        yield endpoint
        process.stdin.close()
        told = json.loads(process.stdout.readline())
        endpoint.calls, endpoint.seconds = told["calls"], told["seconds"]
