"""``housequest runs``: the runs on disk, on the screen or as a short table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import show_screen
from housequest.tui.desk.rule_text import table
from housequest.worlds.errors import ConfigurationError

CEILING = (
    "Ceiling: what the expert, which has no model, wins with the location prior of the run's skills (search=llm: by chance). "
    "`housequest report RUN` finds it where it is not known (?)."
)


def runs(
    folder: Annotated[Path | None, options.path_argument("FOLDER", "A folder of runs, or one run [runs].")] = None,
    plain: options.PlainOption = False,
) -> None:
    """Look through runs on the screen. Tasks by outcome, charts, replays, and two side by side.

    Without a terminal, or with --plain, it lists the runs.
    """
    if folder is not None and not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder; name one that holds runs, or a run's folder.")
    path = folder or Path("runs")
    if terminal.has_screen() and not plain:
        from housequest.tui.runs.screen import RunsScreen

        show_screen(lambda: RunsScreen(path))
        return
    from housequest.agent.evaluation.analysis.experts import kept_ceiling, prior_of
    from housequest.agent.evaluation.render.table import percent, percents
    from housequest.agent.evaluation.runs.folder import RunFolder
    from housequest.tui.runs.data import RunSnapshot, read_overview, run_folders

    rows: list[tuple[str, ...]] = []
    left_out: list[str] = []
    for run in map(read_overview, run_folders(path)):
        if not isinstance(run, RunSnapshot):
            left_out.append(f"{run.path.name} is left out: {run.reason}")
            continue
        config, overall, done = run.manifest.configuration, run.summary.overall, f"{run.done}/{len(run.cells)}"
        kept = kept_ceiling(RunFolder(run.path), config)
        ceiling = kept and kept.of([result.task for result in overall.results])
        unknown = "?" if prior_of(config) else "-"
        figures = (done, percent(overall.success), percents(overall.interval), percent(ceiling.success) if ceiling else unknown)
        rows.append((run.name, config.agent, config.model or "-", config.split, *figures, str(overall.errors)))
    if rows:
        terminal.show(table([("run", "agent", "model", "split", "done", "success", "95 %", "ceiling", "err"), *rows]))
    else:
        terminal.note(f"No runs in {path}; `housequest eval` makes one.")
    if any(row[-2] != "-" for row in rows):
        terminal.note(CEILING)
    for line in left_out:
        terminal.note(line)
