"""Arms: what is reported and compared as one, an agent under one card. It is a run, several that differ in their seed alone, or
lost tasks played again, whose attempts come to one run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from housequest.agent.evaluation.analysis import metrics, statistics
from housequest.agent.evaluation.analysis.metrics import EpisodeFigure, PlayedTask, Summary
from housequest.agent.evaluation.analysis.run import PriceList, Run, Watcher, asked, read_for_comparison
from housequest.agent.evaluation.analysis.statistics import Interval, Mean, bootstrap_ratio, ratio
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, RunFolder, joined_roles, summed
from housequest.agent.evaluation.runs.spec import Manifest, PlayerConfig
from housequest.agent.evaluation.runs.sweep import SeriesKind, SweepFolder
from housequest.agent.evaluation.runs.usage import EpisodeTiming
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.text import many


@dataclass(frozen=True)
class Arm:
    """The ``runs`` of an agent under one card, called by ``name``; none before the first has begun, and ``missing`` more to
    come. ``series`` says what they are, where they were played as a series; ``place`` is the name of their folder.
    """

    name: str
    runs: Sequence[Run]
    series: SeriesKind | None = None
    missing: int = 0
    place: str = ""

    @cached_property
    def summary(self) -> Summary:
        """The figures of all episodes, those of runs that have not begun among the unfinished ones."""
        unplayed = [metrics.summarise(self.runs[0].manifest.tasks, (), self.runs[0].extras)] * self.missing if self.runs else []
        return metrics.joined([*(run.summary for run in self.runs), *unplayed])

    @property
    def planned(self) -> str:
        """The number of runs, with those that have begun if not all have: ``2 of 3``."""
        return f"{len(self.runs)} of {len(self.runs) + self.missing}" if self.missing else str(len(self.runs))

    @property
    def card(self) -> dict[str, str]:
        """The card of the first run, with how often each task was played and how the models were asked; empty of no run."""
        if not self.runs:
            return {}
        again = {"repeats": self.planned} if self.series == "repeats" or len(self.runs) + self.missing > 1 else {}
        return {**self.runs[0].card, **again, **asked(self.summary.overall)}

    @property
    def label(self) -> str:
        """The player in a few words, and the seeds."""
        if len(self.runs) == 1:
            return self.runs[0].label
        who = self.runs[0].label.rpartition(", seed")[0]
        return f"{who}, seeds {', '.join(str(run.seed) for run in self.runs)}"

    @property
    def company(self) -> tuple[PlayerConfig, ...]:
        """The players, if several play in one house."""
        return self.runs[0].manifest.configuration.players if self.runs else ()

    @property
    def cost(self) -> float | None:
        """The cost of all runs whose model has a price; None where none has."""
        costs = [run.summary.overall.cost.total for run in self.runs if run.summary.prices is not None]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known else None

    @cached_property
    def finished(self) -> dict[str, list[PlayedTask]]:
        """The episodes of each task that every run has finished without a person's help."""
        every = self.summary.overall.tries
        return {task: tries for task, tries in every.items() if len(tries) == len(self.runs)}

    def pairs(self, other: Arm) -> tuple[TaskPair, ...]:
        """The tasks that all runs of both have finished, in their order here."""
        return tuple(TaskPair(tries, other.finished[task]) for task, tries in self.finished.items() if task in other.finished)

    def over_seeds(self) -> dict[EpisodeFigure, Mean | None]:
        """Each figure over the runs with Student's 95 % interval, clipped to [0, 1] for shares; None where a run lacks it. The
        cost is that of a whole run.
        """
        found: dict[EpisodeFigure, Mean | None] = {}
        for figure in (metrics.SUCCESS, *self.summary.shares, metrics.STEPS, metrics.COST):
            samples = [run.summary.overall.of(figure) for run in self.runs]
            values = [sample.total if figure is metrics.COST else sample.mean for sample in samples]
            known = [value for value in values if value is not None]
            found[figure] = statistics.mean_over_seeds(known, share=figure.share) if len(known) == len(values) else None
        return found

    def over_tasks(self) -> dict[EpisodeFigure, Interval | None]:
        """The 95 % interval of each figure's mean over tasks like these, as far as every run has it. A task counts once, with
        its mean over the runs (bootstrap); success as `housequest.agent.evaluation.analysis.statistics.clustered`.
        """
        tasks = self.summary.overall.tries
        kinds = (*self.summary.shares, metrics.STEPS)
        samples = {of: metrics.sample_of(map(of.mean, tasks.values()), metric=of.sums) for of in kinds}
        return {metrics.SUCCESS: self.summary.overall.interval, **{of: sample.interval for of, sample in samples.items()}}

    def pass_at(self) -> dict[int, float]:
        """The share of tasks that at least one of k runs would win, for each k up to the number of runs (`pass_at`). What was
        not won, for whatever reason, counts as lost; what a person helped with is left out.
        """
        helped = {task for run in self.runs for task in run.summary.assisted}
        won = Counter(each.task.id for run in self.runs for each in run.summary.overall.counted if each.won)
        tasks = [task.id for task in self.runs[0].manifest.tasks if task.id not in helped]
        tries = len(self.runs)
        if not tasks or tries < 2:
            return {}
        chances = ([statistics.pass_at(k, tries, won[task]) for task in tasks] for k in range(1, tries + 1))
        return {k: math.fsum(each) / len(tasks) for k, each in enumerate(chances, start=1)}


