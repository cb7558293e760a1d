"""Compare two runs task by task: who won what, and whether the difference is significant.

Tasks differ far more than agents do, so the comparison is paired. Runs over different games, goals or turn limits are refused
with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from agent.evaluation.analysis.failures import LABELS, FailureKind
from agent.evaluation.analysis.metrics import Extras, PlayedTask
from agent.evaluation.analysis.paths import PathLengths
from agent.evaluation.analysis.statistics import Interval, PairedCounts, bootstrap_mean, mcnemar, paired_interval
from agent.evaluation.render.report import PriceList, extras_of, read_results
from agent.evaluation.runs.folder import RunFolder
from agent.evaluation.runs.result import Result, SelectedTask
from agent.evaluation.runs.spec import Manifest
from agent.evaluation.runs.timing import EpisodeTiming
from worlds.errors import ConfigurationError, shown


@dataclass(frozen=True, slots=True)
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
        return (self.first.outcome == "won") != (self.second.outcome == "won")

    @property
    def both_won(self) -> bool:
        """Whether both of them won it."""
        return self.first.outcome == self.second.outcome == "won"


@dataclass(frozen=True, slots=True)
class StepsDifference:
    """Mean steps (executed commands) on tasks that both runs won, and second less first with a bootstrap interval."""

    tasks: int
    first: float
    second: float
    difference: float
    interval: Interval


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
    def steps(self) -> StepsDifference | None:
        """The difference in steps on tasks that both won; None where there are none."""
        won = [(pair.first.steps, pair.second.steps) for pair in self.pairs if pair.both_won]
        if not won:
            return None
        first, second, size = sum(one for one, _ in won), sum(other for _, other in won), len(won)
        interval = bootstrap_mean([other - one for one, other in won])
        return StepsDifference(size, first / size, second / size, (second - first) / size, interval)

    @property
    def figures(self) -> tuple[PairedMean, ...]:
        """The other figures of a report, over all pairs."""
        ours, theirs = ([pair.first for pair in self.pairs], [pair.second for pair in self.pairs])
        return figures(played_by(ours, self.first.extras), played_by(theirs, self.second.extras))

    @property
    def failures(self) -> tuple[PairedFailures, ...]:
        """Why either run did not win, over all pairs."""
        return failures([pair.first for pair in self.pairs], [pair.second for pair in self.pairs])

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
    def changes(self) -> tuple[SettingChange, ...]:
        """The settings that differ: possible causes of a difference in success."""
        first, second = (_settings(run.manifest) for run in (self.first, self.second))
        keys = [*first, *(key for key in second if key not in first)]
        return tuple(SettingChange(key, first.get(key), second.get(key)) for key in keys if first.get(key) != second.get(key))

    def pair(self, reference: str) -> TaskPair:
        """The pair of a task, named by its number, its id or ``split:number``. Raises ``ConfigurationError``."""
        tasks = {task.id: task for run in (self.first, self.second) for task in run.manifest.tasks}
        task = find_task(tuple(tasks.values()), reference)
        if task is None:
            raise ConfigurationError(
                f"{shown(reference)} is not a task of these runs; name one by its number, for example {self._example}."
            )
        found = next((pair for pair in self.pairs if pair.first.task == task.id), None)
        if found is None:
            causes = ", ".join(cause for cause, left in self.left_out if task.id in left)
            raise ConfigurationError(f"{shown(reference)} was left out of the comparison: {causes}.")
        return found

    @property
    def _example(self) -> str:
        pairs = self.flipped or self.pairs
        return str(pairs[0].first.number if pairs else self.first.manifest.tasks[0].number)


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that differs between two runs; None where a run has no such setting."""

    key: str
    first: object
    second: object


def find_task(tasks: Sequence[SelectedTask], reference: str) -> SelectedTask | None:
    """The task named by its number, its id, or ``split:number``; None where there is none."""
    return next((task for task in tasks if reference in {task.id, str(task.number), reference_of(task)}), None)


