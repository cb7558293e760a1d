"""The HTML pages of a run or a series, and of a comparison.

Each is one self-contained file with its style, charts and filter script; its content security policy allows nothing else. A
large run has an index, and a page for each hundred episodes, made one after the other. Templates escape all text, and control
characters are made visible before.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from housequest.agent.episodes.events import branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.arms import PairedCounts
from housequest.agent.evaluation.analysis.metrics import Figures, Summary
from housequest.agent.evaluation.analysis.run import Run
from housequest.agent.evaluation.analysis.statistics import Interval, wilson
from housequest.agent.evaluation.analysis.transcript import transcribe
from housequest.agent.evaluation.render.comparison import Comparison, figures_table, types_table
from housequest.agent.evaluation.render.pages.episodes import ONE_OF_MANY, Episodes, Limits
from housequest.agent.evaluation.render.report import EpisodesReport, RunReport, heading, learned_words
from housequest.agent.evaluation.render.series import ArmsReport, AttemptsReport
from housequest.agent.evaluation.render.table import Column, Report, TabledReport, percent, percents, points
from housequest.agent.evaluation.runs.files import SelectedTask, flattened
from housequest.agent.evaluation.runs.folder import Result
from housequest.agent.evaluation.runs.spec import Manifest
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.text import cut, many, printable

HERE = Path(__file__).parent
LONGEST_TEXT = 20_000
"""The most characters of one text (an observation, a message, a reply, a name) on a page."""
_LONGEST_WORDS = 8_000
_LIMITS = Limits()
MOST_ON_ONE = 500
"""The most episodes of a run on one page."""
PER_PAGE = 100
"""The episodes on each page of a larger run."""
_FOR_MANY = Limits(2 << 20, 1 << 20, 0)
"""Those of a comparison with many differences."""
_FOR_A_FRAME = Limits(1 << 20, 256 << 10, 1 << 20)
"""Those of a report inside of a notebook, which keeps every cell's output."""


class RateBar(NamedTuple):
    """A rate in [0, 1] with its interval; ``note`` is its text label."""

    value: float
    interval: Interval
    note: str


class Row(NamedTuple):
    """A task, and its transcript where it was played; ``cells`` are texts, or pairs of a text and whether it is a number."""

    number: int
    name: str
    type: str
    outcome: str
    cells: list[object]
    body: Markup | None


class _Play(NamedTuple):
    """A task of a run, by the ``name`` that it has on a page; ``result`` is None if it was not finished."""

    name: str
    task: SelectedTask
    record: Path
    result: Result | None

    @property
    def outcome(self) -> str:
        return self.result.outcome if self.result else "unfinished"


class _Part(NamedTuple):
    """A page of an index: its ``link``, the ``first`` and ``last`` of its episodes, and how many ended in each way."""

    link: str
    first: int
    last: int
    counts: Sequence[int]


def figures_pages(figures: EpisodesReport, page: Path) -> Iterator[tuple[Path, bytes]]:
    """The files of the page of a run or a series, each made when it is asked for: ``page`` alone, or of many episodes, pages in
    a folder beside it and then ``page``, which leads to them."""
    plays = _plays(figures)
    if len(plays) <= MOST_ON_ONE:
        yield page, figures_page(figures, page)
        return
    folder = page.with_name(f"{page.stem}-episodes")
    episodes, values = Episodes(page_environment(), page, ONE_OF_MANY), _values(figures)
    outcomes = sorted({play.outcome for play in plays})
    parts: list[_Part] = []
    for begin in range(0, len(plays), PER_PAGE):
        some, place = plays[begin : begin + PER_PAGE], folder / f"{len(parts) + 1:04d}.html"
        first, last = begin + 1, begin + len(some)
        episodes.begin(place)
        rows = _rows(some, episodes)
        title, back = f"{values['title']}, {first} to {last} of {len(plays)}", f"../{quote(page.name, safe='')}"
        yield place, _page("part.html", episodes, rows, title=title, back=back, **_told(rows, episodes))
        ended = Counter(play.outcome for play in some)
        link = f"{quote(folder.name, safe='')}/{place.name}"
        parts.append(_Part(link, first, last, [ended[outcome] for outcome in outcomes]))
    yield page, _page("run.html", episodes, **values, parts=parts, outcomes=outcomes)


