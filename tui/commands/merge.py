"""``housequest merge``: the shards of a run become the run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import finish
from housequest.tui.commands.report import show


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
    from housequest.agent.evaluation.runs.shard import merge as put_together
    from housequest.agent.evaluation.runs.shard import merged_folder

    folder = out if out is not None else merged_folder(shards)
    episodes = put_together(shards, folder)
    terminal.note(f"{episodes} episodes of {len(shards)} shards, into {folder}")
    finish(1 if show(folder, as_json=as_json) else 0)
