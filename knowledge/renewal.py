"""Puts what was counted into a rulebook, and counts it anew there, without touching what a person wrote or decided.

A counted rule is sealed: its origin ends in a digest of what it says. A rule whose words still fit their seal, and on which no
person has decided, is counting's own and may be renewed; any other is left as it is, whoever changed it by whatever editor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from knowledge.rulebook import Rulebook
from knowledge.rules import Origin, Rule

_SEAL = re.compile(r"@[0-9a-f]{8}$", re.ASCII)


@dataclass(frozen=True, slots=True)
class Renewal:
    """A book with counted rules in it, not yet saved, and their ids by what became of them.

    ``left`` are in the book in other words or judged by a person; ``known`` have a check that another rule of the book has.
    """

    book: Rulebook
    added: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


def renew(book: Rulebook, counted: Iterable[Rule], *, accept: bool) -> Renewal:
    """Put the candidates ``counted`` into ``book``; with ``accept``, what the data supports is accepted.

    Without, a rule that was accepted so before stays accepted. Raises ``KnowledgeError`` for what a rulebook cannot hold.
    """
    present = {rule.id: rule for rule in book.rules}
    checks = {rule.check: rule.id for rule in reversed(book.rules) if rule.check}
    became: dict[str, list[str]] = {}
    changed: list[Rule] = []
    for candidate in counted:
        rule = sealed(candidate)
        old = present.get(rule.id)
        if old is None:
            fate = "known" if rule.check in checks else "added"
        elif not is_counted(old):
            fate = "left"
        else:
            rule = replace(rule, status=old.status, by=old.by, history=old.history)
            fate = "renewed"
        if accept and rule.standing == "supported":
            rule = rule.judged("accepted", "evidence")
        if fate == "renewed" and rule == old:
            fate = "same"
        if fate in {"added", "renewed"}:
            changed.append(rule)
        became.setdefault(fate, []).append(rule.id)
    return Renewal(book.put(changed), **{fate: tuple(ids) for fate, ids in became.items()})


def sealed(rule: Rule) -> Rule:
    """``rule`` with the digest of what it says in its origin."""
    return replace(rule, origin=Origin(rule.origin.source, f"{_SEAL.sub('', rule.origin.name)}@{_digest(rule)}"))


def is_counted(rule: Rule) -> bool:
    """Whether ``rule`` is as counting left it: in its words, and judged by nothing but evidence."""
    decided = rule.status != "candidate" and rule.by != "evidence"
    touched = decided or any(edit.by != "evidence" for edit in rule.history)
    return rule.origin.source == "run" and not touched and sealed(rule) == rule


def _digest(rule: Rule) -> str:
    says = (rule.id, rule.statement, rule.kind or "", str(rule.check or ""), *rule.types, "", *rule.objects)
    return sha256("\n".join(says).encode("utf-8", "backslashreplace")).hexdigest()[:8]
