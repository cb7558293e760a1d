"""Many calls in flight are spread over several pools of connections, and few calls keep to one."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from housequest.agent.models.base import Message, Request
from housequest.agent.models.keys import KeyRing, parse_endpoint
from housequest.agent.models.openai.server import CALLS_A_POOL, Clients
from housequest.agent.models.openai.server import Server as EndpointServer
from housequest.agent.models.registry import CallOptions, make_model
from tests.backends.server import Server, together

pytestmark = pytest.mark.heavy


@pytest.mark.anyio
async def test_a_pool_is_added_when_all_are_full_and_the_first_is_used_first(server: Server) -> None:
    clients = Clients(EndpointServer(parse_endpoint(server.url), CallOptions(timeout=20.0, keys=KeyRing())))
    with clients.lend() as first:
        pass
    with clients.lend() as again:
        assert again is first
    with ExitStack() as calls:
        lent = [calls.enter_context(clients.lend()) for _ in range(3 * CALLS_A_POOL)]
    assert [lent.count(one) for one in dict.fromkeys(lent)] == [CALLS_A_POOL] * 3
    with clients.lend() as later:
        assert later is first
    assert len(clients) == 3
    await clients.aclose()


def test_calls_of_all_pools_are_in_flight_together(server: Server) -> None:
    number = 5 * CALLS_A_POOL
    server.behave(otherwise=together(number))

    async def run() -> list[str]:
        model = make_model(server.model(), timeout=30)
        try:
            request = Request([Message("user", "A room.")])
            return [each.text for each in await asyncio.gather(*(model.complete(request) for _ in range(number)))]
        finally:
            await model.aclose()

    assert asyncio.run(run()) == ["Action: look"] * number
