"""``housequest eval``: many episodes without a screen into a run's folder, or a sweep of runs; the same command resumes it.

For a family of runs without episodes, the part that declares it does the work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, cast

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import finish, print_result
from housequest.tui.commands.report import show
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.agent.config import Configuration
    from housequest.agent.evaluation.parts import RunFamily
    from housequest.agent.evaluation.runs.batch import RunOptions
    from housequest.agent.evaluation.runs.budget import Budget
    from housequest.agent.evaluation.runs.shard import Shard
    from housequest.agent.evaluation.runs.spec import RunSpec
    from housequest.agent.evaluation.runs.sweep import ArmRun, ConfiguredArm, SeriesKind, SweepFolder


@dataclass(frozen=True, slots=True)
class EvalCall:
    """How ``housequest eval`` was called: what it may use, how runs are played, and what is printed."""

    budget: Budget
    how: RunOptions
    dry_run: bool
    as_json: bool

    @property
    def of_shard(self) -> str:
        """Which part of a run is played, in words; empty for a whole one."""
        return f", shard {self.how.shard} of it" if self.how.shard is not None else ""


class FamilyCommands(Protocol):
    """What ``housequest eval`` does for a family of runs without episodes (`housequest.agent.evaluation.parts`)."""

    def evaluate(self, configuration: Configuration, out: Path | None, call: EvalCall) -> None:
        """Carry out one run, or go on with it, and print its figures."""
        ...

    def sweep(self, arms: Sequence[ConfiguredArm], folder: SweepFolder, call: EvalCall) -> None:
        """Carry out every run of a sweep, or go on with that, and print its table."""
        ...


def _commands(family: RunFamily) -> FamilyCommands:
    return cast("FamilyCommands", import_module(family.commands))


@options.takes(*options.TASKS, "limit", "sample", *options.PLAYER, "workers", *options.MEASUREMENT)
def evaluate(
    flags: options.Flags,
    retry: options.RetryOption = None,
    budget: options.BudgetOption = None,
    sweep: Annotated[Path | None, options.file("--sweep", "FILE", "A YAML file of several runs, played as one table.")] = None,
    shard: options.ShardOption = None,
    cluster: options.ClusterOption = None,
    out: Annotated[Path | None, options.file("--out", "FOLDER", "The run's folder [runs/...].")] = None,
    dry_run: options.DryRunOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Play many tasks with one agent and print a report. If interrupted, the same command resumes."""
    from housequest.agent.config import configure
    from housequest.agent.evaluation.parts import family_named
    from housequest.agent.evaluation.runs.budget import BudgetTracker, read_budget
    from housequest.agent.evaluation.runs.spec import make_run_spec
    from housequest.agent.evaluation.runs.sweep import series_kind
    from housequest.tui.commands.running import announce, play_run, run_options, shard_folder

    call = EvalCall(read_budget(budget or ()), run_options(retry, shard, cluster), dry_run, as_json)
    if sweep is not None:
        _sweep(sweep, out, flags, call)
        return
    configuration = configure(flags)
    settings = configuration.settings
    if (family := family_named(settings.world)) is not None:
        _commands(family).evaluate(configuration, out, call)
        return
    if (kind := series_kind(settings)) is not None:
        _series(kind, configuration, out, call)
        return
    spec = make_run_spec(configuration)
    folder = shard_folder(out or spec.default_folder, out, call.how)
    announce([spec], call.budget, settings.rules)
    if dry_run:
        print_result(spec.manifest.model_dump(mode="json"), _dry_run(configuration, spec, folder), as_json=as_json)
        return
    opening = f"{spec.config.split}: {spec.selection}{call.of_shard}, into {folder}"
    line = play_run(spec, folder, BudgetTracker(call.budget), replace(call.how, workers=settings.workers), opening)
    if line.left == 0:
        terminal.note("All of them were played before; nothing was left to play.")
    if call.how.shard is not None:
        _show_shards([folder], call.how.shard, as_json=as_json)
        return
    errors = show(folder, as_json=as_json)
    if as_json and errors:
        terminal.note(f"{errors} episodes errored; --retry errors plays them again.")
    finish(1 if errors else 0)


def _dry_run(configuration: Configuration, spec: RunSpec, folder: Path) -> Iterator[str]:
    from housequest.tui.commands.running import about_cost, about_rules

    yield f"Would play {spec.selection} ({spec.config.split}) into {folder}"
    yield about_cost(spec, folder)
    yield from (*about_rules(spec), "")
    yield from (json.dumps(spec.config.model_dump(mode="json"), indent=2), "")
    yield from (f"{key} is set by {configuration.origin(key)}" for key in sorted(configuration.origins))
    yield ""
    yield from (f"{task.number:>4}  {task.id}" for task in spec.selection.tasks)


