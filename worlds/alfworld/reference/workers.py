"""A pool of the processes in which the reference game runs."""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass
from typing import Any, cast

from worlds import workers
from worlds.alfworld.reference.packages import GameOutput
from worlds.errors import shown
from worlds.workers import WorkerError

WORKER = "worlds.alfworld.reference.worker"

_GAMES = 150
"""Games after which a worker is not used again: with each, the planner's library keeps a megabyte or two."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds after which a worker counts as hanging: to start, to load or reset a game, to answer a command."""

    start: float = 120.0
    load: float = 300.0
    step: float = 120.0


class Worker:
    """One process, for one game at a time. `stop` may be called from any thread, at any time."""

    def __init__(self, module: str, timeouts: Timeouts) -> None:
        self._process = workers.Worker(module)
        self._timeouts = timeouts
        self._games = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def fit(self) -> bool:
        """Whether it lives, and has not grown too large for one more game."""
        return self._process.alive and self._games < _GAMES

    def load(self, **material: str | None) -> GameOutput:
        """Load a game and start it. Raises ``WorkerError``, as the others do."""
        self._games += 1
        return self._ask({"do": "load", **material}, self._timeouts.load)

    def reset(self) -> GameOutput:
        return self._ask({"do": "reset"}, self._timeouts.load)

    def step(self, command: str) -> GameOutput:
        return self._ask({"do": "step", "command": command}, self._timeouts.step)

    def stop(self) -> None:
        """End the process at once."""
        self._process.stop()

    def _ask(self, request: dict[str, Any], seconds: float) -> GameOutput:
        answer = self._process.call(request, seconds, self._timeouts.start)
        match answer:
            case {"text": str(text), "won": bool(won), "commands": [*commands]} if all(
                isinstance(command, str) for command in cast("list[object]", commands)
            ):
                return GameOutput(text, won, tuple(commands))
            case _:
                self.stop()
                raise WorkerError(f"answers with what is no answer: {shown(str(answer)[:100])}")


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
        self._close = weakref.finalize(self, _stop_all, self._all, self._idle)

    def take(self) -> Worker:
        """A worker for one game; give it back."""
        while True:
            try:
                worker = self._idle.pop()
            except IndexError:
                break
            if worker.fit:
                return worker
            worker.stop()
        worker = Worker(self._module, self._timeouts)
        self._all.add(worker)
        return worker

    def give_back(self, worker: Worker) -> None:
        """Take back a worker, whatever its state."""
        if worker.fit and len(self._idle) < self._kept and self._close.alive:
            self._idle.append(worker)
        else:
            worker.stop()

    def close(self) -> None:
        """End all workers, busy ones too."""
        self._close()


def _stop_all(workers: weakref.WeakSet[Worker], idle: deque[Worker]) -> None:
    for worker in list(workers):
        worker.stop()
    idle.clear()
