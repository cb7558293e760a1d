"""Puts counted rules into a rulebook and refreshes them there, without changing what a person wrote or decided.

A counted rule is sealed: its origin ends in a digest of its content. While the seal still fits and no person has judged the
rule, it may be refreshed. Any other rule stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from housequest.knowledge.rulebook import Rulebook
from housequest.knowledge.rules import Origin, Rule

_SEAL = re.compile(r"@[0-9a-f]{8}$", re.ASCII)


@dataclass(frozen=True, slots=True)
class Renewal:
    """A book with counted rules added, not yet saved, and their ids by what happened to them.

    ``left``: edited or judged by a person. ``known``: another rule of the book has the same check.
    """

    book: Rulebook
    added: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


def renew(book: Rulebook, counted: Iterable[Rule], *, accept: bool) -> Renewal:
    """Put the candidates ``counted`` into ``book``; with ``accept``, accept those that the data supports.

    Without it, rules accepted earlier stay accepted. Raises ``KnowledgeError`` for what a rulebook cannot hold.
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
    """``rule`` with a digest of its content in its origin."""
    return replace(rule, origin=Origin(rule.origin.source, f"{_SEAL.sub('', rule.origin.name)}@{_seal(rule)}"))


def is_counted(rule: Rule) -> bool:
    """Whether ``rule`` is as counting wrote it, and judged by evidence alone."""
    decided = rule.status != "candidate" and rule.by != "evidence"
    touched = decided or any(edit.by != "evidence" for edit in rule.history)
    return rule.origin.source == "run" and not touched and sealed(rule) == rule


def _seal(rule: Rule) -> str:
    says = (rule.id, rule.statement, rule.kind or "", str(rule.check or ""), *rule.types, "", *rule.objects)
    return sha256("\n".join(says).encode("utf-8", "backslashreplace")).hexdigest()[:8]
