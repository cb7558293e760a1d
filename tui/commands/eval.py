"""``housequest eval``: many episodes headlessly into a run's folder; the same command again goes on with it."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tui.commands import options

if TYPE_CHECKING:
    from agent.config import Configuration, Settings
    from agent.evaluation.batch import Progress
    from agent.evaluation.plan import Plan

T = TypeVar("T")


def evaluate(
    world: options.World = None,
    engine: options.Engine = None,
    split: options.Split = None,
    type: options.Type = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N tasks.")] = None,
    sample: Annotated[int | None, typer.Option("--sample", metavar="N", help="Only N tasks, drawn with --seed.")] = None,
    goals: options.Goals = None,
    habits: options.Habits = None,
    seed: options.Seed = None,
    agent: options.Agent = None,
    set: options.Set = None,
    model: options.Model = None,
    timeout: options.Timeout = None,
    rules: options.Rules = None,
    grant: options.Grant = None,
    max_steps: options.MaxSteps = None,
    workers: Annotated[int | None, typer.Option("--workers", metavar="N", help="Episodes at once [1].")] = None,
    retry: Annotated[str | None, typer.Option("--retry", metavar="errors", help="Play errored episodes again.")] = None,
    out: Annotated[str | None, typer.Option("--out", metavar="FOLDER", help="The run's folder [runs/...].")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be played, and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Play many tasks with one agent and print a report. Interrupted, the same command goes on."""
    from agent.config import configure, given_path
    from agent.evaluation.plan import make_plan
    from tui import terminal
    from worlds.errors import ConfigurationError, shown

    if retry not in (None, "errors"):
        raise ConfigurationError(f"--retry: {shown(retry)} cannot be retried; give --retry errors.")
    configuration = configure(options.settings(locals()))
    plan = make_plan(configuration)
    folder = given_path(out) if out is not None else plan.default_folder
    for line in _remarks(plan):
        terminal.note(line)
    if dry_run:
        _dry_run(configuration, plan, folder, as_json)
        return
    terminal.note(f"{plan.config.split}: {plan.selection}, into {folder}")
    errors = _play(configuration.settings, plan, folder, retry is not None, as_json)
    if errors:
        raise typer.Exit(1)


def _remarks(plan: Plan) -> list[str]:
    """What a reader of the figures must know about the tasks."""
    remarks = [plan.selection.warning] if plan.selection.warning else []
    if plan.config.goals != "template":
        without = [task.id for task in plan.selection.tasks if task.wording == "template"]
        if without:
            listed = "\n".join(f"  {task}" for task in without)
            remarks.append(f"{len(without)} tasks have no goal in people's words and show the template's:\n{listed}")
    return remarks


def _dry_run(configuration: Configuration, plan: Plan, folder: Path, as_json: bool) -> None:
    from tui import terminal
    from tui.text import printable

    if as_json:
        typer.echo(plan.manifest.model_dump_json(indent=2))
        return
    set_by = [(key, configuration.origin(key)) for key in sorted(configuration.origins)]
    lines = [
        f"Would play {plan.selection} ({plan.config.split}) into {folder}",
        "",
        json.dumps(plan.config.model_dump(mode="json"), indent=2),
        "",
        *(f"{key} is set by {origin}" for key, origin in set_by),
        "",
        *(f"{task.number:>4}  {task.id}" for task in plan.selection.tasks),
    ]
    terminal.show(printable(line) for line in lines)


def _play(settings: Settings, plan: Plan, folder: Path, retry_errors: bool, as_json: bool) -> int:
    import asyncio

    from agent.evaluation.batch import run_batch
    from agent.evaluation.report import as_json as figures
    from agent.evaluation.report import as_text
    from tui import terminal
    from tui.text import printable

    line = ProgressLine()
    try:
        summary = asyncio.run(
            _until_interrupted(
                run_batch(
                    plan,
                    folder,
                    workers=settings.workers,
                    retry_errors=retry_errors,
                    time_limit=settings.timeout,
                    watcher=line,
                )
            )
        )
    except (KeyboardInterrupt, asyncio.CancelledError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all that is left is to end other processes and leave
        line.close()
        terminal.note(f"Interrupted; {line.done} of {len(plan.selection.tasks)} finished. The same command goes on with it.")
        raise typer.Exit(130) from None
    line.close()
    if line.left == 0:
        terminal.note("All of them were played before; nothing was left to play.")
    text = json.dumps(figures(plan.manifest, summary), indent=2) if as_json else as_text(plan.manifest, summary)
    terminal.show(printable(text).splitlines())
    if as_json and summary.errored:
        terminal.note(f"{len(summary.errored)} episodes errored; --retry errors plays them again.")
    return summary.overall.errors


async def _until_interrupted(work: Coroutine[Any, Any, T]) -> T:
    """``work``, cancelled by Ctrl-C, however often that is pressed.

    By default a second one raises wherever the event loop is, and what the loop was about to wake then sleeps for ever.
    """
    import asyncio

    task = asyncio.ensure_future(work)
    # Where interrupts are ignored, or a loop cannot be told of them (on Windows), they stay as they are.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    return await task


class ProgressLine:
    """How far a run is: on a terminal a line that is written over itself, elsewhere a line for every tenth of the way."""

    def __init__(self) -> None:
        import sys

        from tui.terminal import is_terminal

        self._live = sys.stderr if is_terminal(sys.stderr) else None
        self._tenth = 0
        self.done = 0
        self.left: int | None = None
        """How many episodes were left to play when the run began; None before it did."""

    def __call__(self, progress: Progress) -> None:
        """Show ``progress``."""
        from tui import terminal

        self.done = progress.done
        if self.left is None:
            self.left = progress.total - progress.done
        resumed = f", {progress.resumed} from before" if progress.resumed else ""
        errors = f", {progress.errors} with errors" if progress.errors else ""
        text = f"{progress.done} of {progress.total} played, {progress.won} won{errors}{resumed}"
        if self._live is not None:
            self._live.write(f"\r\x1b[K{text}")
            self._live.flush()
        elif self.left and (tenth := 10 * (progress.done - progress.resumed) // self.left) > self._tenth:
            self._tenth = tenth
            terminal.note(text)

    def close(self) -> None:
        """Leave the line as it is."""
        if self._live is not None:
            self._live.write("\n")
            self._live.flush()