def reference_of(task: SelectedTask | Result) -> str:
    """The short name of a task, ``split:number``, as commands take it."""
    return f"{(task.id if isinstance(task, SelectedTask) else task.task).partition('/')[0]}:{task.number}"


def read_for_comparison(run: RunFolder, prices: PriceList | None = None) -> Run:
    """Read the run in a folder; ``prices`` gives a model's prices. Raises ``ConfigurationError``."""
    manifest, results = read_results(run)
    return Run(run, manifest, tuple(results), extras_of(run, manifest, results, prices))


def compare(first: Run, second: Run) -> Comparison:
    """Pair two runs task by task.

    Tasks that only one run selected or finished, and those where a person intervened, are left out and listed. Raises
    ``ConfigurationError`` where the runs cannot be paired.
    """
    if first.folder.path.resolve() == second.folder.path.resolve():
        raise ConfigurationError(f"{first.folder.path} and {second.folder.path} are the same run; name two.")
    _refuse_unlike(first.manifest, second.manifest)
    ours, theirs = ({result.task: result for result in run.results} for run in (first, second))
    selected, others = ([task.id for task in run.manifest.tasks] for run in (first, second))
    there = set(others)
    shared = [task for task in selected if task in there]
    if not shared:
        raise ConfigurationError(f"{first.name} and {second.name} have no task in common.")
    finished = [task for task in shared if task in ours and task in theirs]
    touched = {task for task in finished if ours[task].assisted or theirs[task].assisted}
    left_out = (
        (f"not selected in {second.name}", _without(selected, others)),
        (f"not selected in {first.name}", _without(others, selected)),
        ("not finished in both", _without(shared, finished)),
        ("assisted by a person", tuple(task for task in finished if task in touched)),
    )
    return Comparison(
        first,
        second,
        tuple(TaskPair(ours[task], theirs[task]) for task in finished if task not in touched),
        tuple((cause, tasks) for cause, tasks in left_out if tasks),
    )


