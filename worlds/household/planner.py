"""The search of planners, which see the hidden state: A* (Hart, Nilsson and Raphael, 1968), within limits."""

from __future__ import annotations

import heapq
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Generic, NamedTuple, TypeVar

NEVER = 1 << 30  # the estimate if the goal cannot be reached
A = TypeVar("A")
N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Unsolvable:
    """No way leads to the goal."""


@dataclass(frozen=True, slots=True)
class SearchLimitReached:
    """The search stopped at its limit; ``nodes`` is the work done."""

    nodes: int


class SearchProblem(ABC, Generic[N, A]):
    """A search problem: states from ``start`` on. ``weight`` is the work of trying one step."""

    start: N
    weight = 1

    @abstractmethod
    def estimate(self, node: N, /) -> int:
        """A lower bound on the remaining cost: 0 exactly if the goal holds, ``NEVER`` if it cannot be reached."""

    @abstractmethod
    def steps(self, node: N, /) -> Iterator[tuple[A, int, N]]:
        """The actions worth trying, each with its cost and where it leads."""

    def key(self, node: N, /) -> Hashable:
        """The part of a state that matters for the goal: states with equal keys count as one."""
        return node


class SearchNode(NamedTuple, Generic[N, A]):
    """An action on a way, with the state before it, the one that it leads to, and the step that led there."""

    before: N
    action: A
    after: N
    last: SearchNode[N, A] | None


def shortest_way(
    problem: SearchProblem[N, A],
    *,
    most_work: float = math.inf,
    most_states: float = math.inf,
    seconds: float | None = None,
    greed: float = 1.0,
    newest_first: bool = False,
) -> tuple[SearchNode[N, A], ...] | Unsolvable | SearchLimitReached:
    """A way to the goal that costs at most ``greed`` times as much as the cheapest. ``most_work`` limits the steps tried and
    ``most_states`` the states looked at, both reproducibly; ``seconds`` limits the time. Among equally good ways, the nearest
    to the goal is tried first, or with ``newest_first`` the one found last."""
    until = None if seconds is None else time.monotonic() + seconds
    number, work = count(), 0
    start, key, estimate = problem.start, problem.key(problem.start), problem.estimate(problem.start)
    first = (greed * estimate, 0, next(number), 0, 0, estimate, key, start, None)
    queue: list[tuple[float, int, int, int, int, int, Hashable, N, SearchNode[N, A] | None]] = (
        [first] if estimate < NEVER else []
    )
    best = {key: 0}
    while queue:
        _, _, _, found, cost, estimate, key, node, way = heapq.heappop(queue)
        if cost > best[key]:
            continue
        if not estimate:
            steps: list[SearchNode[N, A]] = []
            while way is not None:
                steps.append(way)
                way = way.last
            return tuple(reversed(steps))
        if found > most_states:
            return SearchLimitReached(work)
        for action, more, after in problem.steps(node):
            work += problem.weight
            if work > most_work or (until is not None and time.monotonic() > until):
                return SearchLimitReached(work)
            key, total = problem.key(after), cost + more
            if total < best.get(key, NEVER) and (estimate := problem.estimate(after)) < NEVER:
                best[key] = total
                found = next(number)
                rank, turn = (0, -found) if newest_first else (estimate, found)
                further = SearchNode(node, action, after, way)
                heapq.heappush(queue, (total + greed * estimate, rank, turn, found, total, estimate, key, after, further))
    return Unsolvable()
