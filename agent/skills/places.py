"""Reads which places of a house a text names, as models and people write: kinds, numbers, and what it says no to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agent.skills.naming import kind_of
from worlds.household.belief import kind

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+", re.ASCII)
_NUMBERS = re.compile(r"[ _#]{0,3}(?P<first>\d{1,6})(?: ?(?:-|–|to|through) ?(?P<last>\d{1,6}))?", re.ASCII)
_AND = re.compile(r" ?(?:,|&|\band\b|\bor\b)(?: ?and\b)? ?(?=\d{1,6}(?![\d.):]))", re.ASCII)
_ASIDE = re.compile(r"\((?P<about>[^()\n]*)\)")
_ITEM = re.compile(r"(?m)^(?P<item>[ \t]*(?:\d{1,3}[.):]|[-*•])[ \t]+\S.*?)(?:[*_`]*(?: [-–—]+ |:[*_`]* ))(?P<about>.*)$")
"""An item of a list, up to what is said about it."""
_REFUSED = re.compile(r"[\W_]*(?:very |highly |most )?(?:no|never|unlikely|not likely)\b", re.IGNORECASE)
"""What is said about a place that is no place to look into."""
_CLAUSE = re.compile(
    r"[.;!?\n]|\bbut\b|, ?(?=then|rather|try|look|go\b|visit|check|search|walk|head|maybe|perhaps|possibly|probably|so\b)",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:not (?:sure|certain|know)|(?:can)?not (?:tell|say|be sure)|(?:do|ca)n['’]t (?:know|tell|say))\b", re.IGNORECASE
)
"""A no to knowledge, and not to a place."""
_NOT = re.compile(
    r"\b(?:not|never|neither|unlikely|instead of|rather than|except|avoid|skip|forget|no more"
    r"|(?:stop|quit|enough|leave off|no need (?:of|for)) (?:looking|searching|checking|opening|going))\b|n['’]t\b",
    re.IGNORECASE,
)
_NO_BEHIND = re.compile(
    r"\s*(?:\w{2,6}n['’]t\b|(?:is|are|was|were|would|seems?|looks?|will|can|should|may)\b"
    r"(?:(?!\b(?:and|or|but|than|if|rather)\b)[^.;,:\n]){0,30}?\b(?:not|never|unlikely)\b)",
    re.IGNORECASE,
)
"""A no that stands behind what it is about."""
_SAID = re.compile(
    r"\b(?:is|are|seems?|looks?)(?:n['’]t|\s[^.;,\n]{0,30}?\b(?:not|never|unlikely))\b[^.;,\n]*,"
    r"|\b(?:forget|skip|avoid)\b[^.;,\n]{0,40}?\band (?=visit|go\b|look|try|check|search|open|head|walk|see\b|start)",
    re.IGNORECASE,
)
"""A no to what stands before it, so not to what follows."""


def named_places(places: Sequence[str], text: str) -> Iterator[str]:
    """The places that ``text`` names, in its order, without those that it says no to."""
    text = _ASIDE.sub(lambda one: " is unlikely" if _REFUSED.match(one["about"]) else "", text)
    text = _ITEM.sub(lambda one: "" if _REFUSED.match(one["about"]) else one["item"], text)
    kinds = {kind(one) for one in places}
    words, position = list(_WORD.finditer(text)), 0
    while position < len(words):
        for size in (3, 2, 1):
            some = words[position : position + size]
            apart = any(text[one.end() : other.start()].strip("_- ") for one, other in pairwise(some))
            named = None if apart else kind_of("".join(each[0] for each in some).lower(), kinds)
            if named is None:
                continue
            numbers, end = _numbers(text, some[-1].end())
            if not _denied(text, some[0].start()) and not _NO_BEHIND.match(text, end):
                yield from (one for one in _by_number(places, named) if not numbers or int(one.split()[-1]) in numbers)
            position += size - 1
            break
        position += 1


def denied_places(places: Sequence[str], text: str) -> frozenset[str]:
    """The places that ``text`` says no to."""
    return frozenset(named_places(places, _NOT.sub(" ", text))).difference(named_places(places, text))


def _denied(text: str, at: int) -> bool:
    """Whether the clause before this position says no."""
    clause = _CLAUSE.split(text[max(0, at - 200) : at])[-1]
    return _NOT.search(_SAID.sub("", _UNSURE.sub("", clause))) is not None


def _numbers(text: str, at: int) -> tuple[set[int], int]:
    """The numbers that stand behind the name of a kind, as in "cabinets 1 to 3" or "drawer 2 and 4", and where they end."""
    numbers = set[int]()
    while found := _NUMBERS.match(text, at):
        first = int(found["first"])
        numbers.update(range(first, min(int(found["last"] or first), first + 100) + 1))
        at = found.end()
        more = _AND.match(text, at)
        if more is None:
            break
        at = more.end()
    return numbers, at


def _by_number(places: Sequence[str], wanted: str) -> list[str]:
    return sorted((name for name in places if kind(name) == wanted), key=lambda name: (len(name), name))
