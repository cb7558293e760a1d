"""The rate limiter: no call is lost, none jumps the queue, and their number follows what the endpoint says."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.models.rate_limiter import LEAST_REFUSALS, Call, RateLimiter, Verdict

pytestmark = pytest.mark.anyio


async def admitted(limiter: RateLimiter, number: int = 1) -> list[Call]:
    """So many calls that are in flight."""
    calls = [Call() for _ in range(number)]
    for call in calls:
        await limiter.enter(call)
    return calls


async def waiting(limiter: RateLimiter) -> asyncio.Task[None]:
    """A call that waits to be admitted."""
    task = asyncio.create_task(limiter.enter(Call()))
    await asyncio.sleep(0)
    assert not task.done()
    return task


async def test_nothing_is_held_back_until_it_is_too_much() -> None:
    limiter = RateLimiter()
    calls = await admitted(limiter, 200)
    assert (limiter.active, limiter.limit) == (200, None)
    for call in calls:
        limiter.leave(call, "answered")
    assert (limiter.active, limiter.limit) == (0, None)


async def test_a_burst_that_is_too_large_shows_how_many_it_takes() -> None:
    limiter = RateLimiter()
    for call in (await admitted(limiter, 64))[24:]:
        limiter.leave(call, "crowded")
    assert (limiter.limit, limiter.active) == (24, 24)


async def test_a_few_refusals_among_many_answers_lower_nothing() -> None:
    limiter = RateLimiter()
    for number, call in enumerate(await admitted(limiter, 200)):
        limiter.leave(call, "crowded" if number % 3 == 2 else "answered")
    assert limiter.limit is None


async def test_one_call_more_than_it_takes_is_noticed_by_its_own_refusals() -> None:
    limiter, last = RateLimiter(), Call()
    for _ in range(100):
        for call in await admitted(limiter, 4):
            limiter.leave(call, "answered")
    await admitted(limiter, 4)
    for _ in range(LEAST_REFUSALS):
        assert limiter.limit is None
        await limiter.enter(last)
        limiter.leave(last, "crowded")
    assert limiter.limit == 4


async def test_a_call_that_is_always_refused_says_nothing_of_the_others() -> None:
    limiter, odd = RateLimiter(), Call()
    for _ in range(50):
        before = await admitted(limiter)
        await limiter.enter(odd)
        calls = [*before, *await admitted(limiter, 2)]
        limiter.leave(odd, "crowded", wait=60)
        for call in calls:
            limiter.leave(call, "answered")
    assert limiter.limit is None
    await asyncio.wait_for(limiter.enter(Call()), 20)  # and the wait that it was asked for is its own


async def test_answers_open_it_again_while_calls_wait() -> None:
    limiter = RateLimiter()
    for call in await admitted(limiter, LEAST_REFUSALS + 1):
        limiter.leave(call, "crowded")
    assert limiter.limit == 1
    for call in await admitted(limiter):
        limiter.leave(call, "answered")
    assert limiter.limit == 1, "nobody waits for more"
    answered = 0

    async def work() -> None:
        nonlocal answered
        while answered < 150:
            (call,) = await admitted(limiter)
            await asyncio.sleep(0)
            limiter.leave(call, "answered")
            answered += 1

    await asyncio.gather(*(work() for _ in range(100)))
    assert limiter.limit is not None
    assert 30 <= limiter.limit <= 150


async def test_a_question_goes_before_what_waits() -> None:
    limiter = RateLimiter(1)
    (inside,) = await admitted(limiter)
    behind, question = await waiting(limiter), asyncio.create_task(limiter.enter(Call(), first=True))
    await asyncio.sleep(0)
    limiter.leave(inside, "answered")
    await question
    assert not behind.done()
    behind.cancel()


async def test_a_users_own_limit_is_never_passed() -> None:
    limiter = RateLimiter(3)
    most = 0

    async def work() -> None:
        nonlocal most
        (call,) = await admitted(limiter)
        most = max(most, limiter.active)
        await asyncio.sleep(0)
        limiter.leave(call, "answered")

    await asyncio.gather(*(work() for _ in range(50)))
    assert (most, limiter.active) == (3, 0)


async def test_a_wait_holds_all_back_and_ends() -> None:
    limiter = RateLimiter()
    calls = await admitted(limiter, 8)
    for call in calls[1:]:
        limiter.leave(call, "crowded", wait=0.05)
    later = asyncio.create_task(limiter.enter(Call()))
    limiter.leave(calls[0], "answered")
    await asyncio.sleep(0)
    assert not later.done()
    await later
    assert limiter.active == 1


async def test_nobody_is_let_in_once_all_are_dismissed() -> None:
    limiter = RateLimiter(1)
    (inside,) = await admitted(limiter)
    behind = await waiting(limiter)
    limiter.close(RuntimeError("it is over"))
    # Who was inside, and was refused, would come back after the wait.
    limiter.leave(inside, "crowded", 30)
    for coming in (behind, limiter.enter(Call())):
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

    async def work(number: int) -> None:
        (call,) = await admitted(limiter)
        order.append(number)
        await asyncio.sleep(0)
        limiter.leave(call, "answered")

    await asyncio.gather(*(work(number) for number in range(20)))
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
        (first,) = await admitted(limiter)
        behind = await waiting(limiter)
        limiter.leave(first, "other", 0.0015)
        await asyncio.wait_for(behind, 20)

    with asyncio.Runner(loop_factory=Slow) as runner:
        runner.run(run())


@settings(max_examples=60)
@given(st.integers(0, 1 << 30), st.integers(1, 9) | st.none())
def test_nobody_is_lost(seed: int, most: int | None) -> None:
    """Whatever is said of the calls and whichever are called off, all others get through and the limiter ends empty."""
    chance = random.Random(seed)

    async def run() -> None:
        limiter, through = RateLimiter(most), 0

        async def work() -> None:
            nonlocal through
            (call,) = await admitted(limiter)
            verdict: Verdict = "other"
            try:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                verdict = chance.choice(("answered", "answered", "crowded", "other"))
            finally:
                limiter.leave(call, verdict, chance.choice((0.0, 0.0, 0.0, 0.001)))
            through += 1

        calls = [asyncio.create_task(work()) for _ in range(40)]
        for doomed in chance.sample(calls, 12):
            await asyncio.sleep(0)
            doomed.cancel()
        await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 20)
        assert limiter.active == 0
        assert through == sum(not call.cancelled() for call in calls)

    asyncio.run(run())
