"""Pictures in real pixels: by Unicode placeholders of kitty's graphics protocol, as sixels, or by a browser's page.

A picture is sent once, under a number. In kitty, cells of text mark its place: their colour gives the number, and two
diacritics the row and column. So a picture is scrolled, cut and covered like text. The terminal scales it to its cells, so half
of the pixels suffice. See https://sw.kovidgoyal.net/kitty/graphics-protocol/. A page, or a terminal that knows sixels, lays a
picture over the same drawing in blocks, with holes for its names (`PictureLayer`). Text wipes out sixels, so they are sent
again with each frame that paints there, and only if the terminal shows whole frames
(https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036), or they would flicker.
tmux passes on what comes in envelopes (`through_tmux`), and takes the cells for text.
"""

from __future__ import annotations

import os
import re
import sys
from base64 import standard_b64encode
from collections.abc import Iterator, Sequence
from itertools import chain, count
from random import Random
from time import monotonic
from typing import Literal, NamedTuple

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.driver import Driver
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from housequest.tui.widgets.blocks import Overlay, by_line

Pixels = Literal["auto", "kitty", "sixel", "blocks"]
"""The way to draw: in pixels if the terminal shows them, in pixels of one kind in any case, or in blocks."""
_PLACEHOLDER = "\U0010eeee"
_RANGES = (
    "305 30d-30e 310 312 33d-33f 346 34a-34c 350-352 357 35b 363-36f 483-487 592-595 597-599 59c-5a1 5a8-5a9 5ab-5ac 5af 5c4 "
    "610-617 657-65b 65d-65e 6d6-6dc 6df-6e2 6e4 6e7-6e8 6eb-6ec 730 732-733 735-736 73a 73d 73f-741 743 745 747 749-74a "
    "7eb-7f1 7f3 816-819 81b-823 825-827 829-82d 951 953-954 f82-f83 f86-f87 135d-135f 17dd 193a 1a17 1a75-1a7c 1b6b 1b6d-1b73 "
    "1cd0-1cd2 1cda-1cdb 1ce0 1dc0-1dc1 1dc3-1dc9 1dcb-1dcc 1dd1-1de6 1dfe 20d0-20d1 20d4-20d7 20db-20dc 20e1 20e7 20e9 20f0 "
    "2cef-2cf1 2de0-2dff a66f"
)
"""The protocol's diacritics without its last 51: marks above a letter in Unicode 6 that fuse with none."""
_NUMBERS = tuple(
    chr(code)
    for first, _, last in (span.partition("-") for span in _RANGES.split())
    for code in range(int(first, 16), int(last or first, 16) + 1)
)
LARGEST = len(_NUMBERS)
"""The most rows and columns of a picture."""
_CHUNK = 4096  # characters of a picture's data in one command
NUDGE = "\x1b[?2026h\x1b[?2026l"
"""An empty frame: kitty 0.48 shows a picture only in the frame after the one with its cells."""
NUDGES = (0.03, 0.2)
"""The seconds until such frames, the second for a terminal that was busy."""
_ids = count(Random().randrange(1 << 16, 1 << 23))
_ASKED = 31  # the number of the question's picture
_PATIENCE = 10.0  # seconds for a terminal that has answered before
_PASSED = 0.25  # seconds for a terminal behind tmux, which mostly passes nothing on