def figures_page(figures: EpisodesReport, page: Path, limits: Limits = _LIMITS) -> bytes:
    """The page of a run or of a series, to be written to ``page``: its figures, and every episode."""
    episodes = Episodes(page_environment(), page, limits)
    rows = _rows(_plays(figures), episodes)
    return _page("run.html", episodes, rows, **_values(figures), parts=(), **_told(rows, episodes))


def _told(rows: Sequence[Row], episodes: Episodes) -> dict[str, object]:
    """The values of a page that are about its episodes."""
    return {
        "outcomes": sorted({row.outcome for row in rows}),
        "task_columns": [(column.heading, column.number) for column in OF_TASK],
        "bound": f"{episodes.bound}{' What was not won was taken first.' if episodes.linked else ''}",
    }


def _values(figures: EpisodesReport) -> dict[str, Any]:
    """The values of the page of a run or a series that are about its figures."""
    first, summary = figures.runs[0], figures.every
    seeds = ", ".join(str(run.seed) for run in figures.runs)
    if isinstance(figures, RunReport):
        overall, title, heading = summary.overall, f"{first.name}: {first.label}", page_heading(first)
        left = f", {overall.unfinished} not played yet" if overall.unfinished else ""
        won = f"{overall.won} of {overall.finished} tasks won{left}"
        headline = f"{won}: {percent(overall.success)} success, 95 % interval {percents(overall.interval)}."
        if not overall.finished:
            headline = f"None of {many(overall.episodes, 'task')} is played yet."
    else:
        who, what = first.label.rpartition(", seed")[0], "attempts" if isinstance(figures, AttemptsReport) else "runs"
        title, heading = f"{len(figures.runs)} {what}: {who}, seeds {seeds}", figures.heading
        told = (f"{each.name}: {percent(each.success)}, 95 % interval {percents(each.interval)}" for each in figures.measured)
        overall = summary.overall
        left = f" {overall.unfinished} of {many(overall.episodes, 'play')} are left." if overall.unfinished else ""
        headline = f"{'; '.join(told)}.{left}"
    caption = "Errors count as not won; the interval is Wilson's."
    if len(figures.runs) > 1 and not isinstance(figures, AttemptsReport):
        caption = f"Of {len(figures.runs)} runs. Errors count as not won; in the interval of all plays, a task counts once."
    return {
        "title": title,
        "headline": headline,
        "heading": heading,
        "configuration": [
            (name, seeds if name == "configuration.seed" else value) for name, value in manifest_settings(figures.manifest)
        ],
        "plays": "Every selected task" if len(figures.runs) == 1 else "Every play of every selected task",
        "caption": caption,
        "report": figures,
        "charts": _run_charts(summary),
        "assisted": summary.assisted,
    }


def arms_page(report: ArmsReport) -> bytes:
    """The page of several arms: their figures, and what differs between them."""
    groups = [(arm.name, arm.summary.overall) for arm in report.begun]
    by_type = [
        (kind, [(arm.name, of) for arm in report.begun if (of := arm.summary.by_type.get(kind)) is not None])
        for kind in report.types
    ]
    charts = [(_success_chart("Success", groups), "Success by agent; the whiskers are 95 % intervals.")]
    if len(by_type) > 1:
        charts += [(_success_chart(f"Success, {kind}", of), f"The same of {kind} alone.") for kind, of in by_type]
    return tabled_page(report, f"{len(report.arms)} agents: {', '.join(arm.name for arm in report.arms)}", charts)


def report_page(report: Report) -> bytes | None:
    """The page of a report as one file of a few MB, for a frame in another page; None if its kind has no page."""
    match report:
        case ArmsReport():
            return arms_page(report)
        case EpisodesReport():
            return figures_page(report, Path("report.html"), _FOR_A_FRAME)
        case _:
            return None


