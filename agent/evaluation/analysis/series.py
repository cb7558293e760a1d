"""Several runs as one report: runs that differ only in their seed, lost tasks played again, and the arms of a sweep.

Of repeats the figures are means with their intervals. Of retries, what the first attempt won is one figure, what was won in the
end another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean

from housequest.agent.evaluation.analysis.metrics import Measured, PlayedTask, Summary, joined
from housequest.agent.evaluation.analysis.run import PriceList, Run, Watcher, read_for_comparison, shared_card
from housequest.agent.evaluation.analysis.statistics import Interval, Mean, bootstrap_mean, deviation, mean_over_seeds, pass_at
from housequest.agent.evaluation.render import table
from housequest.agent.evaluation.render.report import EpisodesReport, RunReport, definitions, pick, shares
from housequest.agent.evaluation.render.table import Column, Report, Section, Table, ends, many, percent, plain_data, wrapped
from housequest.agent.evaluation.runs.files import SelectedTask, differences, total
from housequest.agent.evaluation.runs.folder import Result, RunFolder, joined_roles, summed
from housequest.agent.evaluation.runs.spec import Manifest
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.agent.evaluation.runs.usage import EpisodeTiming, money
from housequest.agent.models.base import Waste
from housequest.worlds.errors import ConfigurationError

_MOST_VALUES = 6
"""How many values of a line are listed; of a large grid, the arms' names say what differs."""
_PASSES = (1, 2, 4, 8, 16, 32, 64)
"""The k of pass@k that a report for people has; the JSON has all."""
_UNBOUNDED = {"steps", "cost"}
"""Figures that are not shares."""
OWN_TASKS = "Each seed drew tasks of its own: the spread is that of the tasks as well as of the agent."
UNEQUAL = "Spread, best run and pass@k are left out until every run is finished."


def read_seeds(runs: Sequence[RunFolder], prices: PriceList | None = None, watcher: Watcher | None = None) -> list[Run]:
    """The runs by seed. Raises ``ConfigurationError`` where they differ in more than their seed, or two share one."""
    found = sorted((read_for_comparison(run, prices, watcher) for run in runs), key=lambda run: run.seed)
    for one, other in pairwise(found):
        if one.seed == other.seed:
            raise ConfigurationError(f"{one.name} and {other.name} have the same seed, {one.seed}; name runs of several seeds.")
        if changes := differences(_seedless(one.manifest), _seedless(other.manifest)):
            told = f"{one.name} and {other.name} differ in more than their seed:{changes}"
            raise ConfigurationError(f"{told}\nCompare them two by two.")
    return found


def _seedless(manifest: Manifest) -> Manifest:
    """``manifest`` without its seed, and without the tasks if the seed drew them."""
    config = manifest.configuration
    tasks = () if config.sample is not None else manifest.tasks
    return manifest.model_copy(update={"configuration": config.model_copy(update={"seed": 0, "repeat": None}), "tasks": tasks})


