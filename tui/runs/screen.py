"""Runs on disk: a list with a card on one, one in detail, or two side by side; what is being played is followed as it grows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeGuard

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import ContentSwitcher, OptionList, Static
from textual.widgets.option_list import Option

from housequest.agent.evaluation.analysis.metrics import Figures
from housequest.agent.evaluation.render.table import percent
from housequest.tui.base_screen import RUNS, AppScreen, OpenScreen
from housequest.tui.keymap import Equipped
from housequest.tui.runs import data
from housequest.tui.runs.run_view import Chart, Matrix, RunView, StepsChart, SuccessChart, bar, interval, settings_line
from housequest.tui.text import printable
from housequest.tui.widgets.keybar import KeyBar
from housequest.tui.widgets.lines import FramedList
from housequest.worlds.errors import ConfigurationError

POLL = 1.0
"""Seconds between two looks at the disk."""
TALL = 36
"""Lines from which there is room for charts below the list."""
RunEntry = data.RunSnapshot | data.UnreadableRun | Path
"""The subject of a line: a run, a folder that is no readable run, or one that has not been read yet."""
COLUMNS = (
    ("run", 0, False, 0),
    ("agent", 14, False, 0),
    ("model", 22, False, 130),
    ("split", 12, False, 100),
    ("done", 11, True, 0),
    ("success", 7, True, 0),
    ("95 %", 9, True, 0),
    ("steps", 5, True, 100),
    ("err", 4, True, 0),
)
"""The heading of each column, its width (0: what is left), if it is aligned right, and the width of lists from which on it is
shown."""
GAP = 2
WIDEST_NAME = 60
NAME = 22
_FIGURES = 43  # columns of what follows a bar
BAR = 4
View = Literal["list", "run", "pair"]


def _cells(run: data.RunSnapshot, alive: bool) -> tuple[tuple[str, str], ...]:
    """The text and the style of each column for a run that is, or is not, being played."""
    config, overall = run.manifest.configuration, run.summary.overall
    sign, style = ("▸ ", "$new") if alive else ("", "") if run.whole else ("… ", "$goal")
    mean = overall.mean_steps_won  # as in all that is shown of a run here
    inside = "  " if not isinstance(run, data.RunGroup) and data.group_of(run.path) else ""
    return (
        (f"{inside}{run.name}", ""),
        (config.who, ""),
        (config.with_what, "") if config.with_what else ("none", "$quiet"),
        (config.split, ""),
        (f"{sign}{run.done}/{len(run.cells)}", style),
        (percent(overall.success), ""),
        (interval(overall), "$quiet"),
        ("-" if mean is None else f"{mean:.1f}", ""),
        (str(overall.errors) if overall.finished else "-", "$fault" if overall.errors else "$quiet"),
    )


class RunList(FramedList):
    """Lists runs in the order given; a number before a run marks it as one of the two to compare."""

    _found: tuple[RunEntry, ...] = ()
    _alive: frozenset[Path] = frozenset()
    _marked: tuple[Path, ...] = ()

    def show(self, found: Sequence[RunEntry], alive: frozenset[Path] = frozenset()) -> None:
        """Show ``found``; those in ``alive`` are being played. The highlighted run stays the same."""
        before = self._paths
        self._found, self._alive = tuple(found), alive
        self._marked = tuple(path for path in self._marked if path in self._paths)
        if before == self._paths:
            self._redraw()
            return
        looked = before[self.highlighted] if self.highlighted is not None and self.highlighted < len(before) else None
        self.set_options(Option(self._line(each)) for each in self._found)
        if self._found:
            self.highlighted = self._paths.index(looked) if looked in self._paths else 0

    def heading(self) -> Content:
        """The column names, for a line above the list."""
        return self._aligned("  ", [(name, "") for name, *_ in COLUMNS]).stylize("$quiet")

    @property
    def looked_at(self) -> RunEntry | None:
        return None if self.highlighted is None else self._found[self.highlighted]

    @property
    def _paths(self) -> tuple[Path, ...]:
        return tuple(found if isinstance(found, Path) else found.path for found in self._found)

    @on(events.Resize)
    def _redraw(self) -> None:
        for index, found in enumerate(self._found):
            self.replace_option_prompt_at_index(index, self._line(found))

    def _line(self, found: RunEntry) -> Content:
        if isinstance(found, Path):
            return Content.styled(f"  {printable(found.name)}  reading …", "$quiet")
        if isinstance(found, data.UnreadableRun):
            # Without the folder's path, which stands below the list.
            path, reason = str(found.path), found.reason
            why = f"this{reason.removeprefix(path)}" if reason.startswith(f"{path} ") else reason.removeprefix(f"{path}/")
            return Content.styled(f"  {printable(found.path.name)}  no run: {printable(why)}", "$quiet")
        lead = f"{self._marked.index(found.path) + 1} " if found.path in self._marked else "  "
        if isinstance(found, data.RunGroup):
            lead = "▾ " if any(member.path in self._paths for member in found.members) else "▸ "
        runs = found.members if isinstance(found, data.RunGroup) else (found,)
        return self._aligned(lead, _cells(found, any(run.path in self._alive for run in runs)))

    def _aligned(self, lead: str, cells: Sequence[tuple[str, str]]) -> Content:
        shown = [(cell, *column) for cell, column in zip(cells, COLUMNS, strict=True) if self.size.width >= column[3]]
        fixed = sum(width for _, _, width, _, _ in shown) + GAP * (len(shown) - 1)
        rest = min(WIDEST_NAME, max(8, (self.size.width or 80) - 2 - len(lead) - fixed - 1))
        parts: list[Content] = []
        for (text, style), _, width, right, _ in shown:
            room = width or rest
            fitted = Content.styled(printable(text), style).truncate(room, ellipsis=True)
            spare = room - fitted.cell_length
            parts.append(fitted.pad_left(spare) if right else fitted.pad_right(spare))
        return Content.styled(lead, "$new") + Content(" " * GAP).join(parts)

    def mark(self) -> None:
        """Mark or unmark a run for a comparison; a third mark replaces the first."""
        found = self.looked_at
        if _single(found):
            rest = tuple(path for path in self._marked if path != found.path)
            self._marked = rest if found.path in self._marked else (*rest, found.path)[-2:]
            self._redraw()

    @property
    def compared(self) -> tuple[Path, ...]:
        """The runs to compare: the marked ones, or the marked one and the highlighted one; fewer than two are too few."""
        looked, paths = self.looked_at, self._marked
        return (*paths, looked.path) if len(paths) == 1 and _single(looked) and looked.path not in paths else paths


def _single(found: RunEntry | None) -> TypeGuard[data.RunSnapshot]:
    return isinstance(found, data.RunSnapshot) and not isinstance(found, data.RunGroup)


class RunCard(Equipped, Static):
    """Shows the run, or why there is none."""

    BORDER_TITLE = "run"

    _found: RunEntry | None = None

    def show(self, found: RunEntry | None) -> None:
        self._found = found
        if isinstance(found, data.RunSnapshot):
            width, summary = self.size.width or 76, found.summary
            rows = [_card_row(data.short_type(kind), count, width) for kind, count in summary.by_type.items()]
            self.update(
                Content("\n").join([settings_line(found), *rows, _card_row("all", summary.overall, width).stylize("bold")])
            )
        elif isinstance(found, data.UnreadableRun):
            self.update(Content.styled(printable(found.reason), "$fault"))
        else:
            self.update(Content.styled("reading …" if found else "", "$quiet"))

    def on_resize(self) -> None:
        self.show(self._found)


def _card_row(name: str, count: Figures, width: int) -> Content:
    won = f"{count.won}/{count.finished}"
    steps = "" if count.mean_steps_won is None else f"{count.mean_steps_won:.1f} steps"
    return Content.assemble(
        f"{name[:NAME]:<{NAME}} ",
        bar(count.success, min(40, max(4, width - NAME - 1 - _FIGURES))),
        f" {percent(count.success):>7}",
        (f" {interval(count):>9}", "$quiet"),
        f" {won:>9}",
        (f" {steps:>11}", "$quiet"),
    )


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
        self._list = RunList()
        self._run = RunView(id="run")
        self._pair = PairView(id="pair")

    def compose(self) -> ComposeResult:
        yield Static(id="runs-title")
        with ContentSwitcher(initial="list"):
            with Vertical(id="list"):
                yield Static(id="runs-heading")
                yield Static(id="runs-none")
                yield self._list
                yield RunCard()
                yield Horizontal(SuccessChart(), StepsChart(), id="runs-charts")
            yield self._run
            yield self._pair
        yield KeyBar()

    def on_mount(self) -> None:
        self._title()
        self._follow()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height >= TALL, "-tall")
        self.call_after_refresh(lambda: self.query_one("#runs-heading", Static).update(self._list.heading()))

    @work(group="follow")
    async def _follow(self) -> None:
        while True:
            await self._look()
            if self._poll is None:
                return
            await asyncio.sleep(self._poll)

    async def _look(self) -> None:
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
        self.remove_class("empty")
        alive = self._alive()
        self._shown = (tuple(self._found), alive)
        listed = self._list
        listed.show(tuple(self._entries()), alive)
        if self.focused is None and self._view == "list":
            listed.focus()
        self._card(listed.looked_at)
        match [self._found.get(path) for path in self._open]:
            case [data.RunSnapshot() as run]:
                self._run.show(run, run.path in alive)
            case [data.RunSnapshot() as first, data.RunSnapshot() as second]:
                self._pair.show(data.pair_runs(first, second))
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
        self._card(self._list.looked_at)
        self._title()
        self.refresh_bindings()

    @on(OptionList.OptionSelected, "RunList")
    def _selected(self) -> None:
        found = self._list.looked_at
        if isinstance(found, data.RunGroup):
            self._unfolded ^= {found.path}
            self._show()
        elif isinstance(found, data.RunSnapshot):
            self._turn_to(found.path)

    @on(Matrix.Opened)
    def _replay(self, event: Matrix.Opened) -> None:
        if event.cell.record is not None:
            self.post_message(OpenScreen("replay", (event.cell.record,)))
        else:
            self.say(self.refusal("replay") or "")

    def say(self, note: str) -> None:
        """Show ``note`` in place of the title, until a key does something else."""
        self.query_one("#runs-title", Static).update(Content.styled(note, "$new"))

    @property
    def leads_out(self) -> bool:
        return not self._open

    def facts(self) -> Mapping[str, object]:
        view, listed, matrix = None if self.has_class("empty") else self._view, self._list, self._run.matrix
        return {
            "list": view == "list",
            "run": view == "run",
            "pair": view == "pair",
            "tasks": view in {"run", "pair"},
            "one": _single(listed.looked_at),
            "two": len(listed.compared) == 2,
            "played": self._pair.flips if view == "pair" else matrix.cell is not None and matrix.cell.record is not None,
            "flips": self._pair.flips,
            "small": not self._run.tall,
            "next": lambda: matrix.next_failure(1) is not None,
            "previous": lambda: matrix.next_failure(-1) is not None,
        }

    def action_open(self) -> None:
        self._list.action_select()

    def action_mark(self) -> None:
        self._list.mark()
        self.refresh_bindings()

    def action_compare(self) -> None:
        self._turn_to(*self._list.compared)

    def action_replay(self) -> None:
        self._run.matrix.open()

    def action_replay_in(self, side: int) -> None:
        self._pair.open(side)

    def action_next_failure(self, by: int) -> None:
        matrix = self._run.matrix
        matrix.cursor = matrix.next_failure(by) or 0

    def action_charts(self) -> None:
        """Show the charts in place of the tasks, or these again."""
        self._run.toggle_class("charts")
        # A hidden widget takes no keys.
        (self._run if self._run.has_class("charts") else self._run.matrix).focus()

    @on(Matrix.Moved)
    def _moved(self) -> None:
        self.refresh_bindings()

    @work(group="look", exclusive=True)
    async def action_look(self) -> None:
        await self._look()

    def action_leave(self) -> None:
        if self._open:
            self._turn_to()
        else:
            super().action_leave()


class PairView(Equipped, Vertical):
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

    def open(self, side: int) -> None:
        """Ask for the replay of the highlighted task in the run of this ``side``, 1 or 2."""
        place = self.query_one(OptionList).highlighted
        if place is not None and place < len(self.flips):
            self.post_message(Matrix.Opened(self.flips[place][side - 1]))


def _head(pair: data.RunPair) -> Iterator[Content]:
    for number, run in ((1, pair.first), (2, pair.second)):
        config, left = run.manifest.configuration, len(run.cells) - pair.shared
        about = f"{config.who} · {config.with_what or 'no model'} · {config.split}"
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
