"""The server behind ``housequest serve``: textual-serve, which answers to the pages that it sent itself and to no others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Browsers(Server):
    """Runs the command once for each browser window.

    A page of another site that is open in the same browser could otherwise connect here too, and play on this machine.
    """

    async def _make_app(self) -> web.Application:
        made = await super()._make_app()
        own = {_origin(self.public_url), *(f"http://{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))}

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            origin = request.headers.get("Origin")
            if origin is not None and origin not in own:
                raise web.HTTPForbidden(text="This page is not of housequest.")
            return await handler(request)

        made.middlewares.append(guarded)
        return made

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing: the command has said where the screen is."""
        del app

    def initialize_logging(self) -> None:
        """Leave the log to the errors alone."""


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
