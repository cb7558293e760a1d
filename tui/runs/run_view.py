"""One run in detail: every task by outcome, the task under the cursor, and charts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tui.base_screen import in_thread
from tui.runs.charts import StepsChart, SuccessChart
from tui.runs.data import MARKS, EpisodeDigest, RunSnapshot, RunTask, read_digest
from tui.runs.matrix import Matrix, legend
from tui.runs.run_list import bar, configuration, interval, percent
from tui.text import cut, printable
from worlds.errors import ConfigurationError

TALL = 30
"""Lines from which tasks and charts are shown together."""

WIDE = 100
"""Columns from which the charts stand side by side."""

LONGEST = 600
"""Characters of a goal or of a message that are shown."""


class TaskCard(Static):
    """The task under the cursor: its goal, how it ended, and why."""

    DEFAULT_CSS = """
    TaskCard { height: 6; border: round $frame; border-title-color: $quiet; border-subtitle-color: $quiet; padding: 0 1; }
    """

    def show(self, cell: RunTask, told: EpisodeDigest | None, fault: str = "") -> None:
        """Show ``cell``, with the digest of its record once that is read, or why the record cannot be read."""
        self.border_title = f"task {cell.task.number}"
        self.border_subtitle = _way_on(cell)
        lines = [
            Content.styled(printable(cell.task.id), "$quiet"),
            Content.styled(_flat(told.goal), "$goal") if told else Content.styled(_flat(fault or cell.fault or ""), "$fault"),
            Content.assemble((f"{MARKS[cell.mark]} {cell.mark}", f"bold {_STYLES[cell.mark]}"), f"  {_ending(cell)}"),
            Content(_why(told)),
        ]
        width = max(1, self.size.width)
        self.update(Content("\n").join(line.truncate(width, ellipsis=True) for line in lines))


def _flat(text: str) -> str:
    return " ".join(printable(cut(text, LONGEST)).split())


def _why(told: EpisodeDigest | None) -> str:
    failure = told.failure if told else None
    return f"{failure.label}, turn {failure.turn}: {_flat(failure.words)}" if failure else ""


_STYLES = {
    "won": "$won",
    "lost": "$foreground",
    "error": "$fault",
    "assisted": "$role-person",
    "playing": "$new",
    "unfinished": "$quiet",
}


def _ending(cell: RunTask) -> str:
    result = cell.result
    if result is None:
        return ""
    why = f"{result.boundary}: {result.message}" if result.message else result.reason
    refused = f", {result.refused} refused" if result.refused else ""
    calls = f", {result.calls} calls" if result.calls else ""
    return f"{_flat(why)} · {result.turns} turns, {result.steps} steps{refused}{calls}"


def _way_on(cell: RunTask) -> str:
    if cell.record is None:
        return "not played yet"
    return "enter replays it" if cell.result is not None else "enter replays it as far as it went"


def _progress(run: RunSnapshot) -> str:
    """How many tasks finished and, while some are left, how many of those were won."""
    told = f"{run.done} of {len(run.cells)} done"
    return told if run.whole else f"{told}, {run.marks['won']} of these won"


class RunView(Vertical, can_focus=True):
    """Shows a run; the cursor stays on the same task while the run grows."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("g", "charts", "Charts")]

    DEFAULT_CSS = """
    RunView {
        #run-head { height: auto; padding: 0 1; }
        #run-frame { height: 1fr; border: round $frame; border-title-color: $quiet; border-subtitle-color: $quiet; }
        #run-frame:focus-within { border: round $foreground; border-title-color: $foreground; border-title-style: bold; }
        #run-charts { height: 1fr; display: none; }
        Chart { width: 1fr; }
        &.-narrow #run-charts { layout: vertical; }
        &.charts #run-charts { display: block; }
        &.charts #run-frame, &.charts TaskCard { display: none; }
        &.-tall {
            #run-frame { height: auto; max-height: 50%; }
            Matrix { height: auto; max-height: 100%; }
            #run-charts { display: block; }
        }
    }
    """

    @dataclass
    class Opened(Message):
        """A task's replay was asked for."""

        cell: RunTask

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.tall = False

    def compose(self) -> ComposeResult:
        yield Static(id="run-head")
        with Vertical(id="run-frame") as frame:
            frame.border_title = "tasks by outcome"
            yield Matrix()
        yield TaskCard()
        with Horizontal(id="run-charts"):
            yield SuccessChart()
            yield StepsChart()

    def show(self, run: RunSnapshot, alive: bool) -> None:
        """Show ``run``; ``alive``: it is being played."""
        overall = run.summary.overall
        state = "▸ being played" if alive else "finished" if run.whole else "… broken off; the same eval goes on with it"
        head = Content.assemble(
            bar(overall.success, 16),
            (f"  {percent(overall.success)}", "bold"),
            (f"  {interval(run.summary.overall)}", "$quiet"),
            f"  {_progress(run)}",
            (f"  {state}", "$new" if alive else "$quiet"),
            *([(f"  {overall.errors} with errors", "$fault")] if overall.errors else []),
        )
        self.query_one("#run-head", Static).update(Content("\n").join([head, configuration(run).stylize("$quiet")]))
        words = "  ".join(f"{sign} {word} {number}" for sign, word, number in legend(run))
        self.query_one("#run-frame").border_subtitle = words
        self.query_one(Matrix).show(run)
        self.query_one(SuccessChart).show(run)
        self.query_one(StepsChart).show(run)
        self._look()

    def focus_first(self) -> None:
        self.query_one(Matrix).focus()

    def action_charts(self) -> None:
        """Switch between tasks and charts."""
        self.toggle_class("charts")
        # What is not shown holds no keys.
        (self if self.has_class("charts") else self.query_one(Matrix)).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        return not (action == "charts" and self.tall)

    def on_resize(self, event: events.Resize) -> None:
        self.tall = event.size.height >= TALL
        self.set_class(self.tall, "-tall")
        self.set_class(event.size.width < WIDE, "-narrow")
        if self.tall:
            self.remove_class("charts")
        self.refresh_bindings()
        self._look()

    def on_matrix_moved(self, event: Matrix.Moved) -> None:
        event.stop()
        self._look()

    def on_matrix_opened(self, event: Matrix.Opened) -> None:
        event.stop()
        self.post_message(self.Opened(event.cell))

    def _look(self) -> None:
        cell = self.query_one(Matrix).cell
        if cell is not None:
            self.query_one(TaskCard).show(cell, None)
            self.run_worker(partial(self._tell, cell), group="tell", exclusive=True)

    async def _tell(self, cell: RunTask) -> None:
        if cell.record is None:
            return
        told, fault = None, ""
        try:
            told = await in_thread(partial(read_digest, cell.record))
        except ConfigurationError as error:
            fault = str(error)
        self.query_one(TaskCard).show(cell, told, fault)
