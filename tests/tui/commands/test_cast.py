"""``housequest replay --cast``: what a player of the cast shows is what the replay's screen shows."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from housequest.tui.commands.cast import make_cast
from housequest.tui.episode.recording import read_recording
from housequest.tui.episode.view import STRIDE
from housequest.tui.home.catalogue import RecentChoices, load_recent, save_recent
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds.rooms.view import Drawing
from scripts.film import cells
from tests.tui.conftest import COMMAND, Run, environment
from tests.tui.recorded import Said, play, rewound, step, write
from tests.tui.recorded import started as start
from tests.tui.screen import screen_text, showing, until
from tests.waiting import ending

_SEQUENCE = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|([^\x1b])", re.DOTALL)
_ATTRIBUTES = ("1", "2", "3", "4", "7", "9")
Look = tuple[str, frozenset[str], str, str]
"""A character, its attributes, and its two colours as a terminal was told them."""


class Terminal:
    """As much of a terminal as a cast uses; anything else fails."""

    def __init__(self, columns: int, rows: int) -> None:
        self.rows: list[list[Look]] = [[(" ", frozenset(), "39", "49")] * columns for _ in range(rows)]
        self._at = (0, 0)
        self._pen: tuple[frozenset[str], str, str] = (frozenset(), "39", "49")
        self.cursor = True

    def feed(self, text: str) -> None:
        for codes, action, character in _SEQUENCE.findall(text):
            row, column = self._at
            if character:
                assert character.isprintable()
                for place in range(width := cell_len(character)):
                    self.rows[row][column + place] = ("" if place else character, *self._pen)
                self._at = (row, column + width)
                assert width or column
                if not width:
                    last = self.rows[row][column - 1]
                    self.rows[row][column - 1] = (last[0] + character, *last[1:])
            elif action == "H":
                down, right = map(int, codes.split(";"))
                self._at = (down - 1, right - 1)
            elif action == "m":
                self._write_with(codes)
            else:
                assert codes + action in {"?25l", "?25h", "2J"}
                self.cursor = codes + action != "?25l" if action != "J" else self.cursor

    def _write_with(self, codes: str) -> None:
        attributes, ink, paper = self._pen
        found = codes.split(";")
        while found:
            code = found.pop(0)
            if code == "0":
                attributes, ink, paper = frozenset(), "39", "49"
            elif code in _ATTRIBUTES:
                attributes |= {code}
            elif code in {"38", "48"}:
                kind, *_ = found
                used = 4 if kind == "2" else 2
                colour = ";".join((code, *found[:used]))
                found = found[used:]
                ink, paper = (colour, paper) if code == "38" else (ink, colour)
            else:
                assert 30 <= int(code) <= 49 or 90 <= int(code) <= 107
                ink, paper = (code, paper) if code[-2:-1] in "39" else (ink, code)
        self._pen = attributes, ink, paper


def look(strips: list[Strip]) -> list[list[Look]]:
    """What a screen shows, as a terminal would be told it."""

    def told(text: str, style: Style) -> Look:
        kinds = (style.bold, style.dim, style.italic, style.underline, style.reverse, style.strike)
        attributes = frozenset(code for code, holds in zip(_ATTRIBUTES, kinds, strict=True) if holds)
        ink = ";".join(style.color.get_ansi_codes(True)) if style.color else "39"
        paper = ";".join(style.bgcolor.get_ansi_codes(False)) if style.bgcolor else "49"
        return text, attributes, ink, paper

    return [[told(text, style) for text, style in cells(strip)] for strip in strips]


def events(content: bytes) -> tuple[dict[str, Any], list[Any]]:
    """Header and events of a cast that is as its format says."""
    header, *found = (json.loads(line) for line in content.splitlines())
    assert header["version"] == 2
    assert all(isinstance(header[name], int) for name in ("width", "height"))
    assert content.endswith(b"]\n")
    assert all(len(event) == 3 and isinstance(event[0], float) and isinstance(event[2], str) for event in found)
    assert {event[1] for event in found} <= {"o", "m"}
    times = [event[0] for event in found]
    assert times == sorted(times) and times[0] == 0 and times[-1] == header["duration"]
    return header, found


@pytest.mark.heavy
@pytest.mark.anyio
@pytest.mark.parametrize(("size", "drawing"), [((80, 24), "plan"), ((120, 40), "house")])
async def test_the_last_screen_is_that_of_the_replay(
    size: tuple[int, int], drawing: Drawing, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    episode = next((play(tmp_path / "run", limit=1) / "episodes").iterdir())
    arguments = ("--size", "x".join(map(str, size)), "--speed", "4", "--drawing", drawing)
    # Whatever the terminal can show: the file has all colours.
    for name, colours in (("one.cast", "truecolor"), ("two.cast", "")):
        done = run("replay", str(episode), "--cast", name, *arguments, COLORTERM=colours, TERM="dumb")
        assert done.returncode == 0, done.stderr
    content = (tmp_path / "one.cast").read_bytes()
    assert content == (tmp_path / "two.cast").read_bytes()
    header, told = events(content)
    assert (header["width"], header["height"]) == size
    assert header["title"] == "clean some cloth and put it in toilet."
    assert header["duration"] == 7 / 4
    assert [event[2] for event in told if event[1] == "m"][1] == "turn 2: take cloth 1 from shelf 1"
    terminal = Terminal(*size)
    for event in told:
        if event[1] == "o":
            terminal.feed(event[2])
    assert terminal.cursor
    app = showing(lambda: ReplayScreen(episode, 4.0, still=True))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and app.screen.stops)
        app.screen.show_view(drawing)
        await pilot.press("end")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert "View" in screen_text(app)
        assert terminal.rows == look(app.screen._compositor.render_strips())


@pytest.mark.heavy
def test_a_turn_is_written_as_what_it_changed(tmp_path: Path) -> None:
    _, told = events(make_cast(read_recording(write(tmp_path / "e.jsonl", rewound())), (80, 24)))
    sizes = [len(event[2]) for event in told if event[1] == "o"]
    assert len(sizes) == 5
    assert all(size < sizes[0] / 2 for size in sizes[1:])


@pytest.mark.heavy
def test_the_true_state_is_shown_where_it_is_known(tmp_path: Path, call: Run) -> None:
    episode = next((play(tmp_path / "run", limit=1) / "episodes").iterdir())
    done = call("replay", str(episode), "--cast", "true.cast", "--true-state")
    assert done.returncode == 0, done.stderr
    _, told = events((tmp_path / "true.cast").read_bytes())
    terminal = Terminal(120, 40)
    terminal.feed(told[0][2])
    shown = "\n".join("".join(look[0] for look in row) for row in terminal.rows)
    assert " true state " in shown.splitlines()[1] and "cloth 1" in shown
    episode.write_text(episode.read_text("utf-8").replace("You pick up the cloth 1 from the shelf 1.", "You pick it up."))
    done = call("replay", str(episode), "--cast", "other.cast", "--true-state", "--drawing", "plan")
    assert done.returncode == 2 and "answers otherwise" in done.stderr
    done = call("replay", str(write(tmp_path / "e.jsonl", rewound())), "--cast", "other.cast", "--drawing", "eyes")
    assert done.returncode == 2 and "There is no room to draw" in done.stderr
    assert not (tmp_path / "other.cast").exists()


@pytest.mark.heavy
def test_what_a_game_says_does_not_reach_the_terminal_as_a_sequence(tmp_path: Path) -> None:
    said = [
        Said(None, start(goal="\x1b[2J bring", opening="You \x1b]0;x\x07 see.")),
        Said(0, step(1, "\x1b[31m look 漢字 \u0301")),
    ]
    header, told = events(make_cast(read_recording(write(tmp_path / "e.jsonl", said)), (80, 24)))
    assert "\x1b" not in header["title"]
    terminal = Terminal(80, 24)
    for _, kind, text in told:
        if kind == "m":
            assert "\x1b" not in text
        else:
            terminal.feed(text)
    assert any("漢字" in "".join(look[0] for look in row) for row in terminal.rows)


@pytest.mark.heavy
def test_with_a_drawing_the_view_is_in_every_colour_whatever_was_shown_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = sorted((play(tmp_path / "run", limit=1) / "episodes").glob("*.jsonl"))[0]
    recording = read_recording(record)
    plain = make_cast(recording, (80, 24))
    casts: list[bytes] = []
    for last, terminal in (("", "dumb"), ("eyes", "xterm-256color")):
        save_recent(RecentChoices(view=last))
        monkeypatch.setenv("TERM", terminal)
        monkeypatch.delenv("COLORTERM", raising=False)
        casts.append(make_cast(recording, (80, 24), view="house"))
        assert make_cast(recording, (80, 24)) == plain and load_recent().recent.view == last
    assert casts[0] == casts[1]
    header, told = events(casts[0])
    walks = [[at for at, code, _ in told if code == "o" and turn <= at < turn + 1] for turn in range(int(header["duration"]))]
    for turn, walk in enumerate(walks):
        assert walk == pytest.approx([turn + number * STRIDE for number in range(len(walk))])
    assert max(map(len, walks)) > 1, "somebody is seen walking to another place"
    _, still = events(make_cast(recording, (80, 24), view="house", moves=False))
    assert len([code for _, code, _ in still if code == "o"]) == len(walks) + 1
    assert "▌" in casts[0].decode() and "doll's house" in casts[0].decode() and "▌" not in plain.decode()


@pytest.mark.heavy
def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    turns = (Said(turn - 1, step(turn, "look")) for turn in range(1, 600))
    record = write(tmp_path / "e.jsonl", [Said(None, start()), *turns])
    cast = tmp_path / "e.cast"
    line = (sys.executable, "-v", *COMMAND[1:], "replay", str(record), "--cast", str(cast))
    home = environment(HOUSEQUEST_HOME=str(tmp_path / "home"))
    process = subprocess.Popen(line, cwd=tmp_path, env=home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with ending(process):
        assert process.stderr is not None
        for said in process.stderr:
            if said.startswith(b"import 'textual.pilot"):  # by the app that has begun to run
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert b"Traceback" not in rest and not cast.exists()
