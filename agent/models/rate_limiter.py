"""Limits the calls in flight at an endpoint; there is no limit until it answers 429.

A 429 may mean too many calls, or be about one call: its prompt exceeds the tokens per minute, or one of several servers is
busy. Congestion control halves what is in flight whenever something is lost (D.-M. Chiu and
R. Jain, "Analysis of the increase and decrease algorithms for congestion avoidance in computer networks", Computer Networks and
ISDN Systems 17 (1989), 1-14). If every fifth call is refused whatever is in flight, that ends near one call at a time.

So the limiter remembers how recent calls ended, and how many were in flight when each was sent. If most of the calls sent at
that level were refused, it lowers the limit to the calls that the endpoint accepted. Each window of answers raises it again:
by one call, then two, then four.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

Verdict = Literal["answered", "crowded", "other"]
"""The end of an attempt: answered, refused with 429, or anything else."""
REMEMBERED = 64
"""The number of recent calls that are remembered."""
MOST_REFUSED = 1 / 2
"""The share of refused calls above which the limit is lowered."""
MOST_REFUSED_TO_RISE = 1 / 3
"""The share of refused calls up to which the limit rises; under a limit per minute the share keeps growing."""
LEAST_REFUSALS = 4
"""The limit is lowered only after this many refusals, even of one call."""
PATIENCE = 2.0
"""Seconds without an ended attempt, after which one more call is admitted: those in flight may hang."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Call:
    """A call of one or more attempts. ``round`` is that of the last attempt; ``level`` counts the calls in flight when it was
    sent, with itself and without those refused since."""

    round: int = 0
    level: int = 0
    refusals: int = 0


class Limiter(ABC):
    """Admits attempts at calls of an endpoint."""

    def __init__(self) -> None:
        self._closed: BaseException | None = None
        self._closing = asyncio.Event()

    @abstractmethod
    async def enter(self, call: Call, *, first: bool = False) -> None:
        """Wait until an attempt is admitted; ``first``: ahead of the queue. Raises the error of ``close``."""

    @abstractmethod
    def leave(self, call: Call, verdict: Verdict, wait: float = 0.0) -> None:
        """Report the end of an attempt. No call is admitted for ``wait`` seconds, unless the refusal was about this call."""

    @abstractmethod
    async def early(self, call: Call) -> bool:
        """True if the limit was lowered after the attempt was sent; call it before ``leave``."""

    async def rest(self, seconds: float) -> None:
        """Wait ``seconds`` between attempts. Raises the error of ``close`` at once."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        if self._closed is not None:
            raise self._closed

    def close(self, why: BaseException) -> None:
        """Admit no more calls: ``enter`` and ``rest`` raise ``why``, also in calls that are waiting."""
        self._closed = why
        self._closing.set()


class RateLimiter(Limiter):
    """Admits calls of one event loop in order; ``most`` is the user's own limit."""

    def __init__(self, most: int | None = None) -> None:
        super().__init__()
        self.most = most
        self.limit = most
        """The present limit of calls in flight; None before the first refusal."""
        self.round = 0
        """The number of times the limit was lowered."""
        self._step = 1
        self._answers = 0
        """Answers since the limit last changed, while calls were waiting."""
        self._inside: dict[Call, None] = {}
        """The calls in flight, in the order sent."""
        self._ends: dict[Call, tuple[int, bool]] = {}
        """The level of each recent call and True if it was answered, oldest first."""
        self._ended = 0.0
        """The time when an attempt last ended, or the limit rose because none did."""
        self._held_until = 0.0
        self._waiting: deque[tuple[Call, asyncio.Future[None]]] = deque()
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def active(self) -> int:
        """The number of calls in flight."""
        return len(self._inside)

    async def enter(self, call: Call, *, first: bool = False) -> None:
        if self._closed is not None:
            raise self._closed
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if first else self._waiting.append)((call, turn))
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # Admitted and cancelled at the same moment: the next call takes the place.
                self.leave(call, "other")
            raise

    def leave(self, call: Call, verdict: Verdict, wait: float = 0.0) -> None:
        own = False
        if verdict == "crowded":
            for later in takewhile(lambda other: other is not call, reversed(self._inside)):
                later.level -= 1
        del self._inside[call]
        self._ended = asyncio.get_running_loop().time()
        if verdict == "crowded":
            call.refusals += 1
            self._remember(call, answered=False)
            ends = self._ends.items()
            refusals = sum(each.refusals for each, (sent, answered) in ends if sent >= call.level and not answered)
            own = refusals < LEAST_REFUSALS or self._refused(call.level) <= MOST_REFUSED
            if not own:
                limit = max(1, call.level - 1, self.active)
                self._step, self._answers = 1, 0
                if self.limit is None or limit < self.limit:
                    self.limit, self.round = limit, self.round + 1
        elif verdict == "answered":
            self._remember(call, answered=True)
            if self.limit is not None and self._waiting:
                self._answers += 1
                if self._answers >= self.limit and self._refused(0) <= MOST_REFUSED_TO_RISE:
                    self._raise(self.limit)
        if wait > 0 and not own:
            self._held_until = max(self._held_until, self._ended + wait)
        self._admit()

    async def early(self, call: Call) -> bool:
        return call.round != self.round

    def _remember(self, call: Call, *, answered: bool) -> None:
        # A call counts once, however many attempts it takes: a few calls that always fail say nothing about the rest.
        self._ends.pop(call, None)
        self._ends[call] = call.level, answered
        if len(self._ends) > REMEMBERED:
            del self._ends[next(iter(self._ends))]

    def _refused(self, level: int) -> float:
        """The share of refused calls among recent calls sent at ``level`` or above."""
        answered = [answered for sent, answered in self._ends.values() if sent >= level]
        return answered.count(False) / len(answered)

    def _raise(self, limit: int) -> None:
        raised = limit + self._step
        self.limit = raised if self.most is None else min(raised, self.most)
        self._step, self._answers = 2 * self._step, 0

    def close(self, why: BaseException) -> None:
        super().close(why)
        for _, turn in self._waiting:
            if not turn.done():
                turn.set_exception(why)
        self._waiting.clear()

    def _admit(self) -> None:
        loop = asyncio.get_running_loop()
        # Read the clock once: if the wait ended between two reads, no call would be admitted and no timer set.
        held = loop.time() < self._held_until
        while self._waiting and not held and (self.limit is None or self.active < self.limit):
            call, turn = self._waiting.popleft()
            if not turn.cancelled():
                self._inside[call] = None
                call.round, call.level = self.round, self.active
                turn.set_result(None)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._waiting and held:
            self._alarm = loop.call_at(self._held_until, self._admit)
        elif self._waiting and self.limit != self.most:
            self._alarm = loop.call_at(self._ended + PATIENCE, self._admit_more)

    def _admit_more(self) -> None:
        if self.limit is not None:
            self._raise(self.limit)
        self._ended = asyncio.get_running_loop().time()
        self._admit()
