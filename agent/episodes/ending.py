"""How an episode ends: an outcome that unwinds the loop, and what breaks turned into one that names the boundary."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from agent.episodes.events import Outcome
from agent.roles.base import clean
from worlds.errors import Boundary, HousequestError


class EpisodeOver(Exception):
    """The episode, or the branch that is being played, ends here with this outcome."""

    def __init__(self, outcome: Outcome, reason: str, boundary: Boundary | None = None, message: str | None = None):
        super().__init__(reason)
        self.outcome: Outcome = outcome
        self.reason = clean(reason)
        self.boundary: Boundary | None = boundary
        self.message = message


class attributed:
    """Turns what breaks inside into the end of the episode, attributed to a boundary."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary: Boundary = boundary

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, EpisodeOver):
            return
        if isinstance(error, HousequestError):
            raise EpisodeOver("error", "an error", error.boundary, clean(error.recorded)) from error
        if isinstance(error, Exception):
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            message = f"{type(error).__name__} at {place}: {error}"
            raise EpisodeOver("error", "a fault in the code", self.boundary, clean(message)) from error


R = TypeVar("R")


async def unless(interruption: Callable[[], Awaitable[None]], work: Callable[[], Awaitable[R]]) -> R | None:
    """What ``work`` returns, or None once ``interruption`` returns, even where both do in the same breath.

    Whichever is left is cancelled and waited for. Raises what either raises; of work that was called off, only what is no
    ``Exception``, which is nobody's to swallow.
    """
    working = asyncio.create_task(_awaited(work))
    waiting = asyncio.create_task(_awaited(interruption))
    try:
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
        interrupted = waiting.done()
    finally:
        working.cancel()
        waiting.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)
    if not interrupted:
        return working.result()
    waiting.result()
    error = None if working.cancelled() else working.exception()
    if error is not None and not isinstance(error, Exception):
        raise error
    return None


async def wait_for_end(task: asyncio.Task[object]) -> None:
    """Wait until ``task`` has ended, cancelled or not. Raises what it raised.

    Awaited, its cancellation could not be told from one of whoever waits, which is theirs.
    """
    await asyncio.wait((task,))
    if not task.cancelled():
        task.result()


async def _awaited(call: Callable[[], Awaitable[R]]) -> R:
    return await call()
