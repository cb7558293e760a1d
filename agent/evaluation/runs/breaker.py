"""Judges a model's failures for the whole run, so that an endpoint that is down stops the run and spoils no episode.

A circuit breaker (M. T. Nygard, "Release It!", 2nd edition 2018, chapter 5) that does not close again: once the endpoint is
mended, the same command plays the run on.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from housequest.worlds.errors import ModelError

T = TypeVar("T")

LIKE_FAILURES = 3
"""Like failures in a row that show a fault of the model. Once it has answered, those count that began after the first."""


@dataclass(slots=True)
class _Row:
    """Failures of one kind with no answered call between them; the first came at ``since``."""

    kind: str
    since: int
    length: int = 1


class CircuitBreaker:
    """Tells a call that the model cannot answer from a model that answers none. Belongs to one event loop.

    ``question`` asks the model something short; it returns False where that model cannot be asked, and raises ``ModelError``
    where it does not answer.
    """

    def __init__(self, question: Callable[[], Awaitable[bool]]) -> None:
        self._question = question
        self._asking = asyncio.Lock()
        self._moments = itertools.count(1)
        self._alive = 0
        """The last moment at which the model is known to have been alive."""
        self._answered = False
        self._row: _Row | None = None
        self._down: ModelError | None = None

    async def call(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What ``attempt`` returns. Once it has failed and the question is answered, it is made once more.

        Raises ``ModelError``: fatal where the run should stop, for the question was not answered either, or calls fail alike
        one after another; otherwise only this call cannot be answered.
        """
        began = next(self._moments)
        for last in (False, True):
            sent = next(self._moments)
            try:
                answer = await attempt()
            except ModelError as error:
                if error.fatal:
                    raise
                answered = await self._ask_after(error)
                if last or not answered:
                    self._count(error, began)
                    raise
            else:
                # Whether it was alive when it answered says less: a key may be refused while earlier calls are still answered.
                self._alive, self._answered, self._row = max(self._alive, sent), True, None
                return answer
        raise AssertionError("the last attempt returns or raises")

    async def _ask_after(self, error: ModelError) -> bool:
        """Whether the model has answered since ``error``; False if it cannot be asked. One question serves all who wait."""
        failed = next(self._moments)
        async with self._asking:
            if self._down is not None:
                raise self._down
            if self._alive > failed:
                return True
            try:
                answered = await self._question()
            except ModelError as unanswered:
                self._down = _down(error, f"A short question was not answered either ({unanswered.kind}), so the run stops.")
                raise self._down from unanswered
            if answered:
                self._alive = next(self._moments)
            return answered

    def _count(self, error: ModelError, began: int) -> None:
        if self._row is None or self._row.kind != error.kind:
            self._row = _Row(error.kind, next(self._moments))
        elif began > self._row.since or not self._answered:
            # Of calls that were in flight together, one is enough: episodes that began together meet the same limits together.
            self._row.length += 1
        if self._row.length >= LIKE_FAILURES:
            raise _down(
                error, "One call after another failed like this with none answered between them, so the run stops."
            ) from error


def _down(error: ModelError, why: str) -> ModelError:
    return ModelError(f"{error} {why}", recorded=f"{error.recorded} {why}", fatal=True, kind=error.kind)
