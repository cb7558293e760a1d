"""``housequest merge``: the shards of a run become the run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import finish, print_report
from housequest.tui.commands.report import searching, show_sweep


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
    from housequest.agent.config import configure
    from housequest.agent.evaluation.render.report import RunReport, read_summary
    from housequest.agent.evaluation.runs.folder import RunFolder
    from housequest.agent.evaluation.runs.shard import merge as put_together
    from housequest.agent.evaluation.runs.shard import merged_folder
    from housequest.agent.evaluation.runs.sweep import SweepFolder

    folder = out if out is not None else merged_folder(shards)
    merged = put_together(shards, folder)
    terminal.note(f"{merged.episodes} episodes of {len(shards)} shards, into {folder}")
    if merged.sweep:
        finish(1 if show_sweep(SweepFolder(folder), as_json=as_json) else 0)
        return
    manifest, summary = read_summary(RunFolder(folder), configure(uses=()).settings.prices_of, searching)
    print_report(RunReport(manifest, summary), as_json=as_json)
    finish(1 if summary.overall.errors else 0)
