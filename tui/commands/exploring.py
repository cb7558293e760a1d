"""Playing an exploration from the command line: what is shown meanwhile, first of the run and then of learning from it."""

from __future__ import annotations

from pathlib import Path

from agent.config import Settings
from agent.evaluation.runs.batch import RunOptions
from agent.evaluation.runs.budget import Budget, BudgetTracker
from agent.explorer.explore import ExploreCallbacks, ExploreTarget, explore
from agent.explorer.plan import Exploration
from agent.explorer.report import Report
from tui.commands.progress import ProgressLine
from tui.commands.running import carry_out, check_budget
from worlds.errors import ConfigurationError, shown


def check_prices(budget: Budget, exploration: Exploration) -> None:
    """Raises ``ConfigurationError`` for a budget of money where the price of a model is not known."""
    check_budget(budget, exploration.run)
    if budget.money is not None and exploration.model is not None and exploration.prices is None:
        name = exploration.learning.distiller
        raise ConfigurationError(
            f"--budget money: no price of the distiller {shown(name)} is known; set it under [prices] in housequest.toml, or "
            "give a budget of calls or tokens."
        )


def play_exploration(
    exploration: Exploration,
    folder: Path,
    aim: ExploreTarget,
    settings: Settings,
    tracker: BudgetTracker,
    *,
    retry_errors: bool,
) -> Report:
    """Carry out an exploration to its end. Interrupted or stopped, it says so and raises ``typer.Exit(130)``."""
    playing, learning = ProgressLine(), ProgressLine()

    def say(text: str) -> None:
        playing.close()
        learning.say(text)

    sitting = RunOptions(
        workers=settings.workers,
        retry_errors=retry_errors,
        watcher=playing,
        beat=playing.beat,
        say=say,
    )
    total = len(exploration.run.selection.tasks)

    def standing() -> str:
        played = f"{playing.done} of {total} episodes played"
        return played if learning.left is None else f"{played}, {learning.done} of {learning.left} chunks read"

    try:
        work = explore(exploration, folder, aim, sitting, tracker, ExploreCallbacks(learning, say))
        return carry_out(work, playing, standing)
    finally:
        learning.close()