def episode_page(record: Path) -> bytes:
    """The page of one recorded episode, which can be stepped through. Raises ``ConfigurationError``."""
    told = transcribe(branch(list(read_episode(record))))
    if told.started is None:
        raise ConfigurationError(f"{record} holds no event; give an episode's .jsonl file.")
    episodes = Episodes(page_environment(), Path("episode.html"), _LIMITS)
    body = episodes.transcript(record)
    return _page("single.html", episodes, title=record.stem, outcome=told.outcome, body=body, bound=episodes.drawings.bound)


def tabled_page(report: TabledReport, title: str, charts: Sequence[tuple[Markup, str]]) -> bytes:
    """The page of a report: its tables, its sentences, and ``charts`` with their captions."""
    return _page("arms.html", title=title, report=report, charts=charts)


def _success_chart(title: str, groups: Sequence[tuple[str, Figures]]) -> Markup:
    """The success of each group that has any, with its interval."""
    notes = [(name, of, f"{percent(of.success)} ({of.won}/{of.finished})") for name, of in groups]
    rates = [
        (name, (RateBar(of.success, of.interval, note),))
        for name, of, note in notes
        if of.success is not None and of.interval is not None
    ]
    return _rates_chart(rates, (), title)


def _plays(figures: EpisodesReport) -> list[_Play]:
    plays: list[_Play] = []
    for run in figures.runs:
        before = "" if isinstance(figures, RunReport) else f"{run.name}, "
        results = {result.task: result for result in run.results}
        tasks = run.manifest.tasks
        plays += [_Play(f"{before}{task.id}", task, run.episode(task), results.get(task.id)) for task in tasks]
    return plays


def _rows(plays: Sequence[_Play], episodes: Episodes) -> list[Row]:
    # Those that a reader looks for first come first, while there is room.
    finished = [play for play in plays if play.result]
    finished.sort(key=lambda play: ("error", "lost", "stopped", "won").index(play.outcome))
    bodies = {play.record: episodes.transcript(play.record) for play in finished}
    rows: list[Row] = []
    for play in plays:
        cells: list[object] = [(column.cell(play.result) if play.result else "-", column.number) for column in OF_TASK]
        rows.append(Row(play.task.number, play.name, play.task.type, play.outcome, cells, bodies.get(play.record)))
    return rows


def comparison_page(comparison: Comparison, page: Path, limits: Limits = _LIMITS) -> bytes:
    """The page of a comparison, with transcripts side by side for the tasks that only one run won."""
    if len(comparison.flipped) > MOST_ON_ONE and limits is _LIMITS:
        limits = _FOR_MANY
    episodes = Episodes(page_environment(), page, limits)
    names, (first, second) = [arm.name for arm in comparison.arms], [arm.runs[0] for arm in comparison.arms]
    rows: list[Row] = []
    for pair in comparison.flipped:
        task = pair.task
        cells: list[object] = [f"{each.outcome}, {each.turns} turns" for each in pair.results]
        body = episodes.transcript(first.episode(task), second.episode(task), names=names)
        rows.append(Row(task.number, task.id, task.type, pair.winner, cells, body))
    return _page(
        "comparison.html",
        episodes,
        rows,
        title=f"{first.name} and {second.name}, compared",
        verdict=[
            *comparison.conclusions(),
            *chain.from_iterable(learned_words(arm.runs[0].manifest, arm.name) for arm in comparison.arms),
        ],
        names=names,
        heading=_heading(comparison),
        configuration=_both(*(manifest_settings(run.manifest) for run in (first, second))),
        tables=[each for each in (types_table(comparison), figures_table(comparison.figures)) if each],
        charts=_comparison_charts(comparison),
        left_out=comparison.left_out.items(),
        outcomes=("first", "second"),
        bound=episodes.bound,
    )