_ANYBODY = "\x1b[6n"
"""Asked first: Textual would take late answers to the rest for keys, but not to this."""
_PICTURES = (
    f"\x1b[6n\x1b_Gi={_ASKED},s=1,v=1,f=24,a=q;AAAA\x1b\\"
    # A placeholder's picture does not move the cursor. Terminals that do not know placeholders show it, and move the cursor.
    f"\x1b_Ga=T,U=1,i={_ASKED},s=1,v=1,f=24,c=3,r=2,q=2;AAAA\x1b\\\x1b[6n"
    f"\x1b_Ga=d,d=I,i={_ASKED},q=2\x1b\\"
)
# On the other screen, so it leaves nothing where text is printed. Every terminal answers the last part, which ends the wait.
_QUESTION = f"\x1b[?1049h\x1b[H{_PICTURES}\x1b[16t\x1b[?2026$p\x1b[?1049l\x1b[c"
_ENDS = re.compile(r"(?<=\x1b\\)")
_CURSOR = re.compile(rb"\x1b\[(\d{1,5};\d{1,5})R")
_KNOWN = re.compile(rb"\x1b_Gi=%d;OK\x1b\\" % _ASKED)
_SIZE = re.compile(rb"\x1b\[6;(\d{1,4});(\d{1,4})t")
_WHOLE_FRAMES = re.compile(rb"\x1b\[\?2026;[123]\$y")
_LAST = re.compile(rb"\x1b\[\?([\d;]*)c")
_SIXEL = b"4"  # in a terminal's last answer
_ANSWERS = re.compile(rb"\x1b\[\d{1,5};\d{1,5}R|\x1b_G[^\x1b]*\x1b\\|\x1b\[6;\d{1,4};\d{1,4}t|\x1b\[\?[\d;]*(?:c|\$y)")


class CellSize(NamedTuple):
    """The pixels of a cell of the screen."""

    width: int = 8
    height: int = 16


