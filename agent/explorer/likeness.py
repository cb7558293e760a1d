"""Which rules look alike: the same words, similar words, the same check, or checks that exclude each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from knowledge.checks import Check
from knowledge.rules import Rule

NEAR = 65.0
"""The likeness, of at most 100, from which on two statements are worth comparing."""

NEIGHBOURS = 5
"""How many of the rules before it a rule is compared with, at most: the most similar ones."""

_WORD = re.compile(r"\w+")
_ARTICLES = {"a", "an", "the"}


def normal(statement: str) -> str:
    """The words of a statement without case, marks and articles: where these are equal, it says the same."""
    return " ".join(word for word in _WORD.findall(statement.casefold()) if word not in _ARTICLES)


def near_pairs(rules: Sequence[Rule], old: int) -> Iterator[tuple[int, int]]:
    """The pairs of ``rules`` that may say the same or exclude each other, by place; the first ``old`` are known to differ.

    Similarity is RapidFuzz's ``token_set_ratio`` over normal words.
    """
    from rapidfuzz import fuzz, process

    words = [normal(rule.statement) for rule in rules]
    checks: dict[str, list[int]] = {}
    for place, rule in enumerate(rules):
        found: dict[int, None] = {}
        if place >= old:
            nearest = process.extract(
                words[place], words[:place], scorer=fuzz.token_set_ratio, score_cutoff=NEAR, limit=NEIGHBOURS
            )
            found = {other: None for _, _, other in nearest}
            if rule.check:
                found |= dict.fromkeys(checks.get(_occasion(rule.check), [])[-NEIGHBOURS:])
        if rule.check:
            checks.setdefault(_occasion(rule.check), []).append(place)
        yield from ((other, place) for other in sorted(found))


def exclude(one: Check | None, other: Check | None) -> bool:
    """Whether two checks say contrary things of the same occasion."""
    if one is None or other is None or _occasion(one) != _occasion(other):
        return False
    return any(replace(fact, negated=not fact.negated) in other.then for fact in one.then)


def _occasion(check: Check) -> str:
    """When a check comes up: its commands, and what is known before."""
    return " and ".join([check.command, *sorted(map(str, check.before))])
