"""The runs of a folder, one on each line, to open or to compare; and a card that sums up the highlighted one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent.evaluation.analysis.metrics import Figures
from agent.evaluation.runs.selection import MANY
from tui.runs.data import RunSnapshot, UnreadableRun
from tui.runs.matrix import short_type
from tui.text import cut, printable

RunEntry = RunSnapshot | UnreadableRun | Path
"""What a line shows: a run, a folder that cannot be read as one, or a folder that has not been read yet."""

GAP = 2

WIDEST_NAME = 60


@dataclass(frozen=True, slots=True)
class RunColumn:
    """A column: its heading, its width (0: what is left), and its text for a run that is, or is not, being played."""

    name: str
    width: int
    text: Callable[[RunSnapshot, bool], Content]
    right: bool = False


def percent(share: float) -> str:
    """A share in [0, 1] as text."""
    return f"{share * 100:.1f} %"


def interval(count: Figures) -> str:
    """The 95 % interval of a success rate."""
    ends = count.interval
    return f"{ends.low * 100:.0f}-{ends.high * 100:.0f} %"


def _plain(text: str) -> Content:
    return Content(printable(text))


def _done(run: RunSnapshot, alive: bool) -> Content:
    total = len(run.cells)
    style = "$new" if alive else "" if run.whole else "$goal"
    sign = "▸ " if alive else "" if run.whole else "… "
    return Content.styled(f"{sign}{run.done}/{total}", style)


def _errors(run: RunSnapshot, _: bool) -> Content:
    errors = run.summary.overall.errors
    return Content.styled(str(errors), "$fault" if errors else "$quiet")


def _model(run: RunSnapshot, _: bool) -> Content:
    model = run.manifest.configuration.model
    return _plain(model) if model else Content.styled("none", "$quiet")


_RUN = RunColumn("run", 0, lambda run, _: _plain(run.name))
_AGENT = RunColumn("agent", 14, lambda run, _: _plain(run.manifest.configuration.agent))
_MODEL = RunColumn("model", 22, _model)
_SPLIT = RunColumn("split", 12, lambda run, _: _plain(run.manifest.configuration.split))
_DONE = RunColumn("done", 11, _done, right=True)
_SUCCESS = RunColumn("success", 7, lambda run, _: Content(percent(run.summary.overall.success)), right=True)
_INTERVAL = RunColumn("95 %", 9, lambda run, _: Content.styled(interval(run.summary.overall), "$quiet"), right=True)
_STEPS = RunColumn("steps", 5, lambda run, _: Content(_mean(run)), right=True)
_ERRORS = RunColumn("err", 4, _errors, right=True)


def _mean(run: RunSnapshot) -> str:
    mean = run.summary.overall.mean_steps
    return "-" if mean is None else f"{mean:.1f}"


def columns(width: int) -> tuple[RunColumn, ...]:
    """The columns that fit into ``width``."""
    if width < 100:
        return (_RUN, _AGENT, _DONE, _SUCCESS, _INTERVAL, _ERRORS)
    if width < 130:
        return (_RUN, _AGENT, _SPLIT, _DONE, _SUCCESS, _INTERVAL, _STEPS, _ERRORS)
    return (_RUN, _AGENT, _MODEL, _SPLIT, _DONE, _SUCCESS, _INTERVAL, _STEPS, _ERRORS)


class RunList(OptionList):
    """Lists runs in the order given; a number before a run marks it as one of the two to compare."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open"),
        Binding("space", "mark", "Mark"),
        Binding("c", "compare", "Compare"),
    ]

    DEFAULT_CSS = """
    RunList {
        height: 1fr; border: none; padding: 0; background: transparent; scrollbar-size-vertical: 1;
        &:focus { border: none; background-tint: transparent; }
        & > .option-list--option { padding: 0 1; }
        & > .option-list--option-highlighted, &:focus > .option-list--option-highlighted {
            background: $panel; color: $foreground; text-style: bold;
        }
        & > .option-list--option-hover { background: $surface; }
    }
    """

    @dataclass
    class Chosen(Message):
        """A run was opened."""

        run: RunSnapshot

    @dataclass
    class Looked(Message):
        """Another line is highlighted."""

        found: RunEntry | None

    @dataclass
    class Compare(Message):
        """Two runs are to be compared."""

        first: RunSnapshot
        second: RunSnapshot

    class NotTwo(Message):
        """A comparison was asked for without two marked runs."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._found: tuple[RunEntry, ...] = ()
        self._alive: frozenset[Path] = frozenset()
        self._marked: tuple[Path, ...] = ()

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

    def heading(self, width: int) -> Content:
        """The column names, for a line above the list."""
        shown = columns(width)
        return self._aligned([Content(column.name) for column in shown], shown, "  ").stylize("$quiet")

    @property
    def looked_at(self) -> RunEntry | None:
        """The highlighted entry."""
        return None if self.highlighted is None else self._found[self.highlighted]

    @property
    def _paths(self) -> tuple[Path, ...]:
        return tuple(found if isinstance(found, Path) else found.path for found in self._found)

    def _redraw(self) -> None:
        for index, found in enumerate(self._found):
            self.replace_option_prompt_at_index(index, self._line(found))

    def _line(self, found: RunEntry) -> Content:
        if isinstance(found, Path):
            return Content.styled(f"  {printable(found.name)}  reading …", "$quiet")
        if isinstance(found, UnreadableRun):
            return Content.styled(f"  {printable(found.path.name)}  no run: {printable(found.reason)}", "$quiet").truncate(
                max(1, self.size.width - 2), ellipsis=True
            )
        shown, alive = columns(self.size.width), found.path in self._alive
        marked = found.path in self._marked
        lead = f"{self._marked.index(found.path) + 1} " if marked else "  "
        return self._aligned([column.text(found, alive) for column in shown], shown, lead)

    def _aligned(self, cells: Sequence[Content], shown: Sequence[RunColumn], lead: str) -> Content:
        width = self.size.width or 80
        fixed = sum(column.width for column in shown) + GAP * (len(shown) - 1)
        rest = min(WIDEST_NAME, max(8, width - 2 - len(lead) - fixed - 1))
        parts: list[Content] = [Content.styled(lead, "$new")]
        for place, (cell, column) in enumerate(zip(cells, shown, strict=True)):
            room = column.width or rest
            fitted = cell.truncate(room, ellipsis=True)
            spare = room - fitted.cell_length
            fitted = fitted.pad_left(spare) if column.right else fitted.pad_right(spare)
            parts += [fitted, Content(" " * GAP if place < len(shown) - 1 else "")]
        return Content("").join(parts)

    def on_resize(self) -> None:
        self._redraw()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self.post_message(self.Looked(self.looked_at))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        found = self._found[event.option_index]
        if isinstance(found, RunSnapshot):
            self.post_message(self.Chosen(found))

    def action_mark(self) -> None:
        """Mark or unmark a run for a comparison; a third mark replaces the first."""
        found = self.looked_at
        if not isinstance(found, RunSnapshot):
            return
        path = found.path
        rest = tuple(each for each in self._marked if each != path)
        self._marked = rest if path in self._marked else (*rest, path)[-2:]
        self._redraw()

    def action_compare(self) -> None:
        """Compare the marked runs, or the marked one with the highlighted one."""
        looked = self.looked_at
        paths = self._marked
        if len(paths) == 1 and isinstance(looked, RunSnapshot) and looked.path not in paths:
            paths = (*paths, looked.path)
        runs = {found.path: found for found in self._found if isinstance(found, RunSnapshot)}
        if len(paths) == 2:
            self.post_message(self.Compare(runs[paths[0]], runs[paths[1]]))
        else:
            self.post_message(self.NotTwo())


BAR = 20
LONGEST = 200
"""Characters of one setting that are shown."""
NAME = 22
FIGURES = 43
"""Columns of what follows a bar."""


def bar(share: float, width: int = BAR) -> Content:
    """A share in [0, 1] as a bar. Only 0 shows an empty bar, and only 1 a full one."""
    full = round(share * width)
    full = max(1, full) if share > 0 else 0
    full = min(width - 1, full) if share < 1 else width
    return Content.assemble(("━" * full, "$won"), ("╌" * (width - full), "$frame"))


def configuration(run: RunSnapshot) -> Content:
    """Agent, model, tasks and the other settings of a run, in a line or two."""
    config = run.manifest.configuration
    settings = " ".join(f"{key}={value}" for key, value in sorted(config.settings.items()))
    parts = [
        config.agent,
        config.model or "no model",
        _tasks(run),
        f"at most {config.max_turns} turns",
        f"seed {config.seed}",
        settings,
        f"rules {config.rules.label}" if config.rules else "",
        f"granted {', '.join(config.grants)}" if config.grants else "",
        f"curiosity {config.curiosity:g}" if config.curiosity else "",
        f"goals {config.goals}" if config.goals != "template" else "",
    ]
    return Content(" · ".join(printable(cut(one, LONGEST)) for one in parts if one))


def _tasks(run: RunSnapshot) -> str:
    split, of = run.manifest.configuration.split, run.manifest.of
    return f"{len(run.cells)} of {split}" if of > MANY else f"{len(run.cells)} of {split}'s {of}"


class RunCard(Static):
    """Shows the run, or why there is none."""

    DEFAULT_CSS = """
    RunCard { height: auto; border: round $frame; border-title-color: $quiet; padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._found: RunEntry | None = None
        self.border_title = "run"

    def show(self, found: RunEntry | None) -> None:
        self._found = found
        if isinstance(found, RunSnapshot):
            width, summary = self.size.width or 76, found.summary
            rows = [_row(short_type(kind), count, width) for kind, count in summary.by_type.items()]
            total = _row("all", summary.overall, width).stylize("bold")
            self.update(Content("\n").join([configuration(found).stylize("$quiet"), *rows, total]))
        elif isinstance(found, UnreadableRun):
            self.update(Content.styled(printable(found.reason), "$fault"))
        else:
            self.update(Content.styled("reading …" if found else "", "$quiet"))

    def on_resize(self) -> None:
        self.show(self._found)


def _row(name: str, count: Figures, width: int) -> Content:
    won = f"{count.won}/{count.episodes}"
    steps = "" if count.mean_steps_won is None else f"{count.mean_steps_won:.1f} steps"
    return Content.assemble(
        f"{name[:NAME]:<{NAME}} ",
        bar(count.success, min(40, max(4, width - NAME - 1 - FIGURES))),
        f" {percent(count.success):>7}",
        (f" {interval(count):>9}", "$quiet"),
        f" {won:>9}",
        (f" {steps:>11}", "$quiet"),
    )
