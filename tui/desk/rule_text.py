"""Rules as plain text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from housequest.knowledge.mining import read_sentence
from housequest.tui.text import printable

if TYPE_CHECKING:
    from housequest.knowledge.rules import DecidedBy, Edit, Evidence, Rule, Standing
    from housequest.tui.desk.checking import CheckOutcome

STANDING_MARKS: dict[Standing, str] = {"supported": "+", "contradicted": "!", "undecided": "?"}
"""A character for each way that a rule can stand."""


def figures(evidence: Evidence) -> str:
    """Supporting and contradicting evidence."""
    return f"{evidence.supports}/{evidence.contradicts}" if evidence else "-"


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows in columns, safe to print; the first is the heading."""
    safe = [tuple(printable(cell) for cell in row) for row in rows]
    widths = [max(len(row[column]) for row in safe) for column in range(len(safe[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in safe]


def rule_table(rules: Sequence[Rule]) -> list[str]:
    """Rules in a table."""
    rows = [("id", "status", "kind", "for/against", "", "statement")]
    for rule in rules:
        mark = STANDING_MARKS[rule.standing]
        rows.append((rule.id, rule.status, rule.kind or "-", figures(rule.evidence), mark, rule.statement))
    return table(rows)


def rule_lines(rule: Rule) -> Iterator[str]:
    """Everything about a rule, line by line."""
    yield f"{rule.id}: {rule.statement}"
    by = "" if rule.status == "candidate" else f" by {who(rule.by)}"
    yield f"  {rule.status}{by}, stated by {_origin(rule)}"
    for name, words in (("kind", (rule.kind,) if rule.kind else ()), ("tasks", rule.types), ("objects", rule.objects)):
        if words:
            yield f"  {name}: {', '.join(words)}"
    if rule.check:
        yield f"  check: {rule.check}"
    if location := read_sentence(rule.statement):
        yield f"  counted, with 95 % intervals: {location}"
    evidence = rule.evidence
    if evidence:
        yield f"  evidence: {evidence.supports} for, {evidence.contradicts} against: {rule.standing}"
    elif evidence.witnesses or evidence.against:
        yield "  evidence: none counted; somebody named"
    yield from (f"    for      {witness}" for witness in evidence.witnesses)
    yield from (f"    against  {witness}" for witness in evidence.against)
    yield from (f"  {edit_line(edit)}" for edit in rule.history)


def edit_line(edit: Edit) -> str:
    """What was done to a rule, by whom and when."""
    field = f" {edit.field}" if edit.field else ""
    day = f" on {edit.date}" if edit.date else ""
    was = f", was {edit.was or 'none'}" if edit.field else f": {edit.was}" if edit.was else ""
    return f"{edit.did}{field} by {who(edit.by)}{day}{was}"


def who(by: DecidedBy) -> str:
    """Whoever decided, in words."""
    return "a person" if by == "person" else by


def taken_back(before: Rule, after: Rule) -> str:
    """A note that an edit made a judged rule a candidate again; empty if it did not."""
    if after.status != "candidate" or before.status == "candidate":
        return ""
    judge = "the model's filter" if before.by == "filter" else before.by
    return f"{after.id} is a candidate again, for {judge} {before.status} it as it was before"


def finding_lines(outcome: CheckOutcome) -> Iterator[str]:
    """What a check found, contradicted rules first and with the witnesses against them; last, what nothing can decide."""
    order: tuple[Standing, ...] = ("contradicted", "supported", "undecided")
    checked = [each for each in outcome.findings if each.rule.check]
    for standing in order:
        for finding in checked:
            if finding.standing == standing:
                rule, evidence, before = finding.rule, finding.evidence, finding.rule.evidence
                was = f" (the book: {figures(before)})" if before and figures(before) != figures(evidence) else ""
                yield f"{standing:<12}  {figures(evidence):>11}  {rule.id}: {rule.statement}{was}"
                yield from (f"{'':<14}against {witness}" for witness in evidence.against)
    by_id = {finding.rule.id: finding.rule for finding in outcome.findings}
    for name, location in outcome.seen.items():
        yield f"{'counted':<12}  {f'n={location.number}':>11}  {name}: {by_id[name].statement}"
        yield f"{'':<14}{'here':>11}  {location}"
    others = [each.rule.id for each in outcome.findings if not each.rule.check and each.rule.id not in outcome.seen]
    if others:
        yield f"{'not checked':<12}  {len(others):>11}  without a check, or not seen in these records: {', '.join(others)}"


def rule_json(rule: Rule) -> dict[str, object]:
    """A rule as plain data."""
    return {
        "id": rule.id,
        "statement": rule.statement,
        "kind": rule.kind,
        "types": rule.types,
        "objects": rule.objects,
        "status": rule.status,
        "by": rule.by,
        "origin": asdict(rule.origin),
        "check": str(rule.check) if rule.check else None,
        "evidence": asdict(rule.evidence),
        "standing": rule.standing,
        "history": [
            {
                "did": edit.did,
                "field": edit.field,
                "by": edit.by,
                "was": edit.was,
                "date": str(edit.date) if edit.date else None,
            }
            for edit in rule.history
        ],
    }


def _origin(rule: Rule) -> str:
    origin = rule.origin
    return f"{'a ' if origin.source != 'person' or not origin.name else ''}{origin.source} {origin.name}".strip()
