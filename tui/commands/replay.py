"""``housequest replay``: a recorded episode on the screen, in plain text, as pictures or as a cast."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import show_screen
from housequest.tui.text import plural
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import atomic_write

if TYPE_CHECKING:
    from housequest.agent.episodes.events import Event
    from housequest.tui.episode.recording import Recording

Drawing = Literal["house", "eyes", "plan", "camera"]
"""As `housequest.worlds.rooms.view.Drawing`, which is imported only when something is drawn, and the camera's picture."""


def replay(
    file: Annotated[Path, options.path_argument("FILE", "An episode's file, a run's folder with --task, or a rule's witness.")],
    task: Annotated[str | None, options.value("--task", "TASK", "Number or id of a task of the run.")] = None,
    speed: options.SpeedOption = None,
    step: Annotated[bool, typer.Option("--step", help="Plain text, waiting for Enter after every turn.")] = False,
    plain: options.PlainOption = False,
    frames: Annotated[Path | None, options.file("--frames", "DIR", "Write a picture of each turn to a new folder.")] = None,
    cast: Annotated[
        Path | None, options.written("--cast", "cast", "Write the replay on the screen as an asciicast.", ".cast")
    ] = None,
    drawing: Annotated[
        Drawing | None, options.choice("--drawing", "What frames show [house], or the View of a cast.", *get_args(Drawing))
    ] = None,
    size: Annotated[
        str | None, options.value("--size", "WxH", "Pixels of a frame [640x480], or columns and rows of a cast [120x40].")
    ] = None,
    true_state: Annotated[bool, typer.Option("--true-state", help="Draw the true state, not what the player knew.")] = False,
) -> None:
    """Show a recorded episode. With --speed it starts playing at once.

    Without a terminal, or with --plain or --step, it is shown in plain text. --frames and --cast need no terminal.
    """
    from housequest.agent.episodes.events import Ended, Stepped, TurnSpent
    from housequest.agent.episodes.record import read_episode
    from housequest.tui.episode.recording import branch_lines, game_branches
    from housequest.tui.play.plain import EventFormatter, seconds_per_turn

    seconds = seconds_per_turn(speed) if speed is not None else 0
    path, at = _witness(file) if task is None and not file.exists() else (_episode(file, task), None)
    if frames or cast:
        if frames and cast:
            raise ConfigurationError("--frames and --cast are written one at a time; give one of them.")
        if plain or step or (frames and speed is not None):
            raise ConfigurationError("--plain and --step show a replay, and --frames has no --speed; leave them out.")
        from housequest.tui.episode.recording import read_recording

        extent = options.read_size("--size", size) if size is not None else None
        recording = read_recording(path)
        for fault in recording.faults:
            terminal.note(fault)
        if frames:
            _write_frames(recording, frames, drawing or "house", extent, true_state)
        elif cast:
            _write_cast(recording, cast, drawing, extent, true_state, speed)
        return
    if drawing or size or true_state:
        raise ConfigurationError("--drawing, --size and --true-state are for --frames DIR and --cast FILE; give one of these.")
    nothing = f"{path} holds no events: the episode was interrupted before it began."
    if terminal.has_screen() and not (plain or step):
        from housequest.tui.replay.screen import ReplayScreen

        if next(read_episode(path), None) is None:
            raise ConfigurationError(nothing)
        show_screen(lambda: ReplayScreen(path, speed, at=at))
        return
    layout = terminal.look()
    narrator = EventFormatter(layout)
    body: object = None
    told: list[Event] = []
    for event in read_episode(path):
        told.append(event)
        body = event.body
        terminal.show(narrator.lines(event))
        if isinstance(body, Stepped | TurnSpent):
            if step and terminal.read_line("") is None:
                return
            time.sleep(seconds)
    if body is None:
        terminal.note(nothing)
    elif not isinstance(body, Ended):
        terminal.note("The record ends here: the episode was interrupted.")
    if len(found := game_branches(told)) > 1:
        terminal.show(["", *(line for first, rest, text in branch_lines(found) for line in layout.wrapped(text, first, rest))])


def _write_frames(recording: Recording, folder: Path, drawing: Drawing, size: tuple[int, int] | None, true: bool) -> None:
    from housequest.tui import cast

    if drawing == "camera":
        raise ConfigurationError("--drawing camera shows words, and PNGs have none; write a --cast, or take --drawing eyes.")
    written = cast.write_frames(recording, folder, drawing, size or cast.FRAME_SIZE, true=true)
    terminal.note(f"Wrote {plural(written, 'picture')} to {folder}, and what each shows to {cast.CAPTIONS} there.")


def _write_cast(
    recording: Recording, file: Path, drawing: Drawing | None, size: tuple[int, int] | None, true: bool, pace: float | None
) -> None:
    from housequest.tui import cast

    view = drawing or ("house" if true else "off")
    content = cast.make_cast(recording, size or cast.SIZE, pace or cast.PACE, view, true=true)
    atomic_write(file, content)
    terminal.note(f"Wrote {file} ({max(1, len(content) >> 10)} KiB); show it with `asciinema play {file}`.")


def _witness(name: Path) -> tuple[Path, int | None]:
    """The record of the witness ``name``, which is run/task/step, and its event; any other name as it is."""
    from housequest.knowledge.rulebook import WITNESSES, library
    from housequest.tui.desk.records import FoundWitness, find_witnesses
    from housequest.tui.runs.data import recorded_play

    (found,) = find_witnesses([name.as_posix()], recorded_play(Path("runs")), library().shipped / WITNESSES)
    return (found.path, found.event) if isinstance(found, FoundWitness) else (name, None)


def _episode(path: Path, task: str | None) -> Path:
    """The episode's file: ``path`` itself, or that of ``task`` in the run there. Raises ``ConfigurationError``."""
    from housequest.agent.evaluation.analysis.run import find_task
    from housequest.agent.evaluation.runs.folder import RunFolder

    if task is None:
        if path.is_dir():
            raise ConfigurationError(f"{path} is a folder; name one of its tasks with --task NUMBER, or see `housequest runs`.")
        return path
    run = RunFolder(path)
    tasks = run.manifest().tasks
    if (found := find_task(tasks, task)) is None:
        way_out = f"name one by its number, for example {tasks[0].number}."
        raise ConfigurationError(f"--task: {shown(task)} is not a task of the run in {path}; {way_out}")
    finished, part = run.episode(found), run.part(found)
    return part if part.exists() and not finished.exists() else finished
