"""Writes what was found into a rulebook: what a person or another exploration put there stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent.explorer.report import Acceptance
from agent.explorer.sift import Kept
from knowledge.library import library
from knowledge.rulebook import Rulebook, save
from knowledge.rules import Origin, Rule
from worlds.errors import KnowledgeError

ATTEMPTS = 3
"""How often a book is read again that somebody else saved in the same instant."""


def judged(kept: Kept, accept: Acceptance) -> Rule:
    """The rule with the status that it is given: what is disputed stays a candidate whoever accepts.

    A person's are candidates. The model's filter accepts what is left (OPEx-L). Evidence accepts what it supports, and rejects
    what it contradicts.
    """
    rule = kept.rule
    if kept.disputes or accept == "person":
        return rule
    if accept == "filter":
        return rule.judged("accepted", "filter")
    match rule.standing:
        case "supported":
            return rule.judged("accepted", "evidence")
        case "contradicted":
            return rule.judged("rejected", "evidence")
        case "undecided":
            return rule


def others(book: Rulebook, origin: Origin) -> tuple[Rule, ...]:
    """The rules of ``book`` that do not come from the exploration ``origin``."""
    return tuple(rule for rule in book.rules if rule.origin != origin)


def write(into: str, rules: Sequence[Rule], origin: Origin) -> Rulebook:
    """Add ``rules``, which come from ``origin``, to the book ``into``, and return it as it then is.

    Those that this exploration wrote before are judged anew where they are still candidates as they were written, and are
    otherwise left. Raises ``KnowledgeError`` where the book cannot be saved.
    """
    for attempt in range(1, ATTEMPTS + 1):
        book = library().writable(into)
        present = {rule.id: rule for rule in book.rules}
        changed = [_again(present[rule.id], rule, origin) if rule.id in present else rule for rule in rules]
        after = book.put(changed)
        if after is book:
            return book
        try:
            return save(after)
        except KnowledgeError:
            if attempt == ATTEMPTS:
                raise
    raise AssertionError("an attempt returns or raises")


def _again(present: Rule, rule: Rule, origin: Origin) -> Rule:
    """A rule that the book has already, on finding it once more."""
    as_written = replace(rule, status=present.status, by=present.by, evidence=present.evidence, history=present.history)
    untouched = present.origin == origin and present.status == "candidate" and present == as_written
    return rule if untouched else present
