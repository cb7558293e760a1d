"""The HTML pages of one run and of a comparison.

Each is one self-contained file with its style, charts and filter script; its content security policy allows nothing else.
Templates escape all text, and control characters are made visible before.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from agent.evaluation.analysis.compare import Comparison, Run, TaskPair
from agent.evaluation.analysis.metrics import Summary, summarise
from agent.evaluation.analysis.statistics import PairedCounts, paired_interval, wilson
from agent.evaluation.render.comparison import sides, verdict
from agent.evaluation.render.pages import figures
from agent.evaluation.render.pages.charts import (
    RateBar,
    RateGroup,
    RunPoint,
    counts_chart,
    difference_chart,
    histogram,
    points_chart,
    rates_chart,
)
from agent.evaluation.render.pages.episodes import LONGEST_LINE, MOST_CALLS, MOST_TRANSCRIPTS, Episodes
from agent.evaluation.render.report import definitions, groups, sentences
from agent.evaluation.render.table import percent, percents, points
from agent.evaluation.runs.result import Result, SelectedTask
from worlds.text import cut, printable

HERE = Path(__file__).parent

LONGEST_TEXT = 20_000
"""The most characters of one text (an observation, a message, a reply, a name) on a page."""

_ROLES = ("reasoner", "actor", "react", "expert", "person")
"""Roles with their own colour in the style; others share one."""


@dataclass(frozen=True, slots=True)
class Table:
    """Figures by task type: column names, a row per type, and totals over all tasks and by wording."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    totals: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A task with its transcript; ``cells`` are pairs of a text and whether it is a number."""

    number: int
    name: str
    type: str
    outcome: str
    cells: tuple[object, ...]
    played: bool
    body: Markup


def run_page(
    run: Run, page: Path, summary: Summary | None = None, *, transcripts: int = MOST_TRANSCRIPTS, calls: int = MOST_CALLS
) -> bytes:
    """The page of one run, to be written to ``page``; ``transcripts`` and ``calls`` limit their characters.

    ``summary`` may be given where it has more than the results: paths, timings and prices.
    """
    environment = _environment()
    episodes = Episodes(environment, page, transcripts, calls)
    tasks = run.manifest.tasks
    results = {result.task: result for result in run.results}
    bodies = {task.id: episodes.single(run.folder.episode(task)) for task in _urgent(tasks, results)}
    rows = [_row(task, results.get(task.id), bodies) for task in tasks]
    summary = summary or summarise(tasks, run.results)
    content = environment.get_template("run.html").render(
        _frame(f"{run.name}: {run.label}"),
        headline=_headline(summary),
        heading=figures.heading(run.manifest),
        configuration=figures.configuration(run.manifest),
        by_type=_table(summary),
        sentences=[*definitions(summary.overall), *sentences(run.manifest, summary)],
        charts=_run_charts(summary),
        assisted=summary.assisted,
        types=sorted({row.type for row in rows}),
        outcomes=sorted({row.outcome for row in rows}),
        task_columns=[(column.heading, column.number) for column in figures.OF_TASK],
        rows=rows,
        bound=f"{episodes.bound}{' What was not won was taken first.' if episodes.full else ''}",
        shared=episodes.shared,
    )
    return content.encode()


def comparison_page(
    comparison: Comparison, page: Path, *, transcripts: int = MOST_TRANSCRIPTS, calls: int = MOST_CALLS
) -> bytes:
    """The page of a comparison, with transcripts side by side for the tasks that only one run won."""
    environment = _environment()
    episodes = Episodes(environment, page, transcripts, calls)
    first, second = comparison.first, comparison.second
    names = (first.name, second.name)
    rows = [_flipped(pair, comparison, episodes, names) for pair in comparison.flipped]
    content = environment.get_template("comparison.html").render(
        _frame(f"{first.name} and {second.name}, compared"),
        verdict=list(verdict(comparison)),
        names=names,
        heading=_heading(comparison),
        configuration=_both(*(figures.configuration(run.manifest) for run in (first, second))),
        by_type=[(kind, _paired(counts)) for kind, counts in comparison.by_type.items()],
        overall=_paired(comparison.counts),
        charts=_comparison_charts(comparison),
        left_out=comparison.left_out,
        types=sorted({row.type for row in rows}),
        outcomes=("first", "second"),
        rows=rows,
        bound=episodes.bound,
        shared=episodes.shared,
    )
    return content.encode()


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {"line": _line, "role": _role}
    return environment


def _safe(value: object) -> object:
    """Applied to every value that a template prints, before escaping."""
    return value if isinstance(value, Markup) else printable(cut(str(value), LONGEST_TEXT))


def _line(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST_LINE].split())
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."


def _role(name: str) -> str:
    return name if name in _ROLES else "other"


