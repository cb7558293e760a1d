"""Pictures in pixels: which terminals show them, and what they get, as kitty's protocol asks for it."""

from __future__ import annotations

import codecs
import os
import re
import select
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rich.style import Style
from textual.pilot import Pilot

from housequest.tui.app import HousequestApp
from housequest.tui.episode.view import ViewPane
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.widgets.blocks import Overlay
from housequest.tui.widgets.pixels import (
    LARGEST,
    NUDGE,
    Answered,
    CellSize,
    Graphics,
    forget,
    place,
    read_answers,
)
from housequest.tui.widgets.sixel import sixels
from tests.agent.episodes.acting import recorded
from tests.tui.conftest import COMMAND, environment
from tests.tui.episode.test_view import EGG, settled
from tests.tui.screen import press, until
from tests.waiting import PATIENCE

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
OURS, OK = b"\x1b[?62;4c", b"\x1b_Gi=31;OK\x1b\\"
_COMMAND = re.compile(r"\x1b_G([^;\x1b]*);?([^\x1b]*)\x1b\\")
_CELL = re.compile("\U0010eeee(.)(.)")


class Held(NamedTuple):
    """The state of a terminal with the protocol after all that it was sent."""

    pictures: dict[int, bytes]
    sizes: dict[int, tuple[int, int]]
    dropped: list[int]


def hears(sent: str) -> Held:
    """Read commands as strictly as the protocol: chunks of at most 4,096 characters, the keys in the first one."""
    pictures, sizes, dropped, parts = dict[int, bytes](), dict[int, tuple[int, int]](), list[int](), list[str]()
    now = dict[str, str]()
    for keys, data in _COMMAND.findall(sent):
        given = dict(one.split("=") for one in keys.split(","))
        assert given.get("q") == "2" or given["i"] == "31", "an answer would be taken for keys"
        if given.get("a") == "d":
            assert given["d"] == "I"
            dropped.append(int(given["i"]))
            continue
        if given.get("a") == "q":
            continue
        assert len(data) <= 4096 and (given.get("m") != "1" or len(data) % 4 == 0)
        if not parts:
            now = given
        else:
            assert set(given) <= {"m", "q"}
        parts.append(data)
        if given.get("m", "0") == "0":
            number = int(now["i"])
            assert (now["a"], now["U"]) == ("T", "1") and 0 < number < 1 << 24
            png = b64decode("".join(parts), validate=True)
            assert now.get("f") == "24" or pictures.get(number, png) == png, "a number is of one picture"
            pictures[number], sizes[number] = png, (int(now["c"]), int(now["r"]))
            parts = []
    assert not parts
    return Held(pictures, sizes, dropped)


@given(st.tuples(st.integers(1, 30), st.integers(1, 12)), st.binary(min_size=1, max_size=9_000))
def test_every_cell_names_the_picture_its_row_and_its_column(size: tuple[int, int], png: bytes) -> None:
    text = Overlay(1, 0, "egg"[: size[0] - 1], Style(bold=True))
    placed = place(png, size, [text] if size[0] > 1 else [], (20, 22, 27))
    held = hears(placed.sent)
    assert held.pictures == {placed.id: png} and held.sizes == {placed.id: size}
    assert [line.cell_length for line in placed.lines] == [size[0]] * size[1]
    for y, line in enumerate(placed.lines):
        at = 0
        for segment in line:
            assert segment.style is not None
            for row, column in _CELL.findall(segment.text):
                ink = segment.style.color
                assert ink is not None and ink.triplet is not None
                assert tuple(ink.triplet) == (placed.id >> 16, placed.id >> 8 & 255, placed.id & 255)
                assert (row, column) == (_mark(y), _mark(at))
                at += 1
            at += segment.cell_length if "\U0010eeee" not in segment.text else 0
    assert hears(forget(placed.id)).dropped == [placed.id]


_ENVELOPE = re.compile("\x1bPtmux;((?:[^\x1b]|\x1b\x1b)*)\x1b\\\\")
_MOVED = "\x1b[1;1H"


def handed_on(sent: str) -> str:
    """What tmux writes to its terminal.

    It ends an envelope at the first escape that is not doubled, swallows other graphics, and moves the cursor in between.
    """
    told, *parts = _ENVELOPE.split(sent)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return _swallowed(told) + "".join(inside.replace("\x1b\x1b", "\x1b") + _swallowed(beside) for inside, beside in pairs)


def _swallowed(told: str) -> str:
    return _COMMAND.sub("", told) + _MOVED


