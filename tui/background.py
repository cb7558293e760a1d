"""Work that must not keep the screen waiting, done in a thread beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def aside(work: Callable[[], T]) -> T:
    """What ``work`` returns or raises, from a thread of its own.

    Unlike ``asyncio.to_thread``, the program does not wait for it when it ends: who quits while thousands of games are listed
    is gone at once.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if done.done():  # whoever waited was cancelled
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # pyright: ignore[reportArgumentType]

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = work()
        except BaseException as fault:  # noqa: BLE001 (it is raised where it is awaited)
            # A future takes no StopIteration, and whoever waits would wait for ever.
            error = fault
            if isinstance(fault, StopIteration):
                error = RuntimeError("StopIteration")
                error.__cause__ = fault
        with suppress(RuntimeError):  # the loop is closed: nobody is there to be told
            loop.call_soon_threadsafe(tell, result, error)

    Thread(target=run, daemon=True).start()
    return await done
