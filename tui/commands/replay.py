"""``housequest replay``: a recorded episode, on the screen or told in plain text as it was when it was played."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An episode's file, or a run's folder with --task.")],
    task: Annotated[str | None, typer.Option("--task", metavar="TASK", help="Number or id of a task of the run.")] = None,
    speed: Annotated[float | None, typer.Option("--speed", metavar="N", help="Show at most N turns a second.")] = None,
    step: Annotated[bool, typer.Option("--step", help="Plain text, waiting for Enter after every turn.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain text, without the screen.")] = False,
) -> None:
    """Show a recorded episode again; with --speed it plays at once.

    Where there is no terminal, and with --plain or --step, it is told in plain text.
    """
    from tui import terminal
    from tui.play.plain import seconds_per_turn
    from worlds.paths import given_path

    seconds = seconds_per_turn(speed) if speed is not None else 0
    path = _episode(given_path(file), task)
    if terminal.has_screen() and not (plain or step):
        _show(path, speed)
    else:
        _tell(path, seconds, step)


def _show(path: Path, speed: float | None) -> None:
    """Open the screen. Raises ``ConfigurationError`` where there is nothing to show."""
    from agent.episodes.record import read_episode
    from tui.app import HousequestApp
    from tui.replay.screen import ReplayScreen
    from worlds.errors import ConfigurationError

    if next(read_episode(path), None) is None:
        raise ConfigurationError(f"{path} holds no events: the episode was interrupted before it began.")
    app = HousequestApp(lambda: ReplayScreen(path, speed))
    app.run()
    if app.return_code:
        raise typer.Exit(app.return_code)


def _tell(path: Path, seconds: float, step: bool) -> None:
    """Tell it in plain text, ``seconds`` a turn."""
    import time

    from agent.episodes.events import Ended, Stepped, TurnSpent
    from agent.episodes.record import read_episode
    from tui import terminal
    from tui.play.plain import EventFormatter

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
        terminal.note(f"{path} holds no events: the episode was interrupted before it began.")
    elif not isinstance(body, Ended):
        terminal.note("The record ends here: the episode was interrupted.")


def _episode(path: Path, task: str | None) -> Path:
    """The episode's file: ``path`` itself, or that of ``task`` in the run there. Raises ``ConfigurationError``."""
    from agent.evaluation.runs.folder import RunFolder
    from worlds.errors import ConfigurationError, shown

    if task is None:
        if path.is_dir():
            raise ConfigurationError(f"{path} is a folder; name one of its tasks with --task NUMBER, or see `housequest runs`.")
        return path
    run = RunFolder(path)
    tasks = run.manifest().tasks
    found = next(
        (each for each in tasks if task in (each.id, str(each.number), f"{each.id.partition('/')[0]}:{each.number}")), None
    )
    if found is None:
        raise ConfigurationError(f"--task: {shown(task)} is no task of the run in {path}, which has {len(tasks)}.")
    finished = run.episode(found)
    part = finished.with_name(f"{finished.name}.part")
    return part if part.exists() and not finished.exists() else finished
