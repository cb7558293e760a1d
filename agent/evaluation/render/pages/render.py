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

from agent.evaluation.analysis.compare import Comparison, Run
from agent.evaluation.analysis.metrics import Summary, summarise
from agent.evaluation.analysis.statistics import PairedCounts, paired_interval
from agent.evaluation.render.comparison import sides, verdict
from agent.evaluation.render.pages import figures
from agent.evaluation.render.pages.charts import (
    RateBar,
    counts_chart,
    difference_chart,
    histogram,
    points_chart,
    rates_chart,
)
from agent.evaluation.render.pages.episodes import MOST_CALLS, MOST_TRANSCRIPTS, Episodes
from agent.evaluation.render.report import definitions, groups, sentences
from agent.evaluation.render.table import percent, percents, points
from worlds.text import cut, printable

HERE = Path(__file__).parent

LONGEST_TEXT = 20_000
"""The most characters of one text (an observation, a message, a reply, a name) on a page."""


@dataclass(frozen=True, slots=True)
class Row:
    """A task, and its transcript where it was played; ``cells`` are texts, or pairs of a text and whether it is a number."""

    number: int
    name: str
    type: str
    outcome: str
    cells: list[object]
    body: Markup | None


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
    # Those that a reader looks for first come first, while there is room.
    finished = [task for task in tasks if task.id in results]
    finished.sort(key=lambda task: ("error", "lost", "stopped", "won").index(results[task.id].outcome))
    bodies = {task.id: episodes.transcript(run.folder.episode(task)) for task in finished}
    rows: list[Row] = []
    for task in tasks:
        result = results.get(task.id)
        cells: list[object] = [(column.cell(result) if result else "-", column.number) for column in figures.OF_TASK]
        outcome = result.outcome if result else "unfinished"
        rows.append(Row(task.number, task.id, task.type, outcome, cells, bodies.get(task.id)))
    summary = summary or summarise(tasks, run.results)
    overall = summary.overall
    by_group = [(name, [column.cell(count) for column in figures.BY_TYPE]) for name, count in groups(summary)]
    content = environment.get_template("run.html").render(
        _frame(f"{run.name}: {run.label}"),
        headline=f"{overall.won} of {overall.episodes} tasks won: {percent(overall.success)} success, "
        f"95 % interval {percents(overall.interval)}.",
        heading=figures.heading(run.manifest),
        configuration=figures.configuration(run.manifest),
        columns=[column.heading for column in figures.BY_TYPE],
        by_type=by_group[: len(summary.by_type)],
        totals=by_group[len(summary.by_type) :],
        sentences=[*definitions(overall), *sentences(run.manifest, summary)],
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
    rows: list[Row] = []
    for pair in comparison.flipped:
        task = pair.first.selected
        cells: list[object] = [f"{each.outcome}, {each.turns} turns" for each in (pair.first, pair.second)]
        body = episodes.transcript(first.folder.episode(task), second.folder.episode(task), names=names)
        rows.append(Row(task.number, task.id, task.type, pair.winner, cells, body))
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
    return Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def _safe(value: object) -> object:
    """Applied to every value that a template prints, before escaping."""
    return value if isinstance(value, Markup) else printable(cut(str(value), LONGEST_TEXT))


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
                [(kind, _rates(counts)) for kind, counts in [*comparison.by_type.items(), ("all", comparison.counts)]],
                (f"first: {names[0]}", f"second: {names[1]}"),
            ),
            "Success by type of task over the pairs; the whiskers are 95 % intervals of each run by itself.",
        ),
    ]
    means = [figures.tokens_an_episode(side) for side in sides(comparison)]
    runs = [
        (name, mean, rate) for name, mean, rate in zip(names, means, _rates(comparison.counts), strict=True) if mean is not None
    ]
    if len(runs) == len(names) and any(means):
        charts.append((points_chart("Tokens against success", runs, "tokens an episode"), "What an episode took."))
    return charts


def _rates(counts: PairedCounts) -> tuple[RateBar, RateBar]:
    return figures.rate_bar(counts.won_first, counts.total), figures.rate_bar(counts.won_second, counts.total)


def _paired(counts: PairedCounts) -> tuple[str, ...]:
    numbers = (counts.total, counts.both, counts.only_first, counts.only_second, counts.neither)
    return (*map(str, numbers), f"{counts.difference * 100:+.1f} points", points(paired_interval(counts)))


def _heading(comparison: Comparison) -> list[tuple[str, str, str]]:
    lines = _both(*(figures.heading(run.manifest) for run in (comparison.first, comparison.second)))
    known = {key for key, _, _ in lines}
    changes = ((key, both) for key, both in comparison.changes.items() if key not in known)
    return [*lines, *((key, figures.setting(one), figures.setting(other)) for key, (one, other) in changes)]


def _both(first: Sequence[tuple[str, str]], second: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    one, other, missing = dict(first), dict(second), figures.setting(None)
    return [(key, one.get(key, missing), other.get(key, missing)) for key in {**one, **other}]
