"""``housequest eval --world alfred-plans``: whole plans for ALFRED's instructions, scored; and their report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from agent.config import Configuration
    from agent.evaluation.runs.budget import Budget
    from agent.plans.run import PlanManifest, PlanRun
    from agent.plans.work import PlanResult

_ELSEWHERE = ("engine", "goals", "habits", "rules", "grant", "max_steps")
"""Settings that say how a game is played; where a flag gives them, they are refused, for nothing is played."""


def evaluate_plans(configuration: Configuration, folder: Path | None, limits: Budget, *, dry_run: bool, as_json: bool) -> None:
    """Ask a planner for its plans and print what they are worth. Interrupted, the same command goes on."""
    from agent.evaluation.runs.budget import BudgetTracker
    from agent.plans.run import make_run
    from agent.plans.work import PlanRunOptions, carry_out
    from tui import terminal
    from tui.commands import running
    from tui.commands.progress import ProgressLine
    from worlds.errors import ConfigurationError

    settings = configuration.settings
    for key in _ELSEWHERE:
        place = configuration.origin(key)
        if place.startswith("--"):
            flag = place.partition(" in ")[0]
            raise ConfigurationError(f"{flag} is for games, and plans are only scored; leave it out.")
    prices = settings.prices_of(settings.model) if settings.model else None
    if limits.money is not None and prices is None:
        raise ConfigurationError("--budget money: no price of the model is known; give a budget of calls or tokens.")
    run = make_run(settings)
    place = folder or run.default_folder
    if dry_run:
        _dry_run(run, place, as_json)
        return
    terminal.note(f"{len(run.tasks)} of {run.manifest.of} instructions ({run.config.split}), into {place}")
    line = ProgressLine()
    sitting = PlanRunOptions(settings.workers, settings.timeout, prices, line)
    work = carry_out(run, place, sitting, BudgetTracker(limits))
    rows = running.carry_out(work, line, lambda: f"{line.done} of {len(run.tasks)} finished")
    _show(run.manifest, rows, as_json)
    if any(row.outcome == "error" for row in rows):
        terminal.note("Some calls of the model failed; the same command asks for those plans again.")
        raise typer.Exit(1)


def report_plans(folder: Path, *, as_json: bool) -> None:
    """Print the figures of a run that was carried out before."""
    from agent.plans.work import read_manifest, read_rows

    _show(read_manifest(folder), read_rows(folder), as_json)


def _dry_run(run: PlanRun, folder: Path, as_json: bool) -> None:
    from tui import terminal
    from tui.text import printable

    if as_json:
        typer.echo(run.manifest.model_dump_json(indent=2))
        return
    lines = [
        f"Would ask for {len(run.tasks)} plans ({run.config.split}), with {len(run.pool.examples)} examples, into {folder}",
        "",
        run.config.model_dump_json(indent=2),
        "",
        *(f"{task.id}  {task.instruction.goal}" for task in run.tasks),
    ]
    terminal.show(printable(line) for text in lines for line in text.split("\n"))


def _show(manifest: PlanManifest, rows: list[PlanResult], as_json: bool) -> None:
    from agent.plans.report import PlansReport
    from tui import terminal
    from tui.text import printable

    terminal.show(printable(PlansReport(manifest, rows).render(as_json=as_json)).splitlines())
