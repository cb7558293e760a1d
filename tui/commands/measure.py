"""``housequest rules measure``: the same tasks with and without a rule, or a whole book, paired."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands import options

if TYPE_CHECKING:
    from agent.evaluation.runs.measurement import Measurement, MeasurementResult
    from agent.evaluation.runs.sweep import SweepFolder


def measure(
    book: Annotated[str, typer.Argument(metavar="BOOK", help="A rulebook's name, or its file.")],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="The rules to measure [the whole book].", show_default=False)
    ] = None,
    alone: Annotated[bool, typer.Option("--alone", help="Tell these rules alone, without the others of the book.")] = False,
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
    rules_budget: options.RulesBudget = None,
    grant: options.Grant = None,
    max_steps: options.MaxSteps = None,
    workers: options.Workers = None,
    retry: options.Retry = None,
    budget: options.Budget = None,
    out: Annotated[str | None, typer.Option("--out", metavar="FOLDER", help="Where both runs go [runs/measure-...].")] = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
) -> None:
    """Play the same tasks without and with a rule, or a whole book: what it is worth in success and in steps.

    Both are told the other accepted rules of the book, unless --alone is given. Interrupted, the same command goes on.
    """
    from agent.config import configure
    from agent.evaluation.runs.budget import BudgetTracker, read_budget
    from agent.evaluation.runs.measurement import measured, plan_measurement
    from agent.evaluation.runs.sweep import SweepFolder
    from tui import terminal
    from tui.commands.running import Round, check_budget, play_round, remarks
    from worlds.errors import ConfigurationError
    from worlds.paths import given_path

    flags = options.settings(locals())
    again = options.retries(retry)
    if alone and not ids:
        raise ConfigurationError("--alone: no rule is named; give its id, or leave it out to measure the whole book.")
    limits, place = read_budget(budget or ()), None if out is None else given_path(out)
    configuration = configure(flags)
    settings = configuration.settings
    measurement = plan_measurement(configuration, book, ids or (), alone=alone)
    folder = SweepFolder(place or measurement.default_folder)
    for trial in measurement.trials:
        check_budget(limits, trial.spec)
    for line in remarks(measurement.trials[0].spec):
        terminal.note(line)
    if dry_run:
        _dry_run(measurement, folder, as_json)
        return
    measurement.begin(folder)
    tracker = BudgetTracker(limits)
    for trial in measurement.trials:
        run = folder.run(trial.folder)
        opening = f"{trial.arm}: {trial.spec.config.split}, {trial.spec.selection}, into {run.path}"
        play_round(Round(trial.spec, run.path, settings, again, opening), tracker)
    if _show(measured(measurement, folder, settings.prices_of), as_json):
        raise typer.Exit(1)


def _dry_run(measurement: Measurement, folder: SweepFolder, as_json: bool) -> None:
    from agent.evaluation.runs.estimate import estimate
    from tui import terminal
    from tui.commands.running import about_rules
    from tui.text import printable

    if as_json:
        manifests = {trial.arm: trial.spec.manifest.model_dump(mode="json") for trial in measurement.trials}
        typer.echo(json.dumps(manifests, indent=2))
        return
    lines = [f"Would play two runs into {folder.path}, which differ in {_measured(measurement)} alone."]
    for trial in measurement.trials:
        spec = trial.spec
        lines += ["", f"{trial.arm}: {spec.selection} ({spec.config.split}) with {spec.config.agent}, {spec.config.model}"]
        lines += about_rules(spec) or ["Rules: none."]
        lines.append(str(estimate(spec, folder.path / trial.folder) or "What it would cost cannot be told yet."))
    terminal.show(printable(line) for line in lines)


def _show(result: MeasurementResult, as_json: bool) -> int:
    """Print what came of it; how many episodes errored."""
    from agent.evaluation.render.comparison import ComparisonReport, sides
    from tui import terminal
    from tui.text import printable

    measurement, comparison = result.measurement, result.comparison
    if as_json:
        about = {"book": measurement.book, "rules": [rule.id for rule in measurement.rules], "told": result.told}
        text = json.dumps({**about, **ComparisonReport(comparison).data()}, indent=2)
    else:
        first, second = comparison.first.folder.path, comparison.second.folder.path
        text = (
            f"{_measured(measurement)}, told in {result.told} of {len(comparison.pairs)} episodes\n\n{ComparisonReport(comparison).text()}\n"
            f"The runs: housequest compare {first} {second}\n"
        )
    terminal.show(printable(text).splitlines())
    return sum(each.outcome == "error" for side in sides(comparison) for each in side)


def _measured(measurement: Measurement) -> str:
    rules = measurement.rules
    return f"{rules[0].id} of {measurement.book}" if len(rules) == 1 else f"{len(rules)} rules of {measurement.book}"