def _page(template: str, episodes: Episodes | None = None, rows: Sequence[Row] = (), **values: object) -> bytes:
    style, script = (f"\n{(HERE / name).read_text('utf-8')}" for name in ("style.css", "filter.js"))
    style += episodes.drawings.style if episodes else ""
    sources = f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    environment = episodes.environment if episodes else page_environment()
    content = environment.get_template(template).render(
        policy=f"default-src 'none'; {sources}; img-src data:; base-uri 'none'; form-action 'none'",
        # Both files ship with the package and need no escaping; nor do pictures in base64.
        style=Markup(style),
        script=Markup(script),
        types=sorted({row.type for row in rows}),
        rows=rows,
        shared=episodes.shared if episodes else (),
        **values,
    )
    return content.encode()


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def page_environment() -> Environment:
    """Load the templates of this folder. All that a template prints is escaped, and control characters become visible."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters: dict[str, Any] = {"n": _number, "ticks": ticks}
    environment.filters.update(filters)
    return environment


def _safe(value: object) -> object:
    return value if isinstance(value, Markup) else printable(cut(str(value), LONGEST_TEXT))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def picture(chart: Markup) -> bytes:
    """A chart as a file by itself, in the colours of the pages."""
    style = (HERE / "style.css").read_text("utf-8")
    size = 'xmlns="http://www.w3.org/2000/svg" width="720" style="background: var(--background)"'
    return str(chart).replace("<svg ", f"<svg {size} ", 1).replace("</title>", f"</title><style>{style}</style>", 1).encode()


def chart(name: str, title: str, words: Iterable[str], *data: object) -> Markup:
    """The chart of this ``name`` in ``charts.svg``; ``words`` are what it shows, for who does not see it."""
    said = cut(f"{title}: {'; '.join(words)}", _LONGEST_WORDS)
    return getattr(_charts(), name)(title, said, *data)


@functools.cache
def _charts() -> object:
    # To compile the template takes a hundred times as long as to draw a chart.
    return page_environment().get_template("charts.svg").module


def ticks(most: float) -> list[int]:
    """About four round integers from 0 to ``most``."""
    step = max(1, 10 ** math.floor(math.log10(max(most, 1))))
    step = next((size for size in (step // 5, step // 2, step, step * 2) if size and most / size <= 5), step * 5)
    return list(range(0, math.floor(most) + 1, step))


OF_TASK: tuple[Column[Result], ...] = (
    Column("outcome", lambda result: result.outcome, number=False),
    Column("why", lambda result: f"{result.failure.label}: {result.failure.words}" if result.failure else "", number=False),
    Column("conditions", lambda result: "-" if result.met is None else f"{result.met}/{result.conditions}"),
    Column("turns", lambda result: result.turns),
    Column("steps", lambda result: result.steps),
    Column("refused", lambda result: result.refused),
    Column("repeated", lambda result: result.repeated),
    Column("calls", lambda result: result.calls),
    Column("tokens", lambda result: result.tokens, lambda value: "-" if value is None else f"{value:,}"),
)


def _run_charts(summary: Summary) -> list[tuple[Markup, str]]:
    played = summary.overall.results
    bins = step_bins(played, max((result.steps for result in played), default=1))
    groups = [*summary.by_type.items(), ("all", summary.overall)]
    unit, ended = "executed commands an episode", endings(summary)
    taken = [f"{label} {unit}: {won} won, {others} not won" for label, (won, others) in bins]
    words = [f"{label}: {number}" for label, number in ended]
    return [
        (_success_chart("Success by type", groups), "Success by type of task; the whiskers are 95 % intervals."),
        (chart("histogram", "Steps", taken, bins, ("won", "not won"), unit), "How many commands the episodes took."),
        (
            chart("counts", "How the episodes ended", words, ended),
            "How the episodes ended, and why those were lost that were not won.",
        ),
    ]


def _comparison_charts(comparison: Comparison) -> list[tuple[Markup, str]]:
    names, found = [arm.name for arm in comparison.arms], comparison.difference
    groups = [(kind, _rates(PairedCounts.of(each))) for kind, each in [*comparison.by_type.items(), ("all", comparison.pairs)]]
    words = [f"{found.value * 100:+.1f} points, 95 % interval {points(found.interval)}"]
    difference = chart("difference", "Difference in success", words, found.value, found.interval)
    by_type = _rates_chart(groups, (f"first: {names[0]}", f"second: {names[1]}"))
    charts = [
        (difference, "Success of the second run less the first's, in points, with its 95 % interval."),
        (by_type, "Success by type of task over the pairs; the whiskers are 95 % intervals of each run by itself."),
    ]
    means, rates = [tokens_an_episode(side) for side in comparison.results], _rates(comparison.counts)
    runs = [(name, mean, rate) for name, mean, rate in zip(names, means, rates, strict=True) if mean is not None]
    if len(runs) == len(names) and any(means):
        unit = "tokens an episode"
        words = [f"{name}: {mean:,.0f} {unit}, success {rate.note}" for name, mean, rate in runs]
        charts.append((chart("points", "Tokens against success", words, runs, unit), "What an episode took."))
    return charts


def _rates_chart(
    groups: Sequence[tuple[str, Sequence[RateBar]]], series: Sequence[str], title: str = "Success by type"
) -> Markup:
    words = [f"{label}: {', '.join(rate.note for rate in rates)}" for label, rates in groups]
    return chart("rates", title, words, groups, series)


def _rates(counts: PairedCounts) -> tuple[RateBar, ...]:
    """The success of both runs, for a chart."""
    total = sum(counts)
    both = [(won, won / total if total else 0.0) for won in counts.won]
    return tuple(RateBar(of, wilson(won, total), f"{percent(of)} ({won}/{total})") for won, of in both)


def _heading(comparison: Comparison) -> list[tuple[str, str, str]]:
    lines = _both(*(page_heading(arm.runs[0]) for arm in comparison.arms))
    known = {key for key, _, _ in lines}
    changes = ((key, both) for key, both in comparison.changes.items() if key not in known)
    return [*lines, *((key, setting_text(one), setting_text(other)) for key, (one, other) in changes)]


def _both(first: Sequence[tuple[str, str]], second: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    one, other, missing = dict(first), dict(second), setting_text(None)
    return [(key, one.get(key, missing), other.get(key, missing)) for key in {**one, **other}]


def tokens_an_episode(results: Sequence[Result]) -> float | None:
    """The mean of the results' tokens; None where any is unknown."""
    known = [result.tokens for result in results if result.tokens is not None]
    return sum(known) / len(known) if known and len(known) == len(results) else None


