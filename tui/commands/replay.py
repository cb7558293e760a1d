"""``housequest replay``: a recorded episode, told as it was when it was played."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An episode's file, or a run's folder with --task.")],
    task: Annotated[str | None, typer.Option("--task", metavar="TASK", help="Number or id of a task of the run.")] = None,
    speed: Annotated[float | None, typer.Option("--speed", metavar="N", help="Show at most N turns a second.")] = None,
    step: Annotated[bool, typer.Option("--step", help="Wait for Enter after every turn.")] = False,
) -> None:
    """Tell a recorded episode again."""
    import time

    from agent.config import given_path
    from agent.events import Ended, Spent, Stepped
    from agent.record import read_episode
    from tui import terminal
    from tui.game import pause
    from tui.plain import Narrator

    seconds = pause(speed) if speed is not None else 0
    narrator = Narrator(terminal.look())
    body: object = None
    for event in read_episode(_episode(given_path(file), task)):
        body = event.body
        terminal.show(narrator.lines(event))
        if isinstance(body, Stepped | Spent):
            if step and terminal.read_line("") is None:
                return
            time.sleep(seconds)
    if body is None:
        terminal.note(f"{file} holds no events: the episode was interrupted before it began.")
    elif not isinstance(body, Ended):
        terminal.note("The record ends here: the episode was interrupted.")


def _episode(path: Path, task: str | None) -> Path:
    """The episode's file: ``path`` itself, or that of ``task`` in the run there. Raises ``ConfigurationError``."""
    from agent.evaluation.folder import RunFolder
    from worlds.errors import ConfigurationError, shown

    if task is None:
        if path.is_dir():
            raise ConfigurationError(f"{path} is a folder; name one of a run's tasks with --task NUMBER.")
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
