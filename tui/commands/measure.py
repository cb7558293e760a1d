"""``housequest rules measure``: the same tasks with and without a rule, or a whole book, paired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from housequest.tui.commands import options
from housequest.tui.commands.output import finish, print_json, print_lines, print_report, print_result
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.agent.evaluation.runs.sweep import Measurement, SweepFolder


@options.takes(*options.TASKS, "limit", "sample", *(name for name in options.PLAYER if name != "rules"), "workers")
def measure(
    flags: options.Flags,
    book: options.BookArgument,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="The rules to measure [the whole book].")] = None,
    alone: Annotated[bool, typer.Option("--alone", help="Show these rules alone, without the others of the book.")] = False,
    retry: options.RetryOption = None,
    budget: options.BudgetOption = None,
    shard: options.ShardOption = None,
    cluster: options.ClusterOption = None,
    out: Annotated[Path | None, options.file("--out", "FOLDER", "Where both runs go [runs/measure-...].")] = None,
    dry_run: options.DryRunOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Play the same tasks without and with a rule, or a whole book: what it is worth in success and in steps.

    Both runs get the other accepted rules of the book, unless --alone is given. If interrupted, the same command resumes.
    """
    from housequest.agent.config import configure
    from housequest.agent.evaluation.render.comparison import ComparisonReport, sides
    from housequest.agent.evaluation.runs.budget import BudgetTracker, read_budget
    from housequest.agent.evaluation.runs.sweep import SweepFolder, measured, plan_measurement
    from housequest.tui.commands.running import announce, play_run, run_options, shard_folder, shard_played

    if alone and not ids:
        raise ConfigurationError("--alone: no rule is named; give its id, or leave it out to measure the whole book.")
    limits, how = read_budget(budget or ()), run_options(retry, shard, cluster)
    configuration = configure(flags)
    settings = configuration.settings
    measurement = plan_measurement(configuration, book, ids or (), alone=alone)
    folder = SweepFolder(shard_folder(out or measurement.default_folder, out, how))
    announce([trial.spec for trial in measurement.trials], limits)
    if dry_run:
        manifests = {trial.arm: trial.spec.manifest.model_dump(mode="json") for trial in measurement.trials}
        print_result(manifests, _dry_run(measurement, folder), as_json=as_json)
        return
    measurement.begin(folder)
    tracker = BudgetTracker(limits)
    for trial in measurement.trials:
        run = folder.run(trial.folder).path
        opening = f"{trial.arm}: {trial.spec.config.split}, {trial.spec.selection}, into {run}"
        play_run(trial.spec, run, tracker, replace(how, workers=settings.workers), opening)
    if how.shard is not None:
        print_lines(shard_played(how.shard, "measures"))
        return
    result = measured(measurement, folder, settings.prices_of)
    comparison, report = result.comparison, ComparisonReport(result.comparison)
    if as_json:
        about = {"book": measurement.book, "rules": [rule.id for rule in measurement.rules], "told": result.told}
        print_json({**about, **report.data()})
    else:
        first, second = comparison.first.folder.path, comparison.second.folder.path
        print_lines([f"{_measured(measurement)}, told in {result.told} of {len(comparison.pairs)} episodes", ""])
        print_report(report)
        print_lines(["", f"The runs: housequest compare {first} {second}"])
    finish(1 if any(each.outcome == "error" for side in sides(comparison) for each in side) else 0)


def _dry_run(measurement: Measurement, folder: SweepFolder) -> Iterator[str]:
    from housequest.tui.commands.running import about_cost, about_rules

    yield f"Would play two runs into {folder.path}, which differ in {_measured(measurement)} alone."
    for trial in measurement.trials:
        spec = trial.spec
        yield from ("", f"{trial.arm}: {spec.selection} ({spec.config.split}) with {spec.config.agent}, {spec.config.model}")
        yield from (*(about_rules(spec) or ["Rules: none."]), about_cost(spec, folder.path / trial.folder))


def _measured(measurement: Measurement) -> str:
    rules = measurement.rules
    return f"{rules[0].id} of {measurement.book}" if len(rules) == 1 else f"{len(rules)} rules of {measurement.book}"
