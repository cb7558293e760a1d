"""``housequest runs``: the runs on disk, on the screen or as a short table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from tui.runs.data import RunSnapshot


def runs(
    folder: Annotated[str | None, typer.Argument(metavar="[FOLDER]", help="Where the runs are, or a run's own [runs].")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="A table in plain text, without the screen.")] = False,
) -> None:
    """Look through runs: tasks by outcome, charts, replays, and two side by side.

    Where there is no terminal, and with --plain, the runs are listed.
    """
    from tui import terminal
    from worlds.errors import ConfigurationError
    from worlds.paths import given_path

    path = given_path(folder or "runs")
    if folder is not None and not path.is_dir():
        raise ConfigurationError(f"{path} is no folder; name one that holds runs, or a run's own.")
    if plain or not terminal.has_screen():
        _list(path)
        return
    from tui.app import HousequestApp
    from tui.runs.screen import RunsScreen

    app = HousequestApp(lambda: RunsScreen(path))
    app.run()
    if app.return_code:
        raise typer.Exit(app.return_code)


def _list(path: Path) -> None:
    from tui import terminal
    from tui.runs.data import RunSnapshot, read_run, run_folders
    from tui.text import printable

    found = [read_run(folder) for folder in run_folders(path)]
    rows = [_row(run) for run in found if isinstance(run, RunSnapshot)]
    if rows:
        table = [("run", "agent", "model", "split", "done", "success", "95 %", "err"), *rows]
        widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
        terminal.show("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)
    else:
        terminal.note(f"No runs in {path}; `housequest eval` makes one.")
    for each in found:
        if not isinstance(each, RunSnapshot):
            terminal.note(f"{printable(each.path.name)} is left out: {each.reason}")


def _row(run: RunSnapshot) -> tuple[str, ...]:
    from tui.text import printable

    config, overall = run.manifest.configuration, run.summary.overall
    ends = overall.interval
    cells = (
        run.name,
        config.agent,
        config.model or "-",
        config.split,
        f"{run.done}/{len(run.cells)}",
        f"{overall.success * 100:.1f} %",
        f"{ends.low * 100:.1f}-{ends.high * 100:.1f} %",
        str(overall.errors),
    )
    return tuple(printable(cell) for cell in cells)
