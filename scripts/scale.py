"""How long a run takes on 1 to 1,000 machines against an endpoint's limit: a simulation, call by call.

``python -m scripts.scale [CALL ADMIT RECORD]`` takes milliseconds of processor: a player's for a call, and the driver's for
admitting a call and for keeping an episode. ``make bench ARGS=doors:calls`` and ``ARGS=doors:cluster`` measure them.

Each call waits for the driver, which serves one after the other, for one of the places of the endpoint, for its answer, and for
its player's processor. Shards have no driver, and divide the places among them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace

EPISODES = 20_000
TURNS = 15
ANSWER = 1.0
"""Seconds until a call is answered."""
PROCESSORS = 16
"""Of each machine; each is a player."""
MACHINES = (1, 10, 100, 1_000)
PLACES = (256, 4_096, 65_536)
"""Calls at once that an endpoint takes."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of processor: a player's for a ``call``; the driver's to ``admit`` one, and to keep an episode's ``record``.

    The defaults are the most that was measured on Ray. For players in processes of its own machine, a driver takes 0.11 ms to
    admit a call.
    """

    call: float = 0.0017
    admit: float = 0.0008
    record: float = 0.004


def simulated(machines: int, places: int, costs: Costs, *, shards: bool) -> float:
    """Seconds of a run of `EPISODES` on so many ``machines``, with as many in flight as the endpoint has ``places`` for."""
    players = machines * PROCESSORS
    flying = min(EPISODES, max(places, players))
    free = [0.0] * places
    heapify(free)
    busy, driver, ended = [0.0] * players, 0.0, 0.0
    left = EPISODES - flying
    # When each episode wants its next call, its player, and the calls that it has left.
    wanting = [(0.0, number % players, TURNS) for number in range(flying)]
    heapify(wanting)
    while wanting:
        now, player, turns = heappop(wanting)
        if not shards:
            driver = now = max(now, driver) + costs.admit
        answered = max(now, free[0]) + ANSWER
        heapreplace(free, answered)
        done = busy[player] = max(answered, busy[player]) + costs.call
        if turns > 1:
            heappush(wanting, (done, player, turns - 1))
            continue
        if not shards:
            driver = max(driver, now) + costs.record
        ended = max(ended, done)
        if left:
            left -= 1
            heappush(wanting, (done, player, TURNS))
    return max(ended, driver)


def table(costs: Costs) -> Iterator[str]:
    """The minutes of a run, by machines and places; lines to print."""
    yield f"{EPISODES:,} episodes of {TURNS} calls of {ANSWER:g} s, {PROCESSORS} processors a machine"
    yield "minutes by a driver / in shards"
    yield f"{'machines':>10}" + "".join(f"{f'{places:,} places':>20}" for places in PLACES)
    for machines in MACHINES:
        both = [[simulated(machines, places, costs, shards=way) / 60 for way in (False, True)] for places in PLACES]
        yield f"{machines:>10,}" + "".join(f"{f'{one:.1f} / {other:.1f}':>20}" for one, other in both)
    bounds = [EPISODES * TURNS * ANSWER / min(places, EPISODES) / 60 for places in PLACES]
    yield f"{'endpoint':>10}" + "".join(f"{bound:>20.1f}" for bound in bounds)


if __name__ == "__main__":
    given = [float(each) / 1_000 for each in sys.argv[1:4]]
    for line in table(Costs(*given)):
        print(line)
