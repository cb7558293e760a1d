"""Many calls at once, in a fixed order of results, until a purse has nothing more to give."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from agent.evaluation.runs.budget import BudgetTracker, RunHalted

T = TypeVar("T")


async def in_turn(
    jobs: Sequence[Callable[[], Awaitable[T]]], workers: int, purse: BudgetTracker, told: Callable[[int], None] | None = None
) -> list[T]:
    """What ``jobs`` come to, in their order, ``workers`` of them at once; ``told`` hears how many are done.

    Calls that were sent are waited for when the purse is empty, since they are paid for. Raises then why it is.
    """
    results: dict[int, T] = {}
    waiting = iter(enumerate(jobs))

    async def work() -> None:
        for number, job in waiting:
            try:
                results[number] = await job()
            except RunHalted:
                return
            if told is not None:
                told(len(results))

    crew = [asyncio.create_task(work()) for _ in range(max(1, min(workers, len(jobs))))]
    clock = asyncio.create_task(purse.ring())
    try:
        await asyncio.gather(*crew)
    finally:
        for task in (*crew, clock):
            task.cancel()
        await asyncio.gather(*crew, clock, return_exceptions=True)
    if len(results) < len(jobs):
        raise purse.ended()
    return [results[number] for number in range(len(jobs))]
