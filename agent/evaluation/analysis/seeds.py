"""Summarise runs that differ only in their seed, and the arms of a sweep: means over seeds with their intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from statistics import fmean

from housequest.agent.evaluation.analysis.card import arms_card, card, shared_card
from housequest.agent.evaluation.analysis.ceilings import ceiling_of
from housequest.agent.evaluation.analysis.compare import PriceList, Run, read_for_comparison
from housequest.agent.evaluation.analysis.metrics import Extras, Figures, PlayedTask, Summary, joined, summarise
from housequest.agent.evaluation.analysis.paths import Watcher
from housequest.agent.evaluation.analysis.published import Measured
from housequest.agent.evaluation.analysis.series import SeriesReport
from housequest.agent.evaluation.analysis.statistics import Interval, Mean, bootstrap_mean, deviation, mean_over_seeds, pass_at
from housequest.agent.evaluation.render.report import RunReport, definitions, notes, pick, shares
from housequest.agent.evaluation.render.table import (
    Column,
    Report,
    Section,
    Table,
    ends,
    named_lines,
    number,
    percent,
    percents,
    plain_data,
    wrapped,
)
from housequest.agent.evaluation.runs.cost import money
from housequest.agent.evaluation.runs.files import differences
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import Manifest
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.agent.evaluation.runs.timing import timings_of
from housequest.worlds.errors import ConfigurationError


def read_seeds(runs: Sequence[RunFolder], prices: PriceList | None = None, watcher: Watcher | None = None) -> list[Run]:
    """The runs by seed. Raises ``ConfigurationError`` where they differ in more than their seed, or two share one."""
    found = sorted((read_for_comparison(run, prices, watcher) for run in runs), key=lambda run: run.seed)
    for one, other in pairwise(found):
        if one.seed == other.seed:
            raise ConfigurationError(f"{one.name} and {other.name} have the same seed, {one.seed}; name runs of several seeds.")
        if changes := differences(_seedless(one.manifest), _seedless(other.manifest)):
            listed = "\n".join(f"  {change}" for change in changes)
            raise ConfigurationError(
                f"{one.name} and {other.name} differ in more than their seed:\n{listed}\nCompare them two by two."
            )
    return found


def read_repeats(folder: SweepFolder, prices: PriceList | None = None, watcher: Watcher | None = None) -> list[Run]:
    """The repeats in ``folder`` that have begun. Raises ``ConfigurationError``."""
    return read_seeds(folder.begun_runs("--repeat N"), prices, watcher)


def _seedless(manifest: Manifest) -> Manifest:
    """``manifest`` without its seed, and without the tasks if the seed drew them."""
    config = manifest.configuration
    tasks = () if config.sample is not None else manifest.tasks
    return manifest.model_copy(update={"configuration": config.model_copy(update={"seed": 0, "repeat": None}), "tasks": tasks})


def _figures(summary: Summary) -> dict[str, float | None]:
    count = summary.overall
    means = {
        "goal_conditions": count.goal.mean,
        "success_by_path": count.success_by_path.mean,
        "goal_conditions_by_path": count.goal_by_path.mean,
    }
    return {
        "success": count.success,
        **({metric.label: count.of(metric).value for metric in summary.metrics} or means),
        "steps": count.commands.mean,
        "cost": count.cost.total,
    }


_PASSES = (1, 2, 4, 8, 16, 32, 64)
"""The k of pass@k that a report for people has; the JSON has all."""

_UNBOUNDED = {"steps", "cost"}
"""Figures that are not shares."""


def means(runs: Sequence[Run]) -> dict[str, Mean | None]:
    """Each figure over the runs with Student's 95 % interval, clipped to [0, 1] for shares; None where a run lacks it."""
    each = [_figures(run.summary) for run in runs]
    found: dict[str, Mean | None] = {}
    for name in each[0]:
        values = [value for figures in each if (value := figures[name]) is not None]
        found[name] = mean_over_seeds(values, share=name not in _UNBOUNDED) if len(values) == len(runs) else None
    return found


_OF_TASK: Mapping[str, Callable[[PlayedTask], float | None]] = {
    "goal_conditions": lambda each: each.goal,
    "success_by_path": lambda each: each.weighted(float(each.won)),
    "goal_conditions_by_path": lambda each: each.weighted(each.goal),
    "steps": lambda each: each.result.steps if each.result else None,
}
"""Figures that each episode has."""


