"""One run in detail: its settings, every task by outcome, the task under the cursor, and charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events, on, work
from textual.app import ComposeResult
from textual.color import Color
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static
from textual_plotext import PlotextPlot

from housequest.agent.evaluation.analysis.failures import Failure
from housequest.agent.evaluation.analysis.metrics import Figures
from housequest.agent.evaluation.render.table import percent
from housequest.agent.evaluation.runs.folder import Result
from housequest.agent.evaluation.runs.spec import MANY
from housequest.tui.base_screen import in_thread
from housequest.tui.keymap import Equipped
from housequest.tui.runs.data import MARKS, RunGroup, RunSnapshot, RunTask, read_digest, short_type
from housequest.tui.text import cut, one_line, percentage, printable
from housequest.worlds.errors import ConfigurationError

NAMES = 22
"""Columns of a type's name."""
COUNTS = 9
"""Columns of how many of a type were won."""
NOT_WON = ("lost", "error")
"""The marks of tasks that finished without being won."""
LEFT = 1 + NAMES + 1 + COUNTS + 2
"""Columns before the first task of a line."""
WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
"""The numbers of steps that one bar of the histogram may span."""
TALL = 30
"""Lines from which tasks and charts are shown together."""
WIDE = 100
"""Columns from which the charts stand side by side."""
LONGEST, LONGEST_SETTING = 600, 200  # characters of a goal or of a message that are shown, and of a setting
_HUES = ("$won", "$foreground", "$fault", "$role-person", "$new", "$quiet")
_STYLES = dict(zip(MARKS, _HUES, strict=True))


def interval(count: Figures) -> str:
    ends = count.interval
    return "" if ends is None else f"{percentage(ends.low)}-{percentage(ends.high)} %"


def bar(share: float | None, width: int) -> Content:
    """A share in [0, 1] as a bar. Only 0, or none, shows an empty bar, and only 1 a full one."""
    share = share or 0.0
    full = round(share * width)
    full = max(1, full) if share > 0 else 0
    full = min(width - 1, full) if share < 1 else width
    return Content.assemble(("━" * full, "$won"), ("╌" * (width - full), "$frame"))


def settings_line(run: RunSnapshot) -> Content:
    """Agent, model, tasks and the other settings of a run, in a line or two."""
    config, of, tasks = run.manifest.configuration, run.manifest.of, len(run.manifest.tasks)
    parts = [
        config.who,
        config.with_what or "no model",
        f"{tasks} of {config.split}" if of > MANY else f"{tasks} of {config.split}'s {of}",
        f"at most {config.max_turns} turns",
        f"{len(run.members)} runs" if isinstance(run, RunGroup) else f"seed {config.seed}",
        " ".join(f"{key}={value}" for key, value in sorted(config.settings.items())),
        f"rules {config.rules.label}" if config.rules else "",
        f"granted {', '.join(config.grants)}" if config.grants else "",
        f"curiosity {config.curiosity}" if config.curiosity else "",
        f"goals {config.goals}" if config.goals != "template" else "",
    ]
    return Content(" · ".join(printable(cut(one, LONGEST_SETTING)) for one in parts if one)).stylize("$quiet")


@dataclass(frozen=True, slots=True)
class _Line:
    """Tasks ``first`` to ``end`` on one line; only the first line of a type has its name and count."""

    name: str
    count: str
    first: int
    end: int


