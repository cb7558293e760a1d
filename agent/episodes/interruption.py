"""Work that a person can call off."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

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