class TaskPair(NamedTuple):
    """One task: its tries by two arms."""

    first: Sequence[PlayedTask]
    second: Sequence[PlayedTask]

    @property
    def task(self) -> SelectedTask:
        """The task."""
        return self.first[0].task

    @property
    def won(self) -> tuple[float, float]:
        """The share of its tries that each side won."""
        return fmean(each.won for each in self.first), fmean(each.won for each in self.second)

    @property
    def winner(self) -> str:
        """The side that won a flipped task: ``first`` or ``second``."""
        return "first" if self.won[0] else "second"

    @property
    def results(self) -> list[Result]:
        """All tries, those of the first side before those of the second."""
        return [each.result for each in (*self.first, *self.second) if each.result]


def sides(pairs: Sequence[TaskPair]) -> tuple[list[Sequence[PlayedTask]], list[Sequence[PlayedTask]]]:
    """The tries of the first side, and those of the second, task by task."""
    return [pair.first for pair in pairs], [pair.second for pair in pairs]


class PairedCounts(NamedTuple):
    """The tasks of two single runs, by who won them; an errored episode is not won."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @classmethod
    def of(cls, pairs: Sequence[TaskPair]) -> PairedCounts:
        """Count these pairs."""
        found = Counter(pair.won for pair in pairs)
        return cls(found[1.0, 1.0], found[1.0, 0.0], found[0.0, 1.0], found[0.0, 0.0])

    @property
    def won(self) -> tuple[int, int]:
        """The tasks that each run won."""
        return self.both + self.only_first, self.both + self.only_second


class Difference(NamedTuple):
    """The second arm's success less the first's over the ``tasks`` that both finished, with the 95 % interval, and how likely
    chance alone brings a difference as large.
    """

    tasks: int
    value: float
    interval: Interval
    p: float

    @classmethod
    def of(cls, pairs: Sequence[TaskPair]) -> Difference:
        """Success of the second side less that of the first; a task counts once on each. Without tasks nothing is known: the
        interval is [-1, 1].
        """
        one, other = ([pair.won[side] for pair in pairs] for side in (0, 1))
        mine, others = (statistics.clustered(list(map(metrics.wins, side))) for side in sides(pairs))
        differences = [after - before for before, after in zip(one, other, strict=True)]
        value = fmean(differences) if differences else 0.0
        interval = statistics.difference_interval(one, mine, other, others)
        return cls(len(differences), value, interval, statistics.by_chance(differences))


class Gain(NamedTuple):
    """The gain by company over ``tasks``, in which on average one player took ``alone`` rounds and several took ``together``.
    A lost task counts all its turns. `docs/explanation/together.md` has the measures with their sources.

    Args:
        value: The rounds of one over those of several, as a ratio of sums, with its 95 % ``interval`` over tasks
            (None if they do not differ).
        slower: The tasks in which several took more rounds than one.
        improvement: CoELA's efficiency improvement, the mean of 1 - L_multi/L_single.
        par: The least gain of players who know everything; None unless it is known for all tasks.
    """

    tasks: int
    alone: float
    together: float
    value: float
    interval: Interval | None
    slower: int
    improvement: float
    par: float | None

    @property
    def efficiency(self) -> float | None:
        """The co-operation efficiency: the share of par's gain that they reach; None if par is not known or is no gain."""
        return None if self.par is None or self.par <= 1 else (self.value - 1) / (self.par - 1)

    @classmethod
    def of(cls, single: Arm, several: Arm) -> Gain | None:
        """The gain of one arm, of a player alone, by another's company; None where they share no finished task."""
        limits = [arm.runs[0].manifest.configuration.max_turns for arm in (single, several)]
        pairs = single.pairs(several)
        terms = [(_rounds(pair.first, limits[0]), _rounds(pair.second, limits[1])) for pair in pairs]
        if not terms or not all(two for _, two in terms):
            return None
        lengths = [pair.second[0].par for pair in pairs]
        pars = [(float(each.shortest), float(each.together)) for each in lengths if each.shortest is not None and each.together]
        return cls(
            tasks=len(terms),
            alone=fmean(first for first, _ in terms),
            together=fmean(two for _, two in terms),
            value=ratio(terms),
            interval=bootstrap_ratio(terms) if len({*terms}) > 1 else None,
            slower=sum(two > first for first, two in terms),
            improvement=fmean(1 - two / first for first, two in terms if first),
            par=ratio(pars) if len(pars) == len(terms) else None,
        )

    def data(self) -> dict[str, object]:
        """The gain as plain data."""
        return {
            **self._asdict(),
            "interval": self.interval and [self.interval.low, self.interval.high],
            "efficiency": self.efficiency,
        }

    def sentences(self) -> list[str]:
        """The gain in words."""
        ends = "" if self.interval is None else f", 95 % interval {self.interval.low:.2f} to {self.interval.high:.2f}"
        slower = f"slower than alone in {self.slower} of {self.tasks} tasks"
        told = [
            f"Gain: {self.value:.2f}{ends}: {self.alone:.1f} rounds alone, {self.together:.1f} together; {slower}. "
            f"CoELA's efficiency improvement: {self.improvement:.2f}."
        ]
        if self.efficiency is not None:
            told.append(f"Co-operation efficiency: {self.efficiency:.2f}, for par allows a gain of {self.par:.2f}.")
        return told