def _frame(title: str) -> dict[str, object]:
    style, script = (f"\n{(HERE / name).read_text('utf-8')}" for name in ("style.css", "filter.js"))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            f"script-src '{_digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    # Both files ship with the package and need no escaping.
    return {"title": title, "policy": policy, "style": Markup(style), "script": Markup(script)}


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _urgent(tasks: Sequence[SelectedTask], results: dict[str, Result]) -> list[SelectedTask]:
    """The finished tasks, those that a reader looks for first at the front."""
    order = ("error", "lost", "stopped", "won")
    finished = [task for task in tasks if task.id in results]
    return sorted(finished, key=lambda task: order.index(results[task.id].outcome))


def _row(task: SelectedTask, result: Result | None, bodies: dict[str, Markup]) -> Row:
    cells = tuple((column.cell(result) if result else "-", column.number) for column in figures.OF_TASK)
    outcome = result.outcome if result else "unfinished"
    return Row(task.number, task.id, task.type, outcome, cells, result is not None, bodies.get(task.id, Markup("")))


def _headline(summary: Summary) -> str:
    count = summary.overall
    success = f"{percent(count.success)} success, 95 % interval {percents(count.interval)}"
    return f"{count.won} of {count.episodes} tasks won: {success}."


def _table(summary: Summary) -> Table:
    rows = [(name, tuple(column.cell(count) for column in figures.BY_TYPE)) for name, count in groups(summary)]
    types = len(summary.by_type)
    return Table(tuple(column.heading for column in figures.BY_TYPE), tuple(rows[:types]), tuple(rows[types:]))


def _run_charts(summary: Summary) -> list[tuple[Markup, str]]:
    played = summary.overall.results
    bins = figures.step_bins(played, max((result.steps for result in played), default=1))
    return [
        (rates_chart("Success by type", figures.rates(summary)), "Success by type of task; the whiskers are 95 % intervals."),
        (
            histogram("Steps", bins, ("won", "not won"), "executed commands an episode"),
            "How many commands the episodes took.",
        ),
        (
            counts_chart("How the episodes ended", figures.endings(summary)),
            "How the episodes ended, and why those were lost that were not won.",
        ),
    ]


def _comparison_charts(comparison: Comparison) -> list[tuple[Markup, str]]:
    names = (comparison.first.name, comparison.second.name)
    charts = [
        (
            difference_chart("Difference in success", comparison.counts.difference, comparison.interval),
            "Success of the second run less the first's, in points, with its 95 % interval.",
        ),
        (
            rates_chart(
                "Success by type",
                [RateGroup(kind, _rates(counts)) for kind, counts in [*comparison.by_type.items(), ("all", comparison.counts)]],
                (f"first: {names[0]}", f"second: {names[1]}"),
            ),
            "Success by type of task over the pairs; the whiskers are 95 % intervals of each run by itself.",
        ),
    ]
    means = [figures.tokens_an_episode(side) for side in sides(comparison)]
    runs = [
        RunPoint(name, mean, of_run)
        for name, mean, of_run in zip(names, means, _rates(comparison.counts), strict=True)
        if mean is not None
    ]
    if len(runs) == len(names) and any(point.x for point in runs):
        charts.append((points_chart("Tokens against success", runs, "tokens an episode"), "What an episode took."))
    return charts


def _rates(counts: PairedCounts) -> tuple[RateBar, ...]:
    total = counts.total
    won = (counts.both + counts.only_first, counts.both + counts.only_second)
    return tuple(
        RateBar(
            each / total if total else 0.0,
            wilson(each, total),
            f"{percent(each / total if total else 0)} ({each}/{total})",
        )
        for each in won
    )


def _paired(counts: PairedCounts) -> tuple[str, ...]:
    numbers = (counts.total, counts.both, counts.only_first, counts.only_second, counts.neither)
    return (*map(str, numbers), f"{counts.difference * 100:+.1f} points", points(paired_interval(counts)))


def _heading(comparison: Comparison) -> list[tuple[str, str, str]]:
    lines = _both(*(figures.heading(run.manifest) for run in (comparison.first, comparison.second)))
    known = {key for key, _, _ in lines}
    changes = [change for change in comparison.changes if change.key not in known]
    return [*lines, *((change.key, figures.setting(change.first), figures.setting(change.second)) for change in changes)]


def _both(first: Sequence[tuple[str, str]], second: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    one, other, missing = dict(first), dict(second), figures.setting(None)
    return [(key, one.get(key, missing), other.get(key, missing)) for key in {**one, **other}]


def _flipped(pair: TaskPair, comparison: Comparison, episodes: Episodes, names: tuple[str, str]) -> Row:
    result = pair.first
    task = SelectedTask(number=result.number, id=result.task, type=result.type)
    records = (comparison.first.folder.episode(task), comparison.second.folder.episode(task))
    cells = tuple(f"{each.outcome}, {each.turns} turns" for each in (pair.first, pair.second))
    winner = "first" if pair.first.outcome == "won" else "second"
    return Row(task.number, task.id, task.type, winner, cells, True, episodes.pair(records, names))
