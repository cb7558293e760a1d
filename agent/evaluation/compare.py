"""Two runs on the same tasks, paired: who won what, and whether the difference is more than chance.

Tasks differ far more than agents do, so runs are compared task by task. What cannot be paired is refused with the reason:
figures over different games, other goals or another number of turns are no comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.evaluation.folder import RunFolder
from agent.evaluation.metrics import Result
from agent.evaluation.plan import Manifest
from agent.evaluation.report import read_results
from agent.evaluation.statistics import Interval, PairedCounts, bootstrap_mean, mcnemar, paired_interval
from worlds.errors import ConfigurationError, shown


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is compared: its folder's name, its manifest, and its results so far."""

    name: str
    manifest: Manifest
    results: tuple[Result, ...]

    @property
    def label(self) -> str:
        """Who played, in a few words: agent, model, rules and seed."""
        config = self.manifest.configuration
        parts = [config.agent, config.model or "", f"rules {config.rules.file}" if config.rules else "", *config.grants]
        return ", ".join(part for part in parts if part) + f", seed {config.seed}"


@dataclass(frozen=True, slots=True)
class Pair:
    """One task as both runs played it."""

    first: Result
    second: Result

    @property
    def flipped(self) -> bool:
        """Whether one of them won it and the other did not."""
        return (self.first.outcome == "won") != (self.second.outcome == "won")


@dataclass(frozen=True, slots=True)
class Steps:
    """Executed commands of the second run less the first's, a task that both won: their mean, with a bootstrap interval."""

    tasks: int
    first: float
    second: float
    difference: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Comparison:
    """``second`` against ``first``, over ``pairs``; ``left_out`` says, cause by cause, which tasks are not among them."""

    first: Run
    second: Run
    pairs: tuple[Pair, ...]
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
    def steps(self) -> Steps | None:
        """The difference in steps on what both won; None where that is nothing."""
        won = [pair for pair in self.pairs if pair.first.outcome == pair.second.outcome == "won"]
        if not won:
            return None
        first, second = ([getattr(pair, side).steps for pair in won] for side in ("first", "second"))
        differences = [after - before for before, after in zip(first, second, strict=True)]
        size = len(won)
        return Steps(size, sum(first) / size, sum(second) / size, sum(differences) / size, bootstrap_mean(differences))

    @property
    def by_type(self) -> dict[str, PairedCounts]:
        """The pairs of each task type by who won."""
        types = sorted({pair.first.type for pair in self.pairs})
        return {kind: count([pair for pair in self.pairs if pair.first.type == kind]) for kind in types}

    @property
    def flipped(self) -> tuple[Pair, ...]:
        """The tasks that only one of them won, in the order of the tasks."""
        return tuple(pair for pair in self.pairs if pair.flipped)


def read_for_comparison(run: RunFolder) -> Run:
    """The run in a folder. Raises ``ConfigurationError``."""
    manifest, results = read_results(run)
    return Run(run.path.name, manifest, tuple(results))


def compare(first: Run, second: Run) -> Comparison:
    """Pair two runs task by task.

    Tasks that only one of them selected or finished, and those that a person touched, are left out and named. Raises
    ``ConfigurationError`` where the runs cannot be paired.
    """
    _refuse_unlike(first.manifest, second.manifest)
    ours, theirs = ({result.task: result for result in run.results} for run in (first, second))
    selected = [{task.id for task in run.manifest.tasks} for run in (first, second)]
    shared = [task.id for task in first.manifest.tasks if task.id in selected[1]]
    if not shared:
        raise ConfigurationError(f"{first.name} and {second.name} have no task in common; there is nothing to pair.")
    finished = [task for task in shared if task in ours and task in theirs]
    touched = [task for task in finished if ours[task].assisted or theirs[task].assisted]
    left_out = (
        (f"not selected in {second.name}", tuple(t.id for t in first.manifest.tasks if t.id not in selected[1])),
        (f"not selected in {first.name}", tuple(t.id for t in second.manifest.tasks if t.id not in selected[0])),
        ("not finished in both", tuple(task for task in shared if task not in finished)),
        ("assisted by a person", tuple(touched)),
    )
    return Comparison(
        first,
        second,
        tuple(Pair(ours[task], theirs[task]) for task in finished if task not in touched),
        tuple((cause, tasks) for cause, tasks in left_out if tasks),
    )


def count(pairs: Sequence[Pair]) -> PairedCounts:
    """``pairs`` by who won."""
    won = [(pair.first.outcome == "won", pair.second.outcome == "won") for pair in pairs]
    return PairedCounts(won.count((True, True)), won.count((True, False)), won.count((False, True)), won.count((False, False)))


def _refuse_unlike(first: Manifest, second: Manifest) -> None:
    one, other = first.configuration, second.configuration
    unlike = [
        (name, before, after, why)
        for name, before, after, why in (
            ("world", one.world, other.world, "these are other tasks"),
            ("split", one.split, other.split, "these are other tasks"),
            ("data", first.data, second.data, "the games themselves differ"),
            ("goals", one.goals, other.goals, "the sentences that the agents read differ"),
            ("max_turns", one.max_turns, other.max_turns, "one of them had longer"),
        )
        if before != after
    ]
    if unlike:
        listed = "\n".join(
            f"  {name}: {shown(before, 80)} and {shown(after, 80)}: {why}" for name, before, after, why in unlike
        )
        raise ConfigurationError(f"These two runs cannot be paired:\n{listed}")
