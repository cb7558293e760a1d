"""``housequest runs``: the runs on disk, on the screen or as a short table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tui import terminal
from tui.commands import options
from tui.commands.output import show_screen
from tui.desk.rule_text import table
from worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from tui.runs.data import RunSnapshot


def runs(
    folder: Annotated[Path | None, options.path("FOLDER", "A folder of runs, or one run [runs].")] = None,
    plain: options.PlainOption = False,
) -> None:
    """Look through runs: tasks by outcome, charts, replays, and two side by side.

    Without a terminal, or with --plain, it lists the runs.
    """
    if folder is not None and not folder.is_dir():
        raise ConfigurationError(f"{folder} is no folder; name one that holds runs, or a run's own.")
    path = folder or Path("runs")
    if terminal.has_screen() and not plain:
        from tui.runs.screen import RunsScreen

        show_screen(lambda: RunsScreen(path))
        return
    from tui.runs.data import RunSnapshot, read_run, run_folders

    found = [read_run(folder) for folder in run_folders(path)]
    rows = [_row(run) for run in found if isinstance(run, RunSnapshot)]
    if rows:
        terminal.show(table([("run", "agent", "model", "split", "done", "success", "95 %", "err"), *rows]))
    else:
        terminal.note(f"No runs in {path}; `housequest eval` makes one.")
    for each in found:
        if not isinstance(each, RunSnapshot):
            terminal.note(f"{each.path.name} is left out: {each.reason}")


def _row(run: RunSnapshot) -> tuple[str, ...]:
    config, overall = run.manifest.configuration, run.summary.overall
    ends = overall.interval
    return (
        run.name,
        config.agent,
        config.model or "-",
        config.split,
        f"{run.done}/{len(run.cells)}",
        f"{overall.success * 100:.1f} %",
        f"{ends.low * 100:.1f}-{ends.high * 100:.1f} %",
        str(overall.errors),
    )
