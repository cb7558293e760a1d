"""Compare two runs task by task: who won what, and whether the difference is significant.

Tasks differ far more than agents do, so the comparison is paired. Runs over different games, goals or turn limits are refused
with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean

from housequest.agent.config import Prices, changed_options
from housequest.agent.evaluation.analysis.card import card, card_differences
from housequest.agent.evaluation.analysis.ceilings import CeilingFigures, ceiling_of
from housequest.agent.evaluation.analysis.failures import FailureKind
from housequest.agent.evaluation.analysis.metrics import Extras, PlayedTask, Summary, summarise
from housequest.agent.evaluation.analysis.paths import Watcher, paths_of
from housequest.agent.evaluation.analysis.statistics import (
    Interval,
    PairedCounts,
    bootstrap_mean,
    bootstrap_ratio_difference,
    mcnemar,
    paired_interval,
    ratio,
)
from housequest.agent.evaluation.runs.files import flattened
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.result import Result, SelectedTask
from housequest.agent.evaluation.runs.spec import Manifest, RunConfig
from housequest.agent.evaluation.runs.timing import timings_of
from housequest.worlds.base import Metric
from housequest.worlds.errors import ConfigurationError, HousequestError, shown
from housequest.worlds.registry import make_world

PriceList = Callable[[str], Prices | None]
"""Gives the prices of a model by name; None where none are set."""


@dataclass(frozen=True)
class Run:
    """A run to show or compare: its folder, its manifest, its results so far, and the extras known beside them."""

    folder: RunFolder
    manifest: Manifest
    results: tuple[Result, ...]
    extras: Extras = field(default=Extras(), compare=False)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.path.resolve().name

    def episode(self, task: SelectedTask) -> Path:
        """The file of its episode of ``task``."""
        return self.folder.episode(task)

    @property
    def seed(self) -> int:
        """Its seed."""
        return self.manifest.configuration.seed

    @cached_property
    def summary(self) -> Summary:
        """Its figures."""
        return summarise(self.manifest.tasks, self.results, self.extras)

    @property
    def card(self) -> dict[str, str]:
        """Under what conditions it was measured."""
        return card(self.manifest, self.summary.overall.asked)

    @property
    def label(self) -> str:
        """Who played, in a few words: agent, model, rules and seed."""
        config = self.manifest.configuration
        rules = f"rules {config.rules.file} {config.rules.part}".rstrip() if config.rules else ""
        parts = [config.agent, config.model or "", rules, *config.grants]
        parts += [f"curiosity {config.curiosity:g}"] if config.curiosity else []
        return ", ".join(part for part in parts if part) + f", seed {config.seed}"


@dataclass(frozen=True, slots=True)
class TaskPair:
    """One task as both runs played it."""

    first: Result
    second: Result

    @property
    def flipped(self) -> bool:
        """Whether exactly one of them won it."""
        return self.first.won != self.second.won

    @property
    def winner(self) -> str:
        """Which of them won a flipped task: ``first`` or ``second``."""
        return "first" if self.first.won else "second"


@dataclass(frozen=True, slots=True)
class PairedMean:
    """The means of a figure (or ratios of sums) over paired tasks, and second less first with its 95 % bootstrap interval.

    ``share``: it lies in [0, 1]. ``tasks`` have the figure in both runs; ``missing`` lack it in one and are left out.
    """

    key: str
    label: str
    share: bool
    first: float
    second: float
    difference: float
    interval: Interval
    tasks: int
    missing: int

    @classmethod
    def of(cls, key: str, label: str, share: bool, both: Sequence[tuple[float | None, float | None]]) -> PairedMean | None:
        """The means of pairs of values, of which some may be unknown; None where no pair is known."""
        known = [(one, other) for one, other in both if one is not None and other is not None]
        if not known:
            return None
        first, second = fmean(one for one, _ in known), fmean(other for _, other in known)
        interval = bootstrap_mean([other - one for one, other in known])
        return cls(key, label, share, first, second, second - first, interval, len(known), len(both) - len(known))


@dataclass(frozen=True, slots=True)
class Comparison:
    """``second`` against ``first`` over ``pairs``; ``left_out`` lists the tasks left out, by cause."""

    first: Run
    second: Run
    pairs: tuple[TaskPair, ...]
    left_out: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def counts(self) -> PairedCounts:
        """The pairs by who won; an errored episode is not won."""
        return count(self.pairs)

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the difference in success."""
        return paired_interval(self.counts)

    @property
    def p(self) -> float:
        """McNemar's exact two-sided p."""
        return mcnemar(self.counts.only_first, self.counts.only_second)

    @property
    def steps(self) -> PairedMean | None:
        """The difference in steps (executed commands) on tasks that both won; None where there are none."""
        won = [(pair.first.steps, pair.second.steps) for pair in self.pairs if pair.first.won and pair.second.won]
        return PairedMean.of("steps", "steps", False, won)

    @property
    def figures(self) -> tuple[PairedMean, ...]:
        """The other figures over all pairs that any has in both runs; calls, tokens and cost only where a model was called.

        What the world's benchmark computes stands in place of means of conditions and of path weights.
        """
        called = any(pair.first.calls or pair.second.calls for pair in self.pairs)
        own = self.first.extras.metrics
        left_out = {*(() if called else ("calls", "tokens", "cost")), *(SHARES if own else ())}
        measured = (self._measured(metric) for metric in own)
        found = (*measured, *(self._figure(kind) for kind in KINDS if kind.key not in left_out))
        return tuple(each for each in found if each is not None)

    def _measured(self, metric: Metric) -> PairedMean | None:
        ours, theirs = self.first.extras, self.second.extras
        both = [
            (metric.terms(ours.of(pair.first).measured), metric.terms(theirs.of(pair.second).measured)) for pair in self.pairs
        ]
        known = [(one, other) for one, other in both if one is not None and other is not None]
        if not known:
            return None
        one, other = [one for one, _ in known], [other for _, other in known]
        first, second = ratio(one), ratio(other)
        interval, size = bootstrap_ratio_difference(one, other), len(known)
        return PairedMean(metric.key, metric.label, True, first, second, second - first, interval, size, len(both) - size)

    def _figure(self, kind: Kind) -> PairedMean | None:
        ours, theirs = self.first.extras, self.second.extras
        results = [(pair.first, pair.second) for pair in self.pairs]
        both = [(kind.value(ours.of(one), one), kind.value(theirs.of(other), other)) for one, other in results]
        return PairedMean.of(kind.key, kind.label, kind.share, both)

    @property
    def ceilings(self) -> tuple[CeilingFigures | None, CeilingFigures | None]:
        """What the expert reaches on the pairs with the location prior of each run; None of an agent that does not search."""
        tasks = [pair.first.task for pair in self.pairs]
        one, other = self.first.extras.ceiling, self.second.extras.ceiling
        return one and one.of(tasks), other and other.of(tasks)

    @property
    def failures(self) -> dict[FailureKind, tuple[int, int]]:
        """How many of the pairs each run failed for one reason, without reasons that neither has."""
        ours = Counter(pair.first.failure.kind for pair in self.pairs if pair.first.failure)
        theirs = Counter(pair.second.failure.kind for pair in self.pairs if pair.second.failure)
        return {kind: (ours[kind], theirs[kind]) for kind in FailureKind if ours[kind] or theirs[kind]}

    @property
    def by_type(self) -> dict[str, PairedCounts]:
        """The pairs of each task type by who won."""
        types = sorted({pair.first.type for pair in self.pairs})
        return {kind: count([pair for pair in self.pairs if pair.first.type == kind]) for kind in types}

    @property
    def flipped(self) -> tuple[TaskPair, ...]:
        """The tasks that only one of them won, in task order."""
        return tuple(pair for pair in self.pairs if pair.flipped)

    @property
    def unlike(self) -> dict[str, tuple[str, str]]:
        """What differs between the runs' cards, so that the difference may not be the agents'."""
        return card_differences(self.first.card, self.second.card)

    @property
    def changes(self) -> dict[str, tuple[object, object]]:
        """The settings that differ, None where a run has none: possible causes of a difference in success."""
        first, second = (_settings(run.manifest) for run in (self.first, self.second))
        keys = [*first, *(key for key in second if key not in first)]
        return {key: (first.get(key), second.get(key)) for key in keys if first.get(key) != second.get(key)}

    def pair(self, reference: str) -> TaskPair:
        """The pair of a task, named by its number, its id or ``split:number``. Raises ``ConfigurationError``."""
        tasks = {task.id: task for run in (self.first, self.second) for task in run.manifest.tasks}
        task = find_task(tuple(tasks.values()), reference)
        if task is None:
            pairs = self.flipped or self.pairs
            example = pairs[0].first.number if pairs else self.first.manifest.tasks[0].number
            raise ConfigurationError(
                f"{shown(reference)} is not a task of these runs; name one by its number, for example {example}."
            )
        found = next((pair for pair in self.pairs if pair.first.task == task.id), None)
        if found is None:
            causes = ", ".join(cause for cause, left in self.left_out if task.id in left)
            raise ConfigurationError(f"{shown(reference)} was left out of the comparison: {causes}.")
        return found