class Graphics(NamedTuple):
    """The way pictures get to the screen, and the size of its cells."""

    way: Literal["kitty", "sixel", "page"] = "kitty"
    cell: CellSize = CellSize()
    tmux: bool = False  # whether tmux must pass commands on

    @property
    def drawn(self) -> tuple[int, int]:
        """The drawn pixels of a cell: half of its own, which the screen scales up smoothly."""
        return max(2, (self.cell.width + 1) // 2), max(4, (self.cell.height + 1) // 2)

    def wrapped(self, commands: str) -> str:
        """The ``commands`` as they are written: in tmux, each in its own envelope, since it reads only so much at once."""
        return "".join(map(through_tmux, filter(None, _ENDS.split(commands)))) if self.tmux else commands


_PAGE = Graphics("page", CellSize(12, 24))
"""In a browser; its cells may have 10 x 19 pixels, or twice as many on a fine screen."""


def through_tmux(commands: str) -> str:
    """An envelope, which tmux opens for its terminal if ``allow-passthrough`` is set, and else drops."""
    return "\x1bPtmux;" + commands.replace("\x1b", "\x1b\x1b") + "\x1b\\"


# All in one envelope, or tmux moves the cursor in between. No key has a code like this place of the cursor.
_QUESTION_IN_TMUX = "\x1b[16t" + through_tmux(f"\x1b7\x1b[2;2H{_PICTURES}\x1b8\x1b[c")


class Answered(NamedTuple):
    """The ``graphics`` of a terminal, None for blocks, and the keys that were ``typed`` meanwhile."""

    graphics: Graphics | None = None
    typed: bytes = b""


def read_answers(heard: bytes, wanted: Pixels = "auto") -> Graphics | None:
    """The graphics of a terminal, from its answers; None if it has neither placeholders nor sixels."""
    size, last = _SIZE.search(heard), _LAST.search(heard)
    height, width = (int(size[1]), int(size[2])) if size else (0, 0)
    cell = CellSize(width, height) if width and height else None
    where: list[bytes] = _CURSOR.findall(heard)
    if wanted == "kitty" or (wanted == "auto" and _KNOWN.search(heard) and len(where) == 2 and where[0] == where[1]):
        return Graphics("kitty", cell or CellSize())
    known = last is not None and _SIXEL in last[1].split(b";")[1:] and _WHOLE_FRAMES.search(heard)
    if wanted == "sixel" or (wanted == "auto" and known and cell):
        return Graphics("sixel", cell or CellSize())
    return None


def ask_terminal(wanted: Pixels = "auto", wait: float = 1.0) -> Answered:
    """Find out, before the screen is shown, if the terminal shows pictures in pixels.

    Args:
        wanted: ``kitty`` and ``sixel`` take it for granted, and ask for the size of a cell alone.
        wait: The seconds to wait for a silent terminal.

    Returns:
        The graphics, and the keys that were typed meanwhile.
    """
    driver = os.environ.get("TEXTUAL_DRIVER")
    if wanted == "blocks" or sys.platform == "win32" or os.environ.get("NO_COLOR") or driver:
        return Answered(_PAGE if wanted != "blocks" and driver and "web_driver" in driver else None)
    kind = os.environ.get("TERM", "")
    tmux = bool(os.environ.get("TMUX")) or kind.startswith("tmux")
    if wanted == "auto" and kind.startswith("screen") and not tmux:
        return Answered()  # it would show the question, or parts of it
    heard, typed = _heard(_QUESTION_IN_TMUX, through_tmux(_ANYBODY), _PASSED) if tmux else _heard(_QUESTION, _ANYBODY, wait)
    graphics = read_answers(heard, wanted)
    return Answered(graphics and graphics._replace(tmux=tmux), typed)


def _heard(question: str, anybody: str, wait: float) -> tuple[bytes, bytes]:
    """The answers to the ``question`` that come in time, and everything else, which somebody typed."""
    import select
    import termios
    import tty

    keyboard, screen = sys.stdin.fileno(), sys.stderr.fileno()
    before = termios.tcgetattr(keyboard)

    def asked(question: str, answered: re.Pattern[bytes], wait: float) -> bytes:
        os.write(screen, question.encode())
        said, end = b"", monotonic() + wait
        while not answered.search(said) and select.select([keyboard], [], [], max(0.0, end - monotonic()))[0]:
            more = os.read(keyboard, 1024)
            if not more:
                break
            said += more
        return said

    heard = typed = b""
    try:
        # Without a flush, which would drop typed keys, and with Enter and Ctrl-Q as Textual knows them.
        tty.setcbreak(keyboard, termios.TCSANOW)
        mode = termios.tcgetattr(keyboard)
        mode[tty.IFLAG] &= ~(termios.ICRNL | termios.IXON)
        termios.tcsetattr(keyboard, termios.TCSANOW, mode)
        typed = asked(anybody, _CURSOR, wait)
        if _CURSOR.search(typed):
            # A terminal that answers will answer all, so wait: no answer must be taken for keys.
            heard = asked(question, _LAST, _PATIENCE)
    finally:
        termios.tcsetattr(keyboard, termios.TCSANOW, before)
    return heard, _ANSWERS.sub(b"", typed) + _ANSWERS.sub(b"", heard)


class PlacedPicture(NamedTuple):
    """A picture as the screen gets it: ``sent`` once; the ``lines`` show it or, if it is ``laid``, lie below."""

    id: int
    sent: str
    lines: tuple[Strip, ...]
    laid: bool = False


def place(png: bytes, size: tuple[int, int], overlays: Sequence[Overlay], paper: tuple[int, int, int]) -> PlacedPicture:
    """Place a picture on cells of text.

    Args:
        png: The file; ``paper`` shows through where it is transparent.
        size: The columns and rows of cells, at most `LARGEST` each.
        overlays: Text in place of some cells.
        paper: The colour of the background.

    Returns:
        The picture, under a new number.
    """
    number = _number()
    ground = Style(bgcolor=Color.from_rgb(*paper))
    ink = ground + Style(color=Color.from_rgb(number >> 16, number >> 8 & 0xFF, number & 0xFF))
    told = by_line(overlays)
    lines = (Strip(_line(y, size[0], told.get(y, ()), ink, ground), size[0]) for y in range(size[1]))
    return PlacedPicture(number, _sent(number, png, size), tuple(lines))


def lay(picture: bytes | str, lines: Sequence[Strip]) -> PlacedPicture:
    """Lay a picture, as a PNG or sixels, over ``lines`` of text, which show where it is transparent or hidden."""
    sent = picture if isinstance(picture, str) else standard_b64encode(picture).decode()
    return PlacedPicture(_number(), sent, tuple(lines), laid=True)


def _number() -> int:
    return next(_ids) % (1 << 24)  # 24 bits, since a colour carries it


def _line(y: int, width: int, overlays: Sequence[Overlay], ink: Style, ground: Style) -> Iterator[Segment]:
    row, done = _PLACEHOLDER + _NUMBERS[y], 0
    for overlay in overlays:
        yield Segment("".join(row + _NUMBERS[x] for x in range(done, overlay.x)), ink)
        yield Segment(overlay.text, ground + overlay.style)
        done = overlay.end
    yield Segment("".join(row + _NUMBERS[x] for x in range(done, width)), ink)


def _sent(number: int, png: bytes, size: tuple[int, int]) -> str:
    data = standard_b64encode(png).decode()
    parts = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    keys = chain((f"a=T,U=1,i={number},c={size[0]},r={size[1]},f=100,q=2,",), ("q=2,",) * len(parts))
    more = [1] * (len(parts) - 1) + [0]
    return "".join(f"\x1b_G{key}m={one};{part}\x1b\\" for key, one, part in zip(keys, more, parts, strict=False))


def forget(number: int) -> str:
    """The command that makes the terminal drop a picture."""
    return f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"


class PictureLayer:
    """The pictures over a screen of text, each over the cells of a widget."""

    def __init__(self) -> None:
        self._pictures: dict[Widget, PlacedPicture] = {}
        self._told: dict[Widget, tuple[int, Region, Size]] = {}
        self.painted: Sequence[tuple[int, int, int]] | None = None
        """The line, the first and the last column of each part of the screen that a frame paints; None for all of it."""

    def put(self, widget: Widget, picture: PlacedPicture | None) -> None:
        """Show a picture over the ``widget`` from the next frame on; None takes it away."""
        if picture is not None:
            self._pictures[widget] = picture
        else:
            self._pictures.pop(widget, None)

    def forget(self) -> None:
        """Send the page everything again: it has hidden pictures of another size."""
        self._told = {}

    def follow(self, driver: Driver | None) -> None:
        """Move, hide and change the pictures, after a frame that may have changed their widgets."""
        if driver is None or not (self._told or self._pictures):
            return
        for widget in dict.fromkeys((*self._told, *self._pictures)):
            picture, at = self._pictures.get(widget), _uncovered(widget)
            if picture is None or at is None or at.size != (picture.lines[0].cell_length, len(picture.lines)):
                picture, told = None, None
            else:
                told = picture.id, at, widget.screen.size
            known = self._told.pop(widget, None)
            if picture is not None and told is not None:
                self._told[widget] = told
            if driver.is_web:
                if told != known:
                    _tell_page(driver, widget, picture, told)
            elif picture is not None and told is not None and (told != known or self._paints(told[1])):
                # At the picture's place; then the cursor goes back.
                driver.write(f"\x1b7\x1b[{told[1].y + 1};{told[1].x + 1}H{picture.sent}\x1b8")

    def _paints(self, at: Region) -> bool:
        painted = self.painted
        return painted is None or any(at.y <= y < at.bottom and x1 < at.right and x2 > at.x for y, x1, x2 in painted)


def _tell_page(driver: Driver, widget: Widget, picture: PlacedPicture | None, told: tuple[int, Region, Size] | None) -> None:
    from textual.drivers.web_driver import WebDriver

    assert isinstance(driver, WebDriver), "no other one is"
    message: dict[str, object] = {"type": "picture", "name": f"picture-{id(widget):x}"}
    if told is not None and picture is not None:
        _, (x, y, width, height), (columns, rows) = told
        message |= {"at": [x / columns, y / rows, width / columns, height / rows], "png": picture.sent}
    driver.write_meta(message)


def _uncovered(widget: Widget) -> Region | None:
    """The place of a widget's content on the screen, if it is seen whole."""
    if not widget.is_attached or not widget.screen.is_active:
        return None
    at = widget.content_region
    for other, (place, clip) in widget.screen._compositor.visible_widgets.items():  # pyright: ignore[reportPrivateUsage]
        # From the top down.
        if other is widget:
            return at if clip.contains_region(at) else None
        if other.visible and place.intersection(clip).overlaps(at):
            return None
    return None
