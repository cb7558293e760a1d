"""``housequest explore``: plays, learns rules from what happened, and writes them into a rulebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tui.commands import options

if TYPE_CHECKING:
    from agent.evaluation.runs.budget import BudgetTracker
    from agent.explorer.explore import ExploreTarget
    from agent.explorer.plan import Exploration
    from agent.explorer.report import Acceptance, FoundRule, Report

LISTED = 200
"""How many rules of a kind are listed; the others are in the folder's report."""

_CAUSES = {
    "malformed": "they could not be read as rules",
    "known": "they are in the book already",
    "duplicate": "another one says the same",
    "contradiction": "another one excludes them",
}


@options.takes(
    *(name for name in (*options.TASKS, *options.PLAYER) if name != "goals"),
    split="The split to play [the world's training split].",
    workers="Episodes and calls at once [1].",
)
def explore(
    flags: options.Flags,
    episodes: Annotated[int, typer.Option("--episodes", metavar="N", help="How many tasks to play, drawn with --seed.")] = 50,
    retry: options.RetryOption = None,
    curiosity: Annotated[
        float, typer.Option("--curiosity", metavar="P", help="How likely a turn is a random possible command.")
    ] = 0.2,
    distiller: Annotated[
        str | None, typer.Option("--distiller", metavar="MODEL", help="What derives rules [the --model]; none: only count.")
    ] = None,
    chunk_steps: Annotated[int, typer.Option("--chunk-steps", metavar="N", help="Steps that it reads at once.")] = 80,
    chunk_tokens: Annotated[int, typer.Option("--chunk-tokens", metavar="N", help="About how many tokens it reads.")] = 6_000,
    reply_tokens: Annotated[int, typer.Option("--reply-tokens", metavar="N", help="Tokens that its reply may have.")] = 2_048,
    into: options.IntoOption = "explored",
    accept: Annotated[
        str,
        options.choice(
            "--accept", "Who accepts rules: you, the model's filter, or the evidence.", *("person", "filter", "evidence")
        ),
    ] = "person",
    evidence: Annotated[
        list[Path] | None,
        options.file("--evidence", "RUN", "Another run to look for evidence in; repeatable."),
    ] = None,
    budget: options.BudgetOption = None,
    out: Annotated[Path | None, options.file("--out", "FOLDER", "The exploration's folder [runs/...].")] = None,
    dry_run: options.DryRunOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Play, learn rules from what happened, check them, and put them into a book. Interrupted, the same command goes on."""
    from agent.config import configure
    from agent.evaluation.runs.budget import BudgetTracker, read_budget
    from agent.explorer.chunks import ChunkSize
    from agent.explorer.explore import ExploreTarget
    from agent.explorer.plan import ExploreOptions, plan_exploration
    from tui import terminal
    from tui.commands.output import finish, print_lines, print_text
    from tui.commands.running import about_rules, check_price, check_prices, ignored_rules, remarks

    limits = read_budget(budget or ())
    target = ExploreTarget(into, cast("Acceptance", accept), tuple(evidence or ()))
    configuration = configure(flags)
    settings = configuration.settings
    wanted = ExploreOptions(episodes, curiosity, distiller, ChunkSize(chunk_steps, chunk_tokens), reply_tokens)
    exploration = plan_exploration(configuration, wanted)
    check_prices(limits, exploration.run)
    check_price(limits, exploration.learning.distiller, exploration.prices)
    folder = out or exploration.default_folder
    for line in (*remarks(exploration.run), *ignored_rules(settings.rules, exploration.run)):
        terminal.note(line)
    learning = exploration.learning.distiller or "counting alone, for no model is named that could distil"
    about = f"{exploration.run.config.split}: {exploration.run.selection}, into {folder}; rules by {learning}, into {into}"
    if dry_run:
        print_lines([f"Would play {about}", *about_rules(exploration.run)])
        return
    terminal.note(about)
    tracker, again = BudgetTracker(limits), retry is not None
    report = _explore(exploration, folder, target, tracker, workers=settings.workers, retry_errors=again)
    if as_json:
        print_text(report.model_dump_json(indent=2, ensure_ascii=True))
    else:
        print_lines(report_lines(report, folder))
    finish(1 if report.played.errors or report.lost else 0)


def _explore(
    exploration: Exploration, folder: Path, target: ExploreTarget, tracker: BudgetTracker, *, workers: int, retry_errors: bool
) -> Report:
    """Carry an exploration out. Interrupted or stopped, it says so and raises ``typer.Exit(130)``."""
    from agent.evaluation.runs.batch import RunOptions
    from agent.explorer.explore import ExploreCallbacks, explore
    from tui.commands.running import ProgressLine, carry_out

    playing, learning = ProgressLine(), ProgressLine()

    def say(text: str) -> None:
        playing.close()
        learning.say(text)

    chosen = RunOptions(workers=workers, retry_errors=retry_errors, watcher=playing, beat=playing.beat, say=say)
    total = len(exploration.run.selection.tasks)

    def standing() -> str:
        played = f"{playing.done} of {total} episodes played"
        return played if learning.left is None else f"{played}, {learning.done} of {learning.left} chunks read"

    try:
        return carry_out(
            explore(exploration, folder, target, chosen, tracker, ExploreCallbacks(learning, say)), playing, standing
        )
    finally:
        learning.close()


def report_lines(report: Report, folder: Path) -> Iterator[str]:
    """The report of an exploration, line by line."""
    from tui.desk.rule_text import STANDING_MARKS, STATEMENT, shortened, table
    from tui.text import plural

    def row(found: FoundRule) -> tuple[str, ...]:
        figures = f"{found.supports}/{found.contradicts}" if found.supports or found.contradicts else "-"
        mark = STANDING_MARKS[found.standing]
        return (found.id, found.status, found.kind or "-", figures, mark, shortened(found.statement, STATEMENT))

    played = report.played
    chance = f", {played.curious:,} of them chance's" if played.curious else ""
    yield f"played    {plural(played.episodes, 'episode')}, {played.won} won; {plural(played.steps, 'command')}{chance}"
    if report.distiller is None:
        yield "learned   by counting alone: no model was named that could distil (--distiller MODEL)"
    else:
        spent = f"{plural(report.calls, 'call')}, {report.tokens:,} tokens"
        yield f"learned   from {plural(report.chunks, 'chunk')} with {report.distiller}: {spent}"
    statuses = Counter(found.status for found in report.found)
    by_status = ", ".join(f"{number} {status}" for status, number in sorted(statuses.items()))
    yield f"found     {len(report.found)} of {plural(report.proposed, 'proposed rule')}{f': {by_status}' if by_status else ''}"
    if report.besides:
        yield f"evidence  from {', '.join(report.besides)} too"
    yield f"book      {report.into}"
    yield f"folder    {folder}"
    if report.found:
        yield ""
        yield from table([("id", "status", "kind", "for/against", "", "statement"), *map(row, report.found[:LISTED])])
        yield from _more(len(report.found))
    yield from _section("To be looked at", [f"  {found.id}: {found.note}" for found in report.found if found.note])
    unread = [f"  {bad.check}\n    {bad.why}" for bad in report.checks]
    yield from _section("Checks that could not be read, whose rules stay without one", unread)
    failed = [f"  {lost.what}: {lost.why}{' The same command tries it again.' if lost.again else ''}" for lost in report.lost]
    yield from _section("What came to nothing", failed)
    for cause, why in _CAUSES.items():
        dropped = [each for each in report.dropped if each.cause == cause]
        lines = [f"  {shortened(each.statement, 2 * STATEMENT)}\n    {each.why}" for each in dropped]
        yield from _section(f"Dropped, since {why}", lines)


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield f"{title} ({len(lines)}):"
        yield from lines[:LISTED]
        yield from _more(len(lines))


def _more(number: int) -> Iterator[str]:
    if number > LISTED:
        yield f"  and {number - LISTED} more, in report.json"
