"""The calls of a run's model: budgets that limit them, what breaks a run off, and ledgers that keep their answers.

Once a budget is used up, no call begins and unfinished episodes can be resumed. An endpoint that is down stops the run and
spoils no episode. A ledger keeps the calls of learning with prompts and replies, so that an answered call is never repeated.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from housequest.agent.config import Prices
from housequest.agent.episodes.events import PromptMessage
from housequest.agent.episodes.record import cut_off_end
from housequest.agent.evaluation.runs.files import Frozen, lines_of, parsed_lines
from housequest.agent.evaluation.runs.usage import Spending, Tokens, cost
from housequest.agent.evaluation.runs.usage import money as amount
from housequest.agent.models.base import (
    Capabilities,
    Completion,
    Message,
    Model,
    ModelWrapper,
    ProbedPart,
    Reachable,
    Request,
    Scores,
    Usage,
    Waste,
    ability,
    in_role,
    probe,
    roles_of,
    score,
)
from housequest.agent.models.rate_limiter import Limiter, RateLimiter
from housequest.agent.roles.base import clean
from housequest.worlds.errors import ConfigurationError, HousequestError, ModelError, nearest, shown
from housequest.worlds.paths import open_file

LARGEST_LEDGER = 1 << 30
LIKE_FAILURES = 3
"""Like failures in a row that show a fault of the model. Once it has answered, those count that began after the first."""
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


class Budget(NamedTuple):
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


class Caller(Protocol):
    """Makes calls of a model: `MeteredModel` here, and players elsewhere. ``active`` calls are in flight, without those that
    wait for the endpoint, which takes ``limit`` at once; None while it has stated no limit.
    """

    @property
    def active(self) -> int: ...

    @property
    def limit(self) -> int | None: ...

    def close(self) -> None:
        """Let calls that are in flight be answered, and none that waits for the endpoint begin."""


class BudgetTracker:
    """The use of a budget by everyone who shares it; belongs to one event loop. The limit on calls is strict. Tokens and
    money are known only once a call is answered, so calls in flight may exceed them.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.used = Spending()
        self.calling = 0
        self._until = math.inf if self.budget.seconds is None else time.monotonic() + self.budget.seconds
        self._why: HousequestError | None = None
        self.models: list[Caller] = []
        """The models whose calls are counted here."""

    @property
    def active(self) -> int:
        """The number of calls in flight, without those that wait for the endpoint."""
        return sum(model.active for model in self.models)

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
        wasted = completion.timing.wasted or Waste()
        tokens = Tokens((usage.prompt or 0) + wasted.prompt, (usage.completion or 0) + wasted.completion, cached)
        self.used += Spending(calls + wasted.calls, tokens, cost(tokens, prices) if prices is not None else None)
        uncounted = usage.prompt is None and usage.completion is None
        if uncounted and (self.budget.tokens is not None or self.budget.money is not None):
            what = "The model does not say how many tokens it used, so that a budget of them, or of money, cannot be kept."
            self.stop(Stopped(what, "The same command goes on with it, with calls=N for a budget."))
        self.over()

    def over(self) -> bool:
        """True if nothing more may begin."""
        budget, used = self.budget, self.used
        if self._why is None:
            if budget.tokens is not None and used.tokens.prompt + used.tokens.completion >= budget.tokens:
                self.stop(_used_up(f"{budget.tokens:,} tokens"))
            elif budget.money is not None and used.money is not None and used.money >= budget.money:
                self.stop(_used_up(amount(budget.money)))
            elif time.monotonic() >= self._until:
                self.stop(Stopped("The time of this session is up."))
        return self._why is not None

    async def ring(self) -> None:
        """Stop when the time is up, even while nothing else happens."""
        if self._until < math.inf:
            await asyncio.sleep(max(0.0, self._until - time.monotonic()))
            self.over()

    def stop(self, why: HousequestError) -> None:
        """Let nothing more begin, for a reason; the first reason counts."""
        if self._why is None:
            self._why = why
            for model in self.models:
                model.close()