def _rounds(tries: Sequence[PlayedTask], limit: int) -> float:
    return fmean(each.result.turns if each.result is not None and each.won else limit for each in tries)


def read_arms(
    places: Sequence[Path], prices: PriceList | None = None, watcher: Watcher | None = None, *, merged: bool = True
) -> list[Arm]:
    """The arms in these folders of runs, series and sweeps. Runs and series that differ in their seeds alone are one arm, if
    ``merged``. Raises ``ConfigurationError``, also for a run that is there twice.
    """
    found: list[Arm] = []
    seen: dict[object, Run] = {}
    for place, name in zip(places, distinct_names(places), strict=True):
        arms = [replace(arm, place=name) for arm in _arms_in(SweepFolder(place), name, prices, watcher)]
        here = {key: run for arm in arms for run in arm.runs for key in _identity(run)}
        for key in here.keys() & seen.keys():
            both = f"{seen[key].folder.path} and {here[key].folder.path}"
            raise ConfigurationError(f"{both} are the same run; name it once.")
        seen |= here
        found += arms
    found = _merged(found) if merged else found
    often = Counter(arm.name for arm in found)
    alike = [often[arm.name] > 1 and arm.name != arm.place for arm in found]
    return [replace(arm, name=f"{arm.place}: {arm.name}") if one else arm for arm, one in zip(found, alike, strict=True)]


def _identity(run: Run) -> Iterator[object]:
    """Keys that only a copy of this run shares with it: its place, and the seconds of each episode."""
    yield run.folder.path.resolve()
    if times := [clock.wall for _, clock in sorted(run.extras.clocks.items()) if clock.wall is not None]:
        yield (run.manifest.model_dump_json(), *times)


def _merged(found: Sequence[Arm]) -> list[Arm]:
    """These arms, with runs and series that differ in their seeds alone as one arm, in which each seed may be once."""
    alike: dict[object, list[Arm]] = {}
    for arm in found:
        key: object = arm.place, arm.name
        if arm.runs and arm.name == arm.place and not isinstance(arm.runs[0], RetriedRun):
            manifest = arm.runs[0].manifest
            config = manifest.configuration.model_copy(update={"seed": 0, "repeat": None})
            key = manifest.model_copy(update={"configuration": config}).model_dump_json(exclude={"versions"})
        alike.setdefault(key, []).append(arm)
    return [_as_one(each) if len(each) > 1 else each[0] for each in alike.values()]


