"""The SDK's client, without what it takes from the environment, and many of them for many calls.

Imports the SDK: import it on first use.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import cast

import httpx2
from openai import AsyncOpenAI

from housequest.agent.models.keys import Endpoint
from housequest.agent.models.openai.protocol import HEAR, NotACompletion, StreamedReply

LARGEST_ANSWER = 1 << 20
"""Bytes of an answer that are read; a reply of 512 tokens has some thousand."""
LARGEST_STREAM = 1 << 24
"""Bytes of a streamed answer that are read: each token comes with some hundred bytes around it."""
CALLS_A_POOL = 16
"""Calls in flight in one pool of connections; what a pool does for each call grows with its connections."""
MOST_POOLS = 256
_HEADERS = frozenset({"accept", "connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent"})


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


class Clients:
    """Clients of one event loop that send ``key`` to one endpoint, each with a pool of connections; the first fill first."""

    def __init__(self, endpoint: Endpoint, key: str, timeout: float) -> None:
        self._endpoint, self._key, self._timeout = endpoint, key, timeout
        self._tls = httpx2.create_ssl_context()  # tens of milliseconds, and the same for all
        self._calls: dict[AsyncOpenAI, int] = {}

    def __len__(self) -> int:
        return len(self._calls)

    @contextmanager
    def lend(self) -> Generator[AsyncOpenAI]:
        """A client for one call."""
        client = next((one for one, calls in self._calls.items() if calls < CALLS_A_POOL), None) or self._another()
        self._calls[client] += 1
        try:
            yield client
        finally:
            self._calls[client] -= 1

    def _another(self) -> AsyncOpenAI:
        """One more client, which neither redirects nor retries nor keeps cookies; if there are enough, the least busy one.

        Only the time to connect is limited here. The caller limits the whole call: a body that dribbles in never exceeds the
        time between two reads.
        """
        if len(self) >= MOST_POOLS:
            return min(self._calls, key=lambda one: self._calls[one])
        key = self._key

        async def sent_by_us(request: httpx2.Request) -> None:
            # The SDK adds OPENAI_CUSTOM_HEADERS, organisation and project from the environment by itself.
            kept = {
                name: value for name, value in request.headers.items() if name in _HEADERS or name.startswith("x-stainless-")
            }
            request.headers = httpx2.Headers({**kept, "accept-encoding": "identity", "authorization": f"Bearer {key}"})

        connections = httpx2.AsyncClient(
            verify=self._tls,
            timeout=httpx2.Timeout(None, connect=min(self._timeout, 10.0)),
            # More calls wait until one ends. Common servers drop idle connections after five seconds.
            limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=1_000, keepalive_expiry=4.0),
            follow_redirects=False,
            # A proxy of the environment would read what is meant for this machine, the key included.
            mounts={f"all://{self._endpoint.host}": None} if self._endpoint.loopback else None,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            event_hooks={"request": [sent_by_us], "response": [_bound]},
        )
        client = AsyncOpenAI(
            api_key=key,
            **dict.fromkeys(("admin_api_key", "organization", "project", "webhook_secret"), ""),
            base_url=self._endpoint.url,
            timeout=connections.timeout,
            max_retries=0,
            http_client=connections,
        )
        self._calls[client] = 0
        return client

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._calls:
            await client.close()