def over_tasks(runs: Sequence[Run]) -> dict[str, Interval]:
    """The 95 % interval of each figure's mean over tasks like these, as far as every run has it of the same tasks.

    A task counts once, with its mean over the runs (bootstrap); success as
    `housequest.agent.evaluation.analysis.statistics.clustered`.
    """
    found = {"success": joined([run.summary for run in runs]).overall.interval}
    if not same_tasks(runs):
        return found
    tasks: dict[str, list[PlayedTask]] = {}
    for each in (each for run in runs for each in run.summary.overall.played):
        tasks.setdefault(each.task.id, []).append(each)
    for name, of in _OF_TASK.items():
        values = [of(each) for tries in tasks.values() for each in tries]
        if values and None not in values:
            found[name] = bootstrap_mean([fmean(of(each) or 0.0 for each in tries) for tries in tasks.values()])
    return found


def pass_at_k(runs: Sequence[Run]) -> dict[int, float]:
    """The share of tasks that at least one of k runs would win, for each k up to the number of runs (`pass_at`).

    Empty where the runs did not play the same tasks. What was not won, for whatever reason, counts as lost; what a person
    helped with is left out.
    """
    if not same_tasks(runs) or len(runs) < 2:
        return {}
    helped = {task for run in runs for task in run.summary.assisted}
    won = Counter(each.task.id for run in runs for each in run.summary.overall.played if each.won)
    tasks = [task.id for task in runs[0].manifest.tasks if task.id not in helped]
    if not tasks:
        return {}
    return {k: math.fsum(pass_at(k, len(runs), won[task]) for task in tasks) / len(tasks) for k in range(1, len(runs) + 1)}


OWN_TASKS = "Each seed drew tasks of its own: the spread is that of the tasks as well as of the agent."


UNEQUAL = "Spread, best run and pass@k are left out until every run is finished."


def same_tasks(runs: Sequence[Run]) -> bool:
    """Whether every run played the same tasks; with ``--sample`` each seed draws its own."""
    return len({tuple(task.id for task in run.manifest.tasks) for run in runs}) == 1


