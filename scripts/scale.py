"""How long a run takes on 1 to 1,000 machines against an endpoint's limit: a simulation, call by call.

``python -m scripts.scale [CALL ADMIT RECORD START MERGE]`` takes milliseconds of processor, see `Costs`. ``make bench
ARGS=doors:calls`` and ``ARGS=doors:cluster`` measure them.

With a driver, each call waits for it, since it serves one after the other; then for one of the places of the endpoint, for its
answer, and for its player's processor. A shard on each processor has no driver and keeps its own records, but it has only its
part of the episodes and of the places, and the run ends with the merge.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from math import ceil

EPISODES = 20_000
TURNS = 15
ANSWER = 1.0
"""Seconds until a call is answered."""
PROCESSORS = 16
"""Of each machine; each is a player, or a shard."""
MACHINES = (1, 10, 100, 1_000)
PLACES = (256, 4_096, 65_536)
"""Calls at once that an endpoint takes."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of processor: a player's for a ``call``; the driver's to ``admit`` one; to keep an episode's ``record``.

    These are the most that was measured on Ray. For players in processes of its own machine, a driver takes 0.11 ms to admit a
    call. ``start`` is for a process, by what 4 shards take more than one process; ``merge`` is for an episode.
    """

    call: float = 0.0017
    admit: float = 0.0008
    record: float = 0.004
    start: float = 1.2
    merge: float = 0.005


def driven(machines: int, places: int, costs: Costs) -> float:
    """Seconds of a run of `EPISODES` with one driver, on so many ``machines``, at an endpoint with so many ``places``."""
    return _played(EPISODES, machines * PROCESSORS, places, costs, driver=True)


def sharded(machines: int, places: int, costs: Costs) -> float | None:
    """Seconds of the same run with a shard on each processor, merged; None where there are more shards than ``places``."""
    shards = machines * PROCESSORS
    if places < shards:
        return None
    # All play at once, so the run takes as long as its largest shard.
    return _played(ceil(EPISODES / shards), 1, places // shards, costs, driver=False) + EPISODES * costs.merge


def _played(episodes: int, players: int, places: int, costs: Costs, *, driver: bool) -> float:
    """Seconds until so many episodes are played and kept, by a ``driver`` or else by who plays them."""
    flying = min(episodes, max(places, players))
    free = [0.0] * places
    heapify(free)
    busy, driving, ended = [costs.start] * players, costs.start, 0.0
    left = episodes - flying
    # When each episode wants its next call, its player, and the calls that it has left.
    wanting = [(costs.start, number % players, TURNS) for number in range(flying)]
    heapify(wanting)
    while wanting:
        now, player, turns = heappop(wanting)
        if driver:
            driving = now = max(now, driving) + costs.admit
        answered = max(now, free[0]) + ANSWER
        heapreplace(free, answered)
        done = busy[player] = max(answered, busy[player]) + costs.call
        if turns > 1:
            heappush(wanting, (done, player, turns - 1))
            continue
        if driver:
            driving = max(driving, now) + costs.record
        else:
            done = busy[player] = done + costs.record
        ended = max(ended, done)
        if left:
            left -= 1
            heappush(wanting, (done, player, TURNS))
    return max(ended, driving)


def table(costs: Costs) -> Iterator[str]:
    """The minutes of a run, by machines and places; lines to print."""
    yield f"{EPISODES:,} episodes of {TURNS} calls of {ANSWER:g} s, {PROCESSORS} processors a machine"
    yield "minutes by a driver / in shards"
    yield f"{'machines':>10}" + "".join(f"{f'{places:,} places':>20}" for places in PLACES)
    for machines in MACHINES:
        both = [[_minutes(way(machines, places, costs)) for way in (driven, sharded)] for places in PLACES]
        yield f"{machines:>10,}" + "".join(f"{' / '.join(cell):>20}" for cell in both)
    bounds = [EPISODES * TURNS * ANSWER / min(places, EPISODES) / 60 for places in PLACES]
    yield f"{'endpoint':>10}" + "".join(f"{bound:>20.1f}" for bound in bounds)


def _minutes(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds / 60:.1f}"


if __name__ == "__main__":
    given = [float(each) / 1_000 for each in sys.argv[1:6]]
    for line in table(Costs(*given)):
        print(line)
