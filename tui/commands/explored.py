"""What an exploration came to, in plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tui.desk.rule_text import STANDING_MARKS, STATEMENT, shortened, table
from tui.text import printable

if TYPE_CHECKING:
    from agent.explorer.report import DroppedRule, FoundRule, Report

LISTED = 200
"""How many rules of a kind are listed; the others are in the folder's report."""

_CAUSES = {
    "malformed": "could not be read as rules",
    "known": "are in the book already",
    "duplicate": "say what another one says",
    "contradiction": "were excluded by another one",
}


def told(report: Report, folder: Path) -> Iterator[str]:
    """The report, line by line, safe to print."""
    return (printable(line) for line in _told(report, folder))


def _told(report: Report, folder: Path) -> Iterator[str]:
    played = report.played
    chance = f", {played.curious:,} of them chance's" if played.curious else ""
    yield f"played    {_count(played.episodes, 'episode')}, {played.won} won; {_count(played.steps, 'command')}{chance}"
    if report.distiller is None:
        yield "learned   by counting alone: no model was named that could distil (--distiller MODEL)"
    else:
        spent = f"{_count(report.calls, 'call')}, {report.tokens:,} tokens"
        yield f"learned   from {_count(report.chunks, 'chunk')} with {report.distiller}: {spent}"
    statuses = Counter(found.status for found in report.found)
    counted = ", ".join(f"{number} {status}" for status, number in sorted(statuses.items()))
    yield f"found     {len(report.found)} of {_count(report.proposed, 'proposed rule')}{f': {counted}' if counted else ''}"
    if report.besides:
        yield f"evidence  from {', '.join(report.besides)} too"
    yield f"book      {report.into}"
    yield f"folder    {folder}"
    if report.found:
        yield ""
        yield from table([("id", "status", "kind", "for/against", "", "statement"), *map(_row, report.found[:LISTED])])
        yield from _more(len(report.found))
    yield from _notes(report)
    yield from _dropped(report)


def _row(found: FoundRule) -> tuple[str, ...]:
    figures = f"{found.supports}/{found.contradicts}" if found.supports or found.contradicts else "-"
    mark = STANDING_MARKS[found.standing]
    return (found.id, found.status, found.kind or "-", figures, mark, shortened(found.statement, STATEMENT))


def _notes(report: Report) -> Iterator[str]:
    noted = [found for found in report.found if found.note]
    if noted:
        yield ""
        yield f"To be looked at ({len(noted)}):"
        yield from (f"  {found.id}: {found.note}" for found in noted[:LISTED])
        yield from _more(len(noted))
    if report.checks:
        yield ""
        yield f"Checks that could not be read, whose rules stay without one ({len(report.checks)}):"
        yield from (f"  {bad.check}\n    {bad.why}" for bad in report.checks[:LISTED])
        yield from _more(len(report.checks))
    if report.lost:
        yield ""
        yield f"What came to nothing ({len(report.lost)}):"
        for lost in report.lost[:LISTED]:
            yield f"  {lost.what}: {lost.why}{' The same command tries it again.' if lost.again else ''}"
        yield from _more(len(report.lost))


def _dropped(report: Report) -> Iterator[str]:
    for cause, words in _CAUSES.items():
        dropped = [each for each in report.dropped if each.cause == cause]
        if dropped:
            yield ""
            yield f"Dropped, for they {words} ({len(dropped)}):"
            for each in dropped[:LISTED]:
                yield from _one(each)
            yield from _more(len(dropped))


def _one(dropped: DroppedRule) -> Iterator[str]:
    yield f"  {shortened(dropped.statement, 2 * STATEMENT)}"
    yield f"    {dropped.why}"


def _more(number: int) -> Iterator[str]:
    if number > LISTED:
        yield f"  and {number - LISTED} more, in report.json"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
