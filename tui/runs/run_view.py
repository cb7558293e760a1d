"""One run in detail: every task by outcome, the task under the cursor, and charts."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from housequest.agent.evaluation.runs.folder import Result
from housequest.tui.base_screen import in_thread
from housequest.tui.runs.charts import Chart, StepsChart, SuccessChart
from housequest.tui.runs.data import MARKS, EpisodeDigest, RunSnapshot, RunTask, read_digest
from housequest.tui.runs.matrix import Matrix
from housequest.tui.runs.run_list import bar, interval, settings_line, share_text
from housequest.tui.text import cut, printable
from housequest.worlds.errors import ConfigurationError

TALL = 30
"""Lines from which tasks and charts are shown together."""

WIDE = 100
"""Columns from which the charts stand side by side."""

LONGEST = 600
"""Characters of a goal or of a message that are shown."""


_STYLES = {
    "won": "$won",
    "lost": "$foreground",
    "error": "$fault",
    "assisted": "$role-person",
    "playing": "$new",
    "unfinished": "$quiet",
}


class TaskCard(Static):
    """The task under the cursor: its goal, how it ended, and why."""

    DEFAULT_CSS = """
    TaskCard { height: 6; border: round $frame; border-title-color: $quiet; border-subtitle-color: $quiet; padding: 0 1; }
    """

    def show(self, cell: RunTask, digest: EpisodeDigest | None = None, fault: str = "") -> None:
        """Show ``cell``, with the digest of its record once that is read, or why the record cannot be read."""
        self.border_title = f"task {cell.task.number}"
        replays = "enter replays it" if cell.result is not None else "enter replays it as far as it went"
        self.border_subtitle = "not played yet" if cell.record is None else replays
        failure = digest.failure if digest else None
        goal = (_flat(digest.goal), "$goal") if digest else (_flat(fault), "$fault")
        mark = (f"{MARKS[cell.mark]} {cell.mark}", f"bold {_STYLES[cell.mark]}")
        lines = [
            Content.styled(printable(cell.task.id), "$quiet"),
            Content.styled(*goal),
            Content.assemble(mark, f"  {_ending(cell.result)}"),
            Content(f"{failure.label}, turn {failure.turn}: {_flat(failure.words)}" if failure else ""),
        ]
        width = max(1, self.size.width)
        self.update(Content("\n").join(line.truncate(width, ellipsis=True) for line in lines))


def _flat(text: str) -> str:
    return " ".join(printable(cut(text, LONGEST)).split())


def _ending(result: Result | None) -> str:
    if result is None:
        return ""
    why = f"{result.boundary}: {result.message}" if result.message else result.reason
    refused = f", {result.refused} refused" if result.refused else ""
    calls = f", {result.calls} calls" if result.calls else ""
    return f"{_flat(why)} · {result.turns} turns, {result.steps} steps{refused}{calls}"


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

    tall = False

    def compose(self) -> ComposeResult:
        yield Static(id="run-head")
        with Vertical(id="run-frame") as frame:
            frame.border_title = "tasks by outcome"
            yield Matrix()
        yield TaskCard()
        yield Horizontal(SuccessChart(), StepsChart(), id="run-charts")

    def show(self, run: RunSnapshot, alive: bool) -> None:
        """Show ``run``; ``alive``: it is being played."""
        overall = run.summary.overall
        progress = f"{run.done} of {len(run.cells)} done" + ("" if run.whole else f", {run.marks['won']} of these won")
        state = "▸ being played" if alive else "finished" if run.whole else "… broken off; the same eval goes on with it"
        head = Content.assemble(
            bar(overall.success, 16),
            (f"  {share_text(overall.success)}", "bold"),
            (f"  {interval(overall)}", "$quiet"),
            f"  {progress}",
            (f"  {state}", "$new" if alive else "$quiet"),
            *([(f"  {overall.errors} with errors", "$fault")] if overall.errors else []),
        )
        self.query_one("#run-head", Static).update(Content("\n").join([head, settings_line(run).stylize("$quiet")]))
        legend = (f"{sign} {mark} {run.marks[mark]}" for mark, sign in MARKS.items() if run.marks[mark])
        self.query_one("#run-frame").border_subtitle = "  ".join(legend)
        self.query_one(Matrix).show(run)
        for chart in self.query(Chart):
            chart.show(run)
        self._look()

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

    @on(Matrix.Moved)
    def _look(self) -> None:
        cell = self.query_one(Matrix).cell
        if cell is not None:
            self.query_one(TaskCard).show(cell)
            self.run_worker(partial(self._read, cell), group="digest", exclusive=True)

    async def _read(self, cell: RunTask) -> None:
        if cell.record is None:
            return
        try:
            self.query_one(TaskCard).show(cell, await in_thread(partial(read_digest, cell.record)))
        except ConfigurationError as error:
            self.query_one(TaskCard).show(cell, fault=str(error))
