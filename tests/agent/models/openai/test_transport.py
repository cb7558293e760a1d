"""Calls go straight over connections that are kept, and through the proxy of the environment where there is one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from agent.models.openai.connection import connect, post
from agent.models.openai.keys import PLACEHOLDER, parse_endpoint

pytestmark = pytest.mark.anyio

LENGTH = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
CHUNKS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
TO_THE_END = b"HTTP/1.1 200 OK\r\n\r\n{}"
EARLIER = b"HTTP/1.1 100 Continue\r\n\r\n" + LENGTH

Then = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Peer:
    """Answers what comes with the same bytes; counts connections and keeps the first line of each request."""

    def __init__(self, answer: bytes, then: Then | None = None) -> None:
        self.answer, self.then = answer, then
        self.connections = 0
        self.asked: list[str] = []
        self.port = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                self.asked.append(head.split("\r\n")[0])
                await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
                writer.write(self.answer)
                await writer.drain()
                if self.then is not None:
                    await self.then(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def peering(answer: bytes, then: Then | None = None) -> AsyncGenerator[Peer]:
    peer = Peer(answer, then)
    server = await asyncio.start_server(peer, "127.0.0.1", 0)
    peer.port = server.sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        server.close()


@asynccontextmanager
async def calling(address: str) -> AsyncGenerator[Callable[[], Awaitable[bytes]]]:
    client = connect(parse_endpoint(address), PLACEHOLDER, 20.0)

    async def call() -> bytes:
        return (await post(client, "/chat/completions", {"model": "m"})).content

    try:
        yield call
    finally:
        await client.aclose()


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def say_more(writer: asyncio.StreamWriter) -> None:
    writer.write(LENGTH.replace(b"{}", b"[]"))


@pytest.mark.parametrize(
    ("answer", "then", "connections"),
    [
        (LENGTH, None, 1),
        (CHUNKS, None, 1),
        (EARLIER, None, 1),
        (TO_THE_END, hang_up, 3),
        (LENGTH, hang_up, 3),
        (LENGTH, say_more, 3),  # what nobody asked for is not the answer to the next call
    ],
    ids=["length", "chunks", "continue", "to the end", "hangs up", "says more"],
)
async def test_a_connection_takes_the_next_call_where_it_can(answer: bytes, then: Then | None, connections: int) -> None:
    async with peering(answer, then) as peer, calling(f"http://127.0.0.1:{peer.port}/v1") as call:
        for _ in range(3):
            assert await call() == b"{}"
            await asyncio.sleep(0.05)  # what the peer does after its answer arrives
        assert peer.connections == connections
        assert peer.asked == ["post /v1/chat/completions http/1.1"] * 3


async def test_calls_at_once_have_a_connection_each() -> None:
    async with peering(LENGTH) as peer, calling(f"http://127.0.0.1:{peer.port}/v1") as call:
        for _ in range(2):
            assert await asyncio.gather(*(call() for _ in range(40))) == [b"{}"] * 40
        assert peer.connections == 40


async def test_a_call_that_was_called_off_leaves_its_connection_to_nobody() -> None:
    async with peering(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{") as peer:
        async with calling(f"http://127.0.0.1:{peer.port}/v1") as call:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await call()
            peer.answer = LENGTH
            assert await call() == b"{}"
        assert peer.connections == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", httpx2.RemoteProtocolError),
        (b"SSH-2.0-OpenSSH\r\n\r\n", httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}", httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * (1 << 20), httpx2.RemoteProtocolError),
        (LENGTH.replace(b"200 OK", b"500 No"), httpx2.HTTPStatusError),
    ],
    ids=["nothing", "not http", "cut off", "endless head", "an error"],
)
async def test_what_is_no_whole_answer_is_an_error(answer: bytes, error: type[Exception]) -> None:
    async with peering(answer, hang_up) as peer, calling(f"http://127.0.0.1:{peer.port}/v1") as call:
        with pytest.raises(error):
            await call()


async def test_nobody_at_the_address_is_an_error_of_the_connection() -> None:
    async with peering(LENGTH) as peer:
        pass
    async with calling(f"http://127.0.0.1:{peer.port}/v1") as call:
        with pytest.raises(httpx2.ConnectError):
            await call()


async def test_the_proxy_of_the_environment_is_used_unless_it_is_to_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async with peering(LENGTH) as peer:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{peer.port}")
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{peer.port}")
        async with calling("http://model.invalid/v1") as call:
            assert await call() == b"{}"
        assert peer.asked == ["post http://model.invalid/v1/chat/completions http/1.1"]
        monkeypatch.setenv("NO_PROXY", "model.invalid")
        monkeypatch.setenv("no_proxy", "model.invalid")
        async with calling("http://model.invalid/v1") as call:
            with pytest.raises(httpx2.ConnectError):
                await call()
        assert len(peer.asked) == 1