def _used_up(what: str) -> Stopped:
    return Stopped(f"The budget of {what} is used up.", "The same command with a larger budget goes on with it.")


class CircuitBreaker:
    """Tells a call that the model cannot answer from a model that answers none. Belongs to one event loop. ``question`` asks
    the model something short; it returns None where that model cannot be asked, and raises ``ModelError`` where it does not
    answer.
    """

    def __init__(self, question: Callable[[], Awaitable[Completion | None]]) -> None:
        self._question = question
        self._asking = asyncio.Lock()
        self._moments = itertools.count(1)
        self._alive = 0
        """The last moment at which the model is known to have been alive."""
        self._answered = False
        # Failures of one kind with no answered call between them, of which the first came at ``since``.
        self._kind, self._since, self._alike = "", 0, 0
        self._down: ModelError | None = None

    async def call(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Make ``attempt`` and return its result. If it fails but the model answers the question, retry once. Raises
        ``ModelError``: fatal where the run should stop, for the question was not answered either, or calls fail alike one after
        another; otherwise only this call cannot be answered.
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
                self._alive, self._answered, self._alike = max(self._alive, sent), True, 0
                return answer
        raise AssertionError("the last attempt returns or raises")

    async def _ask_after(self, error: ModelError) -> bool:
        """True if the model has answered since ``error``; False if it cannot be asked. One question serves all who wait."""
        failed = next(self._moments)
        async with self._asking:
            if self._down is not None:
                raise self._down
            if self._alive > failed:
                return True
            try:
                answered = await self._question() is not None
            except ModelError as unanswered:
                self._down = _down(error, f"A short question was not answered either ({unanswered.kind}), so the run stops.")
                raise self._down from unanswered
            if answered:
                self._alive = next(self._moments)
            return answered

    def _count(self, error: ModelError, began: int) -> None:
        if not self._alike or self._kind != error.kind:
            self._kind, self._since, self._alike = error.kind, next(self._moments), 1
        elif began > self._since or not self._answered:
            # Of calls that were in flight together, one is enough: episodes that began together meet the same limits together.
            self._alike += 1
        if self._alike >= LIKE_FAILURES:
            raise _down(
                error, "One call after another failed like this with none answered between them, so the run stops."
            ) from error


def _down(error: ModelError, why: str) -> ModelError:
    return ModelError(f"{error} {why}", recorded=f"{error.recorded} {why}", fatal=True, kind=error.kind)


class MeteredModel(ModelWrapper):
    """Calls ``model`` while the budget of ``tracker`` lasts; after that, calls raise ``RunHalted``. An error that every other
    call would meet too also raises it: it stops the run, not one episode. A `CircuitBreaker` judges the others.
    """

    def __init__(self, model: Model, tracker: BudgetTracker, prices: Prices | None) -> None:
        super().__init__(model)
        self._tracker = tracker
        self._prices = prices
        self._breaker = CircuitBreaker(self.check_alive)
        self._calling = 0
        self._others: dict[int, MeteredModel] = {}
        tracker.models.append(self)

    def around(self, own: Model, role: str) -> Model:
        if id(own) not in self._others:
            self._others[id(own)] = MeteredModel(own, self._tracker, self._prices and self._prices.of(role))
        return self._others[id(own)]

    @property
    def active(self) -> int:
        return limiter.active if isinstance(limiter := self._limiter, RateLimiter) else self._calling

    @property
    def limit(self) -> int | None:
        # What several models take together would say nothing of one.
        return limiter.limit if isinstance(limiter := self._limiter, RateLimiter) and not roles_of(self) else None

    @property
    def most(self) -> int | None:
        """The most calls at once that the user allows; None where they did not say."""
        return limiter.most if isinstance(limiter := self._limiter, RateLimiter) else None

    async def capabilities(self) -> Capabilities:
        return await self._found_out(self.model.capabilities())

    async def probe(self, part: ProbedPart) -> Capabilities:
        return await self._found_out(probe(self.model, part))

    async def _found_out(self, asking: Awaitable[Capabilities]) -> Capabilities:
        try:
            return await asking
        except ModelError as error:
            self._tracker.stop(Stopped(str(error)))
            raise RunHalted from error

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
                scores = await score(self.model, messages, continuations)
                completed.append(Completion("", usage=scores.usage, timing=scores.timing))
            return scores

        return await self._judged(attempt)

    async def check_alive(self) -> Completion | None:
        """The model's answer, which counts as a call of this session."""
        async with self._metered() as completed:
            if (reachable := ability(self.model, Reachable)) is not None:
                completed.append(await reachable.check_alive())
        return completed[0] if completed else None

    async def _judged(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Make ``attempt`` and return its result; an error that every call would meet stops the run."""
        try:
            return await self._breaker.call(attempt)
        except (ModelError, ConfigurationError) as error:
            if isinstance(error, ModelError) and not error.fatal:
                raise
            self._tracker.stop(Stopped(str(error)) if isinstance(error, ModelError) else error)
            raise RunHalted from error

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
            self._tracker.end(completed[0] if completed else None, self._prices and self._prices.of(""), calls)

    @property
    def _limiter(self) -> Limiter | None:
        # Only models behind an endpoint have one, and it is made anew with each event loop.
        limiter = getattr(in_role(self.model, ""), "limiter", None)
        return limiter if isinstance(limiter, Limiter) else None

    def close(self) -> None:
        if self._limiter:
            self._limiter.close(RunHalted())


class LedgerCall(Frozen):
    """One answered call. ``key`` is a digest of the model's name, the messages and the sampling settings."""

    key: str
    role: str
    messages: tuple[PromptMessage, ...]
    reply: str
    finish: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def completion(self) -> Completion:
        """The model's answer."""
        return Completion(self.reply, self.finish, Usage(self.prompt_tokens, self.completion_tokens))


class Ledger:
    """The calls in the file ``path``, one JSON line each. Each is written as soon as it is answered, so a killed process loses
    only calls in flight. Raises ``ConfigurationError`` with the line of a damaged call.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        cut_off_end(path)
        way_out = " Take the line out of the file, and its call is made again."
        self.calls = {call.key: call for call in parsed_lines(LedgerCall, path, LARGEST_LEDGER, way_out)}

    def add(self, call: LedgerCall) -> None:
        """Append an answered call."""
        with open_file(self._path, "ab") as file:
            file.write(lines_of([call]))
        self.calls[call.key] = call

    def used(self, prices: Prices | None = None) -> Spending:
        """The total use of all calls."""
        calls = self.calls.values()
        tokens = Tokens(sum(call.prompt_tokens or 0 for call in calls), sum(call.completion_tokens or 0 for call in calls))
        return Spending.priced(len(calls), tokens, prices)


class LedgerModel(ModelWrapper):
    """``model`` in ``role`` with its answers cached in ``ledger``. ``name`` is the model's name without its address."""

    def __init__(self, model: Model, name: str, role: str, ledger: Ledger) -> None:
        super().__init__(model)
        self._name = name
        self._role = role
        self._ledger = ledger

    async def complete(self, request: Request) -> Completion:
        said = tuple(map(PromptMessage.of, request.messages))
        chat = [(each.role, each.content, *filter(None, (each.image,))) for each in said]
        asked = [self._name, chat, tuple(request.stop), request.max_tokens, request.temperature, request.seed]
        asked += ["raw"] if request.raw else []
        asked += [sorted(request.bias.items(), key=str)] if request.bias else []
        asked += [held] if (held := request.grammar or request.schema) else []
        key = sha256(json.dumps(asked).encode()).hexdigest()
        found = self._ledger.calls.get(key)
        if found is not None:
            return found.completion
        completion = await self.model.complete(request)
        call = LedgerCall(
            key=key,
            role=self._role,
            messages=said,
            reply=clean(completion.text),
            finish=clean(completion.finish)[:100],
            prompt_tokens=completion.usage.prompt,
            completion_tokens=completion.usage.completion,
        )
        self._ledger.add(call)
        return call.completion