class SeedsReport(EpisodesReport):
    """The figures of each of the ``runs``, and their means."""

    def __init__(self, runs: Sequence[Run]) -> None:
        every = joined([run.summary for run in runs])
        # The card is that of the first run, with how often each task was played.
        repeats = {"repeats": str(len(runs))} if same_tasks(runs) else {}
        card = {**runs[0].card, **repeats, "asked": every.overall.asked}
        self._successes = [run.summary.overall.success for run in runs]
        mean = math.fsum(self._successes) / len(runs)
        super().__init__(
            runs, every, card, Measured("mean of these runs", mean, every.overall.interval, f"mean of {len(runs)} seeds")
        )
        seeds = ("seeds", ", ".join(str(run.seed) for run in runs))
        self.heading = [*((name, value) for name, value in self.heading if name != "seed"), seeds]

    def data(self) -> dict[str, object]:
        tasks = over_tasks(self.parts)
        over = {
            name: mean and {"mean": mean.value, "interval": ends(mean.interval), "over_tasks": ends(tasks.get(name))}
            for name, mean in means(self.parts).items()
        }
        runs = [RunReport(run).data() for run in self.parts]
        return {
            "series": "repeats",
            **super().data(),
            "seeds": [run.seed for run in self.parts],
            "same_tasks": same_tasks(self.parts),
            "over_seeds": over,
            "spread": {
                "deviation": deviation(self._successes),
                "least": min(self._successes),
                "best": max(self._successes),
                "pass_at": {str(k): share for k, share in pass_at_k(self.parts).items()},
            }
            if not self.every.overall.unfinished
            else None,
            "runs": [{"name": run.name, "seed": run.seed, **figures} for run, figures in zip(self.parts, runs, strict=True)],
        }

    def tables(self) -> Iterator[Table]:
        """Each run, the types of task, and the means."""
        columns = [*pick("tasks", "won", "err", "success"), *shares(self.parts[0].summary), *pick("steps")]
        yield Table.of("seed", columns, [(str(run.seed), run.summary.overall) for run in self.parts])
        groups = [*self.every.by_type.items(), ("all", self.every.overall)]
        yield Table.of("episodes of all runs", pick("played", "won", "err", "success", "95 % interval"), groups)
        tasks = over_tasks(self.parts)
        rows = tuple(
            (name.replace("_", " "), _written(name, mean.value), _ends(name, tasks.get(name)), _ends(name, mean.interval))
            for name, mean in means(self.parts).items()
            if mean is not None and (name != "cost" or mean.value)
        )
        yield Table((f"over {len(self.parts)} seeds", "mean", "95 %, other tasks", "95 %, other seeds"), tuple(rows))

    def sentences(self) -> Iterator[str]:
        """What the intervals cover, how far the runs lie apart, and what must not be taken for their mean."""
        yield (
            "Other tasks: where the mean would lie over other tasks of this kind, a task counting once however often it was "
            "played. Other seeds: over other runs of the same tasks (Student's); - where the runs do not differ."
        )
        if not same_tasks(self.parts):
            yield OWN_TASKS
        # Else the runs differ in more than chance.
        yield from (UNEQUAL,) if self.every.overall.unfinished else self._spread()
        yield from definitions(self.parts[0].summary)
        yield from self.notes()

    def _spread(self) -> Iterator[str]:
        least, best, spread = min(self._successes), max(self._successes), deviation(self._successes)
        if spread is None:
            return
        yield f"Spread of success: from {percent(least)} to {percent(best)}, standard deviation {percent(spread)}."
        if passes := pass_at_k(self.parts):
            listed = ", ".join(f"pass@{k} {percent(share)}" for k, share in passes.items() if k in _PASSES or k == len(passes))
            yield f"{listed}: the share of tasks that at least one of k runs wins, estimated without bias."
        yield f"Best of {len(self.parts)} runs: {percent(best)}. That is chosen by its result, and no mean."


def _ends(name: str, interval: Interval | None) -> str:
    return " to ".join(_written(name, end) for end in ends(interval) or ()) or "-"


def _written(name: str, value: float) -> str:
    return f"{value:.4g}" if name in _UNBOUNDED else percent(value)


def means(runs: Sequence[Run]) -> dict[str, Mean | None]:
    """Each figure over the runs with Student's 95 % interval, clipped to [0, 1] for shares; None where a run lacks it."""
    each = [_figures(run.summary) for run in runs]
    found: dict[str, Mean | None] = {}
    for name in each[0]:
        values = [value for figures in each if (value := figures[name]) is not None]
        found[name] = mean_over_seeds(values, share=name not in _UNBOUNDED) if len(values) == len(runs) else None
    return found


def _figures(summary: Summary) -> dict[str, float | None]:
    count = summary.overall
    means = {
        "goal_conditions": count.goal.mean,
        "success_by_path": count.success_by_path.mean,
        "goal_conditions_by_path": count.goal_by_path.mean,
    }
    return {
        "success": count.success,
        **({metric.label: count.of(metric).mean for metric in summary.metrics} or means),
        "steps": count.commands.mean,
        "cost": count.cost.total,
    }


