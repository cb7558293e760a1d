"""A run as a table to paste (Markdown) and as a table to compute with (CSV, a row a task with everything)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from agent.evaluation.analysis.metrics import Figures, PlayedTask, Summary
from agent.evaluation.analysis.published import FAMILY, compare_published, warnings
from agent.evaluation.render.report import definitions, groups, heading, number, percent, percents, sentences
from agent.evaluation.runs.spec import Manifest
from worlds.text import printable

Cell = str | int | float | None

_SPECIAL = re.compile(r"([\\`*\[\]<>|~$&]|(?<!\w)_|_(?!\w))")
"""What means something in Markdown in the middle of a line; an underscore does at the edge of a word."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(manifest: Manifest, summary: Summary) -> str:
    """A row for every task that counts, finished or not, in the order of the tasks; what is not known is empty.

    Text is made printable, and where a spreadsheet would take it for a formula an apostrophe goes before it.
    """
    rows = [_row(manifest, played) for played in summary.overall.played]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_row(manifest, None))
    writer.writerows([_safe(cell) for cell in row.values()] for row in rows)
    return file.getvalue()


def _safe(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    text = printable(cell).replace("\n", " ")
    return f"'{text}" if text.startswith(_FORMULA) else text


def _row(manifest: Manifest, played: PlayedTask | None) -> dict[str, Cell]:
    """The columns by name; of no task, for the names alone."""
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
    """The figures as one table to paste, with what was played above it and what must be known below."""
    return "\n".join(_lines(manifest, summary)) + "\n"


_HEAD = ("", "tasks", "won", "errors", "success", "95 % interval", "GC", "SR/path", "GC/path", "steps")


def _lines(manifest: Manifest, summary: Summary) -> Iterator[str]:
    yield from (f"- {name}: {_escaped(value)}" for name, value in heading(manifest))
    yield ""
    yield _line(_HEAD)
    yield _line(("---", *("---:",) * (len(_HEAD) - 1)))
    for name, count in groups(summary):
        yield _line((_escaped(name), *_cells(count)))
    yield ""
    for sentence in (*definitions(summary.overall), *sentences(manifest, summary)):
        yield f"- {_escaped(sentence)}"
    if summary.failures:
        yield from ("", _line(("why not won", "tasks", "for example")), _line(("---", "---:", "---")))
        for lost in summary.failures:
            first = lost.results[0]
            at = f"{manifest.configuration.split}:{first.number}, turn {first.failure.turn if first.failure else 0}"
            yield _line((lost.label, str(len(lost.results)), _escaped(at)))


def published_markdown(manifest: Manifest, summary: Summary) -> str:
    """The run and the published figures as one table to paste."""
    config, overall = manifest.configuration, summary.overall
    lines = [_line(("success", "method", "model", "split", "trials", "goals", "source", "differs, caveat"))]
    lines.append(_line(("---:", *("---",) * 7)))
    said = (f"{config.agent}", config.model or "", config.split, "1", config.goals, "this run")
    lines.append(
        _line((percent(overall.success), *map(_escaped, said), _escaped(f"95 % interval {percents(overall.interval)}")))
    )
    for each in compare_published(manifest):
        figure = each.figure
        words = (figure.method, figure.model, figure.split or "not stated", figure.trials, figure.goals, figure.source)
        differs = "; ".join(part for part in (*each.differs, figure.caveat) if part)
        lines.append(_line((f"{figure.success:g} %", *map(_escaped, words), _escaped(differs))))
    notes = [f"- {_escaped(warning)}" for warning in (*warnings(manifest), FAMILY)]
    return "\n".join([*lines, "", *notes]) + "\n"


def _cells(count: Figures) -> tuple[str, ...]:
    shares = (count.goal.mean, count.success_by_path.mean, count.goal_by_path.mean)
    whole = (str(count.episodes), str(count.won), str(count.errors), percent(count.success), percents(count.interval))
    return (*whole, *map(percent, shares), number(count.mean_steps))


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """``text`` so that it stands in Markdown for itself."""
    return _SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))
