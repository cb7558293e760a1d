"""The server of `housequest serve`: it says who may open a window and how many there may be, and joins each to its process.

Its page and terminal are textual-serve's. It lets in requests with the token, and only under a name of this server
(`housequest.agent.integrations.names`). A process and its browser's socket speak Textual's protocol: a letter, four bytes of
length, then drawn or typed bytes (``D``), or JSON (``M``), such as a picture to lay over the terminal (`PictureLayer`).
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any
from weakref import WeakSet

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web
from jinja2 import Environment, FileSystemLoader

from housequest.agent.integrations.listening import Handler, guard, refusal, serve_until_interrupted
from housequest.agent.integrations.names import OwnNames
from housequest.worlds.systems import kill_group, own_group

GRACE = 2.0
"""Seconds in which a process with a screen must end by itself."""
WIDEST, TALLEST = 500, 200
"""The largest screen, in cells."""
_READY = b"__GANGLION__\n"
LONGEST_MESSAGE = 1 << 20
"""Bytes that a page may send at once: a large paste."""
MOST_POSTED = 1 << 12
"""The most bytes of the only form that is posted, which takes a seat."""
_PAGE = Path(str(resources.files(textual_serve)))
_SCRIPT = "page.js"  # is added to its page
_OURS = {
    "<head>": "<head><title>housequest</title>",
    "Session ended.": "This window has ended.",
    ">Restart<": ">Open it again<",
}
"""The changes to textual-serve's page."""
_NO_TOKEN = "This screen opens at the address that housequest printed when it was started, with the token in it."
HEADERS = {
    "Cache-Control": "no-store",
    # The page would ask another site for a font, which would tell it who plays; the terminal's font is here.
    "Content-Security-Policy": "style-src 'self' 'unsafe-inline'; font-src 'self' data:; frame-ancestors 'none'",
    # Not no-referrer: the form that takes a seat would then have no origin.
    "Referrer-Policy": "same-origin",
}
_FULL = """\
<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="3"><title>housequest</title>
<p>All windows are in use; there are {most}. Close one, and this page goes on by itself.</p>
<p>More windows: start it with <code>housequest serve --windows N</code>.</p>
"""


async def show(
    command: Sequence[str], socket: web.WebSocketResponse, size: tuple[int, int], variables: Mapping[str, str]
) -> None:
    """Run ``command`` with these environment ``variables`` on the screen behind ``socket`` until either ends; then end the
    whole process.
    """
    columns, rows = fitted(*size)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        env={
            **os.environ,
            **variables,
            "TEXTUAL_DRIVER": "housequest.tui.browser.web_driver:WindowDriver",
            "TEXTUAL_COLOR_SYSTEM": "truecolor",
            "COLUMNS": str(columns),
            "ROWS": str(rows),
        },
        **own_group(),  # an interrupt at the terminal is for the server; and what the process starts ends with it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    begun = asyncio.Event()
    sides = (asyncio.create_task(_draw(process.stdout, socket, begun)), asyncio.create_task(_listen(socket, process.stdin)))
    try:
        done, _ = await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
        for side in done:
            side.result()
    except ConnectionError:
        pass  # the browser or the process is gone, which is how a window ends
    finally:
        for side in sides:
            side.cancel()
        await asyncio.gather(*sides, return_exceptions=True)
        await asyncio.gather(_end(process, GRACE if begun.is_set() else 0.0), socket.close())


async def _draw(screen: asyncio.StreamReader, socket: web.WebSocketResponse, begun: asyncio.Event) -> None:
    """Send what the process draws, until it ends; its screen has ``begun`` once there is one."""
    while await screen.readline() not in {_READY, b""}:
        pass  # what it says before there is a screen
    begun.set()
    with suppress(asyncio.IncompleteReadError):
        while True:
            header = await screen.readexactly(5)
            payload = await screen.readexactly(int.from_bytes(header[1:], "big"))
            if header[:1] == b"D":
                await socket.send_bytes(payload)
            elif header[:1] == b"M" and (told := json.loads(payload)).get("type") == "picture":
                await socket.send_json(["picture", told])


async def _listen(socket: web.WebSocketResponse, keyboard: asyncio.StreamWriter) -> None:
    """Hand the process what the browser sends, until it leaves or sends what no page of ours does."""
    async for message in socket:
        try:
            frame = json.loads(message.data) if message.type is WSMsgType.TEXT else None
            match frame:
                case ["ping", str(text)]:
                    await socket.send_json(["pong", text])
                case ["stdin", str(text)]:
                    keyboard.write(packet(b"D", text.encode()))
                case ["resize", {"width": int(width), "height": int(height)}]:
                    columns, rows = fitted(width, height)
                    keyboard.write(packet(b"M", json.dumps({"type": "resize", "width": columns, "height": rows}).encode()))
                case ["focus" | "blur" as change]:
                    keyboard.write(packet(b"M", json.dumps({"type": change}).encode()))
                case _:
                    raise ValueError
        except (ValueError, RecursionError):
            await socket.close(code=WSCloseCode.UNSUPPORTED_DATA, message=b"No page of housequest sends this.")
            return
        await keyboard.drain()