class Matrix(Equipped, ScrollView, keys="matrix", can_focus=True):
    """Shows how each task of a run stands, and lets one be chosen with arrow keys or the mouse."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*(f"matrix--{mark}" for mark in MARKS), "matrix--name", "matrix--count"}

    cursor: reactive[int] = reactive(0, init=False)

    class Moved(Message):
        """The cursor is on another task."""

    @dataclass
    class Opened(Message):
        """A task's replay was asked for."""

        cell: RunTask

    _rows: tuple[tuple[str, tuple[RunTask, ...]], ...] = ()
    _cells: tuple[RunTask, ...] = ()
    _lines: tuple[_Line, ...] = ()
    _pitch = 1

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
        return self._cells[self.cursor] if self.cursor < len(self._cells) else None

    def _lay_out(self) -> None:
        room = max(8, self.size.width - LEFT + 1)
        longest = max((len(cells) for _, cells in self._rows), default=0)
        self._pitch = 2 if 2 * longest <= room else 1
        across = room // self._pitch
        lines: list[_Line] = []
        first = 0
        for kind, cells in self._rows:
            end, count = first + len(cells), f"{sum(cell.mark == 'won' for cell in cells)}/{len(cells)}"
            for start in range(first, end, across):
                names = (short_type(kind), count) if start == first else ("", "")
                lines.append(_Line(*names, start, min(start + across, end)))
            first = end
        self._lines = tuple(lines)
        self.virtual_size = Size(self.size.width, len(lines))
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
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
        self._lay_out()
        self.call_after_refresh(self._reveal)

    def on_click(self, event: events.Click) -> None:
        if (offset := event.get_content_offset(self)) is None:
            return
        number, across = offset.y + self.scroll_offset.y, (offset.x - LEFT) // self._pitch
        if number < len(self._lines) and 0 <= across < self._lines[number].end - self._lines[number].first:
            self.cursor = self._lines[number].first + across
            if event.chain == 2:
                self.open()

    def action_move(self, by: int) -> None:
        self.cursor += by

    def action_line(self, by: int) -> None:
        """Move ``by`` lines, in the same column where possible."""
        if self._cells:
            here = self._line_of(self.cursor)
            there = self._lines[min(max(0, here + by), len(self._lines) - 1)]
            self.cursor = min(there.first + self.cursor - self._lines[here].first, there.end - 1)

    def next_failure(self, by: int) -> int | None:
        """The place of the next task that was not won, in the direction ``by``; None if there is none."""
        places = range(self.cursor + by, len(self._cells) if by > 0 else -1, by)
        return next((place for place in places if self._cells[place].mark in NOT_WON), None)

    def open(self) -> None:
        """Ask for the replay of the task under the cursor."""
        if self.cell is not None:
            self.post_message(self.Opened(self.cell))


class Chart(Equipped, PlotextPlot):
    """A chart that is redrawn when its size or the theme changes."""

    _run: RunSnapshot | None = None

    def show(self, run: RunSnapshot) -> None:
        self._run = run
        self._redraw()

    def on_mount(self) -> None:
        super().on_mount()
        self.theme = "clear"  # no colours of plotext's own: the app's theme decides
        self.app.theme_changed_signal.subscribe(self, lambda _: self._redraw())  # pyright: ignore[reportUnknownMemberType]

    def shade(self, variable: str) -> tuple[int, int, int]:
        """A theme variable as plotext takes a colour."""
        return Color.parse(self.app.theme_variables[variable]).rgb  # pyright: ignore[reportUnknownMemberType]

    def draw(self, run: RunSnapshot) -> None:
        """Plot ``run`` on ``self.plt``, which is empty."""
        raise NotImplementedError

    @on(events.Resize)
    def _redraw(self) -> None:
        if self._run is None or not self.size.width:
            return
        plt = self.plt
        plt.clear_figure()
        plt.frame(False)
        self.draw(self._run)
        self.refresh()


