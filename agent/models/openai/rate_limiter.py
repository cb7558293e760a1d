"""How many calls are in flight at an endpoint: no limit, until it answers 429.

Additive increase, multiplicative decrease, as in congestion control (D.-M. Chiu and R. Jain, "Analysis of the increase and
decrease algorithms for congestion avoidance in computer networks", Computer Networks and ISDN Systems 17 (1989), 1-14): a 429
halves the calls in flight, every window of answers allows one more. A wait that the endpoint asks for holds all calls back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Literal

Verdict = Literal["answered", "crowded", "other"]
"""How a call ended: answered, refused because there were too many, or otherwise."""


class RateLimiter:
    """Admits calls in the order in which they came; belongs to the event loop that uses it.

    ``most`` is a limit of the user's own, None for none.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._limit: float | None = most
        self.active = 0
        """How many calls are in flight."""
        self.round = 0
        """How often the limit was lowered."""
        self._held_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._closed: BaseException | None = None
        self._closing = asyncio.Event()

    @property
    def limit(self) -> int | None:
        """How many calls may be in flight at present; None while nothing has said so."""
        return None if self._limit is None else int(self._limit)

    async def enter(self) -> int:
        """Wait to be admitted; follow it by one ``leave`` with what is returned: how often the limit had been lowered by then.

        Raises what the limiter was closed with.
        """
        if self._closed is not None:
            raise self._closed
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # Admitted and cancelled in the same moment: the place goes to the next.
                self.active -= 1
                self._admit()
            raise
        return self.round

    def leave(self, permit: int, verdict: Verdict, wait: float = 0.0) -> None:
        """Report how the call ended. For ``wait`` seconds no call is admitted."""
        self.active -= 1
        if verdict == "crowded" and permit == self.round:
            # Calls that were sent before the limit was lowered lower it only once.
            self.round += 1
            self._limit = max(1.0, (self.active + 1) / 2)
        elif verdict == "answered" and self._limit is not None:
            grown = self._limit + 1 / self._limit
            self._limit = grown if self._most is None else min(grown, self._most)
        if wait > 0:
            self._held_until = max(self._held_until, asyncio.get_running_loop().time() + wait)
        self._admit()

    async def rest(self, seconds: float) -> None:
        """Wait ``seconds`` between attempts. Raises what the limiter is closed with, at once."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        if self._closed is not None:
            raise self._closed

    def close(self, why: BaseException) -> None:
        """Admit no more calls: ``enter`` and ``rest`` raise ``why``, also for those that are waiting."""
        self._closed = why
        self._closing.set()
        for turn in self._waiting:
            if not turn.done():
                turn.set_exception(why)
        self._waiting.clear()

    def _admit(self) -> None:
        loop = asyncio.get_running_loop()
        # Read once: were the wait over between two reads, no call would be admitted and no timer set.
        held = loop.time() < self._held_until
        while self._waiting and not held and (self._limit is None or self.active < int(self._limit)):
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self.active += 1
                turn.set_result(None)
        if self._waiting and held:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm = loop.call_at(self._held_until, self._admit)
