"""The gate before an endpoint: nobody is lost, nobody jumps the queue, and the number of calls follows what is said of it."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.models.openai.rate_limiter import RateLimiter, Verdict

pytestmark = pytest.mark.anyio


async def test_nothing_is_held_back_until_it_is_too_much() -> None:
    gate = RateLimiter()
    tickets = [await gate.enter() for _ in range(200)]
    assert (gate.active, gate.limit) == (200, None)
    for ticket in tickets:
        gate.leave(ticket, "answered")
    assert (gate.active, gate.limit) == (0, None)


async def test_many_refusals_of_one_burst_halve_it_once() -> None:
    gate = RateLimiter()
    tickets = [await gate.enter() for _ in range(64)]
    for ticket in tickets[:40]:
        gate.leave(ticket, "crowded")
    assert gate.limit == 32


async def test_answers_open_it_again_one_a_window() -> None:
    gate = RateLimiter()
    gate.leave(await gate.enter(), "crowded")
    assert gate.limit == 1
    for _ in range(100):
        gate.leave(await gate.enter(), "answered")
    assert gate.limit is not None
    assert 10 <= gate.limit <= 15


async def test_a_users_own_limit_is_never_passed() -> None:
    gate = RateLimiter(3)
    most = 0

    async def call() -> None:
        nonlocal most
        ticket = await gate.enter()
        most = max(most, gate.active)
        await asyncio.sleep(0)
        gate.leave(ticket, "answered")

    await asyncio.gather(*(call() for _ in range(50)))
    assert (most, gate.active) == (3, 0)


async def test_a_wait_holds_all_back_and_ends() -> None:
    gate = RateLimiter()
    first, second = await gate.enter(), await gate.enter()
    gate.leave(first, "crowded", wait=0.05)
    later = asyncio.create_task(gate.enter())
    gate.leave(second, "answered")
    await asyncio.sleep(0)
    assert not later.done()
    await later
    assert gate.active == 1


async def test_nobody_is_let_in_once_all_are_dismissed() -> None:
    gate = RateLimiter(1)
    inside = await gate.enter()
    waiting = asyncio.create_task(gate.enter())
    await asyncio.sleep(0)
    gate.dismiss(RuntimeError("it is over"))
    # Who was inside, and was refused, would come back after the wait.
    gate.leave(inside, "crowded", 30)
    for coming in (waiting, gate.enter()):
        with pytest.raises(RuntimeError, match="it is over"):
            await coming
    assert gate.active == 0


async def test_who_rests_outside_comes_back_or_is_sent_away() -> None:
    gate = RateLimiter()
    await gate.rest(0.001)
    resting = asyncio.create_task(gate.rest(1e6))
    await asyncio.sleep(0)
    gate.dismiss(RuntimeError("it is over"))
    for one in (resting, gate.rest(1e6)):
        with pytest.raises(RuntimeError, match="it is over"):
            await one


async def test_calls_are_let_in_as_they_came() -> None:
    gate, order = RateLimiter(1), list[int]()

    async def call(number: int) -> None:
        ticket = await gate.enter()
        order.append(number)
        await asyncio.sleep(0)
        gate.leave(ticket, "answered")

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
        gate = RateLimiter(1)
        first = await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        gate.leave(first, "other", 0.0015)
        await asyncio.wait_for(waiting, 20)

    with asyncio.Runner(loop_factory=Slow) as runner:
        runner.run(run())


@settings(max_examples=60)
@given(st.integers(0, 1 << 30), st.integers(1, 9) | st.none())
def test_nobody_is_lost(seed: int, most: int | None) -> None:
    """Whatever is said of the calls and whichever are called off, all others get through and the gate ends empty."""
    chance = random.Random(seed)

    async def run() -> None:
        gate, through = RateLimiter(most), 0

        async def call() -> None:
            nonlocal through
            ticket = await gate.enter()
            verdict: Verdict = "other"
            try:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                verdict = chance.choice(("answered", "answered", "crowded", "other"))
            finally:
                gate.leave(ticket, verdict, chance.choice((0.0, 0.0, 0.0, 0.001)))
            through += 1

        calls = [asyncio.create_task(call()) for _ in range(40)]
        for doomed in chance.sample(calls, 12):
            await asyncio.sleep(0)
            doomed.cancel()
        await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 20)
        assert gate.active == 0
        assert through == sum(not call.cancelled() for call in calls)

    asyncio.run(run())
