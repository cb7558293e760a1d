"""Budgets, what was used of them, and the model that counts it.

Once a budget is used up, no call begins and unfinished episodes can be resumed.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from housequest.agent.config import Prices
from housequest.agent.episodes.events import ModelCall
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.breaker import CircuitBreaker
from housequest.agent.evaluation.runs.cost import Tokens, cost
from housequest.agent.evaluation.runs.cost import money as amount
from housequest.agent.evaluation.runs.folder import RunFolder, episode_name
from housequest.agent.evaluation.runs.result import Result, SelectedTask
from housequest.agent.evaluation.runs.timing import timings_of
from housequest.agent.models.base import Capabilities, Completion, Message, Model, ModelWrapper, Request, Scores
from housequest.agent.models.rate_limiter import Limiter, RateLimiter
from housequest.worlds.errors import ConfigurationError, HousequestError, ModelError, nearest, shown

T = TypeVar("T")

_FORMS = "calls=1000, tokens=2M, money=5 or time=90m"
_KINDS = ("calls", "tokens", "money", "time")
_NUMBER = re.compile(r"(?P<number>\d{1,12}(\.\d{1,6})?)(?P<unit>[kMG]?)")
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
_TIME = re.compile(r"((?P<h>\d{1,5}(\.\d+)?)h)?((?P<m>\d{1,7}(\.\d+)?)m)?((?P<s>\d{1,9}(\.\d+)?)s)?")


class Stopped(HousequestError):
    """A run ended early; ``way_on`` says how to resume it."""

    def __init__(self, message: str, way_on: str = "The same command goes on with it.") -> None:
        super().__init__(message)
        self.way_on = way_on


class Interrupted(Stopped):
    """A person stopped the run."""


class RunHalted(BaseException):
    """Leaves an episode unfinished. A ``BaseException``, so that nobody handles it as an error of the agent or the model."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a run may use (None: unlimited): calls, prompt and completion tokens, money in the currency of the user's
    prices, and seconds of this session.
    """

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    seconds: float | None = None


def read_budget(texts: Sequence[str]) -> Budget:
    """Read ``KIND=AMOUNT`` texts, as ``--budget`` takes them. Raises ``ConfigurationError``."""
    found: dict[str, float] = {}
    for text in texts:
        kind, _, value = (part.strip() for part in text.partition("="))
        if kind not in _KINDS:
            raise ConfigurationError(f"--budget: {shown(text)} is not a budget; give {_FORMS}.{nearest(kind, _KINDS)}")
        if kind in found:
            raise ConfigurationError(f"--budget: {kind} is given twice.")
        number = _seconds(value) if kind == "time" else _number(value)
        if number is None or not 0 < number <= 1e15 or (kind == "calls" and number != int(number)):
            raise ConfigurationError(f"--budget: {shown(text)} cannot be read; give {_FORMS}.")
        found[kind] = number
    calls, tokens = (int(found[kind]) if kind in found else None for kind in ("calls", "tokens"))
    return Budget(calls, tokens, found.get("money"), found.get("time"))


def _number(text: str) -> float | None:
    match = _NUMBER.fullmatch(text)
    return float(match["number"]) * _UNITS[match["unit"]] if match else None


def _seconds(text: str) -> float | None:
    match = _TIME.fullmatch(text)
    return sum(float(match[unit] or 0) * scale for unit, scale in (("h", 3600), ("m", 60), ("s", 1))) if match else None


@dataclass(frozen=True, slots=True)
class Spending:
    """Answered calls, their tokens and their cost; None where no price is known."""

    calls: int = 0
    tokens: Tokens = field(default=Tokens())
    money: float | None = None

    @classmethod
    def priced(cls, calls: int, tokens: Tokens, prices: Prices | None) -> Spending:
        """The use of ``calls`` at these prices."""
        return cls(calls, tokens, (cost(tokens, prices) or 0.0) if prices is not None else None)

    def __add__(self, other: Spending) -> Spending:
        money = None if self.money is other.money is None else (self.money or 0.0) + (other.money or 0.0)
        return Spending(self.calls + other.calls, self.tokens + other.tokens, money)

    def __str__(self) -> str:
        money = "" if self.money is None else f", a cost of {amount(self.money)}"
        return f"{self.calls:,} calls, {self.tokens.prompt + self.tokens.completion:,} tokens{money}"


class Caller(Protocol):
    """Makes calls of a model: `MeteredModel` here, and players elsewhere."""

    @property
    def active(self) -> int:
        """How many calls are in flight, without those that wait for the endpoint."""
        ...

    @property
    def limit(self) -> int | None:
        """How many calls the endpoint takes at once; None while it has stated no limit."""
        ...

    def close(self) -> None:
        """Let calls that are in flight be answered, and none that waits for the endpoint begin."""
        ...


class BudgetTracker:
    """What was used of a budget by everyone who shares it; belongs to one event loop.

    The limit on calls is strict. Tokens and money are known only once a call is answered, so calls in flight may exceed them.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.used = Spending()
        self.calling = 0
        self._began = time.monotonic()
        self._why: HousequestError | None = None
        self.models: list[Caller] = []
        """Who makes the calls."""

    @property
    def active(self) -> int:
        """How many calls are in flight, without those that wait for the endpoint."""
        return sum(model.active for model in self.models)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time is up; None without a time limit."""
        return None if self.budget.seconds is None else self._began + self.budget.seconds - time.monotonic()

    def ended(self) -> HousequestError:
        """The exception that says why the run ended early, with all that was used."""
        assert self._why is not None, "what nothing stopped is through"
        if isinstance(self._why, Interrupted) or not isinstance(self._why, Stopped):
            return self._why
        used = f" Used in all, earlier sessions included: {self.used}." if self.used.calls else ""
        return Stopped(f"{self._why}{used}", self._why.way_on)

    async def begin(self, calls: int = 1) -> None:
        """Begin one call, or ``calls`` at once. Raises ``RunHalted`` where they are not allowed."""
        self.admit(calls)

    def admit(self, calls: int) -> None:
        """`begin` where the budget itself lies."""
        budget = self.budget
        if self.over():
            raise RunHalted
        if budget.calls is not None and self.used.calls + self.calling + calls > budget.calls:
            self._why = self._why or _used_up(f"{budget.calls:,} calls")
            raise RunHalted
        self.calling += calls

    def end(self, completion: Completion | None, prices: Prices | None, calls: int = 1) -> None:
        """End calls that were begun, and count what they used."""
        self.calling -= calls
        if completion is None:
            return
        usage, cached = completion.usage, completion.timing.cached
        tokens = Tokens(usage.prompt or 0, usage.completion or 0, cached)
        self.used += Spending(calls, tokens, cost(tokens, prices) if prices is not None else None)
        uncounted = usage.prompt is None and usage.completion is None
        if uncounted and (self.budget.tokens is not None or self.budget.money is not None):
            what = "The model does not say how many tokens it used, so that a budget of them, or of money, cannot be kept."
            self.stop(Stopped(what, "The same command goes on with it, with calls=N for a budget."))
        self.over()

    def over(self) -> bool:
        """Whether nothing more may begin."""
        budget, used, left = self.budget, self.used, self.seconds_left
        if self._why is None:
            if budget.tokens is not None and used.tokens.prompt + used.tokens.completion >= budget.tokens:
                self.stop(_used_up(f"{budget.tokens:,} tokens"))
            elif budget.money is not None and used.money is not None and used.money >= budget.money:
                self.stop(_used_up(amount(budget.money)))
            elif left is not None and left <= 0:
                self.stop(Stopped("The time of this session is up."))
        return self._why is not None

    async def ring(self) -> None:
        """Stop when the time is up, even while nothing else happens."""
        left = self.seconds_left
        if left is not None:
            await asyncio.sleep(max(0.0, left))
            self.over()

    def stop(self, why: HousequestError) -> None:
        """Let nothing more begin, for a reason; the first reason counts."""
        if self._why is None:
            self._why = why
            for model in self.models:
                model.close()


def _used_up(what: str) -> Stopped:
    return Stopped(f"The budget of {what} is used up.", "The same command with a larger budget goes on with it.")


def used_before(run: RunFolder, tasks: Sequence[SelectedTask], results: Iterable[Result], prices: Prices | None) -> Spending:
    """What earlier sessions of a run used, read from finished and unfinished episode records.

    The first attempt at an episode that was replayed after an error is no longer on record.
    """
    clocks = timings_of(run, tasks)
    finished = {result.task: result for result in results}
    used = Spending()
    for task in tasks:
        if task.id in finished:
            result, cached = finished[task.id], clocks[task.id].cached if task.id in clocks else None
            tokens = Tokens(result.prompt_tokens or 0, result.completion_tokens or 0, cached)
            used += Spending.priced(result.calls, tokens, prices)
    by_name = {episode_name(task): task for task in tasks}
    for part in sorted(run.episodes.glob("*.jsonl.*")):
        task = by_name.get(part.name.partition(".jsonl.")[0])
        if task is not None:
            calls = list(_calls(part))
            cached = clocks[task.id].cached if part.suffix == ".part" and task.id in clocks else None
            tokens = Tokens(
                sum(call.prompt_tokens or 0 for call in calls), sum(call.completion_tokens or 0 for call in calls), cached
            )
            used += Spending.priced(sum(call.calls or 1 for call in calls), tokens, prices)
    return used


def _calls(part: Path) -> Iterator[ModelCall]:
    with suppress(ConfigurationError):  # a damaged record, which is set aside when its task is played
        for event in read_episode(part):
            if isinstance(event.body, ModelCall):
                yield event.body


class MeteredModel(ModelWrapper):
    """Calls ``model`` while the budget of ``tracker`` lasts; after that, calls raise ``RunHalted``.

    An error that every other call would meet too also raises it: it stops the run, not one episode. A `CircuitBreaker` judges
    the others.
    """

    def __init__(self, model: Model, tracker: BudgetTracker, prices: Prices | None) -> None:
        super().__init__(model)
        self._tracker = tracker
        self._prices = prices
        self._breaker = CircuitBreaker(self._is_alive)
        self._calling = 0
        tracker.models.append(self)

    @property
    def active(self) -> int:
        limiter = self._limiter
        return limiter.active if isinstance(limiter, RateLimiter) else self._calling

    @property
    def limit(self) -> int | None:
        limiter = self._limiter
        return limiter.limit if isinstance(limiter, RateLimiter) else None

    @property
    def most(self) -> int | None:
        """How many calls at once the user allows; None where they did not say."""
        limiter = self._limiter
        return limiter.most if isinstance(limiter, RateLimiter) else None

    async def capabilities(self) -> Capabilities:
        return await self._found_out(self.model.capabilities())

    async def holding(self) -> Capabilities:
        return await self._found_out(self.model.holding())

    async def continuing(self) -> Capabilities:
        return await self._found_out(self.model.continuing())

    async def _found_out(self, asking: Awaitable[Capabilities]) -> Capabilities:
        try:
            return await asking
        except ModelError as error:
            raise self._halted(Stopped(str(error))) from error

    async def complete(self, request: Request) -> Completion:
        async def attempt() -> Completion:
            async with self._metered() as completed:
                completed.append(await self.model.complete(request))
            return completed[0]

        return await self._judged(attempt)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        calls = len(continuations) + 1 if (await self.capabilities()).singly else 1

        async def attempt() -> Scores:
            async with self._metered(calls) as completed:
                scores = await self.model.score(messages, continuations)
                completed.append(Completion("", usage=scores.usage, timing=scores.timing))
            return scores

        return await self._judged(attempt)

    async def check_alive(self) -> Completion | None:
        """The model's answer, which counts as a call of this session."""
        async with self._metered() as completed:
            answer = await self.model.check_alive()
            if answer is not None:
                completed.append(answer)
        return answer

    async def _is_alive(self) -> bool:
        return await self.check_alive() is not None

    async def _judged(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What ``attempt`` returns; what concerns the whole run stops it."""
        try:
            return await self._breaker.call(attempt)
        except ModelError as error:
            if not error.fatal:
                raise
            raise self._halted(Stopped(str(error))) from error
        except ConfigurationError as error:
            raise self._halted(error) from error

    def _halted(self, why: HousequestError) -> RunHalted:
        self._tracker.stop(why)
        return RunHalted()

    @asynccontextmanager
    async def _metered(self, calls: int = 1) -> AsyncGenerator[list[Completion]]:
        """Count what is completed inside as ``calls`` calls."""
        completed: list[Completion] = []
        await self._tracker.begin(calls)
        self._calling += calls
        try:
            yield completed
        finally:
            self._calling -= calls
            self._tracker.end(completed[0] if completed else None, self._prices, calls)

    @property
    def _limiter(self) -> Limiter | None:
        # Only models behind an endpoint have one, and it is made anew with each event loop.
        limiter = getattr(self.model, "limiter", None)
        return limiter if isinstance(limiter, Limiter) else None

    def close(self) -> None:
        if self._limiter:
            self._limiter.close(RunHalted())