def over_tasks(runs: Sequence[Run]) -> dict[str, Interval]:
    """The 95 % interval of each figure's mean over tasks like these, as far as every run has it of the same tasks. A task
    counts once, with its mean over the runs (bootstrap); success as
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


_OF_TASK: Mapping[str, Callable[[PlayedTask], float | None]] = {
    "goal_conditions": lambda each: each.goal,
    "success_by_path": lambda each: each.weighted(float(each.won)),
    "goal_conditions_by_path": lambda each: each.weighted(each.goal),
    "steps": lambda each: each.result.steps if each.result else None,
}
"""Figures that each episode has."""


def pass_at_k(runs: Sequence[Run]) -> dict[int, float]:
    """The share of tasks that at least one of k runs would win, for each k up to the number of runs (`pass_at`). Empty where
    the runs did not play the same tasks. What was not won, for whatever reason, counts as lost; what a person helped with is
    left out.
    """
    if not same_tasks(runs) or len(runs) < 2:
        return {}
    helped = {task for run in runs for task in run.summary.assisted}
    won = Counter(each.task.id for run in runs for each in run.summary.overall.played if each.won)
    tasks = [task.id for task in runs[0].manifest.tasks if task.id not in helped]
    if not tasks:
        return {}
    return {k: math.fsum(pass_at(k, len(runs), won[task]) for task in tasks) / len(tasks) for k in range(1, len(runs) + 1)}


def same_tasks(runs: Sequence[Run]) -> bool:
    """Whether every run played the same tasks; with ``--sample`` each seed draws its own."""
    return len({tuple(task.id for task in run.manifest.tasks) for run in runs}) < 2


@dataclass(frozen=True)
class RetriedRun(Run):
    """A series of ``attempts`` as one run: how each task ended at last, with the calls and tokens of all its attempts."""

    attempts: tuple[Run, ...] = ()

    def episode(self, task: SelectedTask) -> Path:
        """The file of the last episode of ``task``."""
        return next(run for run in reversed(self.attempts) if _result(run, task.id)).episode(task)

    @property
    def card(self) -> dict[str, str]:
        """The card of the first attempt, with the others as retries."""
        more = many(len(self.attempts) - 1, "more attempt")
        return {**self.attempts[0].card, "retries": f"{more} at what was not won", "asked": self.summary.overall.asked}


def read_attempts(folder: SweepFolder, prices: PriceList | None = None, watcher: Watcher | None = None) -> RetriedRun:
    """The attempts that have begun, as one run. Raises ``ConfigurationError``."""
    begun = folder.begun_runs("--retries N")
    return in_the_end(RunFolder(folder.path), [read_for_comparison(run, prices, watcher) for run in begun])


def in_the_end(folder: RunFolder, attempts: Sequence[Run]) -> RetriedRun:
    """``attempts``, of which the first has all tasks and each other those that were lost before, as one run in ``folder``."""
    manifest, extras = attempts[0].manifest, attempts[0].extras
    results: list[Result] = []
    clocks: dict[str, EpisodeTiming] = {}
    for task in manifest.tasks:
        tries = [(run, found) for run in attempts if (found := _result(run, task.id)) is not None]
        if tries:
            # The last of the tries, with what all of them used.
            every = [found for _, found in tries]
            results.append(every[-1].model_copy(update={**summed(every), "roles": joined_roles(every)}))
            clocks[task.id] = _clock([run.extras.clocks.get(task.id, EpisodeTiming()) for run, _ in tries])
    return RetriedRun(folder, manifest, tuple(results), replace(extras, clocks=clocks, metrics=()), tuple(attempts))


def _result(run: Run, task: str) -> Result | None:
    return next((result for result in run.results if result.task == task), None)


def _clock(clocks: Sequence[EpisodeTiming]) -> EpisodeTiming:
    def known(seconds: Sequence[float | None]) -> float | None:
        return sum(each for each in seconds if each is not None) if None not in seconds else None

    cached, wasted = total(clock.cached for clock in clocks), Waste.joined(clock.wasted for clock in clocks)
    model, wall = (known([getattr(clock, name) for clock in clocks]) for name in ("model", "wall"))
    return EpisodeTiming(model, cached, wall, wasted)


class AttemptsReport(EpisodesReport):
    """The attempts at the tasks of the first; shares are of those tasks, and a task that was won once stays won."""

    def __init__(self, run: RetriedRun) -> None:
        first, last, tried = run.attempts[0].summary.overall, run.summary.overall, len(run.attempts)
        measured = [Measured("first attempt", first.success, first.interval)]
        if tried > 1:
            measured.append(Measured("in the end", last.success, last.interval, f"{tried} on failed games", single=False))
        super().__init__(run.attempts, run.summary, run.card, *measured)
        counts = [attempt.summary.overall for attempt in run.attempts]
        so_far = accumulate(count.won for count in counts)
        # Each attempt with what was won by its end, and the share of that.
        self._rows = [(of, won, won / last.episodes if last.episodes else 0.0) for of, won in zip(counts, so_far, strict=True)]

    def data(self) -> dict[str, object]:
        after = [
            {"attempt": place, "tasks": of.episodes, **plain_data(of, "won", "errors", "unfinished"), "success": share}
            for place, (of, _, share) in enumerate(self._rows, 1)
        ]
        first = RunReport(self.parts[0]).data()
        return {"series": "attempts", "retries": len(self.parts) - 1, **super().data(), "after": after, "first": first}

    def tables(self) -> Iterator[Table]:
        """The attempts, and the types of task in the end."""
        cells = tuple(
            (*map(str, (place, of.episodes, of.won, of.errors, won)), percent(share))
            for place, (of, won, share) in enumerate(self._rows, 1)
        )
        yield Table(("attempt", "tasks", "won", "err", "won so far", "so far"), cells, total=None)
        groups = [*self.every.by_type.items(), ("all", self.every.overall)]
        yield Table.of("in the end", pick("tasks", "won", "err", "success", "95 % interval"), groups)

    def sentences(self) -> Iterator[str]:
        """Both figures, what keeps the next attempt waiting, and what all attempts used."""
        first, last = self.parts[0].summary.overall, self.every.overall
        yield f"Success: {percent(first.success)} at the first attempt, 95 % interval {table.percents(first.interval)}."
        yield (
            f"Retries: {percent(last.success)} after {many(len(self.parts), 'attempt')}. That is another measure: the agent "
            "was told which tasks it had lost."
        )
        for place, (of, _, _) in enumerate(self._rows, 1):
            if errors := of.errors:
                yield (
                    f"Attempt {place} has {many(errors, 'errored episode')}. An error is not a lost game: no further "
                    "attempt begins before --retry errors has played it again, and what errors even then is left out of them."
                )
            if place > 1 and (left := of.unfinished):
                yield f"Attempt {place} has {many(left, 'episode')} left to play; the same command goes on."
        yield "Steps are those of each task's last attempt; calls, tokens and cost are of all attempts."
        yield from self.notes()


@dataclass
class ArmFigures:
    """The figures of one ``arm`` over its begun ``runs``, one a seed, of as many ``tasks`` each, under one ``card``.

    Success counts each task once, however many seeds played it. ``steps`` are executed commands per episode; ``cost`` covers
    all runs, None where no price is known. ``same_tasks``: every seed played the same tasks; with ``sample``, each draws its
    own. ``ceiling`` is the share of tasks that the expert wins by the location ``prior``; None for an agent that does not
    search, and where the games are not here.
    """

    arm: str
    runs: Sequence[Run]

    def __post_init__(self) -> None:
        summaries = [run.summary for run in self.runs]
        every = joined(summaries)
        whole, ceiling = every.overall, every.overall.ceiling
        costs = [run.overall.cost.total for run in summaries if run.prices is not None]
        known = [cost for cost in costs if cost is not None]
        self.card = {**self.runs[0].card, "asked": whole.asked} if self.runs else {}
        self.seeds, self.same_tasks = len(self.runs), same_tasks(self.runs)
        self.tasks = max((run.overall.episodes for run in summaries), default=0)
        self.success, self.interval, self.steps = whole.success, whole.interval, whole.commands.mean
        self.unfinished, self.errors, self.calls = whole.unfinished, whole.errors, whole.calls
        self.cost = sum(known) if known else None
        self.prior, self.ceiling = (ceiling.prior, ceiling.success) if ceiling else (None, None)


def read_arms(folder: SweepFolder, prices: PriceList) -> tuple[ArmFigures, ...]:
    """The begun runs of the sweep in ``folder`` by arm, in the order of its file. Raises ``ConfigurationError``."""
    by_arm: dict[str, list[Run]] = {}
    for kept in folder.contents().runs:
        runs, run = by_arm.setdefault(kept.arm, []), folder.run(kept.folder)
        if run.manifest_file.exists():
            runs.append(read_for_comparison(run, prices, paths=False))
    if not any(by_arm.values()):
        raise ConfigurationError(f"No run of the sweep in {folder.path} has begun; play it with `housequest eval --sweep`.")
    return tuple(ArmFigures(arm, runs) for arm, runs in by_arm.items())


_COLUMNS: tuple[Column[ArmFigures], ...] = (
    Column("seeds", lambda arm: arm.seeds),
    Column("tasks", lambda arm: arm.tasks),
    Column("err", lambda arm: arm.errors),
    Column("success", lambda arm: arm.success, percent),
    Column("95 % interval", lambda arm: arm.interval, table.percents),
    Column("steps", lambda arm: arm.steps, table.number),
    Column("calls", lambda arm: arm.calls),
    Column("ceiling", lambda arm: arm.ceiling, percent),
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
        yield table.named_lines(arms_card({arm.arm: arm.card for arm in self.arms if arm.card}), width=10)
        lacking = {name for name in ("ceiling", "cost") if all(getattr(each, name) is None for each in self.arms)}
        columns = [column for column in _COLUMNS if column.heading not in lacking]
        arms = Table.of("", columns, [(each.arm, each) for each in self.arms])
        missing = {each.arm for each in self.arms if not each.seeds}
        rows = tuple((row[0], "0", *["-"] * (len(row) - 2)) if row[0] in missing else row for row in arms.rows)
        yield Table(arms.head, rows, total=None)
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


def arms_card(cards: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """The cards of a sweep by arm as one: first what all arms share, then each line in which they differ."""
    shared = shared_card(list(cards.values()))
    others = dict.fromkeys(name for each in cards.values() for name in each if name not in shared)
    lines = [*shared.items()]
    for name in others:
        arms: dict[str, list[str]] = {}
        for arm, each in cards.items():
            arms.setdefault(each.get(name, "-"), []).append(arm)
        listed = "; ".join(f"{value} ({', '.join(having)})" for value, having in arms.items())
        many_ways = f"differs in {len(arms)} ways; --json has each arm's card"
        lines.append((name, many_ways if len(arms) > _MOST_VALUES else f"differs: {listed}"))
    return lines