def packet(kind: bytes, payload: bytes) -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload


def fitted(width: int, height: int) -> tuple[int, int]:
    """The nearest size that a screen may have."""
    return min(max(width, 1), WIDEST), min(max(height, 1), TALLEST)


async def _end(process: Process, grace: float) -> None:
    """End a process. The app closes its game once its input has ended; if that takes more than ``grace`` seconds, it is killed
    with all that it started.
    """
    assert process.stdin is not None
    process.stdin.close()
    with suppress(TimeoutError):
        try:
            await asyncio.wait_for(process.communicate(), grace)
        except (TimeoutError, asyncio.CancelledError):
            kill_group(process.pid)
            await process.communicate()
            raise


class BrowserServer:
    """Runs ``command`` in each window, in ``most`` at once."""

    def __init__(self, command: Sequence[str], names: OwnNames, port: int, *, most: int) -> None:
        self.token = secrets.token_urlsafe(24)
        self.command = command
        self.names = names
        self.port = port
        self.cookie = f"housequest-{port}"
        self._most = most
        self.base = names.address(port)
        self._windows: set[asyncio.Task[Any]] = set()
        self._known: WeakSet[asyncio.Transport] = WeakSet()
        self._script = Path(__file__).with_name(_SCRIPT).read_text("utf-8")
        self._pages = Environment(loader=FileSystemLoader(_PAGE / "templates"), autoescape=True)
        self.app = web.Application(middlewares=[guard(names), self._admitted], client_max_size=MOST_POSTED)
        self.app.add_routes([web.get("/", self.page), web.get("/ws", self._window), web.static("/static", _PAGE / "static")])
        self.app.on_shutdown.append(self._close)

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        return f"{self.base}/?token={self.token}"

    async def serve(self, announce: Callable[[], None], over: asyncio.Event | None = None) -> None:
        """Serve until interrupted, or ``over``; ``announce`` is called once browsers are answered. Raises
        ``ConfigurationError``.
        """
        known = self._known
        await serve_until_interrupted(self.app, self.names.host, self.port, lambda _: announce(), known=known, over=over)

    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request with the token, or with the page's cookie."""
        shown = request.query.get("token") or request.cookies.get(self.cookie) or ""
        if not hmac.compare_digest(shown.encode("utf-8", "replace"), self.token.encode()):
            return refusal(403, _NO_TOKEN)
        self.keep(request)
        answer = await handler(request)
        if isinstance(answer, web.Response):
            self.set_cookie(answer, self.token)
        return answer

    def variables_of(self, request: web.Request) -> Mapping[str, str]:
        """The environment variables for the process of this window."""
        del request
        return {}

    def keep(self, request: web.Request) -> None:
        """Never close the connection of ``request`` as a stranger's."""
        if request.transport is not None:
            self._known.add(request.transport)

    def set_cookie(self, answer: web.Response, secret: str, samesite: str = "Strict") -> None:
        """Let a browser show ``secret`` from now on."""
        secure = self.base.startswith("https:")
        answer.set_cookie(self.cookie, secret, httponly=True, samesite=samesite, secure=secure)

    @web.middleware
    async def _admitted(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        return await self.admit(request, handler)

    async def page(self, request: web.Request) -> web.Response:
        """The page with the screen."""
        if len(self._windows) >= self._most:
            return web.Response(text=_FULL.format(most=self._most), status=503, headers=HEADERS, content_type="text/html")
        url = self.base if self.names.url else f"http://{request.host}"
        text = self._pages.get_template("app_index.html").render(
            app_websocket_url=f"ws{url.removeprefix('http')}/ws",
            application={"name": "housequest"},
            config={"static": {"url": f"{url}/static/"}},
            font_size=_number(request, "fontsize", 16),
        )
        text = text.replace("</body>", f"<script>\n{self._script}</script>\n</body>")
        for old, new in _OURS.items():
            text = text.replace(old, new)
        return web.Response(text=text, headers=HEADERS, content_type="text/html")

    async def _window(self, request: web.Request) -> web.StreamResponse:
        if len(self._windows) >= self._most:
            return refusal(503, f"All {self._most} windows are in use.")
        task = asyncio.current_task()
        assert task is not None
        self._windows.add(task)
        try:
            socket = web.WebSocketResponse(heartbeat=15.0, timeout=1.0, max_msg_size=LONGEST_MESSAGE)
            await socket.prepare(request)
            size = _number(request, "width", 80), _number(request, "height", 24)
            await show(self.command, socket, size, self.variables_of(request))
        finally:
            self._windows.discard(task)
        return socket

    async def _close(self, _: web.Application) -> None:
        windows = list(self._windows)
        for one in windows:
            one.cancel()
        if windows:
            await asyncio.wait(windows)


def _number(request: web.Request, name: str, default: int) -> int:
    given = request.query.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else default
