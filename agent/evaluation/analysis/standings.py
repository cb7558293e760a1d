"""The arms of a sweep beside each other: success as a mean over seeds, steps, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.config import Prices
from agent.evaluation.analysis.metrics import Extras, Summary, summarise
from agent.evaluation.analysis.seeds import OWN_TASKS
from agent.evaluation.analysis.statistics import Interval, mean_over_seeds
from agent.evaluation.render.report import read_results, wrapped
from agent.evaluation.runs.cost import money
from agent.evaluation.runs.sweep import SweepFolder
from agent.evaluation.runs.timing import timings_of
from worlds.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """What one arm came to, over ``seeds`` runs of ``tasks`` tasks each.

    ``interval`` holds the 95 % of the mean of ``success``: Student's over several seeds, Wilson's over the tasks
    of a single one. ``steps`` are executed commands an episode; ``cost`` is that of all its runs, None where no price is known.
    ``same_tasks``: every seed played the same ones; with ``sample``, each draws its own.
    """

    arm: str
    seeds: int
    tasks: int
    unfinished: int
    errors: int
    success: float
    interval: Interval
    steps: float | None
    calls: int
    cost: float | None
    same_tasks: bool = True


def read_arms(folder: SweepFolder, prices: Callable[[str], Prices | None]) -> tuple[ArmFigures, ...]:
    """The arms of the sweep in ``folder`` in the order of its file. A run that has not begun is left out.

    Raises ``ConfigurationError``.
    """
    by_arm: dict[str, list[Summary]] = {}
    for kept in folder.contents().runs:
        summaries = by_arm.setdefault(kept.arm, [])
        run = folder.run(kept.folder)
        if run.manifest_file.exists():
            manifest, results = read_results(run)
            model = manifest.configuration.model
            extras = Extras(clocks=timings_of(run, manifest.tasks), prices=prices(model) if model else None)
            summaries.append(summarise(manifest.tasks, results, extras))
    if not any(by_arm.values()):
        raise ConfigurationError(f"No run of the sweep in {folder.path} has begun; play it with `housequest eval --sweep`.")
    return tuple(_standing(arm, summaries) for arm, summaries in by_arm.items())


def _standing(arm: str, summaries: list[Summary]) -> ArmFigures:
    counts = [summary.overall for summary in summaries]
    selections = {frozenset([each.task.id for each in one.overall.played] + list(one.assisted)) for one in summaries}
    mean = mean_over_seeds([count.success for count in counts]) if counts else None
    costs = [summary.overall.cost.total for summary in summaries if summary.prices is not None]
    finished = sum(count.finished for count in counts)
    alone = counts[0].interval if counts else Interval(0.0, 1.0)
    return ArmFigures(
        arm=arm,
        seeds=len(counts),
        tasks=max((count.episodes for count in counts), default=0),
        unfinished=sum(count.unfinished for count in counts),
        errors=sum(count.errors for count in counts),
        success=mean.value if mean else 0.0,
        interval=_within(mean.interval) if mean and mean.interval else alone,
        steps=sum(count.steps for count in counts) / finished if finished else None,
        calls=sum(count.calls for count in counts),
        cost=sum(known) if (known := [each for each in costs if each is not None]) else None,
        same_tasks=len(selections) < 2,
    )


def _within(interval: Interval) -> Interval:
    return Interval(max(0.0, interval.low), min(1.0, interval.high))


def as_json(standings: tuple[ArmFigures, ...]) -> dict[str, object]:
    """The arms as plain data; rates lie in [0, 1]."""
    return {
        "arms": [
            {
                "arm": each.arm,
                "seeds": each.seeds,
                "episodes": each.tasks,
                "same_tasks": each.same_tasks,
                "unfinished": each.unfinished,
                "errors": each.errors,
                "success": each.success,
                "interval": [each.interval.low, each.interval.high],
                "steps": each.steps,
                "calls": each.calls,
                "cost": each.cost,
            }
            for each in standings
        ]
    }


def as_text(standings: tuple[ArmFigures, ...]) -> str:
    """The arms as a table, and what must be said of it."""
    rows = [("", "seeds", "tasks", "err", "success", "95 % interval", "steps", "calls", "cost")]
    rows += [_row(each) for each in standings]
    priced = any(each.cost is not None for each in standings)
    rows = [row if priced else row[:-1] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            f"{cell:<{width}}" if not column else f"{cell:>{width}}" for column, (cell, width) in _cells(row, widths)
        ).rstrip()
        for row in rows
    ]
    lines.append("")
    if any(each.seeds > 1 for each in standings):
        lines.append("Success is the mean over the seeds, with Student's interval.")
    if drawn := [each.arm for each in standings if not each.same_tasks]:
        lines.extend(wrapped(f"{', '.join(drawn)}: {OWN_TASKS[0].lower()}{OWN_TASKS[1:]}"))
    if any(each.seeds == 1 for each in standings):
        lines.append("Of a single seed the interval is Wilson's, over the tasks.")
    if unfinished := sum(each.unfinished for each in standings):
        lines.append(f"Not finished: {unfinished} episodes; until they are, they count as not won.")
    if missing := [each.arm for each in standings if not each.seeds]:
        lines.append(f"Not begun: {', '.join(missing)}.")
    return "\n".join(lines).rstrip() + "\n"


def _cells(row: tuple[str, ...], widths: list[int]) -> list[tuple[int, tuple[str, int]]]:
    return list(enumerate(zip(row, widths, strict=True)))


def _row(each: ArmFigures) -> tuple[str, ...]:
    if not each.seeds:
        return (each.arm, "0", *["-"] * 7)
    return (
        each.arm,
        str(each.seeds),
        str(each.tasks),
        str(each.errors),
        f"{each.success * 100:.1f} %",
        f"{each.interval.low * 100:.1f}-{each.interval.high * 100:.1f} %",
        "-" if each.steps is None else f"{each.steps:.1f}",
        str(each.calls),
        "-" if each.cost is None else money(each.cost),
    )
