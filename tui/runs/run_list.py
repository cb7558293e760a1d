"""The runs of a folder, one on each line, to open or to compare; and a card that sums up the highlighted one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static
from textual.widgets.option_list import Option

from housequest.agent.evaluation.analysis.metrics import Figures
from housequest.agent.evaluation.runs.spec import MANY
from housequest.tui.runs.data import RunSnapshot, UnreadableRun
from housequest.tui.runs.matrix import short_type
from housequest.tui.text import cut, percentage, printable
from housequest.tui.widgets.paged_list import PagedList

RunEntry = RunSnapshot | UnreadableRun | Path
"""What a line shows: a run, a folder that cannot be read as one, or a folder that has not been read yet."""

GAP = 2
WIDEST_NAME = 60

LONGEST = 200
"""Characters of one setting that are shown."""
NAME = 22
FIGURES = 43
"""Columns of what follows a bar."""


def share_text(share: float) -> str:
    """A share in [0, 1] as text."""
    return f"{percentage(share, 1)} %"


def interval(count: Figures) -> str:
    """The 95 % interval of a success rate."""
    ends = count.interval
    return f"{percentage(ends.low)}-{percentage(ends.high)} %"


def bar(share: float, width: int) -> Content:
    """A share in [0, 1] as a bar. Only 0 shows an empty bar, and only 1 a full one."""
    full = round(share * width)
    full = max(1, full) if share > 0 else 0
    full = min(width - 1, full) if share < 1 else width
    return Content.assemble(("━" * full, "$won"), ("╌" * (width - full), "$frame"))


@dataclass(frozen=True, slots=True)
class RunColumn:
    """A column, shown in lists of ``least`` columns or more: its heading, its width (0: what is left), and its text.

    ``text`` gives text and style for a run that is, or is not, being played.
    """

    name: str
    width: int
    text: Callable[[RunSnapshot, bool], tuple[str, str]]
    right: bool = False
    least: int = 0


def _model(run: RunSnapshot, _: bool) -> tuple[str, str]:
    model = run.manifest.configuration.model
    return (model, "") if model else ("none", "$quiet")


def _done(run: RunSnapshot, alive: bool) -> tuple[str, str]:
    sign, style = ("▸ ", "$new") if alive else ("", "") if run.whole else ("… ", "$goal")
    return f"{sign}{run.done}/{len(run.cells)}", style


def _steps(run: RunSnapshot, _: bool) -> tuple[str, str]:
    mean = run.summary.overall.mean_steps_won  # as in all that is shown of a run here
    return "-" if mean is None else f"{mean:.1f}", ""


def _errors(run: RunSnapshot, _: bool) -> tuple[str, str]:
    errors = run.summary.overall.errors
    return str(errors), "$fault" if errors else "$quiet"


COLUMNS = (
    RunColumn("run", 0, lambda run, _: (run.name, "")),
    RunColumn("agent", 14, lambda run, _: (run.manifest.configuration.agent, "")),
    RunColumn("model", 22, _model, least=130),
    RunColumn("split", 12, lambda run, _: (run.manifest.configuration.split, ""), least=100),
    RunColumn("done", 11, _done, right=True),
    RunColumn("success", 7, lambda run, _: (share_text(run.summary.overall.success), ""), right=True),
    RunColumn("95 %", 9, lambda run, _: (interval(run.summary.overall), "$quiet"), right=True),
    RunColumn("steps", 5, _steps, right=True, least=100),
    RunColumn("err", 4, _errors, right=True),
)


class RunList(PagedList):
    """Lists runs in the order given; a number before a run marks it as one of the two to compare."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open"),
        Binding("space", "mark", "Mark"),
        Binding("c", "compare", "Compare"),
    ]
    DEFAULT_CSS = """
    RunList {
        height: 1fr; border: none; padding: 0; background: transparent; scrollbar-size-vertical: 1;
        text-wrap: nowrap; text-overflow: ellipsis;
        &:focus { border: none; background-tint: transparent; }
        & > .option-list--option { padding: 0 1; }
    }
    """

    @dataclass
    class Compare(Message):
        """``runs`` are to be compared, if they are two."""

        runs: tuple[Path, ...]

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
        return self._aligned("  ", [(column.name, "") for column in self._columns]).stylize("$quiet")

    @property
    def looked_at(self) -> RunEntry | None:
        """The highlighted entry."""
        return None if self.highlighted is None else self._found[self.highlighted]

    @property
    def _paths(self) -> tuple[Path, ...]:
        return tuple(found if isinstance(found, Path) else found.path for found in self._found)

    @property
    def _columns(self) -> list[RunColumn]:
        return [column for column in COLUMNS if self.size.width >= column.least]

    def _redraw(self) -> None:
        for index, found in enumerate(self._found):
            self.replace_option_prompt_at_index(index, self._line(found))

    def _line(self, found: RunEntry) -> Content:
        if isinstance(found, Path):
            return Content.styled(f"  {printable(found.name)}  reading …", "$quiet")
        if isinstance(found, UnreadableRun):
            return Content.styled(f"  {printable(found.path.name)}  no run: {printable(_reason(found))}", "$quiet")
        alive, marked = found.path in self._alive, found.path in self._marked
        lead = f"{self._marked.index(found.path) + 1} " if marked else "  "
        return self._aligned(lead, [column.text(found, alive) for column in self._columns])

    def _aligned(self, lead: str, cells: Sequence[tuple[str, str]]) -> Content:
        columns = self._columns
        fixed = sum(column.width for column in columns) + GAP * (len(columns) - 1)
        rest = min(WIDEST_NAME, max(8, (self.size.width or 80) - 2 - len(lead) - fixed - 1))
        parts: list[Content] = []
        for (text, style), column in zip(cells, columns, strict=True):
            room = column.width or rest
            fitted = Content.styled(printable(text), style).truncate(room, ellipsis=True)
            spare = room - fitted.cell_length
            parts.append(fitted.pad_left(spare) if column.right else fitted.pad_right(spare))
        return Content.styled(lead, "$new") + Content(" " * GAP).join(parts)

    def on_resize(self) -> None:
        self._redraw()

    def action_mark(self) -> None:
        """Mark or unmark a run for a comparison; a third mark replaces the first."""
        found = self.looked_at
        if isinstance(found, RunSnapshot):
            rest = tuple(path for path in self._marked if path != found.path)
            self._marked = rest if found.path in self._marked else (*rest, found.path)[-2:]
            self._redraw()

    def action_compare(self) -> None:
        """Compare the marked runs, or the marked one with the highlighted one."""
        looked, paths = self.looked_at, self._marked
        if len(paths) == 1 and isinstance(looked, RunSnapshot) and looked.path not in paths:
            paths = (*paths, looked.path)
        self.post_message(self.Compare(paths))


