"""A replay in files: as an asciicast, and as a PNG for the opening and for each turn, with what they show in words.

A cast is the real screen at every turn, in the format asciicast v2 (https://docs.asciinema.org/manual/asciicast/v2/), which
players of v3 read too. Times are computed from the pace, so that the same record gives the same bytes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.style import Style

from housequest.agent.episodes.drawing import DrawnScene, draw_episode
from housequest.tui import terminal
from housequest.tui.episode.recording import Recording, read_recording
from housequest.tui.episode.state import EpisodeMoment
from housequest.tui.text import plural, printable
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import atomic_write
from housequest.worlds.registry import world_class
from housequest.worlds.rooms.render import MAX_PIXELS, Size
from housequest.worlds.rooms.stage import AGENT
from housequest.worlds.rooms.view import Drawing

if TYPE_CHECKING:
    from textual.pilot import Pilot
    from textual.strip import Strip

    from housequest.tui.episode.view import ViewMode

FRAME_SIZE = (640, 480)  # columns and rows of pixels
CAPTIONS = "captions.json"
SIZE = (120, 40)  # columns and rows
LEAST, MOST = (40, 12), (400, 200)
PACE = 1.0  # turns a second

_GAP = 6  # cells that are written again rather than skipped: moving the cursor takes as many bytes
_ATTRIBUTES = ("1", "2", "3", "4", "7", "9")
_BEGIN, _END = "\x1b[?25l\x1b[0m\x1b[2J", "\x1b[0m\x1b[{row};1H\x1b[?25h"

Cell = tuple[str, Style]
"""A character and its style; the right half of a wide character is empty."""
Rows = Sequence[Sequence[Cell]]


def write_cast(
    path: Path, file: Path, view: ViewMode | None, size: tuple[int, int] | None, pace: float | None, *, true: bool
) -> None:
    """Write the cast of the record ``path``, as `make_cast` does."""
    content = make_cast(_read(path), size or SIZE, pace or PACE, view or ("house" if true else "off"), true=true)
    atomic_write(file, content)
    terminal.note(f"Wrote {file} ({max(1, len(content) >> 10)} KiB); show it with `asciinema play {file}`.")


def _read(path: Path) -> Recording:
    recording = read_recording(path)
    for fault in recording.faults:
        terminal.note(fault)
    return recording


def make_cast(
    recording: Recording, size: tuple[int, int] = SIZE, pace: float = PACE, view: ViewMode = "off", *, true: bool = False
) -> bytes:
    """The cast of a recording, ``pace`` turns a second, on a screen of this ``size`` with this ``view``.

    Raises ``ConfigurationError`` for a screen that is too small or too large, and what `recorded_scenes` raises.
    """
    if not all(least <= given <= most for least, given, most in zip(LEAST, size, MOST, strict=True)):
        least, most = (f"{columns}x{rows}" for columns, rows in (LEAST, MOST))
        raise ConfigurationError(f"--size: a cast has {least} to {most} columns and rows, not {size[0]}x{size[1]}.")
    started = recording.state.moment.started
    if view == "camera" and not (started is not None and world_class(started.world).info.pictured):
        raise ConfigurationError("--drawing camera: this record has no camera; take house, eyes or plan.")
    if view != "off":
        list(recorded_scenes(recording, true=true))  # a cast of a View that says only why it is empty is of no use
    screens = asyncio.run(_screens(recording.path, size, pace, view, true))
    stops = recording.branches[-1].stops
    moments = [recording.state.moments[stop.id] for stop in stops]
    lasts = round(len(screens) / pace, 6)
    header = {
        "version": 2,
        "width": size[0],
        "height": size[1],
        "duration": lasts,
        "title": printable(started.goal.strip()) if started else "",
        "env": {"TERM": "xterm-256color"},
    }
    lines: list[object] = [header]
    shown: Rows = [[] for _ in range(size[1])]
    for place, (moment, rows) in enumerate(zip(moments, screens, strict=True)):
        at = round(place / pace, 6)
        if place:
            lines.append([at, "m", f"turn {place}: {printable(moment.story[-1].command or 'no command')}"])
        lines.append([at, "o", f"{'' if place else _BEGIN}{''.join(changes(shown, rows))}"])
        shown = rows
    lines.append([lasts, "o", _END.format(row=size[1])])
    return b"".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for line in lines)


async def _screens(path: Path, size: tuple[int, int], pace: float, view: ViewMode, true: bool) -> list[list[list[Cell]]]:
    from housequest.tui.app import HousequestApp  # with Textual, which pictures do without
    from housequest.tui.replay.screen import ReplayScreen

    app = HousequestApp(lambda: ReplayScreen(path, pace, still=True))
    # A cast has every colour, whatever the terminal has in which it is made.
    app.console = Console(file=app.console.file, color_system="truecolor", force_terminal=True, legacy_windows=False)
    screens: list[list[list[Cell]]] = []
    async with app.run_test(size=size) as pilot:
        await _settle(pilot)
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        screen.show_view(view)
        if true:
            screen.view.toggle_true()
        for place in range(len(screen.stops)):
            screen.action_go(place)
            await _settle(pilot)
            screens.append([cells(strip) for strip in screen._compositor.render_strips()])  # pyright: ignore[reportPrivateUsage]
    return screens


async def _settle(pilot: Pilot[Any]) -> None:
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()  # pyright: ignore[reportUnknownMemberType]
    await pilot.pause()


def cells(strip: Strip) -> list[Cell]:
    """A row of the screen cell by cell."""
    row: list[Cell] = []
    for segment in strip:
        style = segment.style or Style.null()
        for character in segment.text:
            if width := cell_len(character):
                row += [(character, style), *[("", style)] * (width - 1)]
            elif row:
                row[-1] = (row[-1][0] + character, row[-1][1])
    return row


def changes(shown: Rows, rows: Rows) -> Iterator[str]:
    """The text that makes a terminal that shows ``shown`` show ``rows``."""
    attributes: tuple[str, ...] = ()
    ink: tuple[str, ...] = ()
    paper: tuple[str, ...] = ()
    for number, (old, new) in enumerate(zip(shown, rows, strict=True), 1):
        for start, end in _spans(old, new):
            yield f"\x1b[{number};{start + 1}H"
            for style, run in groupby(new[start:end], key=lambda cell: cell[1]):
                was = attributes, ink, paper
                kinds = (style.bold, style.dim, style.italic, style.underline, style.reverse, style.strike)
                attributes = tuple(code for code, holds in zip(_ATTRIBUTES, kinds, strict=True) if holds)
                ink, paper = _codes(style.color, True), _codes(style.bgcolor, False)
                if attributes != was[0]:
                    codes = ("0", *attributes, *ink, *paper)
                else:
                    codes = (*(ink if ink != was[1] else ()), *(paper if paper != was[2] else ()))
                yield (f"\x1b[{';'.join(codes)}m" if codes else "") + "".join(text for text, _ in run)


def _spans(old: Sequence[Cell], new: Sequence[Cell]) -> list[tuple[int, int]]:
    """The stretches of ``new`` that differ from ``old``, which do not cut a wide character in two."""
    spans: list[tuple[int, int]] = []
    for at, cell in enumerate(new):
        if at < len(old) and old[at] == cell:
            continue
        start, end = at, at + 1
        while start and not new[start][0]:
            start -= 1
        while end < len(new) and not new[end][0]:
            end += 1
        if spans and start - spans[-1][1] <= _GAP:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _codes(colour: Color | None, foreground: bool) -> tuple[str, ...]:
    return colour.get_ansi_codes(foreground) if colour else ("39" if foreground else "49",)


def write_frames(path: Path, folder: Path, drawing: Drawing | Literal["camera"], size: Size | None, *, true: bool) -> None:
    """Write the frames of the last branch of the record ``path`` to ``folder``, with a file that says what they show.

    Raises ``ConfigurationError`` for a folder that is not new or empty, and what `recorded_scenes` raises.
    """
    recording, size = _read(path), size or FRAME_SIZE
    if drawing == "camera":
        raise ConfigurationError("--drawing camera shows words, and PNGs have none; write a --cast, or take --drawing eyes.")
    if size[0] * size[1] > MAX_PIXELS:
        raise ConfigurationError(f"--size: {size[0]}x{size[1]} is too large; a picture has at most {MAX_PIXELS:,} pixels.")
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"--frames: {folder} is not a folder; name a new one.")
    if folder.is_dir() and any(folder.iterdir()):
        raise ConfigurationError(f"--frames: {folder} is not empty; name a new folder, so that nothing in it is overwritten.")
    turns = list(recorded_scenes(recording, true=true))
    # A writing that breaks off leaves nothing behind, so that it can be tried again.
    folder.parent.mkdir(parents=True, exist_ok=True)
    captions: list[object] = []
    digits = max(3, len(str(len(turns) - 1)))
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as made:
        for turn, (moment, scene) in enumerate(turns):
            frame, name = scene.picture(drawing, size), f"turn-{turn:0{digits}d}.png"
            atomic_write(Path(made) / name, frame.png(), sync=False)
            last = moment.story[-1] if turn else None
            opening = moment.started.opening if moment.started else ""
            captions.append(
                {
                    "file": name,
                    "turn": turn,
                    "command": last.command if last else None,
                    "answer": last.observation.text if last else opening,
                    "accepted": last.observation.accepted if last else True,
                    "at": scene.situation.at,
                    "holding": " and ".join(scene.situation.carried) or None,
                    "new": sorted(scene.new),
                    "names": {thing: spot for thing, spot in frame.spots().items() if thing != AGENT},
                }
            )
        started = recording.state.moment.started
        about = {
            "goal": started.goal.strip() if started else "",
            "task": started.task if started else "",
            "drawing": drawing,
            "size": size,
            "state": "true" if true else "believed",
            "made_up_plan": turns[0][1].room.made_up,
            "frames": captions,
        }
        atomic_write(Path(made) / CAPTIONS, f"{json.dumps(about, ensure_ascii=False, indent=1)}\n".encode(), sync=False)
        folder.mkdir(exist_ok=True)
        for file in Path(made).iterdir():
            file.replace(folder / file.name)
    terminal.note(f"Wrote {plural(len(turns), 'picture')} to {folder}, and what each shows to {CAPTIONS} there.")


def recorded_scenes(recording: Recording, *, true: bool = False) -> Iterator[tuple[EpisodeMoment, DrawnScene]]:
    """Each moment of the last branch with its scene. Raises ``Unsupported``, and ``ConfigurationError`` for no known state."""
    moments = [recording.state.moments[stop.id] for stop in recording.branches[-1].stops]
    started = moments[0].started
    assert started is not None, "a recording begins with its start"
    drawing = draw_episode(started, moments[0].opening, options=recording.options)
    for moment in moments:
        draw: Callable[..., DrawnScene | None] = drawing.true_scene if true else drawing.known_scene
        scene = draw(moment.transitions, moment.belief, moment.before)
        if scene is None:
            why = drawing.missing or "The game answers otherwise than the record says."
            raise ConfigurationError(
                f"--true-state: the true state is not known. {why} Leave it out to draw what the player knew."
            )
        yield moment, scene