@given(st.binary(min_size=1, max_size=9_000))
def test_tmux_hands_on_what_is_in_envelopes_alone(png: bytes) -> None:
    placed = place(png, (9, 3), (), (0, 0, 0))
    assert hears(handed_on(placed.sent)) == ({}, {}, [])
    wrapped = Graphics(tmux=True).wrapped(placed.sent)
    assert hears(handed_on(wrapped)).pictures == {placed.id: png}
    assert max(map(len, _ENVELOPE.findall(wrapped))) < 4096 + 100
    assert NUDGE in handed_on(Graphics(tmux=True).wrapped(NUDGE))
    assert Graphics().wrapped(placed.sent) == placed.sent


def _mark(number: int) -> str:
    """The diacritic of a row or column, as a picture of one line has it."""
    return _CELL.findall(place(b"", (number + 1, 1), (), (0, 0, 0)).lines[0].text)[number][1]


def test_the_first_marks_are_those_of_the_protocol() -> None:
    told = [f"{ord(_mark(number)):X}" for number in (0, 1, 3, 11, 17, 30, LARGEST - 1)]
    assert told == ["305", "30D", "310", "34C", "363", "483", "A66F"]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        # kitty: the cursor stays, and a cell has a size.
        (b"\x1b[1;1R" + OK + b"\x1b[1;1R\x1b[6;18;9t\x1b[?2026;2$y" + OURS, Graphics("kitty", CellSize(9, 18))),
        (b"\x1b[1;1R" + OK + b"\x1b[1;1R" + OURS, Graphics("kitty", CellSize())),
        # Konsole and xterm.js say that they know pictures, show this one where the cursor is, and move that on.
        (b"\x1b[1;1R" + OK + b"\x1b[2;4R\x1b[6;18;9t" + OURS, None),
        (b"\x1b[1;1R\x1b_Gi=31;EINVAL:no\x1b\\\x1b[1;1R" + OURS, None),
        (b"\x1b[1;1R\x1b[1;1R" + OURS, None),
        (b"\x1b[1;1R" + OK + b"\x1b[1;1R\x1b[6;0;0t" + OURS, Graphics("kitty", CellSize())),
        (b"typed before\x1b[1;1R" + OK + b"x\x1b[1;1R\x1b[6;20;10t" + OURS, Graphics("kitty", CellSize(10, 20))),
        # foot knows sixels and shows frames as a whole.
        (b"\x1b[1;1R\x1b[1;1R\x1b[6;17;8t\x1b[?2026;2$y" + OURS, Graphics("sixel", CellSize(8, 17))),
        (b"\x1b[1;1R\x1b[1;1R\x1b[6;17;8t\x1b[?2026;2$y\x1b[?64;22c", None),
        (b"\x1b[1;1R\x1b[1;1R\x1b[6;17;8t\x1b[?2026;2$y\x1b[?4c", None),  # what it is, and not what it knows
        # xterm would show a picture being drawn.
        (b"\x1b[1;1R\x1b[1;1R\x1b[6;17;8t\x1b[?2026;0$y" + OURS, None),
        (b"\x1b[1;1R\x1b[1;1R\x1b[?2026;2$y" + OURS, None),
        (b"", None),
    ],
)
def test_a_terminal_is_known_by_what_it_does(answers: bytes, expected: Graphics | None) -> None:
    assert read_answers(answers) == expected


def test_who_names_a_way_gets_it_with_the_size_of_a_cell_if_that_is_known() -> None:
    heard = b"\x1b[1;1R\x1b[1;1R\x1b[6;17;8t" + OURS
    assert read_answers(heard, "sixel") == Graphics("sixel", CellSize(8, 17))
    assert read_answers(heard, "kitty") == Graphics("kitty", CellSize(8, 17))
    assert read_answers(b"", "sixel") == Graphics("sixel", CellSize())


