"""Export a run or a series as Markdown tables to paste, or as CSV with one row per task."""

from __future__ import annotations

from collections.abc import Iterable

from housequest.agent.evaluation.analysis.metrics import PlayedTask
from housequest.agent.evaluation.analysis.published import FAMILY, PublishedReport, compare_published, measured_once, warnings
from housequest.agent.evaluation.analysis.run import card
from housequest.agent.evaluation.analysis.series import SeriesReport
from housequest.agent.evaluation.render.report import RunReport, definitions, groups, heading, notes, pick, shares
from housequest.agent.evaluation.render.table import Cell, Table, csv_text, escaped, percent, percents
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.spec import Manifest

Evaluated = RunReport | SeriesReport
"""A report of episodes that can be exported."""


def as_csv(report: Evaluated) -> str:
    """One row for every task that counts, finished or not, in task order; in a series with the folder of its run first."""
    empty = PlayedTask(SelectedTask(number=0, id="", type=""))
    if isinstance(report, RunReport):
        rows = [_row(report.manifest, played) for played in report.summary.overall.played]
        return csv_text(rows, _row(report.manifest, empty))
    runs = report.parts
    rows = [{"run": run.name, **_row(run.manifest, played)} for run in runs for played in run.summary.overall.played]
    return csv_text(rows, {"run": "", **_row(runs[0].manifest, empty)})


def _row(manifest: Manifest, played: PlayedTask) -> dict[str, Cell]:
    """The cells by column name; unknown where the task is not finished."""
    config, task, result, tokens = manifest.configuration, played.task, played.result, played.tokens
    failure = result.failure if result else None

    def recorded(*names: str) -> dict[str, Cell]:
        return {name: getattr(result, name) if result else None for name in names}

    return {
        "split": config.split,
        "number": task.number,
        "task": task.id,
        "type": task.type,
        "wording": (result and result.wording) or task.wording,
        "seed": config.seed,
        "outcome": result.outcome if result else "unfinished",
        "won": int(played.won),
        **recorded("reason"),
        "failure": failure and failure.kind,
        "failure_turn": failure and failure.turn,
        "failure_words": failure and failure.words,
        **recorded("boundary", "message", "turns", "steps", "refused", "repeated", "unreadable", "met", "conditions"),
        "goal_conditions": played.goal,
        "shortest": played.par.shortest,
        "expert": played.par.expert,
        "ceiling": played.ceiling,
        "path_weight": played.weight if result else None,
        "success_by_path": played.weighted(float(played.won)),
        "goal_conditions_by_path": played.weighted(played.goal),
        **recorded("calls", "prompt_tokens"),
        "fresh_tokens": tokens and tokens.fresh,
        "cached_tokens": tokens and tokens.cached,
        **recorded("completion_tokens"),
        "model_seconds": played.clock.model if result else None,
        "wall_seconds": played.clock.wall if result else None,
        "cost": played.cost if result else None,
    }


def as_markdown(report: Evaluated) -> str:
    """The figures as Markdown tables, with who played above and notes below."""
    if not isinstance(report, RunReport):
        tables = [line for table in report.tables() for line in ("", *table.markdown())]
        return _markdown(report.heading, tables, report.sentences())
    manifest, summary = report.manifest, report.summary
    columns = [*pick("tasks", "won", "errors", "success", "95 % interval"), *shares(summary), *pick("steps")]
    above = heading(manifest, card(manifest, summary.overall.asked))
    below = (*definitions(summary), *notes(manifest, summary))
    text = _markdown(above, ["", *Table.of("", columns, groups(summary)).markdown()], below)
    if not summary.failures:
        return text
    split = manifest.configuration.split
    rows = tuple(
        (kind.label, str(len(lost)), f"{split}:{lost[0].number}, turn {lost[0].failure.turn if lost[0].failure else 0}")
        for kind, lost in summary.failures.items()
    )
    return "\n".join([text, *Table(("why not won", "tasks", "for example"), rows).markdown(numbers=(1,))]) + "\n"


def _markdown(above: Iterable[tuple[str, str]], tables: Iterable[str], below: Iterable[str]) -> str:
    lines = [*(f"- {name}: {escaped(value)}" for name, value in above), *tables]
    return "\n".join([*lines, "", *(f"- {escaped(note)}" for note in below)]) + "\n"


def beside_published(report: Evaluated) -> PublishedReport:
    """What was measured beside the published figures."""
    if isinstance(report, RunReport):
        return PublishedReport(report.manifest, measured_once(report.summary))
    return PublishedReport(report.parts[0].manifest, report.measured)


def published_markdown(report: PublishedReport) -> str:
    """What was measured and the published figures as one Markdown table."""
    manifest, measured, config = report.manifest, report.measured, report.manifest.configuration
    rows: list[tuple[str, ...]] = []
    for ours in measured:
        played = (config.agent, config.model or "", config.split, ours.trials, config.goals, ours.name)
        rows.append((percent(ours.success), *played, f"95 % interval {percents(ours.interval)}"))
    for each in compare_published(manifest, measured):
        figure = each.figure
        words = (figure.method, figure.model, figure.split or "not stated", figure.trials, figure.goals, figure.source)
        differs = "; ".join(part for part in (*each.differs, figure.caveat) if part)
        rows.append((f"{figure.success:g} %", *words, differs))
    head = ("success", "method", "model", "split", "trials", "goals", "source", "differs, caveat")
    notes = [f"- {escaped(warning)}" for warning in (*warnings(manifest, measured), FAMILY)]
    return "\n".join([*Table(head, tuple(rows)).markdown(numbers=(0,)), "", *notes]) + "\n"
