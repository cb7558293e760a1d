"""Waiting for other threads and processes: as long as a loaded machine may need, and no longer, so that a fault is told."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import AnyStr

PATIENCE = 60.0
"""Seconds after which a test gives up waiting; no test is about how long it takes."""


class Gate:
    """Holds a thread until it is opened, or until it is clear that the test will not come to that."""

    def __init__(self, *, opened: bool = False) -> None:
        self._event = threading.Event()
        if opened:
            self.open()

    def open(self) -> None:
        self._event.set()

    def wait(self) -> None:
        if not self._event.wait(PATIENCE):
            raise TimeoutError("nobody opened the gate")


def wait_until(
    condition: Callable[[], object], process: subprocess.Popen[AnyStr] | None = None, patience: float = PATIENCE
) -> None:
    """Wait until ``condition`` holds, which it must before ``process`` ends."""
    ends = time.monotonic() + patience
    while not condition():
        assert process is None or process.poll() is None or condition(), "it ended before"
        assert time.monotonic() < ends, "it was waited for in vain"
        time.sleep(0.001)


@contextmanager
def ending(process: subprocess.Popen[AnyStr], patience: float = PATIENCE) -> Iterator[subprocess.Popen[AnyStr]]:
    """Kill ``process`` where the block fails or ``patience`` is at its end: neither it nor what it says is awaited for ever."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(patience, give_up)
    timer.start()
    try:
        with process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise
    finally:
        timer.cancel()
    if late.is_set():
        raise TimeoutError("it had to be killed")