def _reason(found: UnreadableRun) -> str:
    """The reason behind the folder's name: its whole path stands below the list."""
    path = str(found.path)
    if found.reason.startswith(f"{path} "):
        return f"this{found.reason.removeprefix(path)}"
    return found.reason.removeprefix(f"{path}/")


def settings_line(run: RunSnapshot) -> Content:
    """Agent, model, tasks and the other settings of a run, in a line or two."""
    config, of = run.manifest.configuration, run.manifest.of
    parts = [
        config.agent,
        config.model or "no model",
        f"{len(run.cells)} of {config.split}" if of > MANY else f"{len(run.cells)} of {config.split}'s {of}",
        f"at most {config.max_turns} turns",
        f"seed {config.seed}",
        " ".join(f"{key}={value}" for key, value in sorted(config.settings.items())),
        f"rules {config.rules.label}" if config.rules else "",
        f"granted {', '.join(config.grants)}" if config.grants else "",
        f"curiosity {config.curiosity:g}" if config.curiosity else "",
        f"goals {config.goals}" if config.goals != "template" else "",
    ]
    return Content(" · ".join(printable(cut(one, LONGEST)) for one in parts if one))


class RunCard(Static):
    """Shows the run, or why there is none."""

    BORDER_TITLE = "run"
    DEFAULT_CSS = """
    RunCard { height: auto; border: round $frame; border-title-color: $quiet; padding: 0 1; }
    """

    _found: RunEntry | None = None

    def show(self, found: RunEntry | None) -> None:
        self._found = found
        if isinstance(found, RunSnapshot):
            width, summary = self.size.width or 76, found.summary
            rows = [_row(short_type(kind), count, width) for kind, count in summary.by_type.items()]
            total = _row("all", summary.overall, width).stylize("bold")
            self.update(Content("\n").join([settings_line(found).stylize("$quiet"), *rows, total]))
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
        f" {share_text(count.success):>7}",
        (f" {interval(count):>9}", "$quiet"),
        f" {won:>9}",
        (f" {steps:>11}", "$quiet"),
    )
