"""Playing a run from the command line: what is shown meanwhile, and how it may end before it is through."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer

from agent.config import Settings
from agent.evaluation.runs.batch import RunOptions, run_batch
from agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped
from agent.evaluation.runs.spec import RunSpec
from tui import terminal
from tui.commands.progress import ProgressLine
from worlds.errors import ConfigurationError, shown

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Round:
    """A run that is to be played, or gone on with: what, where, and with which of the settings that are not the run's.

    ``opening`` announces it, once it has begun.
    """

    spec: RunSpec
    folder: Path
    settings: Settings
    retry_errors: bool = False
    opening: str = ""


def remarks(spec: RunSpec) -> list[str]:
    """What a reader of the figures must know about the tasks."""
    remarks = [spec.selection.warning] if spec.selection.warning else []
    if spec.config.goals != "template":
        without = [task.id for task in spec.selection.tasks if task.wording == "template"]
        if without:
            listed = "\n".join(f"  {task}" for task in without)
            tasks = "1 task has" if len(without) == 1 else f"{len(without)} tasks have"
            remarks.append(f"{tasks} no goal in people's words, and the template's is shown:\n{listed}")
    return remarks


def unheard(settings: Settings, spec: RunSpec) -> list[str]:
    """That rules were given to an agent that takes none."""
    told = settings.rules is not None and spec.config.rules is None
    return [f"The agent {spec.config.agent!r} takes no rules; it plays without {shown(settings.rules)}."] if told else []


def about_rules(spec: RunSpec) -> list[str]:
    """How many rules an episode may be told, and about how many tokens they are."""
    from knowledge.choosing import tokens, topic_of

    if spec.config.rules is None:
        return []
    file, offered, granted = spec.config.rules.file, spec.config.rules.offered, "type" in spec.config.grants
    # Many tasks are about the same, and only the fewest and the most are told.
    reader = spec.setup.world.household
    topics = {topic_of(task.goal, task.type if granted else None, None, reader) for task in spec.selection.tasks}
    first = [offered.about(each).next() for each in topics]
    numbers, costs = map(len, first), (sum(tokens(rule.statement) for rule in chosen) for chosen in first)
    return [
        f"Rules: {len(offered.rules)} accepted in {file}, about {offered.cost:,} tokens; an episode is told those that "
        f"matter, at most about {offered.budget or offered.cost:,} tokens.",
        f"By its goal an episode begins with {_spread(numbers)} of them, about {_spread(costs)} tokens.",
    ]


def _spread(numbers: Iterable[int]) -> str:
    """From the least to the most."""
    ends = sorted(numbers)
    return f"{ends[0]:,}" if ends[0] == ends[-1] else f"{ends[0]:,} to {ends[-1]:,}"


def check_budget(budget: Budget, spec: RunSpec) -> None:
    """Raises ``ConfigurationError`` for a budget of money where no price is known."""
    if budget.money is not None and spec.setup.model is not None and spec.setup.prices is None:
        name = spec.config.model or ""
        raise ConfigurationError(
            f"--budget money: no price of {shown(name)} is known; write [prices.{_quoted(name)}] with input and output, each "
            "per million tokens, into housequest.toml, or give a budget of calls or tokens."
        )


def play_round(round: Round, tracker: BudgetTracker, told: Callable[[ProgressLine], None] | None = None) -> None:
    """Play a run to its end. Interrupted, or stopped by ``tracker`` or its model, it says so and raises ``typer.Exit(130)``."""
    spec, settings = round.spec, round.settings
    line = ProgressLine(round.opening)
    options = RunOptions(
        workers=settings.workers,
        retry_errors=round.retry_errors,
        watcher=line,
        beat=line.beat,
        say=line.say,
    )
    total = len(spec.selection.tasks)
    carry_out(run_batch(spec, round.folder, options, tracker), line, lambda: f"{line.done} of {total} finished")
    if told is not None:
        told(line)


def carry_out(work: Coroutine[Any, Any, T], line: ProgressLine, standing: Callable[[], str]) -> T:
    """What ``work``, which ``line`` tells of, comes to.

    Interrupted, or stopped by its tracker or its model, it says so with how it is ``standing``, and raises ``typer.Exit(130)``.
    """
    try:
        return asyncio.run(_until_interrupted(work))
    except (KeyboardInterrupt, asyncio.CancelledError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all that is left is to end other processes and leave
        line.close()
        terminal.note(f"Interrupted; {standing()}. The same command goes on with it.")
        raise typer.Exit(130) from None
    except Stopped as stopped:
        line.close()
        terminal.note(f"housequest: {stopped}\n{standing()}. {stopped.way_on}")
        raise typer.Exit(130) from None
    finally:
        line.close()


async def _until_interrupted(work: Coroutine[Any, Any, T]) -> T:
    """``work``, cancelled by Ctrl-C, however often that is pressed.

    By default a second one raises wherever the event loop is, and what the loop was about to wake then sleeps for ever.
    """
    task = asyncio.ensure_future(work)
    # Where interrupts are ignored, or a loop cannot be told of them (on Windows), they stay as they are.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    return await task


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
