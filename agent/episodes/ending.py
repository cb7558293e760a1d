"""How an episode ends: an exception with its outcome, failures attributed to a boundary, interruptible work."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from housequest.agent.episodes.events import Outcome
from housequest.agent.roles.base import clean
from housequest.worlds.errors import Boundary, HousequestError

R = TypeVar("R")
Work = Callable[[], Coroutine[Any, Any, R]]


FILLED = "its own unreadable replies filled the model's context"
"""Why an episode was lost whose model could have played on only with a longer context and readable replies."""


class EpisodeOver(Exception):
    """The episode, or its present branch, ends here with this outcome."""

    def __init__(self, outcome: Outcome, reason: str, boundary: Boundary | None = None, message: str | None = None):
        super().__init__(reason)
        self.outcome: Outcome = outcome
        self.reason = clean(reason)
        self.boundary: Boundary | None = boundary
        self.message = message


@contextmanager
def attributed(boundary: Boundary) -> Generator[None, None, None]:
    """Turn an error inside into ``EpisodeOver``, attributed to ``boundary`` unless the error names its own."""
    try:
        yield
    except EpisodeOver:
        raise
    except HousequestError as error:
        raise EpisodeOver("error", "an error", error.boundary, clean(error.recorded)) from error
    except Exception as error:
        raise EpisodeOver("error", "a fault in the code", boundary, clean(fault(error))) from error


def fault(error: Exception) -> str:
    """What a fault in the code is, and where."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {error}"


async def unless(interruption: Work[None], work: Work[R]) -> R | None:
    """Run ``work`` until it returns or ``interruption`` does; return its result, or None if interrupted (also on a tie).

    The other one is cancelled and waited for. Raises what either raises, but drops an ``Exception`` of interrupted work.
    """
    working = asyncio.create_task(work())
    waiting = asyncio.create_task(interruption())
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
    """Wait until ``task`` has ended, cancelled or not, and raise what it raised.

    ``await task`` could not distinguish a cancelled task from a cancelled caller.
    """
    await asyncio.wait((task,))
    if not task.cancelled():
        task.result()
