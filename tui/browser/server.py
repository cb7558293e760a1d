"""The server of `housequest serve`: who may open a window, and how many there may be.

Its page and the terminal in that are textual-serve's. Whoever shows the token is let in, and only under a name of this server:
a page of another site can neither open a window nor read one, even if its name comes to mean this machine (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

import textual_serve
from aiohttp import web
from jinja2 import Environment, FileSystemLoader

from housequest.agent.integrations.listening import serve_until_interrupted
from housequest.tui.browser.window import show

LONGEST_MESSAGE = 1 << 20
"""Bytes that a page may send at once: a large paste."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_PAGE = Path(str(resources.files(textual_serve)))

_NO_NAME = "This server does not go by that name. Open the address that it printed, or start it with --url and the name."
_NO_TOKEN = "This screen opens at the address that housequest printed when it was started, with the token in it."

_FULL = """\
<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="3"><title>housequest</title>
<p>All windows are in use; there are {most}. Close one, and this page goes on by itself.</p>
<p>More windows: start it with <code>housequest serve --windows N</code>.</p>
"""


class BrowserServer:
    """Runs ``command`` in each window, in ``most`` at once.

    ``url`` is where browsers find it; without one, wherever they say they have found it. ``host`` is what it listens at.
    """

    def __init__(self, command: Sequence[str], host: str, port: int, *, most: int, url: str | None = None) -> None:
        self.token = secrets.token_urlsafe(24)
        self._command = command
        self._host = host
        self._port = port
        self._most = most
        self._url = url
        self._base = url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
        public = urlsplit(self._base)
        self._names = {"localhost", host.lower(), public.hostname}
        self._origin = f"{public.scheme}://{public.netloc}"
        self._windows: set[asyncio.Task[Any]] = set()
        self._known: WeakSet[asyncio.Transport] = WeakSet()
        self._pages = Environment(loader=FileSystemLoader(_PAGE / "templates"), autoescape=True)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"{self._base}/?token={self.token}"

    async def serve(self, announce: Callable[[], None]) -> None:
        """Serve until interrupted; ``announce`` is called once browsers are answered.

        Raises ``ConfigurationError`` if the address is not available.
        """
        app = web.Application(middlewares=[self._guarded])
        app.add_routes([web.get("/", self._page), web.get("/ws", self._window), web.static("/static", _PAGE / "static")])
        app.on_shutdown.append(self._close)
        await serve_until_interrupted(app, self._host, self._port, lambda _: announce(), known=self._known)

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not self._is_own(request.host):
            return _refused(421, _NO_NAME)
        if request.headers.get("Origin") not in {None, f"http://{request.host}", f"https://{request.host}", self._origin}:
            return _refused(403, "This page is not of housequest.")
        cookie = f"housequest-{self._port}"
        shown = request.query.get("token") or request.cookies.get(cookie) or ""
        if not hmac.compare_digest(shown.encode("utf-8", "replace"), self.token.encode()):
            return _refused(403, _NO_TOKEN)
        if request.transport is not None:
            self._known.add(request.transport)
        answer = await handler(request)
        if isinstance(answer, web.Response):
            secure = self._base.startswith("https:")
            answer.set_cookie(cookie, self.token, httponly=True, samesite="Strict", secure=secure)
        return answer

    def _is_own(self, host: str) -> bool:
        """Whether a browser was told to come here by this name. An address is nobody else's name."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return name in self._names or bool(ipaddress.ip_address(name))
        except ValueError:
            return False

    async def _page(self, request: web.Request) -> web.Response:
        headers = {
            "Cache-Control": "no-store",
            # The page asks another site for a font; the terminal's own is here, and nobody else need know who plays.
            "Content-Security-Policy": "style-src 'self' 'unsafe-inline'; font-src 'self' data:; frame-ancestors 'none'",
            "Referrer-Policy": "no-referrer",
        }
        if len(self._windows) >= self._most:
            return web.Response(text=_FULL.format(most=self._most), status=503, headers=headers, content_type="text/html")
        url = self._url or f"http://{request.host}"
        text = self._pages.get_template("app_index.html").render(
            app_websocket_url=f"ws{url.removeprefix('http')}/ws",
            application={"name": "housequest"},
            config={"static": {"url": f"{url}/static/"}},
            font_size=_number(request, "fontsize", 16),
        )
        return web.Response(text=text, headers=headers, content_type="text/html")

    async def _window(self, request: web.Request) -> web.StreamResponse:
        if len(self._windows) >= self._most:
            return _refused(503, f"All {self._most} windows are in use.")
        task = asyncio.current_task()
        assert task is not None
        self._windows.add(task)
        try:
            socket = web.WebSocketResponse(heartbeat=15.0, timeout=1.0, max_msg_size=LONGEST_MESSAGE)
            await socket.prepare(request)
            await show(self._command, socket, (_number(request, "width", 80), _number(request, "height", 24)))
        finally:
            self._windows.discard(task)
        return socket

    async def _close(self, _: web.Application) -> None:
        """End all windows."""
        windows = list(self._windows)
        for one in windows:
            one.cancel()
        if windows:
            await asyncio.wait(windows)


def _number(request: web.Request, name: str, default: int) -> int:
    given = request.query.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else default


def _refused(status: int, text: str) -> web.Response:
    answer = web.Response(status=status, text=f"{text}\n")
    answer.force_close()
    return answer
