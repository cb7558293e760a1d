"""A replay in files: as an asciicast, and as a PNG for the opening and for each turn, with what they show in words.

A cast is the real screen at every turn, in the format asciicast v2 (https://docs.asciinema.org/manual/asciicast/v2/), which
players of v3 read too. Times are computed from the pace, so that the same record gives the same bytes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

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
from housequest.worlds.systems import replace_file

if TYPE_CHECKING:
    from textual.pilot import Pilot
    from textual.strip import Strip

    from housequest.tui.episode.view import ViewMode

FRAME_SIZE = (640, 480)  # columns and rows of pixels
CAPTIONS = "captions.json"
SIZE = (120, 40)  # columns and rows
LEAST, MOST = (40, 12), (400, 200)
PACE = 1.0  # turns a second

_BEGIN, _END = "\x1b[?25l\x1b[0m\x1b[2J", "\x1b[0m\x1b[{row};1H\x1b[?25h"


def write_cast(
    path: Path,
    file: Path,
    view: ViewMode | None,
    size: tuple[int, int] | None,
    pace: float | None,
    *,
    true: bool,
    moves: bool = True,
) -> None:
    """Write the cast of the record ``path``, as `make_cast` does."""
    content = make_cast(_read(path), size or SIZE, pace or PACE, view or ("house" if true else "off"), true=true, moves=moves)
    atomic_write(file, content)
    terminal.note(f"Wrote {file} ({max(1, len(content) >> 10)} KiB); show it with `asciinema play {file}`.")


def _read(path: Path) -> Recording:
    recording = read_recording(path)
    for fault in recording.faults:
        terminal.note(fault)
    return recording


def write_last_frame(path: Path, file: Path) -> None:
    """Write the house at the end of the record ``path`` to a PNG. Raises as `recorded_scenes`."""
    *_, (_, scene) = recorded_scenes(_read(path), true=False)
    atomic_write(file, scene.picture("house", FRAME_SIZE).png(), sync=False)


def make_cast(
    recording: Recording,
    size: tuple[int, int] = SIZE,
    pace: float = PACE,
    view: ViewMode = "off",
    *,
    true: bool = False,
    moves: bool = True,
) -> bytes:
    """The cast of a recording, ``pace`` turns a second, on a screen of this ``size`` with this ``view``.

    Raises ``ConfigurationError`` for a screen that is too small or too large, and what `recorded_scenes` raises.
    """
    from housequest.tui.episode.view import STRIDE  # imports Textual, which pictures do not need

    if not all(least <= given <= most for least, given, most in zip(LEAST, size, MOST, strict=True)):
        least, most = (f"{columns}x{rows}" for columns, rows in (LEAST, MOST))
        raise ConfigurationError(f"--size: a cast has {least} to {most} columns and rows, not {size[0]}x{size[1]}.")
    started = recording.state.moment.started
    if view == "camera" and not (started is not None and world_class(started.world).info.pictured):
        raise ConfigurationError("--drawing camera: this record has no camera; take house, eyes or plan.")
    if view != "off":
        list(recorded_scenes(recording, true=true))  # a cast of a View that says only why it is empty is of no use
    screens = asyncio.run(_screens(recording.path, size, pace, view, true, moves))
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
    for place, (moment, shown) in enumerate(zip(moments, screens, strict=True)):
        at = place / pace
        if place:
            lines.append([round(at, 6), "m", f"turn {place}: {printable(moment.story[-1].command or 'no command')}"])
        for number, screen in enumerate(shown):
            lines.append([round(at + number * STRIDE, 6), "o", f"{'' if place else _BEGIN}{screen}"])
    lines.append([lasts, "o", _END.format(row=size[1])])
    return b"".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for line in lines)


async def _screens(path: Path, size: tuple[int, int], pace: float, view: ViewMode, true: bool, moves: bool) -> list[list[str]]:
    """The screens on the way to each stop and at it, each as the changes to the last one."""
    from textual.strip import Strip

    from housequest.tui.app import HousequestApp
    from housequest.tui.replay.screen import ReplayScreen

    app = HousequestApp(lambda: ReplayScreen(path, pace, still=True), moves=moves)
    # A cast has every colour, whatever the terminal has in which it is made.
    app.console = Console(file=app.console.file, color_system="truecolor", force_terminal=True, legacy_windows=False)
    screens: list[list[str]] = []
    shown = [Strip([])] * size[1]

    async def film() -> None:
        nonlocal shown
        # The line of keys and the other panes are drawn before the View.
        await pilot.pause()
        rows = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        pairs = zip(shown, rows, strict=True)
        screens[-1].append("".join(_change(*pair, number, app.console) for number, pair in enumerate(pairs, 1)))
        shown = rows

    async with app.run_test(size=size) as pilot:
        await _settle(pilot)
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        screen.show_view(view)
        if true:
            screen.view.toggle_true()
        screen.view.filming = pace, film
        for place in range(len(screen.stops)):
            screens.append([])
            screen.action_go(place)
            await _settle(pilot)
            await film()
    return screens


def _change(old: Strip, new: Strip, number: int, console: Console) -> str:
    """The end of the line ``new`` from where it differs from ``old``, and how to get there."""
    kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    column = sum(segment.cell_length for segment in [*new][:kept])
    return f"\x1b[{number};{column + 1}H{new.crop(column).render(console)}" if column < new.cell_length else ""


async def _settle(pilot: Pilot[Any]) -> None:
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()  # pyright: ignore[reportUnknownMemberType]
    await pilot.pause()


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
            last = moment.last
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
            replace_file(file, folder / file.name)
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
