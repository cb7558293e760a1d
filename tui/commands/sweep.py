"""The runs of a sweep, one after another, and their table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import typer

from agent.evaluation.analysis.standings import ArmFigures, SweepReport, read_arms
from agent.evaluation.runs.budget import Budget, BudgetTracker
from agent.evaluation.runs.estimate import estimate
from agent.evaluation.runs.sweep import ArmRun, SweepFolder, plan_sweep, read_sweep
from tui import terminal
from tui.commands.running import Round, about_rules, check_budget, play_round, remarks
from tui.text import printable


def play_sweep(
    file: Path, out: Path | None, flags: Mapping[str, object], budget: Budget, *, retry: bool, dry_run: bool, as_json: bool
) -> None:
    """Play all runs of a sweep with all the workers, or go on with it, and print its table; errors end it with 1."""
    sweep = read_sweep(file)
    folder = SweepFolder(out if out is not None else sweep.default_folder)
    trials = tuple(plan_sweep(sweep, flags))
    for trial in trials:
        check_budget(budget, trial.spec)
    for remark in dict.fromkeys(remark for trial in trials for remark in remarks(trial.spec)):
        terminal.note(remark)
    if dry_run:
        _dry_run(folder, trials, as_json=as_json)
        return
    folder.begin(trials)
    tracker = BudgetTracker(budget)
    for number, trial in enumerate(trials, start=1):
        settings, place = trial.configuration.settings, folder.path / trial.folder
        opening = f"{number} of {len(trials)}: {trial.arm}, seed {trial.seed}: {trial.spec.selection}, into {place}"
        play_round(Round(trial.spec, place, settings, retry, opening), tracker)
    standings = show_standings(folder, as_json=as_json)
    if any(standing.errors for standing in standings):
        raise typer.Exit(1)


def show_standings(folder: SweepFolder, *, as_json: bool) -> tuple[ArmFigures, ...]:
    """Print the table of the sweep in ``folder``. Raises ``ConfigurationError``."""
    from agent.config import configure

    standings = read_arms(folder, configure().settings.prices_of)
    terminal.show(printable(SweepReport(standings).render(as_json=as_json)).splitlines())
    return standings


def _dry_run(folder: SweepFolder, trials: tuple[ArmRun, ...], *, as_json: bool) -> None:
    if as_json:
        runs = [{"arm": each.arm, "seed": each.seed, **each.spec.manifest.model_dump(mode="json")} for each in trials]
        typer.echo(json.dumps({"runs": runs}, indent=2))
        return
    lines = [f"Would play {len(trials)} runs into {folder.path}", ""]
    for trial in trials:
        config, model = trial.spec.config, trial.spec.setup.model
        lines.append(f"{trial.arm}, seed {trial.seed}: {trial.spec.selection} ({config.split}) with {config.agent}")
        lines += [f"  {line}" for line in about_rules(trial.spec)]
        about = estimate(trial.spec, folder.path / trial.folder) if model else None
        lines.append(f"  {about or ('What it would cost cannot be told yet.' if model else 'No calls of a model.')}")
    terminal.show(printable(line) for line in lines)