def find_task(tasks: Sequence[SelectedTask], reference: str) -> SelectedTask | None:
    """The task named by its number, its id, or ``split:number``; None where there is none."""
    return next((task for task in tasks if reference in {task.id, str(task.number), reference_of(task)}), None)


def reference_of(task: SelectedTask | Result) -> str:
    """The short name of a task, ``split:number``, as commands take it."""
    return f"{(task.id if isinstance(task, SelectedTask) else task.task).partition('/')[0]}:{task.number}"


def read_for_comparison(run: RunFolder, prices: PriceList | None = None, watcher: Watcher | None = None) -> Run:
    """Read the run in a folder, with timings, costs, and path lengths where the world's data is here.

    ``watcher`` gets how many paths are found and how many are missing. Raises ``ConfigurationError``.
    """
    manifest = run.manifest()
    results, model = run.results(manifest.tasks), manifest.configuration.model
    played = {result.task for result in results}
    tasks = [task for task in manifest.tasks if task.id in played]
    metrics = metrics_of(manifest.configuration)
    # What is weighted by the tasks' lengths needs those of tasks that were not played, too.
    paths = paths_of(run, manifest, manifest.tasks if metrics else tasks, watcher)
    ceiling = ceiling_of(run, manifest, tasks, watcher)
    extras = Extras(paths, timings_of(run, manifest.tasks), prices(model) if prices and model else None, ceiling, metrics)
    return Run(run, manifest, tuple(results), extras)


