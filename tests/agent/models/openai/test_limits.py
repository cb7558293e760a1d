"""The rate limiter over minutes, by a clock that jumps: at endpoints with a limit, without one, with their own troubles."""

from __future__ import annotations

import asyncio
import random
import selectors
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from housequest.agent.evaluation.runs.budget import BudgetTracker, MeteredModel
from housequest.agent.models.keys import KeyRing
from housequest.agent.models.openai.server import Attempts, CallFailure
from housequest.agent.models.rate_limiter import Call, RateLimiter, Verdict
from housequest.agent.models.registry import CallOptions, make_model

WORKERS, TURNS = 140, 10
CALLS = WORKERS * TURNS
HANG = 10.0


class Jumping(asyncio.SelectorEventLoop):
    """An event loop without waits: where nothing is left to do, its clock goes on to the next timer."""

    class Selector(selectors.SelectSelector):
        now = 0.0

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            ready = super().select(0)
            if not ready:
                self.now += timeout or 0.0
            return ready

    def __init__(self) -> None:
        self._jumping = Jumping.Selector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


@dataclass
class Endpoint:
    """Takes ``room`` calls at a time and ``rate`` a second, a second each; refuses a ``share`` of all, quickly."""

    room: Callable[[float], int] = lambda now: 10_000
    rate: float | None = None
    share: float = 0.0
    asked: float = 0.0
    ended: Counter[str] = field(default_factory=Counter[str])
    inside: int = 0
    _left: float = 0.0
    _since: float = 0.0

    def __post_init__(self) -> None:
        self._chance = random.Random(0)
        self._left = 60 * (self.rate or 0)

    async def call(self, trouble: str) -> Verdict:
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(self._chance.uniform(0, 0.005))
        if trouble == "refused" or self._chance.random() < self.share or self.inside >= self.room(now) or self._used_up(now):
            await asyncio.sleep(self._chance.uniform(0.01, 0.03))
            self.ended["refused"] += 1
            return "crowded"
        self.inside += 1
        await asyncio.sleep(HANG if trouble == "hangs" else self._chance.uniform(0.5, 1.5))
        self.inside -= 1
        self.ended["hung" if trouble == "hangs" else "answered"] += 1
        return "other" if trouble == "hangs" else "answered"

    def _used_up(self, now: float) -> bool:
        if self.rate is None:
            return False
        self._left, self._since = min(60 * self.rate, self._left + (now - self._since) * self.rate), now
        if self._left < 1:
            return True
        self._left -= 1
        return False


@dataclass(frozen=True)
class Outcome:
    """How long a run took, in seconds of its clock, and which of its calls failed for good, by their trouble."""

    seconds: float
    failed: Counter[str]
    limiter: RateLimiter


def run(endpoint: Endpoint, trouble: Callable[[int], str] = lambda worker: "", workers: int = WORKERS) -> Outcome:
    """So many workers with their calls one after another, tried again as a model's calls are."""
    random.seed(0)

    async def play() -> Outcome:
        limiter, failed = RateLimiter(), Counter[str]()

        async def complete(kind: str) -> bool:
            call, attempts = Call(), Attempts(CallOptions())
            while True:
                await limiter.enter(call)
                verdict = await endpoint.call(kind)
                early = verdict == "crowded" and call.round != limiter.round
                limiter.leave(call, verdict, endpoint.asked if verdict == "crowded" else 0.0)
                if verdict == "answered":
                    return True
                asked = endpoint.asked or None
                failure = CallFailure("", "", verdict, again=True, slow=verdict == "other", asked=asked, early=early)
                wait = attempts.wait_after(failure)
                if wait is None:
                    failed[kind] += 1
                    return False
                await limiter.rest(wait)

        async def work(worker: int) -> None:
            await asyncio.sleep(worker * 0.01)
            for _ in range(TURNS):
                if not await complete(trouble(worker)):
                    return

        await asyncio.gather(*(work(worker) for worker in range(workers)))
        return Outcome(asyncio.get_running_loop().time(), failed, limiter)

    with asyncio.Runner(loop_factory=Jumping) as runner:
        return runner.run(play())


def test_refusals_that_do_not_come_of_the_crowd_hold_nobody_back() -> None:
    endpoint = Endpoint(share=0.2)
    outcome = run(endpoint)
    assert (endpoint.ended["answered"], outcome.failed) == (CALLS, Counter())
    assert outcome.seconds < 60, "one call at a time would take 1,400 seconds"


def test_calls_that_hang_or_are_always_refused_do_not_hold_back_the_others() -> None:
    kinds = ("refused", "refused", "hangs", "hangs", "", "", "", "", "", "")
    endpoint = Endpoint()
    outcome = run(endpoint, lambda worker: kinds[worker % 10])
    assert outcome.failed == {"refused": 28, "hangs": 28}
    assert endpoint.ended["answered"] == CALLS * 6 // 10
    # Three attempts that hang take 31 seconds.
    assert outcome.seconds < 90


@pytest.mark.parametrize("room", [4, 60])
def test_a_limit_is_found_and_used(room: int) -> None:
    endpoint = Endpoint(lambda now: room)
    outcome = run(endpoint)
    assert (endpoint.ended["answered"], outcome.failed) == (CALLS, Counter())
    assert outcome.seconds < 1.2 * CALLS / room + 5
    assert endpoint.ended["refused"] < CALLS / 2


def test_one_worker_too_many_is_no_error() -> None:
    endpoint = Endpoint(lambda now: 4)
    assert run(endpoint, workers=5).failed == Counter()


@pytest.mark.parametrize(("before", "after", "most"), [(100, 10, 140), (4, 100, 50)])
def test_a_limit_that_changes_is_followed(before: int, after: int, most: float) -> None:
    endpoint = Endpoint(lambda now: before if now < 10 else after)
    outcome = run(endpoint)
    assert (endpoint.ended["answered"], outcome.failed) == (CALLS, Counter())
    assert outcome.seconds < most


@pytest.mark.parametrize("asked", [0.0, 1.0, 20.0])
def test_a_limit_on_the_calls_of_a_minute_makes_no_errors(asked: float) -> None:
    endpoint = Endpoint(rate=10, asked=asked)
    outcome = run(endpoint)
    assert (endpoint.ended["answered"], outcome.failed) == (CALLS, Counter())
    # 600 at once, and the others at ten a second.
    assert outcome.seconds < 1.3 * 80
    assert endpoint.ended["refused"] < CALLS / 2


def test_the_users_limit_is_known_before_the_first_call() -> None:
    keys = KeyRing({"127.0.0.1:9": {"max_connections": 4}})
    model = make_model("openai:m@http://127.0.0.1:9/v1", keys=keys)
    assert MeteredModel(model, BudgetTracker(), None).most == 4
