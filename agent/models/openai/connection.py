"""The client of an endpoint, without what HTTP libraries take from the environment, and many of them for many calls.

Imports the HTTP library: import it on first use.
"""

from __future__ import annotations

import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, cast
from urllib.request import getproxies, proxy_bypass

import httpx2

from agent.models.openai.keys import Endpoint
from agent.models.openai.streaming import HEAR, LARGEST_STREAM, StreamedReply
from agent.models.openai.transport import IDLE, DirectTransport
from agent.models.openai.wire import NotACompletion

LARGEST_ANSWER = 1 << 20
"""Bytes of an answer that are read; a reply of 512 tokens has some thousand."""

CALLS_A_POOL = 16
"""Calls in flight of one client; behind a proxy, what it does for each call grows with its connections."""

MOST_POOLS = 256


async def _bound(response: httpx2.Response) -> None:
    # Compressed, a small answer can be a huge one; it was asked for uncompressed.
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise NotACompletion("answered with a compressed body, which was not asked for")
    stream, content, size = cast("httpx2.AsyncByteStream", response.stream), bytearray(), 0
    hear, pieces = HEAR.get(), response.headers.get("content-type", "").startswith("text/event-stream")
    reply = StreamedReply(hear) if hear is not None and pieces and response.status_code == 200 else None
    most = LARGEST_ANSWER if reply is None else LARGEST_STREAM
    try:
        async for chunk in stream:
            size += len(chunk)
            if size > most:
                raise NotACompletion(f"answered with more than {most >> 20} MiB")
            if reply is None:
                content += chunk
            else:
                reply.take(chunk)
    finally:
        await stream.aclose()
    whole = bytes(content) if reply is None else reply.whole()
    if whole is None:
        raise httpx2.RemoteProtocolError("the reply broke off")
    response.stream = httpx2.ByteStream(whole)


async def post(client: httpx2.AsyncClient, path: str, body: Mapping[str, Any]) -> httpx2.Response:
    """The endpoint's answer to ``body``. Raises ``NotACompletion``, and httpx's errors, also for a refusal."""
    response = await client.post(path, json=body)
    return response.raise_for_status()


class Clients:
    """Clients of one endpoint, each with a pool of connections, made as calls need them; belongs to one event loop.

    The first ones are filled first: a few calls keep to a few connections, which stay open.
    """

    def __init__(self, endpoint: Endpoint, key: str, timeout: float) -> None:
        self._endpoint, self._key, self._timeout = endpoint, key, timeout
        self._tls = httpx2.create_ssl_context()  # tens of milliseconds, and the same for all
        self._calls: dict[httpx2.AsyncClient, int] = {}
        """The calls in flight of each."""

    def __len__(self) -> int:
        return len(self._calls)

    @contextmanager
    def lend(self) -> Generator[httpx2.AsyncClient]:
        """A client for one call."""
        client = next((one for one, calls in self._calls.items() if calls < CALLS_A_POOL), None) or self._another()
        self._calls[client] += 1
        try:
            yield client
        finally:
            self._calls[client] -= 1

    def _another(self) -> httpx2.AsyncClient:
        if len(self) >= MOST_POOLS:
            return min(self._calls, key=lambda one: self._calls[one])
        client = connect(self._endpoint, self._key, self._timeout, self._tls)
        self._calls[client] = 0
        return client

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._calls:
            await client.aclose()


def connect(endpoint: Endpoint, key: str, timeout: float, tls: ssl.SSLContext | None = None) -> httpx2.AsyncClient:
    """A client that sends ``key`` to ``endpoint`` and nothing from the environment; it neither redirects nor retries nor keeps
    cookies.

    Only the time to connect is limited here. The caller limits the whole call: a body that dribbles in never exceeds the time
    between two reads.
    """
    connecting = min(timeout, 10.0)
    tls = tls or httpx2.create_ssl_context()
    # A proxy of the environment would read what is meant for this machine, the key included.
    direct = endpoint.loopback or not getproxies() or bool(proxy_bypass(endpoint.host))
    return httpx2.AsyncClient(
        base_url=endpoint.url,
        headers={
            "accept": "application/json",
            "accept-encoding": "identity",
            "authorization": f"Bearer {key}",
            "user-agent": "housequest",
        },
        verify=tls,
        timeout=httpx2.Timeout(None, connect=connecting),
        transport=DirectTransport(tls, connecting) if direct else None,
        limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=1_000, keepalive_expiry=IDLE),
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        event_hooks={"response": [_bound]},
    )
