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
_ASIDE = re.compile(r"\([^()\n]*\)")
_ITEM = re.compile(r"(?m)^(?P<item>[ \t]*(?:\d{1,3}[.):]|[-*•])[ \t]+\S.*?)(?:[*_`]*(?: [-–—]+ |:[*_`]* )).*$")
"""An item of a list, up to what is said about it."""
_CLAUSE = re.compile(r"[.;\n]|\bbut\b|, (?=then|rather|try|look)", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|neither|unlikely|instead of|rather than|except|avoid|skip)\b|n't\b|n’t\b", re.IGNORECASE)


def named_places(places: Sequence[str], text: str) -> Iterator[str]:
    """The places that ``text`` names, in its order, without those that it says no to."""
    text = _ITEM.sub(r"\g<item>", _ASIDE.sub("", text))
    kinds = {kind(one) for one in places}
    words, position = list(_WORD.finditer(text)), 0
    while position < len(words):
        for size in (3, 2, 1):
            some = words[position : position + size]
            apart = any(text[one.end() : other.start()].strip("_- ") for one, other in pairwise(some))
            named = None if apart else kind_of("".join(each[0] for each in some).lower(), kinds)
            if named is None:
                continue
            if not _denied(text, some[0].start()):
                numbers = _numbers(text, some[-1].end())
                yield from (one for one in _by_number(places, named) if not numbers or int(one.split()[-1]) in numbers)
            position += size - 1
            break
        position += 1


def denied_places(places: Sequence[str], text: str) -> frozenset[str]:
    """The places that ``text`` says no to."""
    return frozenset(named_places(places, _NOT.sub(" ", text))).difference(named_places(places, text))


def _denied(text: str, at: int) -> bool:
    """Whether the clause before this position says no."""
    return _NOT.search(_CLAUSE.split(text[max(0, at - 200) : at])[-1]) is not None


def _numbers(text: str, at: int) -> set[int]:
    """The numbers that stand behind the name of a kind, as in "cabinets 1 to 3" or "drawer 2 and 4"."""
    numbers = set[int]()
    while found := _NUMBERS.match(text, at):
        first = int(found["first"])
        numbers.update(range(first, min(int(found["last"] or first), first + 100) + 1))
        more = _AND.match(text, found.end())
        if more is None:
            break
        at = more.end()
    return numbers


def _by_number(places: Sequence[str], wanted: str) -> list[str]:
    return sorted((name for name in places if kind(name) == wanted), key=lambda name: (len(name), name))