def _play_all(trials: Iterable[ArmRun], opening: Callable[[int, ArmRun], str], folder: SweepFolder, call: EvalCall) -> None:
    """Play runs, which ``opening`` announces by their numbers, or go on with that, and print the figures of them all."""
    from housequest.agent.evaluation.runs.budget import BudgetTracker
    from housequest.tui.commands.running import play_run

    tracker, places = BudgetTracker(call.budget), list[Path]()
    for number, trial in enumerate(trials, start=1):
        places.append(place := folder.path / trial.folder)
        session = replace(call.how, workers=trial.configuration.settings.workers)
        play_run(trial.spec, place, tracker, session, f"{opening(number, trial)}, into {place}")
    if call.how.shard is not None:
        _show_shards(places, call.how.shard, as_json=call.as_json)
        return
    finish(1 if show(folder.path, as_json=call.as_json) else 0)


def _show_shards(folders: Sequence[Path], shard: Shard, *, as_json: bool) -> None:
    """Say what a shard holds, in place of a report: figures are those of the whole run."""
    from housequest.agent.evaluation.runs.folder import RunFolder

    lines: list[str] = []
    played: list[dict[str, object]] = []
    for folder in folders:
        run = RunFolder(folder)
        results = run.results(run.manifest().tasks)
        won, errors = sum(each.won for each in results), sum(each.outcome == "error" for each in results)
        played.append({"run": str(folder), "shard": str(shard), "episodes": len(results), "won": won, "errors": errors})
        lines.append(f"Shard {shard} in {folder}: {len(results)} episodes, {won} won, {errors} errors")
    print_result(played, [*lines, "`housequest merge` makes the run of all its shards, and reports it."], as_json=as_json)
    finish(1 if any(each["errors"] for each in played) else 0)


def _sweep(file: Path, out: Path | None, flags: options.Flags, call: EvalCall) -> None:
    """Play all runs of a sweep, or resume it, and print its table."""
    from housequest.agent.evaluation.parts import family_named
    from housequest.agent.evaluation.runs.sweep import SweepFolder, configured_arms, plan_sweep, read_sweep
    from housequest.tui.commands.running import announce, shard_folder

    sweep = read_sweep(file)
    folder = SweepFolder(shard_folder(out or sweep.default_folder, out, call.how))
    arms = tuple(configured_arms(sweep, flags))
    if family := next(filter(None, (family_named(arm.configuration.settings.world) for arm in arms)), None):
        _commands(family).sweep(arms, folder, call)
        return
    trials = tuple(plan_sweep(arms))
    announce([trial.spec for trial in trials], call.budget)
    if call.dry_run:
        runs = [{"arm": each.arm, "seed": each.seed, **each.spec.manifest.model_dump(mode="json")} for each in trials]
        print_result({"runs": runs}, _dry_sweep(folder, trials), as_json=call.as_json)
        return
    folder.begin(trials)

    def opening(number: int, trial: ArmRun) -> str:
        return f"{number} of {len(trials)}: {trial.arm}, seed {trial.seed}: {trial.spec.selection}{call.of_shard}"

    _play_all(trials, opening, folder, call)


def _series(kind: SeriesKind, configuration: Configuration, out: Path | None, call: EvalCall) -> None:
    """Play each task several times, or lost ones again, or go on with that, and print the figures."""
    from housequest.agent.evaluation.runs.spec import make_run_spec
    from housequest.agent.evaluation.runs.sweep import SweepFolder, series, series_folder
    from housequest.tui.commands.running import announce, shard_folder

    settings, first = configuration.settings, make_run_spec(configuration)
    if call.how.shard is not None and settings.retries:
        raise ConfigurationError(
            "--shard: --retries plays again what the whole run lost, which no shard knows; leave one of them out, or "
            "play it with --cluster."
        )
    folder = SweepFolder(shard_folder(series_folder(kind, first, out).path, out, call.how))
    announce([first], call.budget, settings.rules)
    most = settings.repeat if settings.repeat > 1 else 1 + settings.retries
    if call.dry_run:
        what = f"Would play this up to {most} times, into folders of {folder.path}"
        lines = (what, "", *_dry_run(configuration, first, folder.path))
        print_result(first.manifest.model_dump(mode="json"), lines, as_json=call.as_json)
        return

    def opening(number: int, trial: ArmRun) -> str:
        return f"{number} of up to {most}: {trial.spec.selection}{call.of_shard}, seed {trial.seed}"

    _play_all(series(configuration, folder, retry_errors=call.how.retry_errors), opening, folder, call)


def _dry_sweep(folder: SweepFolder, trials: tuple[ArmRun, ...]) -> Iterator[str]:
    from housequest.tui.commands.running import about_cost, about_rules

    yield from (f"Would play {len(trials)} runs into {folder.path}", "")
    for trial in trials:
        config = trial.spec.config
        yield f"{trial.arm}, seed {trial.seed}: {trial.spec.selection} ({config.split}) with {config.agent}"
        yield from (f"  {line}" for line in (*about_rules(trial.spec), about_cost(trial.spec, folder.path / trial.folder)))
