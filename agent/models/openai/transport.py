"""HTTP/1.1 straight over asyncio, for many calls in flight: what a call costs does not grow with their number.

httpx's own pool looks at all its connections at each call. It stays in use behind a proxy, which this cannot speak to.
Imports the HTTP library: import it on first use.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator

import h11
import httpx2

IDLE = 4.0
"""Seconds after which an unused connection is not used again; common servers drop them after five."""

MOST_UNREAD = 1 << 18
"""Bytes of an answer that wait to be read, after which the server has to wait."""

LARGEST_HEAD = 100 << 10
"""Bytes of an answer's headers, or of the length of a chunk."""


class DirectTransport(httpx2.AsyncBaseTransport):
    """Sends each request on a connection that no other is using; for requests to one host, in one event loop.

    ``timeout`` limits the seconds to connect. Raises what httpx's own transport raises.
    """

    def __init__(self, tls: ssl.SSLContext, timeout: float) -> None:
        self._tls, self._timeout = tls, timeout
        self._idle: list[_Connection] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        connection = self._waiting() or await self._another(request.url)
        try:
            head = await connection.ask(request)
        except BaseException:
            connection.close()
            raise
        return httpx2.Response(head.status_code, headers=head.headers.raw_items(), stream=_Body(connection, self._idle))

    def _waiting(self) -> _Connection | None:
        """The connection that was used last, if it is still good; older ones are closed once they are too old."""
        oldest = time.monotonic() - IDLE
        while self._idle and not (self._idle[0].open and self._idle[0].used > oldest):
            self._idle.pop(0).close()
        while self._idle:
            connection = self._idle.pop()
            if connection.open:
                return connection
        return None

    async def _another(self, url: httpx2.URL) -> _Connection:
        secure = url.scheme == "https"
        try:
            async with asyncio.timeout(self._timeout):
                _, connection = await asyncio.get_running_loop().create_connection(
                    _Connection,
                    url.raw_host.decode("ascii"),
                    url.port or (443 if secure else 80),
                    ssl=self._tls if secure else None,
                    happy_eyeballs_delay=0.25,
                )
        except TimeoutError as error:
            raise httpx2.ConnectTimeout(f"no connection within {self._timeout:g} seconds") from error
        except OSError as error:
            raise httpx2.ConnectError(str(error)) from error
        return connection

    async def aclose(self) -> None:
        """Close the connections that no request is using."""
        while self._idle:
            self._idle.pop().close()


class _Connection(asyncio.Protocol):
    """One connection, which takes one request after the other."""

    def __init__(self) -> None:
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
        self._transport: asyncio.Transport | None = None
        self._unread = bytearray()
        self._over = False
        self._error: Exception | None = None
        self._news: asyncio.Future[None] | None = None
        self._asked = False
        self.used = 0.0
        """When its last answer was read, by `time.monotonic`."""

    @property
    def open(self) -> bool:
        """Whether it can take a request."""
        return self._transport is not None and not self._over and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._asked:
            self.close()  # nobody asked: it would be read as the answer to the next request
            return
        self._unread += data
        if len(self._unread) > MOST_UNREAD and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._over = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._over, self._error = True, exc
        self._wake()

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def ask(self, request: httpx2.Request) -> h11.Response:
        """Send ``request``, and the head of its answer."""
        assert self._transport is not None
        self._asked = True
        target, body = request.url.raw_path, await request.aread()
        try:
            head = self._protocol.send(h11.Request(method=request.method, target=target, headers=request.headers.raw))
            content = self._protocol.send(h11.Data(body)) if body else b""
            self._protocol.send(h11.EndOfMessage())
        except h11.LocalProtocolError as error:
            raise httpx2.LocalProtocolError(str(error)) from error
        self._transport.write((head or b"") + (content or b""))
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                return event

    async def body(self) -> AsyncIterator[bytes]:
        """The rest of the answer as it comes."""
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def _next(self) -> object:
        while True:
            try:
                event = self._protocol.next_event()
                if event is not h11.NEED_DATA:
                    return event
                self._protocol.receive_data(await self._more())
            except h11.RemoteProtocolError as error:
                raise httpx2.RemoteProtocolError(str(error)) from error

    async def _more(self) -> bytes:
        """Bytes that were not read yet; none at the end."""
        while not self._unread:
            if self._error is not None:
                raise httpx2.ReadError(str(self._error)) from self._error
            if self._over:
                if self._protocol.their_state is h11.SEND_RESPONSE:
                    raise httpx2.RemoteProtocolError("the server hung up without an answer")
                return b""
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        data = bytes(self._unread)
        self._unread.clear()
        if self._transport is not None:
            self._transport.resume_reading()
        return data

    def finish(self) -> bool:
        """Whether it can take another request now; else it is closed."""
        whole = self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE
        if whole and self.open and not self._unread and not self._protocol.trailing_data[0]:
            self._protocol.start_next_cycle()
            self._asked, self.used = False, time.monotonic()
            return True
        self.close()
        return False

    def close(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()


class _Body(httpx2.AsyncByteStream):
    """An answer's body. Once it is read to its end, its connection waits among the ``idle`` ones."""

    def __init__(self, connection: _Connection, idle: list[_Connection]) -> None:
        self._connection: _Connection | None = connection
        self._idle = idle

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._connection is not None:
            async for piece in self._connection.body():
                yield piece

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and connection.finish():
            self._idle.append(connection)
