"""A real browser for tests and pictures: chromium without a window, by its own DevTools protocol.

Read the terminal of a page cell by cell; keys go through the browser, which takes its own shortcuts.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
from rich.color import Color
from rich.style import Style

from housequest.worlds.systems import kill_group, own_group
from scripts.film import Cell

PATIENCE = 60.0
"""The seconds to wait for chromium."""
PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""The program; None if there is none here."""
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *(
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--remote-debugging-port=0",
    ),
)
# textual-serve hides its terminal; this catches it as it is made.
_TERMINAL = """
Object.defineProperty(Object.prototype, "bufferedBytes", {
  configurable: true,
  set(value) {
    Object.defineProperty(this, "bufferedBytes", {value, writable: true, enumerable: true, configurable: true});
    window.shownTerminal = this.terminal;
  },
});
"""
_TEXT = """
(() => {
  const shown = window.shownTerminal && window.shownTerminal.buffer.active;
  if (!document.body) return "";
  if (!shown || document.body.classList.contains("-closed")) return document.body.innerText;
  return Array.from({length: window.shownTerminal.rows}, (_, row) => shown.getLine(row).translateToString(true)).join("\\n");
})()
"""
_CELLS = """
(() => {
  const {buffer: {active}, rows, cols} = window.shownTerminal;
  const colour = (cell, side) => {
    const number = cell[`get${side}Color`]();
    return cell[`is${side}RGB`]() ? number : cell[`is${side}Palette`]() ? -2 - number : -1;
  };
  return Array.from({length: rows}, (_, row) => Array.from({length: cols}, (_, column) => {
    const cell = active.getLine(row).getCell(column);
    const marks = [cell.isBold(), cell.isItalic(), cell.isUnderline(), cell.isDim(), cell.isInverse()].map(Boolean);
    return [cell.getWidth() ? cell.getChars() || " " : "", colour(cell, "Fg"), colour(cell, "Bg"), ...marks];
  }));
})()
"""
_NAMED = {
    "Enter": (13, "\r"),
    "Tab": (9, "\t"),
    "Backspace": (8, ""),
    "Escape": (27, ""),
    "PageUp": (33, ""),
    "PageDown": (34, ""),
    "End": (35, ""),
    "Home": (36, ""),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
    "Delete": (46, ""),
    **{f"F{number}": (111 + number, "") for number in range(1, 13)},
}
"""Keys by their names on the web, with number and text."""
_MODIFIERS = {"Alt": 1, "Control": 2, "Shift": 8}


class Chromium:
    """The browser. `chromium` makes it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}

    async def listen(self) -> None:
        """Hand out the browser's answers until it is gone."""
        async for message in self._socket:
            answer = json.loads(message.data)
            asked = self._asked.pop(answer.get("id"), None)
            if asked is not None and not asked.done():
                if "error" in answer:
                    asked.set_exception(RuntimeError(answer["error"]["message"]))
                else:
                    asked.set_result(answer["result"])

    async def call(self, method: str, session: str | None = None, **parameters: object) -> Any:
        """Call a method of the protocol. Raises ``RuntimeError`` if the browser refuses it, ``TimeoutError``."""
        number = next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        sent = {"id": number, "method": method, "params": parameters, **({} if session is None else {"sessionId": session})}
        await self._socket.send_str(json.dumps(sent))
        return await asyncio.wait_for(self._asked[number], PATIENCE)

    @asynccontextmanager
    async def person(self) -> AsyncGenerator[str]:
        """Somebody with their own cookies and clipboard; `Window.open` opens their windows."""
        found = await self.call("Target.createBrowserContext")
        try:
            yield found["browserContextId"]
        finally:
            await self.call("Target.disposeBrowserContext", **found)

    async def open(self, url: str, person: str | None = None, size: tuple[int, int] = (1280, 800)) -> Window:
        """Open a window of ``person`` in so many pixels."""
        whose = {} if person is None else {"browserContextId": person}
        target = (await self.call("Target.createTarget", url="about:blank", **whose))["targetId"]
        session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        window = Window(self, target, session)
        await window.call("Page.enable")
        await window.call("Page.addScriptToEvaluateOnNewDocument", source=_TERMINAL)
        await window.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await window.resize(*size)
        await window.go(url)
        return window


