"""The rate limiter: no call is lost, none jumps the queue, and their number follows what the endpoint says."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.models.openai.rate_limiter import RateLimiter, Verdict

pytestmark = pytest.mark.anyio


async def test_nothing_is_held_back_until_it_is_too_much() -> None:
    limiter = RateLimiter()
    tickets = [await limiter.enter() for _ in range(200)]
    assert (limiter.active, limiter.limit) == (200, None)
    for permit in tickets:
        limiter.leave(permit, "answered")
    assert (limiter.active, limiter.limit) == (0, None)


async def test_many_refusals_of_one_burst_halve_it_once() -> None:
    limiter = RateLimiter()
    tickets = [await limiter.enter() for _ in range(64)]
    for permit in tickets[:40]:
        limiter.leave(permit, "crowded")
    assert limiter.limit == 32


async def test_answers_open_it_again_one_a_window() -> None:
    limiter = RateLimiter()
    limiter.leave(await limiter.enter(), "crowded")
    assert limiter.limit == 1
    for _ in range(100):
        limiter.leave(await limiter.enter(), "answered")
    assert limiter.limit is not None
    assert 10 <= limiter.limit <= 15


async def test_a_users_own_limit_is_never_passed() -> None:
    limiter = RateLimiter(3)
    most = 0

    async def call() -> None:
        nonlocal most
        permit = await limiter.enter()
        most = max(most, limiter.active)
        await asyncio.sleep(0)
        limiter.leave(permit, "answered")

    await asyncio.gather(*(call() for _ in range(50)))
    assert (most, limiter.active) == (3, 0)


async def test_a_wait_holds_all_back_and_ends() -> None:
    limiter = RateLimiter()
    first, second = await limiter.enter(), await limiter.enter()
    limiter.leave(first, "crowded", wait=0.05)
    later = asyncio.create_task(limiter.enter())
    limiter.leave(second, "answered")
    await asyncio.sleep(0)
    assert not later.done()
    await later
    assert limiter.active == 1


async def test_nobody_is_let_in_once_all_are_dismissed() -> None:
    limiter = RateLimiter(1)
    inside = await limiter.enter()
    waiting = asyncio.create_task(limiter.enter())
    await asyncio.sleep(0)
    limiter.close(RuntimeError("it is over"))
    # Who was inside, and was refused, would come back after the wait.
    limiter.leave(inside, "crowded", 30)
    for coming in (waiting, limiter.enter()):
        with pytest.raises(RuntimeError, match="it is over"):
            await coming
    assert limiter.active == 0


async def test_who_rests_outside_comes_back_or_is_sent_away() -> None:
    limiter = RateLimiter()
    await limiter.rest(0.001)
    resting = asyncio.create_task(limiter.rest(1e6))
    await asyncio.sleep(0)
    limiter.close(RuntimeError("it is over"))
    for one in (resting, limiter.rest(1e6)):
        with pytest.raises(RuntimeError, match="it is over"):
            await one


async def test_calls_are_let_in_as_they_came() -> None:
    limiter, order = RateLimiter(1), list[int]()

    async def call(number: int) -> None:
        permit = await limiter.enter()
        order.append(number)
        await asyncio.sleep(0)
        limiter.leave(permit, "answered")

    await asyncio.gather(*(call(number) for number in range(20)))
    assert order == list(range(20))


class Slow(asyncio.SelectorEventLoop):
    """A machine so busy that a millisecond passes between any two looks at the clock."""

    _looked = 0

    def time(self) -> float:
        self._looked += 1
        return super().time() + self._looked * 1e-3


def test_a_wait_that_ends_between_two_looks_at_the_clock_loses_nobody() -> None:
    async def run() -> None:
        limiter = RateLimiter(1)
        first = await limiter.enter()
        waiting = asyncio.create_task(limiter.enter())
        await asyncio.sleep(0)
        limiter.leave(first, "other", 0.0015)
        await asyncio.wait_for(waiting, 20)

    with asyncio.Runner(loop_factory=Slow) as runner:
        runner.run(run())


@settings(max_examples=60)
@given(st.integers(0, 1 << 30), st.integers(1, 9) | st.none())
def test_nobody_is_lost(seed: int, most: int | None) -> None:
    """Whatever is said of the calls and whichever are called off, all others get through and the limiter ends empty."""
    chance = random.Random(seed)

    async def run() -> None:
        limiter, through = RateLimiter(most), 0

        async def call() -> None:
            nonlocal through
            permit = await limiter.enter()
            verdict: Verdict = "other"
            try:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                verdict = chance.choice(("answered", "answered", "crowded", "other"))
            finally:
                limiter.leave(permit, verdict, chance.choice((0.0, 0.0, 0.0, 0.001)))
            through += 1

        calls = [asyncio.create_task(call()) for _ in range(40)]
        for doomed in chance.sample(calls, 12):
            await asyncio.sleep(0)
            doomed.cancel()
        await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 20)
        assert limiter.active == 0
        assert through == sum(not call.cancelled() for call in calls)

    asyncio.run(run())
