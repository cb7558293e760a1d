"""``housequest eval --world alfred-plans``: whole plans for ALFRED's instructions, scored; and their report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.config import Configuration
    from agent.evaluation.runs.budget import Budget
    from agent.plans.run import PlanManifest, PlanRun
    from agent.plans.work import PlanResult

_FOR_GAMES = ("engine", "goals", "habits", "world_option", "rules", "grant", "max_steps")
"""Settings that say how a game is played; their flags are refused."""


def evaluate_plans(configuration: Configuration, folder: Path | None, limits: Budget, *, dry_run: bool, as_json: bool) -> None:
    """Ask a planner for its plans, score them and print the figures. Interrupted, the same command goes on."""
    from agent.evaluation.runs.batch import RunOptions
    from agent.evaluation.runs.budget import BudgetTracker
    from agent.plans.run import make_run
    from agent.plans.work import carry_out
    from tui import terminal
    from tui.commands import running
    from tui.commands.output import finish
    from worlds.errors import ConfigurationError

    settings = configuration.settings
    for key in _FOR_GAMES:
        place = configuration.origin(key)
        if place.startswith("--"):
            flag = place.partition(" in ")[0]
            raise ConfigurationError(f"{flag} is for games, and plans are only scored; leave it out.")
    prices = settings.prices_of(settings.model) if settings.model else None
    running.check_price(limits, settings.model, prices)
    run = make_run(settings)
    place = folder or run.default_folder
    if dry_run:
        _dry_run(run, place, as_json)
        return
    terminal.note(f"{len(run.tasks)} of {run.manifest.of} instructions ({run.config.split}), into {place}")
    line = running.ProgressLine()
    work = carry_out(run, place, RunOptions(settings.workers, watcher=line), BudgetTracker(limits))
    rows = running.carry_out(work, line, lambda: f"{line.done} of {len(run.tasks)} finished")
    _show(run.manifest, rows, as_json)
    if any(row.outcome == "error" for row in rows):
        terminal.note("Some calls of the model failed; the same command asks for those plans again.")
        finish(1)


def report_plans(folder: Path, *, as_json: bool) -> None:
    """Print the figures of a finished run."""
    from agent.plans.work import read_manifest, read_rows

    _show(read_manifest(folder), read_rows(folder), as_json)


def _dry_run(run: PlanRun, folder: Path, as_json: bool) -> None:
    from tui.commands.output import print_lines, print_text

    if as_json:
        print_text(run.manifest.model_dump_json(indent=2))
        return
    lines = [
        f"Would ask for {len(run.tasks)} plans ({run.config.split}), with {len(run.pool.examples)} examples, into {folder}",
        "",
        run.config.model_dump_json(indent=2),
        "",
        *(f"{task.id}  {task.instruction.goal}" for task in run.tasks),
    ]
    print_lines(lines)


def _show(manifest: PlanManifest, rows: list[PlanResult], as_json: bool) -> None:
    from agent.plans.report import PlansReport
    from tui.commands.output import print_text

    print_text(PlansReport(manifest, rows).render(as_json=as_json))
