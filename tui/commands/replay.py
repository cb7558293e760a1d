"""``housequest replay``: a recorded episode, on the screen or in plain text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from tui import terminal
from tui.commands import options
from tui.commands.output import show_screen
from worlds.errors import ConfigurationError, shown


def replay(
    file: Annotated[Path, options.path_argument("FILE", "An episode's file, or a run's folder with --task.")],
    task: Annotated[str | None, options.value("--task", "TASK", "Number or id of a task of the run.")] = None,
    speed: options.SpeedOption = None,
    step: Annotated[bool, typer.Option("--step", help="Plain text, waiting for Enter after every turn.")] = False,
    plain: options.PlainOption = False,
) -> None:
    """Show a recorded episode; with --speed it starts playing at once.

    Without a terminal, or with --plain or --step, it is shown in plain text.
    """
    from agent.episodes.events import Ended, Stepped, TurnSpent
    from agent.episodes.record import read_episode
    from tui.play.plain import EventFormatter, seconds_per_turn

    seconds = seconds_per_turn(speed) if speed is not None else 0
    path = _episode(file, task)
    nothing = f"{path} holds no events: the episode was interrupted before it began."
    if terminal.has_screen() and not (plain or step):
        from tui.replay.screen import ReplayScreen

        if next(read_episode(path), None) is None:
            raise ConfigurationError(nothing)
        show_screen(lambda: ReplayScreen(path, speed))
        return
    narrator = EventFormatter(terminal.look())
    body: object = None
    for event in read_episode(path):
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


def _episode(path: Path, task: str | None) -> Path:
    """The episode's file: ``path`` itself, or that of ``task`` in the run there. Raises ``ConfigurationError``."""
    from agent.evaluation.analysis.compare import find_task
    from agent.evaluation.runs.folder import RunFolder

    if task is None:
        if path.is_dir():
            raise ConfigurationError(f"{path} is a folder; name one of its tasks with --task NUMBER, or see `housequest runs`.")
        return path
    run = RunFolder(path)
    tasks = run.manifest().tasks
    found = find_task(tasks, task)
    if found is None:
        raise ConfigurationError(f"--task: {shown(task)} is no task of the run in {path}, which has {len(tasks)}.")
    finished, part = run.episode(found), run.part(found)
    return part if part.exists() and not finished.exists() else finished
