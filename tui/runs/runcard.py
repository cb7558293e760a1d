"""What a run is and how it stands, at a glance: its configuration, then success by task type."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.widgets import Static

from agent.evaluation.analysis.metrics import Count
from agent.evaluation.runs.selection import MANY
from tui.runs.data import RunSnapshot, UnreadableRun
from tui.runs.matrix import short_type
from tui.runs.run_list import RunEntry, percent
from tui.text import cut, printable

BAR = 20
LONGEST = 200
"""Characters of one setting that are shown."""


def bar(share: float, width: int = BAR) -> Content:
    """A share in [0, 1] as a bar; a share that is not nothing, and one that is not all, both show."""
    full = round(share * width)
    full = max(1, full) if share > 0 else 0
    full = min(width - 1, full) if share < 1 else width
    return Content.assemble(("━" * full, "$won"), ("╌" * (width - full), "$frame"))


def configuration(run: RunSnapshot) -> Content:
    """Agent, model, tasks and what else the run was told, in a line or two."""
    config = run.manifest.configuration
    settings = " ".join(f"{key}={value}" for key, value in sorted(config.settings.items()))
    told = [
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
    return Content(" · ".join(printable(cut(one, LONGEST)) for one in told if one))


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
        """Show ``found``."""
        self._found = found
        if isinstance(found, RunSnapshot):
            width = self.size.width or 76
            self.update(Content("\n").join([configuration(found).stylize("$quiet"), *_table(found, width)]))
        elif isinstance(found, UnreadableRun):
            self.update(Content.styled(printable(found.reason), "$fault"))
        else:
            self.update(Content.styled("reading …" if found else "", "$quiet"))

    def on_resize(self, event: events.Resize) -> None:
        """Fit the bars to the width."""
        del event
        self.show(self._found)


def _table(run: RunSnapshot, width: int) -> list[Content]:
    summary = run.summary
    rows = [_row(short_type(kind), count, width) for kind, count in summary.by_type.items()]
    return [*rows, _row("all", summary.overall, width).stylize("bold")]


NAME = 22
FIGURES = 43
"""Columns of what stands behind a bar."""


def _row(name: str, count: Count, width: int) -> Content:
    ends = count.interval
    won = f"{count.won}/{count.episodes}"
    interval = f"{ends.low * 100:.0f}-{ends.high * 100:.0f} %"
    steps = "" if count.mean_steps_won is None else f"{count.mean_steps_won:.1f} steps"
    return Content.assemble(
        f"{name[:NAME]:<{NAME}} ",
        bar(count.success, min(40, max(4, width - NAME - 1 - FIGURES))),
        f" {percent(count.success):>7}",
        (f" {interval:>9}", "$quiet"),
        f" {won:>9}",
        (f" {steps:>11}", "$quiet"),
    )