class SuccessChart(Chart):
    """Success by task type: a point for the rate, a line for its 95 % interval (Wilson), both in per cent."""

    BORDER_TITLE = "success by type, % with 95 % interval"

    def draw(self, run: RunSnapshot) -> None:
        plt = self.plt
        counts = run.summary.by_type
        # One line for each type, evenly spaced: plotext would round their heights unevenly.
        lines = max(2, self.size.height - 1)
        every = max(1, lines // max(1, len(counts)))
        heights = [lines - 1 - every * place - (every - 1) // 2 for place in range(len(counts))]
        for height, count in zip(heights, counts.values(), strict=True):
            if (ends := count.interval) is not None and count.success is not None:
                plt.plot([100 * ends.low, 100 * ends.high], [height, height], marker="─", color=self.shade("frame"))
                plt.scatter([100 * count.success], [height], marker="●", color=self.shade("won"))
        plt.xlim(-3, 102)
        plt.ylim(0, lines - 1)
        plt.xticks([0, 25, 50, 75, 100])
        plt.yticks([float(height) for height in heights], [short_type(kind) for kind in counts])


class StepsChart(Chart):
    """A histogram of the steps of won episodes."""

    BORDER_TITLE = "steps of won episodes"

    def draw(self, run: RunSnapshot) -> None:
        plt = self.plt
        bars = histogram(run.steps_won, most=max(4, (self.size.width - 8) // 7))
        if not bars:
            quiet, ground = self.shade("quiet"), self.shade("background")
            plt.text("nothing won yet", 0.5, 0.5, color=quiet, background=ground, alignment="center")
            for limit, ticks in ((plt.xlim, plt.xticks), (plt.ylim, plt.yticks)):
                limit(0, 1)
                ticks([])
            return
        starts = [start for start, _ in bars]
        width = starts[1] - starts[0] if len(starts) > 1 else 1
        places = list(range(len(bars)))
        plt.bar(places, [count for _, count in bars], color=self.shade("new"), width=0.7, marker="█")
        plt.xlim(-0.5, len(bars) - 0.5)
        labels = [str(start) if width == 1 else f"{start}-{start + width - 1}" for start in starts]
        every = -(-(max(map(len, labels)) + 2) * len(bars) // max(1, self.size.width - 8))
        named = places[:: max(1, every)]
        plt.xticks([float(place) for place in named], [labels[place] for place in named])
        top = max(count for _, count in bars)
        plt.yticks(sorted({0, (top + 1) // 2, top}))
        plt.ylim(0, top)


def histogram(values: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Bins of equal width, at most ``most``: the first value of each bin and how many ``values`` it holds."""
    if not values:
        return []
    low, high = min(values), max(values)
    width = next((width for width in WIDTHS if high // width - low // width < most), WIDTHS[-1])
    counts = Counter(value // width for value in values)
    return [(place * width, counts[place]) for place in range(low // width, high // width + 1)]


class TaskCard(Equipped, Static):
    """The task under the cursor: its goal, how it ended, and why."""

    def show(self, cell: RunTask, digest: tuple[str, Failure | None] | None = None, fault: str = "") -> None:
        """Show ``cell``, with the goal and the failure in its record once that is read, or why it cannot be read."""
        self.border_title = f"task {cell.task.number}"
        replays = "enter replays it" if cell.result is not None else "enter replays it as far as it went"
        self.border_subtitle = "not played yet" if cell.record is None else replays
        goal, failure = digest or ("", None)
        mark = (f"{MARKS[cell.mark]} {cell.mark}", f"bold {_STYLES[cell.mark]}")
        lines = [
            Content.styled(printable(cell.task.id), "$quiet"),
            Content.styled(one_line(goal or fault, LONGEST), "$goal" if digest else "$fault"),
            Content.assemble(mark, f"  {_ending(cell.result)}"),
            Content(f"{failure.label}, turn {failure.turn}: {one_line(failure.words, LONGEST)}" if failure else ""),
        ]
        width = max(1, self.size.width)
        self.update(Content("\n").join(line.truncate(width, ellipsis=True) for line in lines))


def _ending(result: Result | None) -> str:
    if result is None:
        return ""
    why = f"{result.boundary}: {result.message}" if result.message else result.reason
    refused = f", {result.refused} refused" if result.refused else ""
    calls = f", {result.calls} calls" if result.calls else ""
    return f"{one_line(why, LONGEST)} · {result.turns} turns, {result.steps} steps{refused}{calls}"


class RunView(Equipped, Vertical, can_focus=True):
    """Shows a run; the cursor stays on the same task while the run grows."""

    tall = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.matrix = Matrix()

    def compose(self) -> ComposeResult:
        yield Static(id="run-head")
        with Vertical(id="run-frame") as frame:
            frame.border_title = "tasks by outcome"
            yield self.matrix
        yield TaskCard()
        yield Horizontal(SuccessChart(), StepsChart(), id="run-charts")

    def show(self, run: RunSnapshot, alive: bool) -> None:
        """Show ``run``; ``alive``: it is being played."""
        overall = run.summary.overall
        progress = f"{run.done} of {len(run.cells)} played"
        state = "▸ being played" if alive else "finished" if run.whole else "… broken off; the same eval goes on with it"
        head = Content.assemble(
            bar(overall.success, 16),
            (f"  {percent(overall.success)}", "bold"),
            (f"  {interval(overall)}", "$quiet"),
            f"  {progress}",
            (f"  {state}", "$new" if alive else "$quiet"),
            *([(f"  {overall.errors} with errors", "$fault")] if overall.errors else []),
        )
        self.query_one("#run-head", Static).update(Content("\n").join([head, settings_line(run)]))
        legend = (f"{sign} {mark} {run.marks[mark]}" for mark, sign in MARKS.items() if run.marks[mark])
        self.query_one("#run-frame").border_subtitle = "  ".join(legend)
        self.matrix.show(run)
        for chart in self.query(Chart):
            chart.show(run)
        self._look()

    def on_resize(self, event: events.Resize) -> None:
        self.tall = event.size.height >= TALL
        self.set_class(self.tall, "-tall")
        self.set_class(event.size.width < WIDE, "-narrow")
        if self.tall:
            self.remove_class("charts")
        self.screen.refresh_bindings()
        self._look()

    @on(Matrix.Moved)
    def _look(self) -> None:
        cell = self.matrix.cell
        if cell is not None:
            self.query_one(TaskCard).show(cell)
            self._read(cell)

    @work(group="digest", exclusive=True)
    async def _read(self, cell: RunTask) -> None:
        if cell.record is None:
            return
        try:
            self.query_one(TaskCard).show(cell, await in_thread(partial(read_digest, cell.record)))
        except ConfigurationError as error:
            self.query_one(TaskCard).show(cell, fault=str(error))
