"""``housequest eval``, ``merge`` and ``rules measure``: episodes without a screen, into folders; the same command resumes it.

What these do is in `housequest.tui.commands.running`, which imports what playing takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import finish
from housequest.tui.commands.report import show
from housequest.worlds.errors import ConfigurationError


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
    from housequest.tui.commands.running import evaluate_run, evaluate_sweep, read_call

    call = read_call(flags, budget, retry, shard, cluster, out, dry_run=dry_run, as_json=as_json)
    if sweep is None:
        evaluate_run(call)
    else:
        evaluate_sweep(sweep, call)


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
    from housequest.tui.commands.running import measure_rules, read_call

    if alone and not ids:
        raise ConfigurationError("--alone: no rule is named; give its id, or leave it out to measure the whole book.")
    call = read_call(flags, budget, retry, shard, cluster, out, dry_run=dry_run, as_json=as_json)
    measure_rules(book, ids or (), call, alone=alone)


def merge(
    shards: Annotated[list[Path], options.path_argument("SHARD", "The folders that --shard played, all of one run.")],
    out: Annotated[
        Path | None, options.file("--out", "FOLDER", "The run's folder [the shards' without -shard-K-of-N].")
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Put the shards of a run together and print its report. The result is byte for byte the run that one machine would write.

    Shards of different runs, and episodes that are missing or there twice, are refused before anything is written.
    """
    from housequest.agent.evaluation.runs import shard

    folder = out if out is not None else shard.merged_folder(shards)
    terminal.note(f"{shard.merge(shards, folder)} episodes of {len(shards)} shards, into {folder}")
    finish(1 if show(folder, as_json=as_json) else 0)
