"""Runs on disk: a list, one of them in detail, or two side by side. A run that is being played is followed as it grows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import ContentSwitcher, OptionList, Static
from textual.widgets.option_list import Option

from housequest.agent.evaluation.render.table import percent
from housequest.tui.base_screen import RUNS, AppScreen, OpenScreen
from housequest.tui.keymap import Equipped, keys_of
from housequest.tui.runs import data
from housequest.tui.runs.run_list import NAME, RunCard, RunEntry, RunList, bar
from housequest.tui.runs.run_view import Chart, Matrix, RunView, StepsChart, SuccessChart
from housequest.tui.text import printable
from housequest.tui.widgets.keybar import KeyBar
from housequest.tui.widgets.lines import FramedList
from housequest.worlds.errors import ConfigurationError

POLL = 1.0
"""Seconds between two looks at the disk."""
TALL = 36
"""Lines from which there is room for charts below the list."""
BAR = 4
View = Literal["list", "run", "pair"]


class RunsScreen(AppScreen, keys="runs"):
    """Shows the runs in ``folder``, or that run, and looks at the disk every ``poll`` seconds; None: only when asked."""

    def __init__(self, folder: Path = RUNS, *, poll: float | None = POLL) -> None:
        super().__init__()
        self._folder = folder
        self._poll = poll
        self._found: dict[Path, RunEntry] = {}
        self._stamps: dict[Path, data.FileStates] = {}
        self._open: tuple[Path, ...] = ()
        self._unfolded = set[Path]()
        """The series and arms whose runs are listed, too."""
        self._seen = False
        self._shown: tuple[tuple[Path, ...], frozenset[Path]] | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="runs-title")
        with ContentSwitcher(initial="list"):
            with Vertical(id="list"):
                yield Static(id="runs-heading")
                yield Static(id="runs-none")
                yield RunList()
                yield RunCard()
                yield Horizontal(SuccessChart(), StepsChart(), id="runs-charts")
            yield RunView(id="run")
            yield PairView(id="pair")
        yield KeyBar(tuple(keys_of("runs_views")))

    def on_mount(self) -> None:
        self._title()
        self._follow()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height >= TALL, "-tall")
        self.call_after_refresh(lambda: self.query_one("#runs-heading", Static).update(self.query_one(RunList).heading()))

    @work(group="follow")
    async def _follow(self) -> None:
        while True:
            await self._look()
            if self._poll is None:
                return
            await asyncio.sleep(self._poll)

    async def _look(self) -> None:
        """Read what changed on disk, in a thread."""
        try:
            folders = await self.in_thread(partial(data.run_folders, self._folder))
            stamps = await self.in_thread(lambda: {path: data.file_states(path) for path in folders})
        except ConfigurationError as error:
            self._none(str(error))
            return
        self._found = {path: self._found.get(path, path) for path in folders}
        changed = [path for path in folders if stamps[path] != self._stamps.get(path)]
        self._stamps = stamps
        # Nothing is drawn that did not change; but a run also changes by keeping still for long.
        if changed or (folders, self._alive()) != self._shown:
            self._show()
        for path in changed:
            self._found[path] = await self.in_thread(partial(data.read_overview, path))
            self._show()
        if not self._seen and folders == (self._folder,) and isinstance(self._found[self._folder], data.RunSnapshot):
            self._turn_to(self._folder)
        self._seen = True

    def _show(self) -> None:
        if not self._found:
            self._none(None)
            return
        if self.has_class("empty"):
            self.remove_class("empty")
            self.refresh_bindings()
        alive = self._alive()
        self._shown = (tuple(self._found), alive)
        listed = self.query_one(RunList)
        listed.show(tuple(self._entries()), alive)
        if self.focused is None and self._view == "list":
            listed.focus()
        self._card(listed.looked_at)
        match [self._found.get(path) for path in self._open]:
            case [data.RunSnapshot() as run]:
                self.query_one(RunView).show(run, run.path in alive)
            case [data.RunSnapshot() as first, data.RunSnapshot() as second]:
                self.query_one(PairView).show(data.pair_runs(first, second))
            case _:
                pass
        self.refresh_bindings()
        self._title()

    def _entries(self) -> Iterator[RunEntry]:
        """The lines of the list: a series and an arm are one, below which an unfolded one has its runs."""
        for entry in data.grouped(self._found.values()):
            yield entry
            if isinstance(entry, data.RunGroup) and entry.path in self._unfolded:
                yield from entry.members

    def _alive(self) -> frozenset[Path]:
        runs, now = (found for found in self._found.values() if isinstance(found, data.RunSnapshot)), time.time()
        return frozenset(run.path for run in runs if run.alive(now))

    def _none(self, fault: str | None) -> None:
        self.add_class("empty")
        self.refresh_bindings()
        text = Content.assemble(
            "No runs in ",
            (printable(str(self._folder)), "$goal"),
            " yet.\nA run is many episodes of one agent, played without a screen; it shows up here while it is being played:\n",
            ("\n  housequest eval --agent expert --split generated --limit 60", "$new"),
        )
        self.query_one("#runs-none", Static).update(Content.styled(printable(fault), "$fault") if fault else text)
        self._title()

    @property
    def _view(self) -> View:
        return "list" if not self._open else "run" if len(self._open) == 1 else "pair"

    def _turn_to(self, *paths: Path) -> None:
        self._open = paths
        self.query_one(ContentSwitcher).current = self._view
        self._show()
        first: dict[View, type[Widget]] = {"list": RunList, "run": Matrix, "pair": OptionList}
        self.query_one(f"#{self._view}").query_one(first[self._view]).focus()
        self.refresh_bindings()

    def _title(self) -> None:
        names = " and ".join(printable(path.name) for path in self._open)
        runs = sum(not isinstance(found, data.UnreadableRun) for found in self._found.values())
        where = names if names else f"{runs} in {printable(str(self._folder))}"
        title = Content.assemble(("Runs", "bold $foreground"), (f"  {'›' if names else '·'}  ", "$frame"), where)
        self.query_one("#runs-title", Static).update(title.truncate(max(8, self.size.width - 2), ellipsis=True))

    def _card(self, found: RunEntry | None) -> None:
        self.query_one(RunCard).show(found)
        charts = self.query_one("#runs-charts")
        charts.visible = isinstance(found, data.RunSnapshot)
        for chart in charts.query(Chart):
            if isinstance(found, data.RunSnapshot):
                chart.show(found)

    @on(OptionList.OptionHighlighted, "RunList")
    def _highlighted(self) -> None:
        """Show the highlighted run, which may have been read since the message was sent."""
        self._card(self.query_one(RunList).looked_at)
        self._title()

    @on(OptionList.OptionSelected, "RunList")
    def _selected(self) -> None:
        found = self.query_one(RunList).looked_at
        if isinstance(found, data.RunGroup):
            self._unfolded ^= {found.path}
            self._show()
        elif isinstance(found, data.RunSnapshot):
            self._turn_to(found.path)

    @on(RunList.Compare)
    def _compare(self, event: RunList.Compare) -> None:
        if len(event.runs) == 2:
            self._turn_to(*event.runs)
        else:
            self._say("Mark two runs with space, then press c.")

    @on(Matrix.Opened)
    def _replay(self, event: Matrix.Opened) -> None:
        if event.cell.record is not None:
            self.post_message(OpenScreen("replay", (event.cell.record,)))
        else:
            self._say("This task has not been played yet: there is nothing to replay.")

    def _say(self, text: str) -> None:
        """Show ``text`` in place of the title, until a key does something else."""
        self.query_one("#runs-title", Static).update(Content.styled(text, "$new"))

    @property
    def leads_out(self) -> bool:
        return not self._open

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        view, _, what = action.partition("_")
        if view not in {"list", "run", "pair"} or not what:
            return True
        if view != self._view or self.has_class("empty"):
            return False
        if action == "run_charts":
            return not self.query_one(RunView).tall
        if action == "run_next":
            return self.query_one(Matrix).failures > 0
        return view != "pair" or bool(self.query_one(PairView).flips)

    @work(group="look", exclusive=True)
    async def action_look(self) -> None:
        await self._look()

    def action_leave(self) -> None:
        if self._open:
            self._turn_to()
        else:
            super().action_leave()


class PairView(Equipped, Vertical, keys="run_pair"):
    """Shows two runs; each task with different outcomes can be replayed from either."""

    flips: tuple[data.Flip, ...] = ()
    _paths: tuple[Path, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static(id="pair-head")
        with Vertical(id="pair-frame"):
            yield FramedList(id="pair-flips")

    def show(self, pair: data.RunPair) -> None:
        """Show ``pair``; the highlighted task stays the same while the runs grow."""
        self.query_one("#pair-head", Static).update(Content("\n").join(_head(pair)))
        frame, flips = self.query_one("#pair-frame"), self.query_one(OptionList)
        first = sum(one.mark == "won" for one, _ in pair.flips)
        frame.border_title = f"{len(pair.flips)} tasks flipped · {first} won by 1 alone · {len(pair.flips) - first} by 2 alone"
        frame.border_subtitle = "enter replays it where it was not won" if pair.flips else ""
        paths = (pair.first.path, pair.second.path)
        if (pair.flips, paths) == (self.flips, self._paths):
            return
        looked, self.flips, self._paths = flips.highlighted, pair.flips, paths
        flips.set_options(Option(_flip(flip)) for flip in pair.flips)
        if pair.flips:
            flips.highlighted = min(looked or 0, len(pair.flips) - 1)
        else:
            flips.add_option(Option(Content.styled("No task was won by one of them alone.", "$quiet"), disabled=True))

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        # In the run that did not win it.
        first, second = self.flips[event.option_index]
        self.post_message(Matrix.Opened(second if first.mark == "won" else first))

    def action_open(self, side: int) -> None:
        place = self.query_one(OptionList).highlighted
        if place is not None and place < len(self.flips):
            self.post_message(Matrix.Opened(self.flips[place][side - 1]))


def _head(pair: data.RunPair) -> Iterator[Content]:
    """What the two runs are, and how they did by type."""
    for number, run in ((1, pair.first), (2, pair.second)):
        config, left = run.manifest.configuration, len(run.cells) - pair.shared
        about = f"{config.agent} · {config.model or 'no model'} · {config.split}"
        alone = f" · {left} tasks of its own are left out" if left else ""
        yield Content.assemble(
            (f"{number} ", "$new"), (printable(run.name), "bold"), (f"  {printable(about)}{alone}", "$quiet")
        )
    if not pair.shared:
        yield Content.styled("\nThe two runs have no task in common; there is nothing to compare.", "$goal")
        return
    side = f"{'':<{BAR}} {'won':>7} {'steps':>6}"
    yield Content.styled(f"\n{'':<{NAME}} {'tasks':>5}  1{side[1:]}  2{side[1:]}  {'more':>5}", "$quiet")
    yield from (_row(data.short_type(kind), sides) for kind, sides in pair.by_type.items())
    yield _row("all", pair.overall).stylize("bold")


def _row(name: str, sides: data.PairCounts) -> Content:
    first, second = sides
    more = second.won - first.won
    parts: list[Content | str | tuple[str, str]] = [f"{name[:NAME]:<{NAME}} {first.finished:>5}  "]
    for side in sides:
        steps = f"{side.mean_steps_won:.1f}" if side.mean_steps_won else "-"
        parts += [bar(side.success, BAR), f" {percent(side.success):>7}", (f" {steps:>6}  ", "$quiet")]
    return Content.assemble(*parts, (f"{f'{more:+d}' if more else '=':>5}", "$foreground" if more else "$quiet"))


def _flip(flip: data.Flip) -> Content:
    parts: list[str | tuple[str, str]] = []
    for number, cell in enumerate(flip, start=1):
        style = "$won" if cell.mark == "won" else "$fault" if cell.mark == "error" else "$foreground"
        parts += [(f"{number} ", "$quiet"), (f"{data.MARKS[cell.mark]} {cell.mark:<5}", style), "  "]
    task = flip[0].task
    told = (f"{task.number:>5}  {printable(task.id)}", "$quiet")
    return Content.assemble(*parts, f"{data.short_type(task.type):<22} ", told)
