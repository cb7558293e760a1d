"""Compare the arms of a sweep: mean success over seeds, steps and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.config import Prices
from agent.evaluation.analysis.metrics import Extras, Summary, summarise
from agent.evaluation.analysis.seeds import OWN_TASKS
from agent.evaluation.analysis.statistics import Interval, mean_over_seeds
from agent.evaluation.render.report import read_results
from agent.evaluation.render.table import Column, Report, Section, Table, number, percent, percents, plain, wrapped
from agent.evaluation.runs.cost import money
from agent.evaluation.runs.sweep import SweepFolder
from agent.evaluation.runs.timing import timings_of
from worlds.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """The figures of one arm, over ``seeds`` runs of ``tasks`` tasks each.

    ``interval`` is the 95 % interval of the mean ``success``: Student's over several seeds, Wilson's over the tasks of one.
    ``steps`` are executed commands per episode; ``cost`` covers all runs, None where no price is known. ``same_tasks``: every
    seed played the same tasks; with ``sample``, each draws its own.
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
    """The arms of the sweep in ``folder``, in the order of its file, without runs that have not begun.

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
    mean = mean_over_seeds([count.success for count in counts], share=True) if counts else None
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
        interval=mean.interval if mean and mean.interval else alone,
        steps=sum(count.steps for count in counts) / finished if finished else None,
        calls=sum(count.calls for count in counts),
        cost=sum(known) if (known := [each for each in costs if each is not None]) else None,
        same_tasks=len(selections) < 2,
    )


_COLUMNS: tuple[Column[ArmFigures], ...] = (
    Column("seeds", lambda arm: arm.seeds),
    Column("tasks", lambda arm: arm.tasks),
    Column("err", lambda arm: arm.errors),
    Column("success", lambda arm: arm.success, percent),
    Column("95 % interval", lambda arm: arm.interval, percents),
    Column("steps", lambda arm: arm.steps, number),
    Column("calls", lambda arm: arm.calls),
    Column("cost", lambda arm: arm.cost, lambda cost: "-" if cost is None else money(cost)),
)


@dataclass(frozen=True, slots=True)
class SweepReport(Report):
    """The arms of a sweep; rates lie in [0, 1]."""

    arms: tuple[ArmFigures, ...]

    def data(self) -> dict[str, object]:
        figures = ("same_tasks", "unfinished", "errors", "success", "interval", "steps", "calls", "cost")
        return {"arms": [{**plain(arm, "arm", "seeds"), "episodes": arm.tasks, **plain(arm, *figures)} for arm in self.arms]}

    def sections(self) -> Iterator[Section]:
        """The table and its notes."""
        columns = _COLUMNS if any(each.cost is not None for each in self.arms) else _COLUMNS[:-1]
        table = Table.of("", columns, [(each.arm, each) for each in self.arms])
        missing = {each.arm for each in self.arms if not each.seeds}
        rows = tuple((row[0], "0", *["-"] * (len(row) - 2)) if row[0] in missing else row for row in table.rows)
        yield Table(table.head, rows, total=None)
        yield self._notes()

    def _notes(self) -> Iterator[str]:
        if any(each.seeds > 1 for each in self.arms):
            yield "Success is the mean over the seeds, with Student's interval."
        if drawn := [each.arm for each in self.arms if not each.same_tasks]:
            yield from wrapped(f"{', '.join(drawn)}: {OWN_TASKS[0].lower()}{OWN_TASKS[1:]}")
        if any(each.seeds == 1 for each in self.arms):
            yield "Of a single seed the interval is Wilson's, over the tasks."
        if unfinished := sum(each.unfinished for each in self.arms):
            yield f"Not finished: {unfinished} episodes; until they are, they count as not won."
        if missing := [each.arm for each in self.arms if not each.seeds]:
            yield f"Not begun: {', '.join(missing)}."
