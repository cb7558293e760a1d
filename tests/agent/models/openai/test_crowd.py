"""An endpoint that takes few calls at once: all get through, and it is seldom asked for more than it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from housequest.agent.models.base import Completion, Message, Request
from housequest.agent.models.keys import KeyRing
from housequest.agent.models.openai.server import PATIENCE
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import ModelError
from tests.backends.server import Behaviour, Policy, Recorded, Response, Server, answer, status

PROMPT = [Message("system", "You act."), Message("user", "A room.")]


@dataclass
class Room:
    """Takes ``most`` calls at once, each for a moment, and refuses what is more; counts both."""

    most: int
    refusal: Callable[[], Behaviour]
    inside: int = 0
    answered: int = 0
    refused: int = 0

    async def __call__(self, recorded: Recorded, policy: Policy) -> Response:
        if self.inside >= self.most:
            self.refused += 1
            return await self.refusal()(recorded, policy)
        self.inside += 1
        try:
            await asyncio.sleep(0.004)
            self.answered += 1
            return await answer(recorded, policy)
        finally:
            self.inside -= 1


async def work(server: Server, workers: int, calls: int, keys: KeyRing | None = None, retries: int = 6) -> list[Completion]:
    model = make_model(server.model(), keys=keys or KeyRing(), timeout=30, retries=retries, wait=0.01)

    async def worker() -> list[Completion]:
        return [await model.complete(Request(PROMPT)) for _ in range(calls)]

    try:
        return [each for done in await asyncio.gather(*(worker() for _ in range(workers))) for each in done]
    finally:
        await model.aclose()


@pytest.mark.heavy
@pytest.mark.parametrize("asked", [{}, {"retry_after": "1"}], ids=["no wait asked for", "a wait asked for"])
def test_140_workers_at_a_server_that_takes_4(server: Server, asked: dict[str, str]) -> None:
    room = Room(4, lambda: status(429, **asked))
    server.behave(otherwise=room)
    completions = asyncio.run(work(server, 140, 4))
    assert [each.text for each in completions] == ["Action: look"] * 560
    assert room.answered == 560
    # The first burst finds the room full; after it, about every tenth call asks whether there is space for one more.
    assert room.refused < 140 + 560 // 2


@pytest.mark.heavy
def test_a_limit_of_the_users_own_is_never_passed(server: Server) -> None:
    room = Room(4, lambda: status(429))
    server.behave(otherwise=room)
    keys = KeyRing({f"127.0.0.1:{server.port}": {"max_connections": 4}})
    asyncio.run(work(server, 60, 3, keys))
    assert (room.answered, room.refused) == (180, 0)


@pytest.mark.heavy
def test_a_server_that_is_always_too_busy_is_given_up(server: Server) -> None:
    server.behave(otherwise=status(429))
    with pytest.raises(ModelError, match="answered 429"):
        asyncio.run(work(server, 1, 1, retries=2))
    assert len(server.requests) == 1 + 2 + PATIENCE

    async def crowd() -> list[Completion | BaseException]:
        model = make_model(server.model(), keys=KeyRing(), timeout=30, retries=2, wait=0.001)
        try:
            return await asyncio.gather(*(model.complete(Request(PROMPT)) for _ in range(40)), return_exceptions=True)
        finally:
            await model.aclose()

    server.requests.clear()
    assert all(isinstance(each, ModelError) for each in asyncio.run(crowd()))
    assert len(server.requests) <= 40 * 12
