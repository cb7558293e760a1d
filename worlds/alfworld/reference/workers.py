"""A pool of the processes in which the reference game runs."""

from __future__ import annotations

import weakref
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from worlds import workers
from worlds.alfworld.reference.worker import GameOutput

WORKER = "worlds.alfworld.reference.worker"

_GAMES = 150
"""Games after which a worker is not used again: with each, the planner's library keeps a megabyte or two."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds after which a worker counts as hanging: to start, to load or reset a game, to answer a command."""

    start: float = 120.0
    load: float = 300.0
    step: float = 120.0


class Worker(workers.Worker):
    """One process, for one game at a time; `played` raises ``WorkerError``."""

    def __init__(self, module: str, timeouts: Timeouts) -> None:
        super().__init__(module)
        self._timeouts = timeouts
        self._games = 0

    @property
    def fit(self) -> bool:
        """Whether it lives, and has not grown too large for one more game."""
        return self.alive and self._games < _GAMES

    def played(self, request: dict[str, Any]) -> GameOutput:
        """The answer to a request as `worlds.alfworld.reference.worker` has them."""
        self._games += "load" in request
        answer = self.call(request, self._timeouts.step if "step" in request else self._timeouts.load, self._timeouts.start)
        return GameOutput(answer["text"], answer["won"], tuple(answer["commands"]))


class Workers:
    """Workers that are used again, each by one game at a time. Safe to share between threads.

    As many run as there are games open at once; up to ``kept`` wait for the next game. All end with the pool: when it is
    closed, when it is garbage, and at the interpreter's exit; and should that be killed, they end by themselves.
    """

    def __init__(self, module: str = WORKER, timeouts: Timeouts = Timeouts(), kept: int = 4) -> None:
        self._module = module
        self._timeouts = timeouts
        self._kept = kept
        self._idle: deque[Worker] = deque()
        self._all: weakref.WeakSet[Worker] = weakref.WeakSet()
        self.close = weakref.finalize(self, _stop_all, self._all, self._idle)
        """End all workers, busy ones too."""

    def take(self) -> Worker:
        """A worker for one game; give it back."""
        with suppress(IndexError):
            while not (worker := self._idle.pop()).fit:
                worker.stop()
            return worker
        worker = Worker(self._module, self._timeouts)
        self._all.add(worker)
        return worker

    def give_back(self, worker: Worker) -> None:
        """Take back a worker, whatever its state."""
        if worker.fit and len(self._idle) < self._kept and self.close.alive:
            self._idle.append(worker)
        else:
            worker.stop()


def _stop_all(workers: weakref.WeakSet[Worker], idle: deque[Worker]) -> None:
    for worker in list(workers):
        worker.stop()
    idle.clear()
