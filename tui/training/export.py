"""``housequest export``: training data, from recorded episodes or from the expert's games in an agent's prompts."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, TextIO

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.text import plural
from housequest.worlds.errors import ConfigurationError, KnowledgeError
from housequest.worlds.paths import open_file

_GRANTS = ("admissible", "diagnosis", "type")
_FORMATS = ("messages", "sharegpt", "alpaca", "steps", "dpo")


def export(
    runs: Annotated[list[Path] | None, options.path_argument("RUN", "Runs' folders and episodes' files.")] = None,
    format: Annotated[str, options.choice("--format", "The format of a line.", *_FORMATS)] = "messages",
    all_: Annotated[bool, typer.Option("--all", help="Also episodes that were not won.")] = False,
    as_: Annotated[str | None, options.value("--as", "AGENT", "Without runs: the expert plays as this agent.")] = None,
    set_: Annotated[list[str] | None, options.value("--set", "KEY=VALUE", "A setting of that agent; repeatable.")] = None,
    grant: Annotated[
        list[str] | None, options.choice("--grant", "What that agent sees beyond text; repeatable.", *_GRANTS)
    ] = None,
    split: Annotated[
        str | None, options.value("--split", "SPLIT", "What it plays: train, example, generated, generated:SEED [train].")
    ] = None,
    games: Annotated[int | None, options.value("--games", "N", "How many games, drawn with --seed [all; 1000 houses].")] = None,
    people: Annotated[bool, typer.Option("--people", help="Those games also with the goals that people wrote.")] = False,
    missteps: Annotated[
        float | None, options.value("--missteps", "P", "How often it does something random, not to be learned [0].")
    ] = None,
    workers: options.WorkersOption = None,
    cluster: options.ClusterOption = None,
    shard: Annotated[
        str | None, options.value("--shard", "K/N", "Every N-th game from the K-th; all shards together are the whole.")
    ] = None,
    data: Annotated[Path | None, options.file("--data", "FOLDER", "Where the games are [$ALFWORLD_DATA].")] = None,
    seed: Annotated[int, options.value("--seed", "N", "The order of the episodes, and all other draws.")] = 1,
    out: Annotated[Path | None, options.written("--out", "data set", "Write it there [standard output].", ".jsonl")] = None,
) -> None:
    """Write training data from won episodes, or the expert's games. One line of JSON each.

    Splits that agents are evaluated on are never exported.
    """
    from housequest.agent.config import pairs
    from housequest.agent.evaluation.runs.shard import read_shard
    from housequest.agent.training.export.formats import FORMATS
    from housequest.agent.training.export.recorded import RecordedEpisodes
    from housequest.agent.training.lora.games import Demonstrations
    from housequest.tui.commands.running import pool

    if as_ is None:
        of_the_expert = {"--set": set_, "--split": split, "--games": games, "--people": people}
        of_the_expert |= {"--grant": grant, "--missteps": missteps, "--workers": workers}
        of_the_expert |= {"--cluster": cluster, "--shard": shard, "--data": data}
        if given := [flag for flag, value in of_the_expert.items() if value not in (None, False)]:
            raise ConfigurationError(f"{', '.join(given)}: for the expert's games alone; name an agent with --as.")
        if not runs:
            raise ConfigurationError("There is nothing to export: give runs, or an agent with --as, such as --as react.")
        episodes: RecordedEpisodes | Demonstrations = RecordedEpisodes(tuple(runs), lost=all_, seed=seed)
    else:
        if runs or all_ or format == "dpo":
            other = "RUN" if runs else "--all" if all_ else "--format dpo"
            raise ConfigurationError(f"--as: the expert plays now and wins; leave out {other}, or --as.")
        if games is not None and games < 1:
            raise ConfigurationError(f"--games: {games} is too few; give at least 1.")
        processes, machines = pool(workers, cluster)
        episodes = Demonstrations(
            as_,
            split or "train",
            games,
            pairs(set_ or (), "--set"),
            missteps or 0.0,
            people,
            seed,
            data,
            grants=frozenset(grant or ()),
            workers=processes,
            cluster=machines,
            shard=None if shard is None else read_shard(shard),
        )
    played = lines = 0
    line = terminal.StatusLine()
    try:
        with _output(out) as file:
            for played, episode in enumerate(episodes, 1):
                for each in FORMATS[format](episode):
                    file.write(json.dumps(each) + "\n")
                    lines += 1
                if out is not None and not played % 50:
                    line.write(f"{played:,} episodes")
            if not lines:
                raise KnowledgeError(f"There is nothing to export{_left_out(episodes.left_out)}.")
    finally:
        line.close()
    terminal.note(f"{plural(lines, 'line')} of {plural(played, 'episode')}{_left_out(episodes.left_out)}")


@contextmanager
def _output(out: Path | None) -> Generator[TextIO]:
    """Where lines go: a file that is there once it is whole, or standard output."""
    if out is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f"{out.name}.part")
    try:
        with TextIOWrapper(open_file(part, "wb"), encoding="utf-8", newline="\n") as file:
            yield file
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _left_out(left_out: Counter[str]) -> str:
    """What was left out and why, to follow a sentence."""
    told = ", ".join(f"{number:,} {why}" for why, number in sorted(left_out.items()))
    return f"; left out: {told}" if told else ""
