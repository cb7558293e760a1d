"""Values that a notebook draws: the page of a report, an episode that can be stepped through, and a house.

The pages are those of ``housequest report --html``, each in a frame of its own, so their style stays in it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from housequest.agent.evaluation.render.table import Report
from housequest.worlds.base import Drawable, Task, World
from housequest.worlds.errors import Unsupported
from housequest.worlds.registry import known_task

_FRAME = Markup('<iframe title="{}" srcdoc="{}" sandbox="allow-scripts" style="width:100%;height:36rem;border:0"></iframe>')
_HOUSE = Markup('<figure><img src="data:image/png;base64,{}" alt="{}"><figcaption>{}</figcaption></figure>')
_SIZE = (480, 360)


class NotebookView:
    """HTML that a notebook shows in place of a value.

    Args:
        html: The HTML, for the notebook's own page.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return self.html


class ReportFigures(dict[str, object]):
    """The figures of a run as plain data, which a notebook shows as the page of ``housequest report --html``.

    Args:
        report: The report.
    """

    def __init__(self, report: Report) -> None:
        super().__init__(report.data())
        self.report = report

    def _repr_html_(self) -> str | None:
        from housequest.agent.evaluation.render.pages.render import report_page

        page = report_page(self.report)
        return None if page is None else _framed("The report", page)


def show_episode(record: Path | str) -> NotebookView:
    """Show a recorded episode in a notebook, to be stepped through or played.

    Args:
        record: An episode's ``.jsonl`` file, in ``episodes/`` of its run.

    Returns:
        What the cell shows.

    Raises:
        ConfigurationError: The file holds no episode.
    """
    from housequest.agent.evaluation.render.pages.render import episode_page

    return NotebookView(_framed("An episode", episode_page(Path(record))))


def show_house(world: World | str, task: Task | str) -> NotebookView:
    """Show the house of a task in a notebook as it truly is at the start; players see only what they have found.

    Args:
        world: A world whose tasks take place in rooms, or its name.
        task: One of its tasks, or its reference such as ``generated:690``.

    Returns:
        What the cell shows.

    Raises:
        ConfigurationError: There is no such world or task.
        GameError: The game is missing or damaged.
        Unsupported: This world cannot be drawn.
    """
    from housequest.worlds.rooms.view import picture

    world, task = known_task(world, task)
    if not isinstance(world, Drawable):
        raise Unsupported(f"The tasks of {world.name} take place in no rooms that could be drawn.")
    env, room = world.open(task), world.room(task)
    try:
        env.reset()
        now = world.situation(env, room)
    finally:
        env.close()
    if now is None:
        raise Unsupported(f"The engine of {world.name} does not tell where things are, so there is nothing to draw.")
    made_up = ", on a made-up plan" if room.made_up else ""
    words = f"{task.reference}: the true state at the start{made_up}. {_words({one.name: one.contents for one in now.holders})}"
    frame = picture("house", room, now, _SIZE)
    png = base64.b64encode(frame.part(*frame.extent()).png()).decode()
    return NotebookView(_HOUSE.format(png, f"The house of {task.reference}", words))


def _words(contents: Mapping[str, tuple[str, ...]]) -> str:
    return " ".join(f"{name}: {', '.join(things)}." for name, things in contents.items() if things)


def _framed(title: str, page: bytes) -> str:
    return _FRAME.format(title, page.decode())
