"""Serves an aiohttp application under its own names until it is interrupted. Unknown connections never keep others out."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Container

from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.typedefs import Middleware

from housequest.agent.integrations.names import OwnNames
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.systems import on_signals

PATIENCE = 20.0
"""Seconds that a kept connection may be idle between requests."""
MOST_STRANGERS = 64
"""The most unknown connections at once; beyond that, the oldest is closed."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def guard(names: OwnNames) -> Middleware:
    """A middleware, to be the first, that refuses requests under other names and from pages of others."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        refused = names.refusal(request.headers.getall("Host", ()), request.headers.getall("Origin", ()))
        return await handler(request) if refused is None else refusal(*refused)

    return guarded


def refusal(status: int, text: str) -> web.Response:
    """An answer after which the connection is closed."""
    answer = web.Response(status=status, text=f"{text}\n")
    answer.force_close()
    return answer


async def serve_until_interrupted(
    app: web.Application,
    host: str,
    port: int,
    announce: Callable[[int], None],
    *,
    known: Container[asyncio.Transport],
    strangers: int = MOST_STRANGERS,
    over: asyncio.Event | None = None,
) -> None:
    """Serve ``app`` until Ctrl-C or SIGTERM, or ``over`` is set; ``announce`` gets the port once the server is up. ``port`` 0
    takes a free one. ``known`` connections are never closed as strangers. Raises ``ConfigurationError`` if the
    address is taken.
    """
    log = logging.getLogger("housequest.serve")
    # Malformed HTTP is the client's mistake: it is answered, but not logged.
    log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))
    runner = web.AppRunner(app, access_log=None, logger=log, keepalive_timeout=PATIENCE, shutdown_timeout=1.0)
    await runner.setup()
    server = runner.server
    assert server is not None

    def connect() -> asyncio.Protocol:
        unknown = [one for one in server.connections if one.transport is not None and one.transport not in known]
        if len(unknown) >= strangers:
            unknown[0].force_close()
        return server()

    loop = asyncio.get_running_loop()
    interrupted = over or asyncio.Event()
    with on_signals(interrupted.set, signal.SIGINT, signal.SIGTERM):
        try:
            try:
                listening = await loop.create_server(connect, host, port, backlog=strangers)
            except OSError as error:
                raise ConfigurationError(f"{host}:{port} is not available: {error.strerror}.") from None
            async with listening:
                announce(listening.sockets[0].getsockname()[1])
                await interrupted.wait()
        finally:
            await runner.cleanup()