def _without(tasks: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    there = set(others)
    return tuple(task for task in tasks if task not in there)


def count(pairs: Sequence[TaskPair]) -> PairedCounts:
    """``pairs`` by who won."""
    won = [(pair.first.outcome == "won", pair.second.outcome == "won") for pair in pairs]
    return PairedCounts(won.count((True, True)), won.count((True, False)), won.count((False, True)), won.count((False, False)))


def _settings(manifest: Manifest) -> dict[str, object]:
    """Everything that may explain a difference, by name: the configuration, the engine's version and the prompts."""
    config = manifest.configuration.model_dump(mode="json", exclude={"types", "limit", "sample", "rules"})
    rules = manifest.configuration.rules
    flat: dict[str, object] = {}
    for key, value in {**config, "rules": rules.label if rules else None, "prompts": manifest.prompts}.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{name}": item for name, item in cast("Mapping[str, object]", value).items()}
        else:
            flat[key] = value
    return {**flat, "engine": manifest.engine, "housequest": manifest.housequest}


def _refuse_unlike(first: Manifest, second: Manifest) -> None:
    one, other = first.configuration, second.configuration
    unlike = [
        (name, before, after, why)
        for name, before, after, why in (
            ("world", one.world, other.world, "these are other tasks"),
            ("split", one.split, other.split, "these are other tasks"),
            ("goals", one.goals, other.goals, "the sentences that the agents read differ"),
            ("max_turns", one.max_turns, other.max_turns, "one of them had longer"),
        )
        if before != after
    ]
    if (one.world, one.split) == (other.world, other.split) and first.data != second.data:
        unlike.append(("data", first.data[:16], second.data[:16], "the games themselves differ"))
    if unlike:
        listed = "\n".join(
            f"  {name}: {shown(before, 80)} and {shown(after, 80)}: {why}" for name, before, after, why in unlike
        )
        raise ConfigurationError(f"These two runs cannot be paired:\n{listed}")


FigureOf = Callable[[PlayedTask], float | None]


@dataclass(frozen=True, slots=True)
class PairedMean:
    """The means of a figure over paired tasks, and second less first with its 95 % bootstrap interval over pairs.

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


@dataclass(frozen=True, slots=True)
class PairedFailures:
    """How many of the paired tasks each run failed for one reason."""

    kind: FailureKind
    first: int
    second: int

    @property
    def label(self) -> str:
        """The class in a few words."""
        return LABELS[self.kind]


@dataclass(frozen=True, slots=True)
class _Kind:
    key: str
    label: str
    share: bool
    value: FigureOf


def _result(of: Callable[[Result], float | None]) -> FigureOf:
    return lambda each: None if each.result is None else of(each.result)


def _tokens(each: PlayedTask) -> float | None:
    if each.result is not None and not each.result.calls:
        return 0.0
    return None if each.tokens is None else float(each.tokens.prompt + each.tokens.completion)


_KINDS = (
    _Kind("goal", "goal conditions (GC)", True, lambda each: each.goal),
    _Kind("success_by_path", "success by path (SR/path)", True, lambda each: each.weighted(float(each.won))),
    _Kind("goal_by_path", "goal conditions by path (GC/path)", True, lambda each: each.weighted(each.goal)),
    _Kind("steps", "steps an episode", False, _result(lambda result: result.steps)),
    _Kind("refused", "refused commands", False, _result(lambda result: result.refused)),
    _Kind("repeated", "repeated commands", False, _result(lambda result: result.repeated or 0)),
    _Kind("calls", "calls of the model", False, _result(lambda result: result.calls)),
    _Kind("tokens", "tokens", False, _tokens),
    _Kind("cost", "cost", False, lambda each: each.cost),
)


def played_by(results: Sequence[Result], extras: Extras) -> list[PlayedTask]:
    """The episodes with the extras of their tasks."""
    return [
        PlayedTask(
            SelectedTask(number=result.number, id=result.task, type=result.type),
            result,
            extras.paths.get(result.task, PathLengths()),
            extras.clocks.get(result.task, EpisodeTiming()),
            extras.prices,
        )
        for result in results
    ]


def figures(first: Sequence[PlayedTask], second: Sequence[PlayedTask]) -> tuple[PairedMean, ...]:
    """The figures of the same tasks in both runs, without those that no task has in both.

    Calls, tokens and cost are left out too where neither run called a model.
    """
    called = any(each.result is not None and each.result.calls for each in (*first, *second))
    kinds = [kind for kind in _KINDS if called or kind.key not in {"calls", "tokens", "cost"}]
    return tuple(found for kind in kinds if (found := _figure(kind, first, second)) is not None)


def _figure(kind: _Kind, first: Sequence[PlayedTask], second: Sequence[PlayedTask]) -> PairedMean | None:
    both = [(kind.value(one), kind.value(other)) for one, other in zip(first, second, strict=True)]
    known = [(one, other) for one, other in both if one is not None and other is not None]
    if not known:
        return None
    size = len(known)
    ours, theirs = sum(one for one, _ in known) / size, sum(other for _, other in known) / size
    interval = bootstrap_mean([other - one for one, other in known])
    return PairedMean(kind.key, kind.label, kind.share, ours, theirs, theirs - ours, interval, size, len(both) - size)


def failures(first: Sequence[Result], second: Sequence[Result]) -> tuple[PairedFailures, ...]:
    """Why either run did not win the paired tasks, by class, without classes that neither has."""
    ours, theirs = (_by_kind(results) for results in (first, second))
    return tuple(PairedFailures(kind, ours[kind], theirs[kind]) for kind in LABELS if ours[kind] or theirs[kind])


def _by_kind(results: Sequence[Result]) -> Mapping[FailureKind, int]:
    kinds = [result.failure.kind for result in results if result.failure is not None]
    return {kind: kinds.count(kind) for kind in LABELS}
