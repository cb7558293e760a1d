"""Maps work over many items in several processes, with results in order, and counts the processors that may be used.

The count is what containers and job schedulers allow this process, not what the machine has.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Protocol, TypeVar

from housequest.worlds.errors import HousequestError
from housequest.worlds.systems import uninterrupted

T = TypeVar("T")
R = TypeVar("R")

AT_ONCE = 16
AHEAD = 4
"""Batches of items for each process that are queued or done: results stay in memory until their turn."""
MOST_LOST = 5
BETWEEN = 0.1
"""Seconds between checks for Ctrl-C."""


class Pool(Protocol):
    """Processes here or on other machines. If one dies, another repeats its work.

    ``begin`` prepares for calls of ``work`` and returns the number of processes; it raises ``ConfigurationError``. ``submit``
    starts a call; the function that it returns waits for the result, and raises the error of the work, or ``HousequestError``
    if one process after another dies.
    """

    def begin(self, work: Callable[..., Any]) -> int: ...
    def submit(self, *given: Any) -> Callable[[], Any]: ...
    def close(self) -> None: ...


def in_processes(
    make: Callable[[], AbstractContextManager[Callable[[T], R]]],
    items: Sequence[T],
    processes: int,
    cluster: Pool | None = None,
) -> Iterator[R]:
    """Map a function over ``items``, in order, in ``processes`` or on a ``cluster``.

    ``make`` gives the function. It is called once in each process, must be importable there, and is left after the last item,
    or with its process. Raises the function's errors, and ``HousequestError`` if `MOST_LOST` processes die over the same items.
    """
    if cluster is None and (processes == 1 or len(items) <= AT_ONCE):
        with make() as work:
            yield from map(work, items)
        return
    pool, made = cluster or _LocalPool(processes), pickle.dumps(make)
    try:
        most = AHEAD * max(1, pool.begin(_work))
        waiting: deque[Callable[[], list[R]]] = deque()
        for at in range(0, len(items), AT_ONCE):
            waiting.append(pool.submit(made, items[at : at + AT_ONCE]))
            if len(waiting) == most:
                yield from waiting.popleft()()
        while waiting:
            yield from waiting.popleft()()
    finally:
        pool.close()


def _work(made: bytes, items: Sequence[Any]) -> list[Any]:
    return list(map(_function(made), items))


_ENTERED = ExitStack()
"""Left when this process ends."""


@lru_cache(1)
def _function(made: bytes) -> Callable[[Any], Any]:
    return _ENTERED.enter_context(pickle.loads(made)())


class _LocalPool(Pool):
    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._executor: ProcessPoolExecutor | None = None

    def begin(self, work: Callable[..., Any]) -> int:
        self._work = work
        return self._processes

    def submit(self, *given: Any) -> Callable[[], Any]:
        future = self._submitted(*given)

        def result() -> Any:
            nonlocal future
            for left in reversed(range(MOST_LOST)):
                while not future.done():
                    with uninterrupted():
                        wait((future,), BETWEEN)
                with suppress(BrokenExecutor):
                    return future.result()
                future = self._submitted(*given) if left else future
            raise HousequestError(f"{MOST_LOST} processes died over the same work; if memory ran out, use fewer --processes.")

        return result

    @uninterrupted()
    def _submitted(self, *given: Any) -> Future[Any]:
        # If one of its processes dies, an executor ends the others and accepts no more work.
        if self._executor is not None:
            with suppress(BrokenExecutor):
                return self._executor.submit(self._work, *given)
            self._executor.shutdown()
        self._executor = ProcessPoolExecutor(self._processes, get_context("spawn"), _begin)
        return self._executor.submit(self._work, *given)

    @uninterrupted()
    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def processors(root: Path = Path("/")) -> int:
    """The number of processors that this process may use, by its affinity and control groups; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([cores, *map(math.ceil, _quotas(root))]))


def _quotas(root: Path) -> Iterator[float]:
    """The processor limits of the control groups above this process."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = f"{line}::".split(":")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        folder = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        # A container may see only its own group, at the top, while the path names folders outside it.
        parts = [part for part in path.split("/") if part not in {"", ".."}]
        for depth in range(len(parts) + 1):
            group = folder.joinpath(*parts[:depth])
            told = " ".join(_lines(group / "cpu.max")).split()
            told = told or [*_lines(group / "cpu.cfs_quota_us"), *_lines(group / "cpu.cfs_period_us")]
            if len(told) == 2 and all(number.isdecimal() and int(number) for number in told):
                yield int(told[0]) / int(told[1])


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("ascii", "replace").splitlines()
    except OSError:
        return []