def endings(summary: Summary) -> list[tuple[str, int]]:
    """Count the episodes by their end: won, the classes of failure, and not finished."""
    lost = [(kind.label, len(results)) for kind, results in summary.failures.items()]
    unfinished = summary.overall.unfinished
    return [("won", summary.overall.won), *lost, *([("not finished", unfinished)] if unfinished else [])]


def step_bins(results: Sequence[Result], most: int) -> list[tuple[str, tuple[int, int]]]:
    """Steps of won and of other episodes in up to twelve bins of equal width, up to ``most``."""
    width = max(1, -(-most // 12))
    bins = max(1, -(-most // width))
    found = [[0, 0] for _ in range(bins)]
    for result in results:
        place = min(bins - 1, max(0, result.steps - 1) // width)
        found[place][not result.won] += 1
    labels = [str(place + 1) if width == 1 else f"{place * width + 1}-{(place + 1) * width}" for place in range(bins)]
    return [(label, (won, others)) for label, (won, others) in zip(labels, found, strict=True)]


def page_heading(run: Run) -> list[tuple[str, str]]:
    """The run in a few lines: those of a report, without the agent's settings and the habits."""
    config, lines = run.manifest.configuration, dict(heading(run.manifest, run.card))
    lines.pop("habits", None)
    lines |= {} if config.players else {"agent": config.agent}
    return [*lines.items()]


def manifest_settings(manifest: Manifest) -> list[tuple[str, str]]:
    """Every entry of the manifest except the tasks, by name."""
    entries = flattened(manifest.model_dump(mode="json", exclude={"tasks"}))
    lists = {name: cast("list[object]", value) for name, value in entries.items() if isinstance(value, list)}
    lines = {name: "\n".join(map(str, value)) or "none" for name, value in lists.items()}
    return [(name, lines.get(name) or setting_text(value)) for name, value in entries.items()]


def setting_text(value: object) -> str:
    """The value of a setting."""
    return "not set" if value is None else str(value)