def _as_one(alike: Sequence[Arm]) -> Arm:
    runs = sorted((run for arm in alike for run in arm.runs), key=lambda run: run.seed)
    for run, other in pairwise(runs):
        if run.seed == other.seed:
            both = f"{run.folder.path} and {other.folder.path}"
            raise ConfigurationError(f"{both} are the same run with the same seed, {run.seed}; name one.")
    first, *others = [arm.place for arm in alike]
    name = f"{first}, {others[0]}" if len(others) == 1 else f"{first} and {len(others)} more"
    return Arm(name, tuple(runs), missing=sum(arm.missing for arm in alike), place=name)


def _arms_in(folder: SweepFolder, name: str, prices: PriceList | None, watcher: Watcher | None) -> list[Arm]:
    if not folder.begun:
        return [Arm(name, (read_for_comparison(RunFolder(folder.path), prices, watcher),))]
    kind = folder.contents().series
    if kind == "attempts":
        return [Arm(name, (read_attempts(folder, prices, watcher),), kind)]
    if kind == "repeats":
        runs = [read_for_comparison(run, prices, watcher) for run in folder.begun_runs("--repeat N")]
        left = len(folder.contents().runs) - len(runs)
        return [Arm(name, tuple(sorted(runs, key=lambda run: run.seed)), kind, left)]
    by_arm: dict[str, list[Run]] = {}
    for kept in folder.contents().runs:
        begun, run = by_arm.setdefault(kept.arm, []), folder.run(kept.folder)
        if run.manifest_file.exists():
            begun.append(read_for_comparison(run, prices, watcher))
    if not any(by_arm.values()):
        raise ConfigurationError(f"No run of the sweep in {folder.path} has begun; play it with `housequest eval --sweep`.")
    planned = Counter(kept.arm for kept in folder.contents().runs)
    return [Arm(arm, tuple(runs), missing=planned[arm] - len(runs)) for arm, runs in by_arm.items()]


def distinct_names(places: Sequence[Path]) -> list[str]:
    """A name for each of these folders: its own, with as many above it as it takes to tell them apart."""
    parts = [place.absolute().parts for place in places]
    for depth in range(1, max(map(len, parts), default=1) + 1):
        names = ["/".join(each[-depth:]) for each in parts]
        if len(set(names)) == len(set(parts)):
            return names
    return ["/".join(each) for each in parts]


def refuse_unlike(first: Manifest, second: Manifest) -> None:
    """Raise ``ConfigurationError`` where two runs did not play the same games. Other wordings of their goals and other turn
    limits are allowed: the card says so. A world's digest over its games may include people's goals; so it decides nothing
    where only the wording differs.
    """
    one, other = first.configuration, second.configuration
    compared = [
        ("world", one.world, other.world, "these are other tasks"),
        ("split", one.split, other.split, "these are other tasks"),
    ]
    if (one.world, one.split) == (other.world, other.split):
        if first.data != second.data and first.engine != second.engine:
            compared.append(("engine", first.engine, second.engine, "the same actions have other effects"))
        if one.goals == other.goals or one.world_options != other.world_options:
            compared.append(("data", first.data[:16], second.data[:16], "the games themselves differ"))
    unlike = [f"\n  {name}: {shown(a, 80)} and {shown(b, 80)}: {why}" for name, a, b, why in compared if a != b]
    if unlike:
        raise ConfigurationError("These two runs cannot be paired:" + "".join(unlike))


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
        return {**self.attempts[0].card, "retries": f"{more} at what was not won", **asked(self.summary.overall)}


def read_attempts(folder: SweepFolder, prices: PriceList | None = None, watcher: Watcher | None = None) -> RetriedRun:
    """The attempts that have begun, as one run. Raises ``ConfigurationError``."""
    begun = folder.begun_runs("--retry-lost N")
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
            clocks[task.id] = EpisodeTiming.joined([run.extras.clocks.get(task.id, EpisodeTiming()) for run, _ in tries])
    extras = replace(extras, clocks=clocks, metrics=())
    return RetriedRun(folder, manifest, tuple(results), extras, attempts=tuple(attempts))


def _result(run: Run, task: str) -> Result | None:
    return next((result for result in run.results if result.task == task), None)