def painted_by(sixel: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A terminal's picture from sixels: the colours, in per cent, and where there are any."""
    found = re.fullmatch(r'\x1bP0;1;0q"1;1;(\d+;\d+)(.*)\x1b\\', sixel, re.DOTALL)
    assert found is not None, sixel
    head, body = found.groups()
    width, height = map(int, head.split(";"))
    rgb, shown = np.zeros((height + 6, width, 3), np.int64), np.zeros((height + 6, width), bool)
    palette, colour, x, y = dict[int, tuple[int, ...]](), 0, 0, 0
    for name, mix, run, bits, feed in re.findall(r"#(\d+)((?:;\d+)*)|(?:!(\d+))?([?-~])|([$-])", body):
        if name:
            colour = int(name)
            if mix:
                assert mix.startswith(";2;")
                palette[colour] = tuple(map(int, mix[3:].split(";")))
        elif bits:
            for _ in range(int(run or 1)):
                for row in range(6):
                    if ord(bits) - 63 >> row & 1:
                        rgb[y + row, x], shown[y + row, x] = palette[colour], True
                x += 1
        else:
            x, y = 0, y + 6 * (feed == "-")
    assert not shown[height:].any()
    return rgb[:height], shown[:height]


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 1 << 32), st.booleans())
def test_sixels_show_the_picture_and_leave_its_holes(width: int, height: int, seed: int, many: bool) -> None:
    random = np.random.default_rng(seed)
    few = random.integers(0, 256, (4, 3)).astype(np.uint8)
    rgb = random.integers(0, 256, (height, width, 3)).astype(np.uint8) if many else few[random.integers(0, 4, (height, width))]
    wanted = random.random((height, width)) < 0.8
    seen, shown = painted_by(sixels(rgb, wanted))
    assert (shown == wanted).all()
    off = np.abs(seen * 2.55 - rgb)[wanted]
    # Of too many colours the rarest are shown as others, the nearest.
    assert not off.size or (off.mean() if many else off.max()) <= 17


@given(st.binary(max_size=200))
def test_no_answer_is_too_odd(answers: bytes) -> None:
    read_answers(answers)


@pytest.mark.heavy
@pytest.mark.anyio
async def test_the_view_sends_each_picture_once_and_drops_those_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    path = recorded(tmp_path / "e.jsonl", "generated:690", EGG)
    app = HousequestApp(lambda: ReplayScreen(path), answered=Answered(Graphics("kitty", CellSize(9, 18))))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and app.screen.stops)
        assert isinstance(app.screen, ReplayScreen)
        app.screen.show_view("house")
        pane = await settled(pilot)
        for _ in EGG:
            await press(pilot, "left")
            await settled(pilot)
        assert shows_pixels(pilot, pane)
        await press(pilot, "slash")  # the palette, which tints what is below
        assert not shows_pixels(pilot, pane)
        await press(pilot, "escape")
        assert shows_pixels(pilot, pane)


def shows_pixels(pilot: Pilot[Any], pane: ViewPane) -> bool:
    del pilot
    return "\U0010eeee" in "".join(pane.render_line(y).text for y in range(pane.content_size.height))


@pytest.mark.heavy
def test_a_terminal_that_shows_pixels_gets_them_and_keeps_none(terminal: Kitty) -> None:
    """The command on a terminal that answers as kitty does: it gets pictures, one that is shown, and all are dropped at the
    end."""
    terminal.until("REPLAY")
    terminal.type(b"v")
    terminal.until("\U0010eeee")
    terminal.until(NUDGE)
    terminal.type(b"/")
    terminal.until("Search")
    before, terminal.seen = terminal.seen, ""
    terminal.type(b"\x1b")
    terminal.until("\U0010eeee")  # the same picture is seen again; a key before that would go with the escape
    terminal.until(NUDGE)
    held = hears(before + terminal.leave())
    shown = {number for number in held.pictures if number != 31}
    assert shown and all(held.pictures[number].startswith(b"\x89PNG") for number in shown)
    assert set(held.dropped) >= shown


@pytest.mark.heavy
def test_sixels_come_within_whole_frames_and_not_under_a_dialog(tmp_path: Path) -> None:
    with Kitty(tmp_path, "with sixels") as terminal:
        terminal.until("REPLAY")
        terminal.until("\x1bP0;1;0q")
        terminal.until("\x1b\\\x1b8")
        terminal.type(b"/")
        terminal.until("Search")
        assert "\x1bP0;1;0q" not in terminal.seen.rpartition("Search")[2]
        terminal.seen = ""
        terminal.type(b"\x1b")
        terminal.until("\x1bP0;1;0q")
        seen = terminal.leave()
    start = seen.index("\x1bP0;1;0q")
    assert seen.rindex("\x1b[?2026h", 0, start) > seen.rfind("\x1b[?2026l", 0, start)


@pytest.mark.heavy
@pytest.mark.parametrize("answers", ["at once", "too late", "never"])
def test_keys_typed_while_the_terminal_is_asked_reach_the_app_and_answers_never_do(tmp_path: Path, answers: str) -> None:
    with Kitty(tmp_path, answers, typing=b"\x11") as terminal:
        seen = terminal.leave(b"")  # it has left already, by what was typed
    # Who does not answer is asked nothing more: answers that come too late would be taken for keys.
    assert ("\x1b_G" in seen) == (answers == "at once")


