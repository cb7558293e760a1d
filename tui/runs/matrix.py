"""The tasks of a run by outcome: a row for each task type, a character for each task. The character alone tells the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from housequest.tui.runs.data import MARKS, RunSnapshot, RunTask
from housequest.tui.text import printable

NAMES = 22
"""Columns of a type's name."""

COUNTS = 9
"""Columns of how many of a type were won."""

NOT_WON = ("lost", "error")
"""The marks of tasks that finished without being won."""

LEFT = 1 + NAMES + 1 + COUNTS + 2
"""Columns before the first task of a line."""


def short_type(kind: str) -> str:
    """A task type in fewer words."""
    return printable(kind.replace("_", " ").removesuffix(" in recep"))


@dataclass(frozen=True, slots=True)
class _Line:
    """Tasks ``first`` to ``end`` on one line; only the first line of a type has its name and count."""

    name: str
    count: str
    first: int
    end: int


class Matrix(ScrollView, can_focus=True):
    """Shows how each task of a run stands, and lets one be chosen with arrow keys or the mouse."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Replay"),
        Binding("left", "move(-1)", "Task", show=False),
        Binding("right", "move(1)", "Task", show=False),
        Binding("up", "line(-1)", "Row", show=False),
        Binding("down", "line(1)", "Row", show=False),
        Binding("pageup", "line(-10)", "Page", show=False),
        Binding("pagedown", "line(10)", "Page", show=False),
        Binding("home", "move(-1000000000)", "First", show=False),
        Binding("end", "move(1000000000)", "Last", show=False),
        Binding("f", "next_failure(1)", "Next not won"),
        Binding("F", "next_failure(-1)", "Previous not won", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {*(f"matrix--{mark}" for mark in MARKS), "matrix--name", "matrix--count"}
    DEFAULT_CSS = """
    Matrix {
        height: 1fr; background: transparent; scrollbar-size-vertical: 1; overflow-x: hidden;
        & > .matrix--won { color: $won; }
        & > .matrix--lost { color: $foreground; }
        & > .matrix--error { color: $fault; text-style: bold; }
        & > .matrix--assisted { color: $role-person; }
        & > .matrix--playing { color: $new; text-style: bold; }
        & > .matrix--unfinished { color: $frame; }
        & > .matrix--name { color: $foreground; }
        & > .matrix--count { color: $quiet; }
    }
    """

    cursor: reactive[int] = reactive(0, init=False)

    class Moved(Message):
        """The cursor is on another task."""

    @dataclass
    class Opened(Message):
        """A task's replay was asked for."""

        cell: RunTask

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[tuple[str, tuple[RunTask, ...]], ...] = ()
        self._cells: tuple[RunTask, ...] = ()
        self._lines: tuple[_Line, ...] = ()
        self._pitch = 1

    def show(self, run: RunSnapshot) -> None:
        """Show ``run``; the cursor stays on the same task if the run has it."""
        looked = self.cell.task.id if self.cell is not None else None
        self._rows = tuple(run.by_type.items())
        self._cells = tuple(cell for _, cells in self._rows for cell in cells)
        self._lay_out()
        self.cursor = next((place for place, cell in enumerate(self._cells) if cell.task.id == looked), 0)
        self.refresh()

    @property
    def cell(self) -> RunTask | None:
        """The task under the cursor."""
        return self._cells[self.cursor] if self.cursor < len(self._cells) else None

    def _lay_out(self) -> None:
        room = max(8, self.size.width - LEFT + 1)
        longest = max((len(cells) for _, cells in self._rows), default=0)
        self._pitch = 2 if 2 * longest <= room else 1
        across = room // self._pitch
        lines: list[_Line] = []
        first = 0
        for kind, cells in self._rows:
            won = sum(cell.mark == "won" for cell in cells)
            for start in range(0, len(cells), across):
                name, count = (short_type(kind), f"{won}/{len(cells)}") if not start else ("", "")
                lines.append(_Line(name, count, first + start, first + min(start + across, len(cells))))
            first += len(cells)
        self._lines = tuple(lines)
        self.virtual_size = Size(self.size.width, len(lines))
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of lines, where the style sheet leaves the height to the matrix."""
        del container, viewport, width
        return max(1, len(self._lines))

    def _line_of(self, cursor: int) -> int:
        return next(place for place, line in enumerate(self._lines) if cursor < line.end)

    def render_line(self, y: int) -> Strip:
        number, base = y + self.scroll_offset.y, self.rich_style
        if number >= len(self._lines):
            return Strip.blank(self.size.width, base)
        line = self._lines[number]
        name = line.name if len(line.name) <= NAMES else f"{line.name[: NAMES - 1]}…"
        segments = [
            Segment(f" {name:<{NAMES}}", self.get_component_rich_style("matrix--name")),
            Segment(f" {line.count:>{COUNTS}}  ", self.get_component_rich_style("matrix--count")),
        ]
        here = Style(reverse=True, bold=True) if self.has_focus else Style(underline=True)
        for place in range(line.first, line.end):
            mark = self._cells[place].mark
            style = self.get_component_rich_style(f"matrix--{mark}")
            segments.append(Segment(MARKS[mark], style + here if place == self.cursor else style))
            if self._pitch == 2:
                segments.append(Segment(" ", base))
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def validate_cursor(self, cursor: int) -> int:
        return min(max(0, cursor), max(0, len(self._cells) - 1))

    def watch_cursor(self) -> None:
        if self.cell is not None:
            self.refresh()
            self._reveal()
            self.post_message(self.Moved())

    def _reveal(self) -> None:
        if self.cell is not None:
            self.scroll_to_region(Region(0, self._line_of(self.cursor), 1, 1), animate=False, force=True)

    def on_resize(self) -> None:
        """Lay the rows out again; the cursor stays visible."""
        self._lay_out()
        self.call_after_refresh(self._reveal)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the task that was clicked; a double click opens it."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        number, across = offset.y + self.scroll_offset.y, (offset.x - LEFT) // self._pitch
        if number < len(self._lines) and 0 <= across < self._lines[number].end - self._lines[number].first:
            self.cursor = self._lines[number].first + across
            if event.chain == 2:
                self.action_open()

    def action_move(self, by: int) -> None:
        self.cursor += by

    def action_line(self, by: int) -> None:
        """Move ``by`` lines, in the same column where possible."""
        if self._cells:
            here = self._line_of(self.cursor)
            there = self._lines[min(max(0, here + by), len(self._lines) - 1)]
            self.cursor = min(there.first + self.cursor - self._lines[here].first, there.end - 1)

    @property
    def failures(self) -> int:
        """Tasks that finished without being won."""
        return sum(cell.mark in NOT_WON for cell in self._cells)

    def action_next_failure(self, by: int) -> None:
        """Move to the next (or previous) task that finished without being won."""
        places = range(self.cursor + by, len(self._cells) if by > 0 else -1, by)
        self.cursor = next((place for place in places if self._cells[place].mark in NOT_WON), self.cursor)

    def action_open(self) -> None:
        if self.cell is not None:
            self.post_message(self.Opened(self.cell))
