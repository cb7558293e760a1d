"""``housequest explore``: plays, learns rules from what happened, and writes them into a rulebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from housequest.knowledge.rulebook import library
from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.desk.rule_text import STANDING_MARKS
from housequest.tui.text import cut, plural, table, words

if TYPE_CHECKING:
    from housequest.agent.explorer.plan import Acceptance, ExplorationReport, FoundRule

LISTED = 200
"""The number of rules of a kind that are listed; the others are in the folder's report."""
LONGEST = 400
"""Characters of what was dropped, which may be anything that a model wrote."""


@options.takes(
    *(name for name in (*options.TASKS, *options.PLAYER, "concurrency") if name != "goals"),
    split="The split to take tasks from; of made-up houses generated:SEED, or generated:FIRST..LAST [its training split].",
)
def explore(
    flags: options.Flags,
    episodes: int = 50,
    retry_errors: bool = False,
    curiosity: float = 0.2,
    distiller: str | None = None,
    chunk_steps: int = 80,
    chunk_tokens: int = 6_000,
    reply_tokens: int = 2_048,
    into: str = "explored",
    accept: str = "person",
    evidence: list[Path] | None = None,
    budget: list[str] | None = None,
    shard: str | None = None,
    cluster: str | None = None,
    out: Path | None = None,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Play, and learn rules from what happened.

    The rules are checked and put into a rulebook. If interrupted, the same command resumes.
    """
    from housequest.agent.config import configure
    from housequest.agent.evaluation.runs.budget import BudgetTracker
    from housequest.agent.explorer.explore import ExploreTarget
    from housequest.agent.explorer.explore import explore as carry_exploration
    from housequest.agent.explorer.plan import ExploreOptions, plan_exploration
    from housequest.agent.models.registry import destination
    from housequest.tui.commands import running
    from housequest.tui.commands.running import ProgressLine, about_rules, announce, carry_out, check_price

    call = running.EvalCall(flags, *running.read_how(budget, retry_errors, shard, cluster), out, dry_run, as_json)
    limits = call.budget
    target = ExploreTarget(into, cast("Acceptance", accept), tuple(evidence or ()))
    settings = configure(flags)
    wanted = ExploreOptions(episodes, curiosity, distiller, chunk_steps, chunk_tokens, reply_tokens)
    exploration = plan_exploration(settings, wanted)
    check_price(limits, exploration.learning.distiller, exploration.prices)
    how = replace(call.how, concurrency=settings.concurrency)
    folder = call.folder(exploration.default_folder)
    announce([exploration.run], limits, settings.rules)
    read_by = destination(exploration.model) if exploration.model is not None else None
    if read_by is not None:
        terminal.note(f"What was played goes to {read_by}, to be distilled.")
    learning = exploration.learning.distiller or "counting alone, for no model is named that could distil"
    about = f"{exploration.run.config.split}: {exploration.run.selection}, into {folder}; rules by {learning}, into {into}"
    if dry_run:
        terminal.print_lines([f"Would play {about}", *about_rules(exploration.run)])
        return
    if how.shard is not None:
        running.play_run(exploration.run, folder, BudgetTracker(limits), how, f"Shard {how.shard} of {about}")
        call.print_shard("learns from it")
        return
    terminal.note(about)
    playing, learned = ProgressLine(), ProgressLine()

    def say(text: str) -> None:
        playing.close()
        learned.say(text)

    def standing() -> str:
        played = f"{playing.done} of {len(exploration.run.selection.tasks)} episodes played"
        return played if learned.left is None else f"{played}, {learned.done} of {learned.left} chunks read"

    session = replace(how, watcher=playing, beat=playing.beat, say=say)
    tracker = BudgetTracker(limits)
    work = carry_exploration(exploration, folder, target, session, tracker, learned)
    with closing(playing), closing(learned):
        report = carry_out(work, tracker, say, standing)
    terminal.print_result(report.model_dump(mode="json"), report_lines(report, folder), as_json=as_json)
    terminal.finish(1 if report.played.errors or report.lost else 0)


def report_lines(report: ExplorationReport, folder: Path) -> Iterator[str]:
    """The report of an exploration, line by line."""

    def row(found: FoundRule) -> tuple[str, ...]:
        figures = f"{found.supports}/{found.contradicts}" if found.supports or found.contradicts else "-"
        mark = STANDING_MARKS[found.standing]
        return (found.id, found.status, found.kind or "-", figures, mark, found.statement)

    played = report.played
    chance = f", {played.curious:,} of them chance's" if played.curious else ""
    yield f"played    {plural(played.episodes, 'episode')}, {played.won} won; {plural(played.steps, 'command')}{chance}"
    if report.distiller is None:
        yield "learned   by counting alone: no model was named that could distil (--distiller MODEL)"
    elif report.distiller == "groups":
        yield "learned   by counting, and told in groups by a small network"
    else:
        spent = f"{plural(report.calls, 'call')}, {report.tokens:,} tokens"
        yield f"learned   from {plural(report.chunks, 'chunk')} with {report.distiller}: {spent}"
    statuses = Counter(found.status for found in report.found)
    by_status = ", ".join(f"{number} {status}" for status, number in sorted(statuses.items()))
    yield f"found     {len(report.found)} of {plural(report.proposed, 'proposed rule')}{f': {by_status}' if by_status else ''}"
    if report.besides:
        yield f"evidence  from {', '.join(report.besides)} too"
    yield f"book      {report.into}, in {library().find(report.into)}"
    yield f"folder    {folder}"
    if report.found:
        head = ("id", "status", "kind", "for/against", "", "statement")
        yield from ("", *table([head, *map(row, report.found[:LISTED])]), *_more(len(report.found)))
    yield from _section("To be looked at", [f"  {found.id}: {found.note}" for found in report.found if found.note])
    retired = [f"  {each.id}: {cut(each.statement, LONGEST)}\n    {each.why}" for each in report.retired]
    yield from _section("Retired in the book", retired)
    unread = [f"  {bad.check}\n    {bad.why}" for bad in report.checks]
    yield from _section("Checks that could not be read, whose rules stay without one", unread)
    failed = [f"  {lost.what}: {lost.why}{' The same command tries it again.' if lost.again else ''}" for lost in report.lost]
    yield from _section("What came to nothing", failed)
    for cause, why in words("dropped").items():
        dropped = [each for each in report.dropped if each.cause == cause]
        lines = [f"  {cut(each.statement, LONGEST)}\n    {each.why}" for each in dropped]
        yield from _section(f"Dropped, since {why}", lines)


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"{title} ({len(lines)}):", *lines[:LISTED], *_more(len(lines)))


def _more(number: int) -> Iterator[str]:
    if number > LISTED:
        yield f"  and {number - LISTED} more, in report.json"
