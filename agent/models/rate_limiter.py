"""How many calls are in flight at an endpoint: no limit, until it answers 429.

A 429 may say that there are too many calls, or be a call's own: its prompt is too long for the tokens of a minute, or one of
the servers behind the address is busy. Congestion control halves what is in flight whenever something is lost (D.-M. Chiu and
R. Jain, "Analysis of the increase and decrease algorithms for congestion avoidance in computer networks", Computer Networks and
ISDN Systems 17 (1989), 1-14). Where every fifth call is refused whatever is in flight, that ends near one call at a time.

So the limiter remembers how recent calls ended, and as which of the calls in flight they were sent. It lowers the limit, to
what the endpoint kept, if most of those were refused that were sent with as many others. Each window of answers allows more:
one call, then two more, then four.
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
"""How a call ended: answered, refused because there were too many, or otherwise."""
REMEMBERED = 64
"""Recent calls by which the endpoint is judged."""
MOST_REFUSED = 1 / 2
"""The share of them that may be refused before the limit is lowered."""
MOST_REFUSED_TO_RISE = 1 / 3
"""The share that may be refused for the limit to rise; a limit on the calls of a minute refuses more and more of them."""
LEAST_REFUSALS = 4
"""Refusals that say something of the endpoint, be it of one call."""
PATIENCE = 2.0
"""Seconds in which no attempt ended, after which one more call is admitted: those in flight may hang."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Call:
    """A call, which may take several attempts: in which round the last one was sent, and as which of the calls in flight.
    ``level`` counts this call and those sent before it, without those that were refused: the endpoint never had them."""

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
        """Wait until an attempt is admitted, ``first`` before all that wait. Raises what the limiter was closed with."""

    @abstractmethod
    def leave(self, call: Call, verdict: Verdict, wait: float = 0.0) -> None:
        """Report how the attempt ended. For ``wait`` seconds no call is admitted, unless it was refused for its own sake."""

    @abstractmethod
    async def early(self, call: Call) -> bool:
        """Whether the limit was lowered after the attempt at ``call`` was sent, before it ``leave``s."""

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


class RateLimiter(Limiter):
    """Admits calls of one event loop in the order in which they came; ``most`` is a limit of the user's own."""

    def __init__(self, most: int | None = None) -> None:
        super().__init__()
        self.most = most
        self.limit = most
        """How many calls may be in flight at present; None while nothing has said so."""
        self.round = 0
        """How often the limit was lowered."""
        self._step = 1
        self._answers = 0
        """Answers since the limit last changed, while calls were waiting."""
        self._inside: dict[Call, None] = {}
        """The calls in flight, as they were sent."""
        self._ends: dict[Call, tuple[int, bool]] = {}
        """The levels of recent calls, and whether they were answered or are refused so far; the last one last."""
        self._ended = 0.0
        """When an attempt last ended, or the limit last rose because none did."""
        self._held_until = 0.0
        self._waiting: deque[tuple[Call, asyncio.Future[None]]] = deque()
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def active(self) -> int:
        """How many calls are in flight."""
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
                # Admitted and cancelled in the same moment: the place goes to the next.
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
        # A call counts once, however often it is tried: a few that are always refused say nothing of the others.
        self._ends.pop(call, None)
        self._ends[call] = call.level, answered
        if len(self._ends) > REMEMBERED:
            del self._ends[next(iter(self._ends))]

    def _refused(self, level: int) -> float:
        """The share of recent calls that were refused, of those that were sent with so many in flight."""
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
        # Read once: were the wait over between two reads, no call would be admitted and no timer set.
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