def metrics_of(config: RunConfig) -> tuple[Metric, ...]:
    """What the benchmark of a run's world computes; nothing where that world cannot be made here."""
    try:
        return make_world(config.world, **config.world_options, **changed_options(engine=config.engine)).metrics
    except HousequestError:
        return ()


def compare(first: Run, second: Run) -> Comparison:
    """Pair two runs task by task.

    Tasks that only one run selected or finished, and those where a person intervened, are left out and listed. Raises
    ``ConfigurationError`` where the runs cannot be paired.
    """
    if first.folder.path.resolve() == second.folder.path.resolve():
        raise ConfigurationError(f"{first.folder.path} and {second.folder.path} are the same run; name two.")
    refuse_unlike(first.manifest, second.manifest)
    ours, theirs = ({result.task: result for result in run.results} for run in (first, second))
    here, there = ([task.id for task in run.manifest.tasks] for run in (first, second))
    shared = _without(here, set(here) - set(there))
    if not shared:
        raise ConfigurationError(f"{first.name} and {second.name} have no task in common.")
    finished = [task for task in shared if task in ours and task in theirs]
    touched = {task for task in finished if ours[task].assisted or theirs[task].assisted}
    left_out = (
        (f"not selected in {second.name}", _without(here, there)),
        (f"not selected in {first.name}", _without(there, here)),
        ("not finished in both", _without(shared, finished)),
        ("assisted by a person", tuple(task for task in finished if task in touched)),
    )
    pairs = tuple(TaskPair(ours[task], theirs[task]) for task in finished if task not in touched)
    return Comparison(first, second, pairs, tuple((cause, tasks) for cause, tasks in left_out if tasks))


def _without(tasks: Sequence[str], others: Collection[str]) -> tuple[str, ...]:
    left_out = set(others)
    return tuple(task for task in tasks if task not in left_out)


def count(pairs: Sequence[TaskPair]) -> PairedCounts:
    """``pairs`` by who won."""
    won = [(pair.first.won, pair.second.won) for pair in pairs]
    return PairedCounts(won.count((True, True)), won.count((True, False)), won.count((False, True)), won.count((False, False)))


def _settings(manifest: Manifest) -> dict[str, object]:
    """Everything that may explain a difference, by name: the configuration, the engine's version and the prompts."""
    config = manifest.configuration.model_dump(mode="json", exclude={"types", "limit", "sample", "rules"})
    rules = manifest.configuration.rules
    flat = flattened({**config, "rules": rules.label if rules else None, "prompts": manifest.prompts})
    return {**flat, "engine": manifest.engine, "housequest": manifest.housequest}


def refuse_unlike(first: Manifest, second: Manifest) -> None:
    """Raise ``ConfigurationError`` where two runs did not play the same games.

    Other wordings of their goals and other turn limits are allowed: the card says so. A world's digest over its games may
    include people's goals; so it decides nothing where only the wording differs.
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


@dataclass(frozen=True, slots=True)
class Kind:
    """A figure of each episode, by key and label; ``share``: it lies in [0, 1]."""

    key: str
    label: str
    share: bool
    value: Callable[[PlayedTask, Result], float | None]


SHARES = ("goal", "success_by_path", "goal_by_path")
"""Figures of which the world's own metrics take the place."""

KINDS = (
    Kind("goal", "goal conditions (GC)", True, lambda each, _: each.goal),
    Kind("success_by_path", "success by path (SR/path)", True, lambda each, _: each.weighted(float(each.won))),
    Kind("goal_by_path", "goal conditions by path (GC/path)", True, lambda each, _: each.weighted(each.goal)),
    Kind("steps", "steps an episode", False, lambda _, result: result.steps),
    Kind("refused", "refused commands", False, lambda _, result: result.refused),
    Kind("repeated", "repeated commands", False, lambda _, result: result.repeated),
    Kind("low_level", "low-level actions", False, lambda _, result: result.low_level),
    Kind("diverged", "divergences of the simulator", False, lambda _, result: result.diverged),
    Kind("calls", "calls of the model", False, lambda _, result: result.calls),
    Kind("tokens", "tokens", False, lambda _, result: result.tokens),
    Kind("cost", "cost", False, lambda each, _: each.cost),
)