class Window:
    """A page of the browser."""

    def __init__(self, browser: Chromium, target: str, session: str) -> None:
        self._browser, self._target, self._session = browser, target, session

    async def call(self, method: str, **parameters: object) -> Any:
        """Call a method of the protocol for this page."""
        return await self._browser.call(method, self._session, **parameters)

    async def go(self, url: str) -> None:
        """Go to an address."""
        await self.call("Page.navigate", url=url)

    async def evaluate(self, script: str) -> Any:
        """The value of a script in the page."""
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"].get("exception", {}).get("description")))
        return found["result"].get("value")

    async def text(self) -> str:
        """The text of the page's terminal, or of the page if it has none."""
        return str(await self.evaluate(_TEXT))

    async def rows(self) -> list[list[Cell]]:
        """The cells of the page's terminal."""
        return [[_cell(cell) for cell in row] for row in await self.evaluate(_CELLS)]

    async def until(self, pattern: str) -> str:
        """Wait until the page's text, with one space between words, has this ``pattern``. Raises ``TimeoutError``."""
        shown = ""
        try:
            async with asyncio.timeout(PATIENCE):
                while not re.search(pattern, " ".join(shown.split())):
                    with suppress(RuntimeError):  # between two pages
                        shown = await self.text()
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise TimeoutError(f"{pattern} is not shown, but:\n{shown}") from None
        return shown

    async def click(self, selector: str) -> None:
        """Click the first thing that fits."""
        x, y = await self.evaluate(
            f"(() => {{const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def press(self, *keys: str) -> None:
        """Press keys by their names on the web, such as ``a``, ``Enter`` or ``Control+q``."""
        for key in keys:
            *held, name = key.split("+") if len(key) > 1 else [key]
            modifiers = sum(_MODIFIERS[one] for one in held)
            number, written = _NAMED.get(
                name,
                (ord(name.upper()[0]) if name.isalnum() or name == " " else 0, "" if {"Control", "Alt"} & set(held) else name),
            )
            event: Mapping[str, object] = {"key": name, "modifiers": modifiers, "windowsVirtualKeyCode": number}
            if name in _NAMED:
                event = {**event, "code": name}
            more = {"commands": ["paste"]} if key == "Control+v" else {}
            await self.call("Input.dispatchKeyEvent", type="keyDown", text=written, **event, **more)
            await self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    async def type(self, text: str) -> None:
        """Type ``text``, character by character."""
        await self.press(*text)

    async def resize(self, width: int, height: int) -> None:
        """Give the page so many pixels."""
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    async def picture(self) -> bytes:
        """A PNG of the page."""
        return base64.b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])

    async def close(self) -> None:
        """Close the window, as its button would."""
        await self._browser.call("Target.closeTarget", targetId=self._target)


def _cell(cell: list[Any]) -> Cell:
    text, ink, paper, bold, italic, underline, dim, inverse = cell
    marks = {"bold": bold, "italic": italic, "underline": underline, "dim": dim, "reverse": inverse}
    return text, Style(color=_colour(ink), bgcolor=_colour(paper), **marks)


def _colour(number: int) -> Color | None:
    if number == -1:
        return None
    return Color.from_ansi(-2 - number) if number < 0 else Color.parse(f"#{number:06x}")


@asynccontextmanager
async def chromium() -> AsyncGenerator[Chromium]:
    """Start the browser with an empty profile. Raises ``FileNotFoundError`` if there is none here."""
    if PROGRAM is None:
        raise FileNotFoundError("There is no chromium here.")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        nothing = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *(PROGRAM, *_FLAGS, f"--user-data-dir={folder}", "about:blank"),
            stdin=nothing,
            stdout=nothing,
            stderr=asyncio.subprocess.PIPE,
            **own_group(),
        )
        try:
            # It says where it listens, and then goes on.
            assert process.stderr is not None
            async with asyncio.timeout(PATIENCE):
                while (found := re.search(rb"listening on (ws://\S+)", line := await process.stderr.readline())) is None:
                    if not line:
                        raise ChildProcessError("chromium does not start")
            silent = asyncio.ensure_future(process.stderr.read())
            async with (
                aiohttp.ClientSession() as http,
                http.ws_connect(found[1].decode(), max_msg_size=0) as socket,
            ):
                browser = Chromium(socket)
                listening = asyncio.ensure_future(browser.listen())
                yield browser
                with suppress(TimeoutError, ConnectionError):
                    await browser.call("Browser.close")
                listening.cancel()
                silent.cancel()
        finally:
            kill_group(process.pid)
            await process.wait()
