"""``housequest explore``: plays, learns rules from what was lived through, and writes them into a rulebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands import options

if TYPE_CHECKING:
    from agent.explorer.report import Acceptance, Report


def explore(
    world: options.World = None,
    engine: options.Engine = None,
    split: Annotated[str | None, typer.Option("--split", metavar="NAME", help="train or generated [train].")] = None,
    type: options.Type = None,
    episodes: Annotated[int, typer.Option("--episodes", metavar="N", help="How many tasks to play, drawn with --seed.")] = 50,
    habits: options.Habits = None,
    world_option: options.WorldOption = None,
    seed: options.Seed = None,
    agent: options.Agent = None,
    set: options.Set = None,
    model: options.Model = None,
    timeout: options.Timeout = None,
    rules: options.Rules = None,
    rules_budget: options.RulesBudget = None,
    grant: options.Grant = None,
    max_steps: options.MaxSteps = None,
    workers: Annotated[int | None, typer.Option("--workers", metavar="N", help="Episodes and calls at once [1].")] = None,
    retry: options.Retry = None,
    curiosity: Annotated[
        float, typer.Option("--curiosity", metavar="P", help="How likely a turn is a random possible command.")
    ] = 0.2,
    distiller: Annotated[
        str | None, typer.Option("--distiller", metavar="MODEL", help="Who sums up [the --model]; none: count instead.")
    ] = None,
    chunk_steps: Annotated[int, typer.Option("--chunk-steps", metavar="N", help="Steps that it reads at once.")] = 80,
    chunk_tokens: Annotated[int, typer.Option("--chunk-tokens", metavar="N", help="Tokens that these are, about.")] = 6_000,
    reply_tokens: Annotated[int, typer.Option("--reply-tokens", metavar="N", help="Tokens that its reply may have.")] = 2_048,
    into: Annotated[str, typer.Option("--into", metavar="BOOK", help="The rulebook's name, or its file.")] = "explored",
    accept: Annotated[
        str,
        typer.Option("--accept", metavar="WHO", help="Who accepts rules: person, filter (the model's) or evidence."),
    ] = "person",
    evidence: Annotated[
        list[str] | None,
        typer.Option("--evidence", metavar="RUN", help="A run to look for evidence in besides its own; may be repeated."),
    ] = None,
    budget: options.Budget = None,
    out: Annotated[str | None, typer.Option("--out", metavar="FOLDER", help="The exploration's folder [runs/...].")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Play, learn rules from what happened, check them, and put them into a book. Interrupted, the same command goes on."""
    from agent.config import configure
    from agent.evaluation.runs.budget import BudgetTracker, read_budget
    from agent.explorer.chunks import ChunkSize
    from agent.explorer.explore import ExploreTarget
    from agent.explorer.plan import ExploreOptions, plan_exploration
    from tui import terminal
    from tui.commands.exploring import check_prices, play_exploration
    from tui.commands.running import about_rules, remarks, unheard
    from worlds.paths import given_path

    flags = options.settings(locals())
    again = options.retries(retry)
    limits, place = read_budget(budget or ()), None if out is None else given_path(out)
    aim = ExploreTarget(into, _acceptance(accept), tuple(given_path(run) for run in evidence or ()))
    configuration = configure(flags)
    wish = ExploreOptions(episodes, curiosity, distiller, ChunkSize(chunk_steps, chunk_tokens), reply_tokens)
    exploration = plan_exploration(configuration, wish)
    check_prices(limits, exploration)
    folder = place or exploration.default_folder
    for line in (*remarks(exploration.run), *unheard(configuration.settings, exploration.run)):
        terminal.note(line)
    learning = exploration.learning.distiller or "counting alone, for no model is named that could distil"
    about = f"{exploration.run.config.split}: {exploration.run.selection}, into {folder}; rules by {learning}, into {into}"
    if dry_run:
        terminal.show([f"Would play {about}", *about_rules(exploration.run)])
        return
    terminal.note(about)
    report = play_exploration(exploration, folder, aim, configuration.settings, BudgetTracker(limits), retry_errors=again)
    _show(report, folder, as_json)
    if report.played.errors or report.lost:
        raise typer.Exit(1)


def _acceptance(accept: str) -> Acceptance:
    from agent.explorer.report import ACCEPTANCES
    from worlds.errors import ConfigurationError, nearest, shown

    for known in ACCEPTANCES:
        if known == accept:
            return known
    raise ConfigurationError(f"--accept: {shown(accept)} is none of {', '.join(ACCEPTANCES)}.{nearest(accept, ACCEPTANCES)}")


def _show(report: Report, folder: Path, as_json: bool) -> None:
    from tui import terminal
    from tui.commands.explored import told

    if as_json:
        terminal.show(report.model_dump_json(indent=2, ensure_ascii=True).splitlines())
    else:
        terminal.show(told(report, folder))