@pytest.mark.heavy
def test_pictures_get_through_tmux(tmp_path: Path) -> None:
    with Kitty(tmp_path, "in tmux") as terminal:
        terminal.until("REPLAY")
        terminal.until("\U0010eeee")
        terminal.until(Graphics(tmux=True).wrapped(NUDGE))
        before, terminal.seen = terminal.seen, ""
        terminal.type(b"\x1b[O\x1b[I")  # another window of tmux is seen, and then this one again
        terminal.until("\x1b_Ga=T")
        again = terminal.seen
        seen = before + terminal.leave()
    question = handed_on(seen).partition("\x1b7")[2].partition("\x1b[c")[0]
    assert question and _MOVED not in question
    assert "\x1b_G" not in _ENVELOPE.sub("", seen), "tmux would make a title of it"
    held = hears(handed_on(seen))
    shown = {number for number in held.pictures if number != 31}
    assert shown and set(held.dropped) >= shown
    (sent,) = re.findall(r"a=T,U=1,i=(\d+)", again)
    assert int(sent) == max(shown), "the one that is seen"


@pytest.mark.heavy
def test_tmux_that_hands_nothing_on_shows_blocks(tmp_path: Path) -> None:
    with Kitty(tmp_path, "in tmux that drops") as terminal:
        terminal.until("REPLAY")
        terminal.until("doll's house")
        terminal.until("▀")
        seen = terminal.leave()
    assert "\x1b_G" not in seen and "\U0010eeee" not in seen
    assert seen.count("\x1bPtmux;") == 1


class Kitty:
    """A terminal of 120 by 40 cells that answers as kitty does or ``with sixels``, or not before the screen is there, or never;
    somebody is ``typing`` when it is asked. ``in tmux``, it gets and answers what that hands on."""

    def __init__(self, folder: Path, answers: str = "at once", typing: bytes = b"") -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.descriptor, theirs = pty.openpty()
        self.tmux = answers.startswith("in tmux")
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 1080, 720))
        name = "tmux-256color" if self.tmux else "xterm-kitty"
        path = recorded(folder / "e.jsonl", "generated:690", EGG)
        self.child = subprocess.Popen(
            [sys.executable, "-c", _ON_TERMINAL, *COMMAND, "replay", str(path)],
            env=environment(TERM=name, COLORTERM="truecolor", COLUMNS="120", LINES="40"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # What is asked for, and what is said then; each once.
        self._script = [("\x1b[6n", typing)]
        if answers == "with sixels":
            said = b"\x1b[1;1R\x1b[1;1R\x1b[6;18;9t\x1b[?2026;2$y" + OURS
            self._script += [("\x1b[6n", b"\x1b[7;1R"), ("\x1b[c", said), ("\x1b[?2048$p", b"\x1b[?2026;2$y")]
        if answers in {"at once", "in tmux"}:
            said = b"\x1b[1;1R" + OK + b"\x1b[1;1R\x1b[6;18;9t" + OURS
            self._script += [("\x1b[6n", b"\x1b[7;1R"), ("\x1b[c", said)]
        elif answers == "too late":
            self._script += [("\x1b[?1049h", b"\x1b[7;1R")]

    def __enter__(self) -> Kitty:
        return self

    def __exit__(self, *_: object) -> None:
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()

    def until(self, text: str) -> None:
        """Read and answer until ``text`` has been sent."""
        ends = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < ends and self._read(), self.seen[-2_000:]

    def _read(self) -> bool:
        if not select.select([self.descriptor], [], [], PATIENCE)[0]:
            return False
        try:
            self.seen += self._decoder.decode(os.read(self.descriptor, 1 << 16))
        except OSError:
            return False
        reached = handed_on(self.seen) if self.tmux else self.seen
        while self._script and self._script[0][0] in reached:
            self.type(self._script.pop(0)[1])
        return True

    def type(self, keys: bytes) -> None:
        os.write(self.descriptor, keys)

    def leave(self, keys: bytes = b"q") -> str:
        """All that was sent, to the end."""
        self.type(keys)
        ends = time.monotonic() + PATIENCE
        while self._read():
            assert time.monotonic() < ends, self.seen[-2_000:]
        assert self.child.wait(PATIENCE) == 0
        os.close(self.descriptor)
        return self.seen


_ON_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Kitty]:
    pytest.importorskip("pty")
    with Kitty(tmp_path) as one:
        yield one
