"""The Model Context Protocol over HTTP, for clients on this machine, which need not be polite. Needs the extra ``mcp``.

Nothing is kept of a client but its games. A session is a name that the client shows again, so none has to be ended, and two
calls with the same id never meet. A connection that keeps the server waiting is closed, and so is the oldest of too many.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from collections.abc import Callable
from typing import ClassVar

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from housequest.agent.integrations.games import GameHost, HostOptions
from housequest.agent.integrations.mcp.sdk import SESSION_PROTOCOLS, http_app
from housequest.agent.integrations.mcp.server import SESSION_HEADER, log_plainly, make_server
from housequest.worlds.errors import ConfigurationError

HOST = "127.0.0.1"
"""The only address listened on: HTTP clients must be on the same machine."""

PATIENCE = 30
"""Seconds in which a client must have sent its next request, to the last byte, or read on in a long answer."""

MOST_WAITING = 64
"""Connections on which the server waits for a request at once. The limit on open files of most systems lies above 250."""

LARGEST_REQUEST = 256 * 1024
"""Bytes: a hundred times what a command needs."""


async def serve_http(options: HostOptions, port: int, announce: Callable[[str], None], *, patience: int = PATIENCE) -> None:
    """Serve clients of this machine over streamable HTTP until interrupted; ``announce`` is called with the address.

    ``port`` 0 takes a free one. Raises ``ConfigurationError`` if the port is not available.
    """
    log_plainly()
    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        raise ConfigurationError(f"--http: port {port} of {HOST} is not available: {error.strerror}.") from None
    with listening:
        async with GameHost(options) as games:
            app = http_app(make_server(games))
            config = uvicorn.Config(
                _guarded(app),
                http=_Connection,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                backlog=MOST_WAITING,
                limit_concurrency=2 * MOST_WAITING,
                timeout_keep_alive=patience,
                timeout_graceful_shutdown=3,
            )
            address = f"http://{HOST}:{listening.getsockname()[1]}/mcp"
            await _Server(config, lambda: announce(address)).serve(sockets=[listening])


class _Server(uvicorn.Server):
    """uvicorn's server, which tells when it has started: Ctrl-C before that would break off its start halfway."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell()


class _Connection(H11Protocol):
    """One connection, closed where it keeps the server waiting, or asks far ahead of the answers.

    uvicorn itself waits for ever for the rest of a request, and for a client that reads no answers, and keeps all that it asks.
    """

    _waiting: ClassVar[dict[_Connection, asyncio.TimerHandle]] = {}
    """When each connection that the server waits for is closed; the oldest first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if len(self.conn.trailing_data[0]) > LARGEST_REQUEST:
            self.transport.abort()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    def shutdown(self) -> None:
        super().shutdown()
        if self in self._waiting:
            # What may never become a request holds no one up who leaves.
            self.transport.abort()

    def _look(self) -> None:
        """Wait, or stop waiting, for the rest of a request, or until an answer is read."""
        cycle = self.cycle  # None before the first request, though uvicorn declares otherwise
        if cycle and not cycle.more_body and not cycle.response_complete and not self.flow.write_paused:
            self._stop_waiting()
        elif self not in self._waiting and not self.transport.is_closing():
            self._waiting[self] = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)
            if len(self._waiting) > MOST_WAITING:
                oldest = next(iter(self._waiting))
                oldest._stop_waiting()
                oldest.transport.abort()

    def _stop_waiting(self) -> None:
        if (deadline := self._waiting.pop(self, None)) is not None:
            deadline.cancel()


def _guarded(app: ASGIApp) -> ASGIApp:
    """``app`` for whole requests: no streams to listen to, and a session for each client whose protocol knows sessions."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        if scope["method"] != "POST":
            await Response("Send requests by POST.", 405, {"Allow": "POST"})(scope, receive, send)
            return
        body = bytearray()
        while True:
            part = await receive()
            if part["type"] != "http.request":
                return  # the client left before it had said everything
            body += part.get("body", b"")
            if len(body) > LARGEST_REQUEST:
                await Response("This request is too large.", 413)(scope, receive, send)
                return
            if not part.get("more_body", False):
                break
        try:
            json.loads(body)
        except (ValueError, RecursionError):
            # Version 1 of the SDK takes some of this for a mistake of its own.
            await Response("This request is not JSON.", 400)(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def receive_again() -> Message:
            return whole.pop() if whole else await receive()

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[SESSION_HEADER] = secrets.token_hex(16)
            await send(message)

        shown = Headers(scope=scope)
        begins = shown.get("mcp-protocol-version") in {None, *SESSION_PROTOCOLS} and SESSION_HEADER not in shown
        await app(scope, receive_again, send_named if begins else send)

    return answer