@dataclass(frozen=True)
class SeedsReport(SeriesReport):
    """The figures of each run, and their means."""

    runs: Sequence[Run]

    @property
    def parts(self) -> Sequence[Run]:
        return self.runs

    @property
    def every(self) -> Summary:
        return self._every

    @cached_property
    def _every(self) -> Summary:
        return joined([run.summary for run in self.runs])

    @property
    def card(self) -> dict[str, str]:
        """The card of the first run, with how often each task was played."""
        repeats = {"repeats": str(len(self.runs))} if same_tasks(self.runs) else {}
        return {**self.runs[0].card, **repeats, "asked": self.every.overall.asked}

    @property
    def heading(self) -> list[tuple[str, str]]:
        seeds = ("seeds", ", ".join(str(run.seed) for run in self.runs))
        return [*((name, value) for name, value in super().heading if name != "seed"), seeds]

    @property
    def measured(self) -> tuple[Measured, ...]:
        mean = math.fsum(self._successes) / len(self.runs)
        return (Measured("mean of these runs", mean, self.every.overall.interval, f"mean of {len(self.runs)} seeds"),)

    def data(self) -> dict[str, object]:
        tasks = over_tasks(self.runs)
        over = {
            name: mean and {"mean": mean.value, "interval": ends(mean.interval), "over_tasks": ends(tasks.get(name))}
            for name, mean in means(self.runs).items()
        }
        runs = [RunReport(run.manifest, run.summary).data() for run in self.runs]
        return {
            "series": "repeats",
            **super().data(),
            "seeds": [run.seed for run in self.runs],
            "same_tasks": same_tasks(self.runs),
            "over_seeds": over,
            "spread": {
                "deviation": deviation(self._successes),
                "least": min(self._successes),
                "best": max(self._successes),
                "pass_at": {str(k): share for k, share in pass_at_k(self.runs).items()},
            }
            if self._whole
            else None,
            "runs": [{"name": run.name, "seed": run.seed, **figures} for run, figures in zip(self.runs, runs, strict=True)],
        }

    def tables(self) -> Iterator[Table]:
        """Each run, the types of task, and the means."""
        columns = [*pick("tasks", "won", "err", "success"), *shares(self.runs[0].summary), *pick("steps")]
        yield Table.of("seed", columns, [(str(run.seed), run.summary.overall) for run in self.runs])
        groups = [*self.every.by_type.items(), ("all", self.every.overall)]
        yield Table.of("episodes of all runs", pick("played", "won", "err", "success", "95 % interval"), groups)
        tasks = over_tasks(self.runs)
        rows = tuple(
            (name.replace("_", " "), _written(name, mean.value), _ends(name, tasks.get(name)), _ends(name, mean.interval))
            for name, mean in means(self.runs).items()
            if mean is not None and (name != "cost" or mean.value)
        )
        yield Table((f"over {len(self.runs)} seeds", "mean", "95 %, other tasks", "95 %, other seeds"), tuple(rows))

    def sentences(self) -> Iterator[str]:
        """What the intervals cover, how far the runs lie apart, and what must not be taken for their mean."""
        yield (
            "Other tasks: where the mean would lie over other tasks of this kind, a task counting once however often it was "
            "played. Other seeds: over other runs of the same tasks (Student's); - where the runs do not differ."
        )
        if not same_tasks(self.runs):
            yield OWN_TASKS
        yield from self._spread() if self._whole else (UNEQUAL,)
        yield from definitions(self.runs[0].summary)
        yield from notes(self.runs[0].manifest, self.every)

    @property
    def _successes(self) -> list[float]:
        return [run.summary.overall.success for run in self.runs]

    @property
    def _whole(self) -> bool:
        """Whether all of it was played: else the runs differ in more than chance."""
        return not self.every.overall.unfinished

    def _spread(self) -> Iterator[str]:
        least, best, spread = min(self._successes), max(self._successes), deviation(self._successes)
        if spread is None:
            return
        yield f"Spread of success: from {percent(least)} to {percent(best)}, standard deviation {percent(spread)}."
        if passes := pass_at_k(self.runs):
            listed = ", ".join(f"pass@{k} {percent(share)}" for k, share in passes.items() if k in _PASSES or k == len(passes))
            yield f"{listed}: the share of tasks that at least one of k runs wins, estimated without bias."
        yield f"Best of {len(self.runs)} runs: {percent(best)}. That is chosen by its result, and no mean."


def _ends(name: str, interval: Interval | None) -> str:
    return " to ".join(_written(name, end) for end in ends(interval) or ()) or "-"


