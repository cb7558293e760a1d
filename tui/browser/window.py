"""One window: a process with a screen, and the socket of the browser that shows it.

The two speak Textual's protocol: a letter, four bytes of length, then what is drawn or typed (``D``), or JSON (``M``).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress

from aiohttp import WSCloseCode, WSMsgType, web

GRACE = 2.0
"""Seconds in which a process must end by itself."""

WIDEST, TALLEST = 500, 200
"""The largest screen, in cells."""

_READY = b"__GANGLION__\n"


async def show(command: Sequence[str], socket: web.WebSocketResponse, size: tuple[int, int]) -> None:
    """Run ``command`` on the screen behind ``socket`` until either ends; nothing of the process is left then."""
    columns, rows = fitted(*size)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        env={
            **os.environ,
            "TEXTUAL_DRIVER": "housequest.tui.browser.web_driver:WindowDriver",
            "TEXTUAL_COLOR_SYSTEM": "truecolor",
            "COLUMNS": str(columns),
            "ROWS": str(rows),
        },
        start_new_session=True,  # an interrupt at the terminal is for the server; and what the process starts ends with it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    sides = (
        asyncio.create_task(_draw(process.stdout, socket)),
        asyncio.create_task(_listen(socket, process.stdin)),
    )
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
        await asyncio.gather(_end(process), socket.close())


async def _draw(screen: asyncio.StreamReader, socket: web.WebSocketResponse) -> None:
    """Send what the process draws, until it ends."""
    while await screen.readline() not in {_READY, b""}:
        pass  # what it says before there is a screen
    with suppress(asyncio.IncompleteReadError):
        while True:
            header = await screen.readexactly(5)
            payload = await screen.readexactly(int.from_bytes(header[1:], "big"))
            if header[:1] == b"D":
                await socket.send_bytes(payload)


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
    """``payload`` as it is sent to a process."""
    return kind + len(payload).to_bytes(4, "big") + payload


def fitted(width: int, height: int) -> tuple[int, int]:
    """The nearest size that a screen may have."""
    return min(max(width, 1), WIDEST), min(max(height, 1), TALLEST)


async def _end(process: Process) -> None:
    """End a process. The app closes its game; what does not end by itself is killed with all that it started."""
    assert process.stdin is not None
    process.stdin.close()
    with suppress(ProcessLookupError):
        # `Process.terminate` looks first whether it has ended, and could so take its end from the loop, which warns then.
        os.kill(process.pid, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.communicate(), GRACE)
    except TimeoutError:
        await _kill(process)
    except asyncio.CancelledError:
        await _kill(process)
        raise


async def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()
