"""Summarise runs that differ only in their seed: the mean of each figure over runs, with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.evaluation.analysis.metrics import Figures, Summary
from agent.evaluation.analysis.paths import Watcher
from agent.evaluation.analysis.statistics import Mean, mean_over_seeds
from agent.evaluation.render.report import PriceList, RunReport, heading, pick, read_run
from agent.evaluation.render.table import Report, Section, Table, ends, named_lines, percent, short, wrapped
from agent.evaluation.runs.folder import RunFolder, differences
from agent.evaluation.runs.spec import Manifest
from worlds.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class SeedRun:
    """One of the runs: the name of its folder, its manifest and its figures."""

    name: str
    manifest: Manifest
    summary: Summary

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.manifest.configuration.seed


def read_seeds(runs: Sequence[RunFolder], prices: PriceList | None = None, watcher: Watcher | None = None) -> list[SeedRun]:
    """The runs by seed. Raises ``ConfigurationError`` where they differ in more than their seed, or two share one."""
    # Read first: this refuses what is not a path.
    results = [read_run(run, prices, watcher) for run in runs]
    found = [SeedRun(run.path.resolve().name, *result) for run, result in zip(runs, results, strict=True)]
    found.sort(key=lambda each: each.seed)
    for one, other in pairwise(found):
        if one.seed == other.seed:
            raise ConfigurationError(f"{one.name} and {other.name} have the same seed, {one.seed}; name runs of several seeds.")
        if changes := differences(_seedless(one.manifest), _seedless(other.manifest)):
            listed = "\n".join(f"  {change}" for change in changes)
            raise ConfigurationError(
                f"{one.name} and {other.name} differ in more than their seed:\n{listed}\nCompare them two by two."
            )
    return found


def _seedless(manifest: Manifest) -> Manifest:
    """``manifest`` without its seed, and without the tasks if the seed drew them."""
    config = manifest.configuration
    tasks = () if config.sample is not None else manifest.tasks
    return manifest.model_copy(update={"configuration": config.model_copy(update={"seed": 0}), "tasks": tasks})


def _figures(count: Figures) -> dict[str, float | None]:
    return {
        "success": count.success,
        "goal_conditions": count.goal.mean,
        "success_by_path": count.success_by_path.mean,
        "goal_conditions_by_path": count.goal_by_path.mean,
        "steps": count.mean_steps,
        "cost": count.cost.total,
    }


_UNBOUNDED = {"steps", "cost"}
"""Figures that are not shares."""


def means(runs: Sequence[SeedRun]) -> dict[str, Mean | None]:
    """Each figure over the runs with Student's 95 % interval, clipped to [0, 1] for shares; None where a run lacks it."""
    each = [_figures(run.summary.overall) for run in runs]
    found: dict[str, Mean | None] = {}
    for name in each[0]:
        values = [value for figures in each if (value := figures[name]) is not None]
        found[name] = mean_over_seeds(values, share=name not in _UNBOUNDED) if len(values) == len(runs) else None
    return found


OWN_TASKS = "Each seed drew tasks of its own: the spread is that of the tasks as well as of the agent."


def same_tasks(runs: Sequence[SeedRun]) -> bool:
    """Whether every run played the same tasks; with ``--sample`` each seed draws its own."""
    return len({tuple(task.id for task in run.manifest.tasks) for run in runs}) == 1


@dataclass(frozen=True, slots=True)
class SeedsReport(Report):
    """The figures of each run, and their means."""

    runs: Sequence[SeedRun]

    def data(self) -> dict[str, object]:
        over = {name: mean and {"mean": mean.value, "interval": ends(mean.interval)} for name, mean in means(self.runs).items()}
        return {
            "seeds": [run.seed for run in self.runs],
            "same_tasks": same_tasks(self.runs),
            "over_seeds": over,
            "runs": [{"name": run.name, "seed": run.seed, **RunReport(run.manifest, run.summary).data()} for run in self.runs],
        }

    def sections(self) -> Iterator[Section]:
        runs, config = self.runs, self.runs[0].manifest.configuration
        seeds = ", ".join(str(run.seed) for run in runs)
        terms = f"{config.split}, goals: {config.goals}, at most {config.max_turns} turns, seeds {seeds}"
        shared = [(name, value) for name, value in heading(runs[0].manifest) if name != "tasks"]
        yield named_lines([*shared, ("tasks", terms)])
        columns = pick("tasks", "won", "err", "success", "GC", "SR/path", "GC/path", "steps")
        yield Table.of("seed", columns, [(short(str(run.seed), 12), run.summary.overall) for run in runs])
        rows = tuple(
            (
                name.replace("_", " "),
                _written(name, mean.value),
                " to ".join(_written(name, end) for end in ends(mean.interval) or ()) or "-",
            )
            for name, mean in means(runs).items()
            if mean is not None and (name != "cost" or mean.value)
        )
        yield Table((f"over {len(runs)} seeds", "mean", "95 % interval"), tuple(rows))
        yield () if same_tasks(runs) else wrapped(OWN_TASKS)


def _written(name: str, value: float) -> str:
    return f"{value:.4g}" if name in _UNBOUNDED else percent(value)
