"""``housequest eval``: many episodes headlessly into a run's folder; the same command again goes on with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands import options

if TYPE_CHECKING:
    from agent.config import Configuration
    from agent.evaluation.runs.spec import RunSpec
    from tui.commands.progress import ProgressLine


def evaluate(
    world: options.World = None,
    engine: options.Engine = None,
    split: options.Split = None,
    type: options.Type = None,
    limit: options.Limit = None,
    sample: options.Sample = None,
    goals: options.Goals = None,
    habits: options.Habits = None,
    world_option: options.WorldOption = None,
    seed: options.Seed = None,
    agent: options.Agent = None,
    set: options.Set = None,
    model: options.Model = None,
    timeout: options.Timeout = None,
    rules: options.Rules = None,
    rules_budget: options.RulesBudget = None,
    grant: options.Grant = None,
    max_steps: options.MaxSteps = None,
    workers: options.Workers = None,
    retry: options.Retry = None,
    budget: options.Budget = None,
    sweep: Annotated[
        str | None, typer.Option("--sweep", metavar="FILE", help="A YAML file of several runs, played as one table.")
    ] = None,
    out: Annotated[str | None, typer.Option("--out", metavar="FOLDER", help="The run's folder [runs/...].")] = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
) -> None:
    """Play many tasks with one agent and print a report. Interrupted, the same command goes on."""
    from agent.config import configure
    from agent.evaluation.runs.budget import BudgetTracker, read_budget
    from agent.evaluation.runs.spec import make_run_spec
    from tui import terminal
    from tui.commands.running import Round, check_budget, play_round, remarks, unheard
    from worlds.alfred import PLANS
    from worlds.paths import given_path

    flags = options.settings(locals())
    again = options.retries(retry)
    limits, place = read_budget(budget or ()), None if out is None else given_path(out)
    if sweep is not None:
        from tui.commands.sweep import play_sweep

        play_sweep(given_path(sweep), place, flags, limits, retry=again, dry_run=dry_run, as_json=as_json)
        return
    configuration = configure(flags)
    if configuration.settings.world == PLANS:
        from tui.commands.alfred_plans import evaluate_plans

        evaluate_plans(configuration, place, limits, dry_run=dry_run, as_json=as_json)
        return
    spec = make_run_spec(configuration)
    check_budget(limits, spec)
    folder = place or spec.default_folder
    for line in (*remarks(spec), *unheard(configuration.settings, spec)):
        terminal.note(line)
    if dry_run:
        _dry_run(configuration, spec, folder, as_json)
        return
    opening = f"{spec.config.split}: {spec.selection}, into {folder}"
    play_round(Round(spec, folder, configuration.settings, again, opening), BudgetTracker(limits), _told)
    if _report(configuration, folder, as_json):
        raise typer.Exit(1)


def _dry_run(configuration: Configuration, spec: RunSpec, folder: Path, as_json: bool) -> None:
    from tui import terminal
    from tui.commands.running import about_rules
    from tui.text import printable

    if as_json:
        typer.echo(spec.manifest.model_dump_json(indent=2))
        return
    set_by = [(key, configuration.origin(key)) for key in sorted(configuration.origins)]
    lines = [
        f"Would play {spec.selection} ({spec.config.split}) into {folder}",
        _about_cost(spec, folder),
        *about_rules(spec),
        "",
        json.dumps(spec.config.model_dump(mode="json"), indent=2),
        "",
        *(f"{key} is set by {origin}" for key, origin in set_by),
        "",
        *(f"{task.number:>4}  {task.id}" for task in spec.selection.tasks),
    ]
    terminal.show(printable(line) for line in lines)


def _about_cost(spec: RunSpec, folder: Path) -> str:
    from agent.evaluation.runs.estimate import estimate

    if spec.setup.model is None:
        return "It calls no model."
    about = estimate(spec, folder)
    return str(
        about or f"What it would cost cannot be told: no finished episode of {spec.config.agent} lies here or below runs."
    )


def _told(line: ProgressLine) -> None:
    from tui import terminal

    if line.left == 0:
        terminal.note("All of them were played before; nothing was left to play.")


def _report(configuration: Configuration, folder: Path, as_json: bool) -> int:
    """Print the figures of the run that was played; how many episodes of it errored."""
    from agent.evaluation.render.report import RunReport, read_run
    from agent.evaluation.runs.folder import RunFolder
    from tui import terminal
    from tui.commands.report import looking
    from tui.text import printable

    manifest, summary = read_run(RunFolder(folder), configuration.settings.prices_of, looking)
    terminal.show(printable(RunReport(manifest, summary).render(as_json=as_json)).splitlines())
    if as_json and summary.errored:
        terminal.note(f"{len(summary.errored)} episodes errored; --retry errors plays them again.")
    return summary.overall.errors
