"""A player's share of what the driver keeps: its budget, and its rate limiter."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from weakref import WeakKeyDictionary

from housequest.agent.cluster.messages import Answer, Begin, End, Enter, FromPlayer, IsEarly, Leave, Stop
from housequest.agent.config import Prices
from housequest.agent.evaluation.runs.budget import BudgetTracker, RunHalted, Stopped
from housequest.agent.models.base import Completion
from housequest.agent.models.rate_limiter import Call, Limiter, Verdict
from housequest.worlds.errors import HousequestError


class Line:
    """What a player says to the driver, gathered until it is asked for; belongs to one event loop."""

    def __init__(self) -> None:
        self._said: list[FromPlayer] = []
        self._anything = asyncio.Event()
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[int | None]] = {}
        self._ended: asyncio.Task[None] | None = None

    def say(self, message: FromPlayer) -> None:
        """Say ``message``."""
        self._said.append(message)
        self._anything.set()

    async def said(self) -> list[FromPlayer]:
        """What was said since the last time; waits until anything was, or the player ended."""
        await self._anything.wait()
        self._anything.clear()
        said, self._said = self._said, []
        if self._ended is not None and not said:
            self._ended.result()
        return said

    def close(self, ended: asyncio.Task[None]) -> None:
        """Nothing more will be said; `said` raises what the player ``ended`` with."""
        self._ended = ended
        self._anything.set()

    async def ask(self, question: Callable[[int], FromPlayer], undo: Callable[[int], None]) -> int | None:
        """The driver's answer; ``undo`` gets it if it comes after this was cancelled."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self.say(question(number))
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            answer.add_done_callback(lambda late: undo(value) if (value := late.result()) is not None else None)
            raise

    def answered(self, answer: Answer) -> None:
        """Pass the driver's answer on to who asked."""
        self._asked.pop(answer.number).set_result(answer.value)


class SharedTracker(BudgetTracker):
    """The driver's budget as a player sees it; ``strict``: each call is asked for."""

    def __init__(self, line: Line, *, strict: bool) -> None:
        super().__init__()
        self._line = line
        self._strict = strict

    async def begin(self, calls: int = 1) -> None:
        if self.over():
            raise RunHalted
        if not self._strict:
            self._line.say(Begin(None, calls))
        elif await self._line.ask(lambda number: Begin(number, calls), lambda _: self._line.say(End(calls, None))) is None:
            raise RunHalted

    def end(self, completion: Completion | None, prices: Prices | None, calls: int = 1) -> None:  # noqa: ARG002
        self._line.say(End(calls, None if completion is None else (completion.usage, completion.timing)))

    def halt(self) -> None:
        """Let nothing more begin, since the driver says so."""
        super().stop(Stopped("The run is at its end."))

    def stop(self, why: HousequestError) -> None:
        if not self.over():
            self._line.say(Stop(why))
        super().stop(why)


class SharedLimiter(Limiter):
    """The driver's rate limiter as a player's model sees it."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line
        self._numbers = itertools.count()
        self._calls: WeakKeyDictionary[Call, int] = WeakKeyDictionary()

    async def enter(self, call: Call, *, first: bool = False) -> None:
        number = self._calls.setdefault(call, next(self._numbers))
        if self._closed is None:
            entered = await self._line.ask(
                lambda asked: Enter(asked, number, first), lambda _: self._line.say(Leave(number, "other", 0.0))
            )
            if entered is not None:
                return
        raise self._closed or RunHalted()

    def leave(self, call: Call, verdict: Verdict, wait: float = 0.0) -> None:
        self._line.say(Leave(self._calls[call], verdict, wait))

    async def early(self, call: Call) -> bool:
        number = self._calls[call]
        return await self._line.ask(lambda asked: IsEarly(asked, number), lambda _: None) == 1