def _written(name: str, value: float) -> str:
    return f"{value:.4g}" if name in _UNBOUNDED else percent(value)


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """The figures of one arm, over ``seeds`` runs of ``tasks`` tasks each.

    ``interval`` is the 95 % interval of ``success`` over tasks, of which each counts once, however many seeds played it.
    ``steps`` are executed commands per episode; ``cost`` covers all runs, None where no price is known. ``same_tasks``: every
    seed played the same tasks; with ``sample``, each draws its own. ``ceiling`` is the share of tasks that the expert wins by
    the location ``prior``; None for an agent that does not search, and where the games are not here.
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
    prior: str | None = None
    ceiling: float | None = None
    card: Mapping[str, str] = field(default_factory=dict[str, str])


def read_arms(folder: SweepFolder, prices: PriceList) -> tuple[ArmFigures, ...]:
    """The begun runs of the sweep in ``folder`` by arm, in the order of its file. Raises ``ConfigurationError``."""
    by_arm: dict[str, list[Summary]] = {}
    cards: dict[str, dict[str, str]] = {}
    for kept in folder.contents().runs:
        summaries = by_arm.setdefault(kept.arm, [])
        run = folder.run(kept.folder)
        if run.manifest_file.exists():
            manifest = run.manifest()
            results, model = run.results(manifest.tasks), manifest.configuration.model
            clocks, ceiling = timings_of(run, manifest.tasks), ceiling_of(run, manifest, manifest.tasks)
            extras = Extras(clocks=clocks, prices=prices(model) if model else None, ceiling=ceiling)
            summaries.append(summarise(manifest.tasks, results, extras))
            cards[kept.arm] = cards.get(kept.arm, card(manifest, "")) | {"asked": joined(summaries).overall.asked}
    if not any(by_arm.values()):
        raise ConfigurationError(f"No run of the sweep in {folder.path} has begun; play it with `housequest eval --sweep`.")
    return tuple(replace(_standing(arm, summaries), card=cards.get(arm, {})) for arm, summaries in by_arm.items())


def _standing(arm: str, summaries: list[Summary]) -> ArmFigures:
    counts = [summary.overall for summary in summaries]
    selections = {frozenset([each.task.id for each in one.overall.played] + list(one.assisted)) for one in summaries}
    costs = [summary.overall.cost.total for summary in summaries if summary.prices is not None]
    finished = sum(count.finished for count in counts)
    every = joined(summaries) if summaries else None
    whole = every.overall if every else Figures(())
    ceiling = every.ceiling if every else None
    return ArmFigures(
        arm=arm,
        seeds=len(counts),
        tasks=max((count.episodes for count in counts), default=0),
        unfinished=sum(count.unfinished for count in counts),
        errors=sum(count.errors for count in counts),
        success=whole.success,
        interval=whole.interval,
        steps=sum(count.steps for count in counts) / finished if finished else None,
        calls=sum(count.calls for count in counts),
        cost=sum(known) if (known := [each for each in costs if each is not None]) else None,
        same_tasks=len(selections) < 2,
        prior=ceiling.prior if ceiling else None,
        ceiling=ceiling.success if ceiling else None,
    )


_COLUMNS: tuple[Column[ArmFigures], ...] = (
    Column("seeds", lambda arm: arm.seeds),
    Column("tasks", lambda arm: arm.tasks),
    Column("err", lambda arm: arm.errors),
    Column("success", lambda arm: arm.success, percent),
    Column("95 % interval", lambda arm: arm.interval, percents),
    Column("steps", lambda arm: arm.steps, number),
    Column("calls", lambda arm: arm.calls),
    Column("ceiling", lambda arm: arm.ceiling, lambda share: "-" if share is None else percent(share)),
    Column("cost", lambda arm: arm.cost, lambda cost: "-" if cost is None else money(cost)),
)


@dataclass(frozen=True, slots=True)
class SweepReport(Report):
    """The arms of a sweep; rates lie in [0, 1]."""

    arms: tuple[ArmFigures, ...]

    def data(self) -> dict[str, object]:
        figures = ("same_tasks", "unfinished", "errors", "success", "interval", "steps", "calls", "prior", "ceiling", "cost")
        return {
            "card": shared_card([arm.card for arm in self.arms if arm.card]),
            "arms": [
                {**plain_data(arm, "arm", "seeds"), "episodes": arm.tasks, **plain_data(arm, *figures), "card": dict(arm.card)}
                for arm in self.arms
            ],
        }

    def sections(self) -> Iterator[Section]:
        """The conditions that all arms share, and those in which they differ; the table and its notes."""
        yield named_lines(arms_card({arm.arm: arm.card for arm in self.arms if arm.card}), width=10)
        lacking = {name for name in ("ceiling", "cost") if all(getattr(each, name) is None for each in self.arms)}
        columns = [column for column in _COLUMNS if column.heading not in lacking]
        table = Table.of("", columns, [(each.arm, each) for each in self.arms])
        missing = {each.arm for each in self.arms if not each.seeds}
        rows = tuple((row[0], "0", *["-"] * (len(row) - 2)) if row[0] in missing else row for row in table.rows)
        yield Table(table.head, rows, total=None)
        yield self._notes()

    def _notes(self) -> Iterator[str]:
        if any(each.seeds > 1 for each in self.arms):
            yield from wrapped("The interval is over the tasks: one counts once, however many seeds played it.")
        if drawn := [each.arm for each in self.arms if not each.same_tasks]:
            yield from wrapped(f"{', '.join(drawn)}: {OWN_TASKS[0].lower()}{OWN_TASKS[1:]}")
        if unfinished := sum(each.unfinished for each in self.arms):
            yield f"Not finished: {unfinished} episodes; until they are, they count as not won."
        if by := sorted({each.prior for each in self.arms if each.prior is not None}):
            yield from wrapped(
                f"Ceiling: the share that the expert, which has no model, wins by the arm's location prior ({', '.join(by)}). "
                "With search=llm that is chance, where the model begins."
            )
        if missing := [each.arm for each in self.arms if not each.seeds]:
            yield f"Not begun: {', '.join(missing)}."
