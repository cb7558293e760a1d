"""``housequest eval``: many episodes without a screen into a run's folder, or a sweep of runs; the same command resumes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tui.commands import options

if TYPE_CHECKING:
    from agent.config import Configuration
    from agent.evaluation.runs.budget import Budget
    from agent.evaluation.runs.spec import RunSpec
    from agent.evaluation.runs.sweep import ArmRun, SweepFolder


@options.takes(*options.TASKS, "limit", "sample", *options.PLAYER, "workers")
def evaluate(
    flags: options.Flags,
    retry: options.RetryOption = None,
    budget: options.BudgetOption = None,
    sweep: Annotated[Path | None, options.file("--sweep", "FILE", "A YAML file of several runs, played as one table.")] = None,
    out: Annotated[Path | None, options.file("--out", "FOLDER", "The run's folder [runs/...].")] = None,
    dry_run: options.DryRunOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Play many tasks with one agent and print a report. Interrupted, the same command goes on."""
    from agent.config import configure
    from agent.evaluation.runs.budget import BudgetTracker, read_budget
    from agent.evaluation.runs.spec import make_run_spec
    from tui import terminal
    from tui.commands.output import finish
    from tui.commands.running import check_prices, ignored_rules, play_run, remarks
    from worlds.alfred import PLANS

    limits = read_budget(budget or ())
    if sweep is not None:
        _sweep(sweep, out, flags, limits, retry_errors=retry is not None, dry_run=dry_run, as_json=as_json)
        return
    configuration = configure(flags)
    settings = configuration.settings
    if settings.world == PLANS:
        from tui.commands.plans import evaluate_plans

        evaluate_plans(configuration, out, limits, dry_run=dry_run, as_json=as_json)
        return
    spec = make_run_spec(configuration)
    check_prices(limits, spec)
    folder = out or spec.default_folder
    for line in (*remarks(spec), *ignored_rules(settings.rules, spec)):
        terminal.note(line)
    if dry_run:
        _dry_run(configuration, spec, folder, as_json)
        return
    opening = f"{spec.config.split}: {spec.selection}, into {folder}"
    tracker = BudgetTracker(limits)
    line = play_run(spec, folder, tracker, workers=settings.workers, retry_errors=retry is not None, opening=opening)
    if line.left == 0:
        terminal.note("All of them were played before; nothing was left to play.")
    finish(1 if _report(configuration, folder, as_json) else 0)


def _dry_run(configuration: Configuration, spec: RunSpec, folder: Path, as_json: bool) -> None:
    from tui.commands.output import print_lines, print_text
    from tui.commands.running import about_cost, about_rules

    if as_json:
        print_text(spec.manifest.model_dump_json(indent=2))
        return
    print_lines(
        [
            f"Would play {spec.selection} ({spec.config.split}) into {folder}",
            about_cost(spec, folder),
            *about_rules(spec),
            "",
            json.dumps(spec.config.model_dump(mode="json"), indent=2),
            "",
            *(f"{key} is set by {configuration.origin(key)}" for key in sorted(configuration.origins)),
            "",
            *(f"{task.number:>4}  {task.id}" for task in spec.selection.tasks),
        ]
    )


def _report(configuration: Configuration, folder: Path, as_json: bool) -> int:
    """Print the figures of the run; how many episodes of it errored."""
    from agent.evaluation.render.report import RunReport, read_run
    from agent.evaluation.runs.folder import RunFolder
    from tui import terminal
    from tui.commands.output import print_text
    from tui.commands.report import searching

    manifest, summary = read_run(RunFolder(folder), configuration.settings.prices_of, searching)
    print_text(RunReport(manifest, summary).render(as_json=as_json))
    if as_json and summary.errored:
        terminal.note(f"{len(summary.errored)} episodes errored; --retry errors plays them again.")
    return summary.overall.errors


def _sweep(
    file: Path, out: Path | None, flags: options.Flags, budget: Budget, *, retry_errors: bool, dry_run: bool, as_json: bool
) -> None:
    """Play all runs of a sweep, or resume it, and print its table."""
    from agent.evaluation.runs.budget import BudgetTracker
    from agent.evaluation.runs.sweep import SweepFolder, plan_sweep, read_sweep
    from tui import terminal
    from tui.commands.output import finish
    from tui.commands.report import show_standings
    from tui.commands.running import check_prices, play_run, remarks

    sweep = read_sweep(file)
    folder = SweepFolder(out if out is not None else sweep.default_folder)
    trials = tuple(plan_sweep(sweep, flags))
    for trial in trials:
        check_prices(budget, trial.spec)
    for remark in dict.fromkeys(remark for trial in trials for remark in remarks(trial.spec)):
        terminal.note(remark)
    if dry_run:
        _dry_sweep(folder, trials, as_json)
        return
    folder.begin(trials)
    tracker = BudgetTracker(budget)
    for number, trial in enumerate(trials, start=1):
        place, workers = folder.path / trial.folder, trial.configuration.settings.workers
        opening = f"{number} of {len(trials)}: {trial.arm}, seed {trial.seed}: {trial.spec.selection}, into {place}"
        play_run(trial.spec, place, tracker, workers=workers, retry_errors=retry_errors, opening=opening)
    finish(1 if any(standing.errors for standing in show_standings(folder, as_json=as_json)) else 0)


def _dry_sweep(folder: SweepFolder, trials: tuple[ArmRun, ...], as_json: bool) -> None:
    from tui.commands.output import print_json, print_lines
    from tui.commands.running import about_cost, about_rules

    if as_json:
        runs = [{"arm": each.arm, "seed": each.seed, **each.spec.manifest.model_dump(mode="json")} for each in trials]
        print_json({"runs": runs})
        return
    lines = [f"Would play {len(trials)} runs into {folder.path}", ""]
    for trial in trials:
        config = trial.spec.config
        lines.append(f"{trial.arm}, seed {trial.seed}: {trial.spec.selection} ({config.split}) with {config.agent}")
        lines += [f"  {line}" for line in (*about_rules(trial.spec), about_cost(trial.spec, folder.path / trial.folder))]
    print_lines(lines)
