"""Export a run as a Markdown table to paste, or as CSV with one row per task."""

from __future__ import annotations

from collections.abc import Iterator

from agent.evaluation.analysis.metrics import PlayedTask, Summary
from agent.evaluation.analysis.published import FAMILY, compare_published, warnings
from agent.evaluation.render.report import definitions, groups, heading, pick, sentences
from agent.evaluation.render.table import Cell, Table, csv_text, escaped, percent, percents
from agent.evaluation.runs.result import Result
from agent.evaluation.runs.spec import Manifest


def as_csv(manifest: Manifest, summary: Summary) -> str:
    """One row for every task that counts, finished or not, in task order."""
    return csv_text([_row(manifest, played) for played in summary.overall.played], _row(manifest, None))


def _row(manifest: Manifest, played: PlayedTask | None) -> dict[str, Cell]:
    """The cells by column name; without a task, only the names matter."""
    config = manifest.configuration
    task, result = (played.task, played.result) if played else (None, None)
    failure = result.failure if result else None
    tokens = played.tokens if played else None
    finished = played if played and result else None
    return {
        "split": config.split,
        "number": task and task.number,
        "task": task and task.id,
        "type": task and task.type,
        "wording": (result and result.wording) or (task and task.wording),
        "seed": config.seed,
        "outcome": result.outcome if result else "unfinished",
        "won": int(played.won) if played else None,
        "reason": result and result.reason,
        "failure": failure and failure.kind,
        "failure_turn": failure and failure.turn,
        "failure_words": failure and failure.words,
        "boundary": result and result.boundary,
        "message": result and result.message,
        "turns": result and result.turns,
        "steps": result and result.steps,
        "refused": result and result.refused,
        "repeated": result and result.repeated,
        "unreadable": result and result.unreadable,
        "met": result and result.met,
        "conditions": result and result.conditions,
        "goal_conditions": played and played.goal,
        "shortest": played and played.par.shortest,
        "expert": played and played.par.expert,
        "path_weight": finished and finished.weight,
        "success_by_path": played and played.weighted(float(played.won)),
        "goal_conditions_by_path": played and played.weighted(played.goal),
        "calls": result and result.calls,
        "prompt_tokens": result and result.prompt_tokens,
        "fresh_tokens": tokens and tokens.fresh,
        "cached_tokens": tokens and tokens.cached,
        "completion_tokens": result and result.completion_tokens,
        "model_seconds": finished and finished.clock.model,
        "wall_seconds": finished and finished.clock.wall,
        "cost": finished and finished.cost,
    }


def as_markdown(manifest: Manifest, summary: Summary) -> str:
    """The figures as one Markdown table, with the run above it and notes below."""
    return "\n".join(_lines(manifest, summary)) + "\n"


_HEADINGS = ("tasks", "won", "errors", "success", "95 % interval", "GC", "SR/path", "GC/path", "steps")


def _lines(manifest: Manifest, summary: Summary) -> Iterator[str]:
    yield from (f"- {name}: {escaped(value)}" for name, value in heading(manifest))
    yield ""
    yield from Table.of("", pick(*_HEADINGS), groups(summary)).markdown()
    yield ""
    for sentence in (*definitions(summary.overall), *sentences(manifest, summary)):
        yield f"- {escaped(sentence)}"
    if summary.failures:
        yield ""
        rows = tuple((kind.label, str(len(lost)), _example(manifest, lost[0])) for kind, lost in summary.failures.items())
        yield from Table(("why not won", "tasks", "for example"), rows).markdown(numbers=(1,))


def _example(manifest: Manifest, result: Result) -> str:
    return f"{manifest.configuration.split}:{result.number}, turn {result.failure.turn if result.failure else 0}"


def published_markdown(manifest: Manifest, summary: Summary) -> str:
    """The run and the published figures as one Markdown table."""
    config, overall = manifest.configuration, summary.overall
    played = (config.agent, config.model or "", config.split, "1", config.goals, "this run")
    rows: list[tuple[str, ...]] = [(percent(overall.success), *played, f"95 % interval {percents(overall.interval)}")]
    for each in compare_published(manifest):
        figure = each.figure
        words = (figure.method, figure.model, figure.split or "not stated", figure.trials, figure.goals, figure.source)
        differs = "; ".join(part for part in (*each.differs, figure.caveat) if part)
        rows.append((f"{figure.success:g} %", *words, differs))
    head = ("success", "method", "model", "split", "trials", "goals", "source", "differs, caveat")
    notes = [f"- {escaped(warning)}" for warning in (*warnings(manifest), FAMILY)]
    return "\n".join([*Table(head, tuple(rows)).markdown(numbers=(0,)), "", *notes]) + "\n"
