"""The runs of a folder, one on each line, to open or to compare; and a card that sums up the highlighted one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from textual import events, on
from textual.content import Content
from textual.message import Message
from textual.widgets import Static
from textual.widgets.option_list import Option

from housequest.agent.evaluation.analysis.metrics import Figures
from housequest.agent.evaluation.render.table import percent
from housequest.agent.evaluation.runs.spec import MANY
from housequest.tui.keymap import Equipped
from housequest.tui.runs.data import RunGroup, RunSnapshot, UnreadableRun, group_of, short_type
from housequest.tui.text import cut, percentage, printable
from housequest.tui.widgets.lines import FramedList

RunEntry = RunSnapshot | UnreadableRun | Path
"""What a line shows: a run, a folder that cannot be read as one, or a folder that has not been read yet."""

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
LONGEST = 200
"""Characters of one setting that are shown."""
NAME = 22
FIGURES = 43
"""Columns of what follows a bar."""


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


def _cells(run: RunSnapshot, alive: bool) -> tuple[tuple[str, str], ...]:
    """The text and the style of each column for a run that is, or is not, being played."""
    config, overall = run.manifest.configuration, run.summary.overall
    sign, style = ("▸ ", "$new") if alive else ("", "") if run.whole else ("… ", "$goal")
    inside = "  " if not isinstance(run, RunGroup) and group_of(run.path) else ""
    mean = overall.mean_steps_won  # as in all that is shown of a run here
    return (
        (f"{inside}{run.name}", ""),
        (config.agent, ""),
        (config.model, "") if config.model else ("none", "$quiet"),
        (config.split, ""),
        (f"{sign}{run.done}/{len(run.cells)}", style),
        (percent(overall.success), ""),
        (interval(overall), "$quiet"),
        ("-" if mean is None else f"{mean:.1f}", ""),
        (str(overall.errors), "$fault" if overall.errors else "$quiet"),
    )


class RunList(FramedList, keys="run_list"):
    """Lists runs in the order given; a number before a run marks it as one of the two to compare."""

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
        if isinstance(found, UnreadableRun):
            # Without the folder's path, which stands below the list.
            path, reason = str(found.path), found.reason
            why = f"this{reason.removeprefix(path)}" if reason.startswith(f"{path} ") else reason.removeprefix(f"{path}/")
            return Content.styled(f"  {printable(found.path.name)}  no run: {printable(why)}", "$quiet")
        lead = f"{self._marked.index(found.path) + 1} " if found.path in self._marked else "  "
        if isinstance(found, RunGroup):
            lead = "▾ " if any(member.path in self._paths for member in found.members) else "▸ "
        runs = found.members if isinstance(found, RunGroup) else (found,)
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

    def action_mark(self) -> None:
        """Mark or unmark a run for a comparison; a third mark replaces the first."""
        found = self.looked_at
        if _single(found):
            rest = tuple(path for path in self._marked if path != found.path)
            self._marked = rest if found.path in self._marked else (*rest, found.path)[-2:]
            self._redraw()

    def action_compare(self) -> None:
        # The marked runs, or the marked one and the highlighted one.
        looked, paths = self.looked_at, self._marked
        if len(paths) == 1 and _single(looked) and looked.path not in paths:
            paths = (*paths, looked.path)
        self.post_message(self.Compare(paths))


def _single(found: RunEntry | None) -> TypeGuard[RunSnapshot]:
    """Whether it is a run, and not several."""
    return isinstance(found, RunSnapshot) and not isinstance(found, RunGroup)


def settings_line(run: RunSnapshot) -> Content:
    """Agent, model, tasks and the other settings of a run, in a line or two."""
    config, of, tasks = run.manifest.configuration, run.manifest.of, len(run.manifest.tasks)
    parts = [
        config.agent,
        config.model or "no model",
        f"{tasks} of {config.split}" if of > MANY else f"{tasks} of {config.split}'s {of}",
        f"at most {config.max_turns} turns",
        f"{len(run.members)} runs" if isinstance(run, RunGroup) else f"seed {config.seed}",
        " ".join(f"{key}={value}" for key, value in sorted(config.settings.items())),
        f"rules {config.rules.label}" if config.rules else "",
        f"granted {', '.join(config.grants)}" if config.grants else "",
        f"curiosity {config.curiosity:g}" if config.curiosity else "",
        f"goals {config.goals}" if config.goals != "template" else "",
    ]
    return Content(" · ".join(printable(cut(one, LONGEST)) for one in parts if one)).stylize("$quiet")


class RunCard(Equipped, Static):
    """Shows the run, or why there is none."""

    BORDER_TITLE = "run"

    _found: RunEntry | None = None

    def show(self, found: RunEntry | None) -> None:
        self._found = found
        if isinstance(found, RunSnapshot):
            width, summary = self.size.width or 76, found.summary
            rows = [_row(short_type(kind), count, width) for kind, count in summary.by_type.items()]
            self.update(Content("\n").join([settings_line(found), *rows, _row("all", summary.overall, width).stylize("bold")]))
        elif isinstance(found, UnreadableRun):
            self.update(Content.styled(printable(found.reason), "$fault"))
        else:
            self.update(Content.styled("reading …" if found else "", "$quiet"))

    def on_resize(self) -> None:
        self.show(self._found)


def _row(name: str, count: Figures, width: int) -> Content:
    won = f"{count.won}/{count.finished}"
    steps = "" if count.mean_steps_won is None else f"{count.mean_steps_won:.1f} steps"
    return Content.assemble(
        f"{name[:NAME]:<{NAME}} ",
        bar(count.success, min(40, max(4, width - NAME - 1 - FIGURES))),
        f" {percent(count.success):>7}",
        (f" {interval(count):>9}", "$quiet"),
        f" {won:>9}",
        (f" {steps:>11}", "$quiet"),
    )
