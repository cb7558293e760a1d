"""Texts as the agent reads them: words, and names of things with their numbers (``mug 2``), in small letters.

Articles are left out, so that "from" stands before the name that it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from housequest.worlds.household.goals import SYNONYMS

UNKNOWN, BEGINNING = "<unknown>", "<beginning>"
MOST_NUMBER = 63
LONGEST_TEXT = 20_000

_ARTICLES = frozenset(("a", "an", "the"))
_PIECE = re.compile(r"(?P<word>[a-z]+)(?: (?P<number>[0-9]{1,6})(?![0-9a-z]))?", re.ASCII)

Token = tuple[int, int]
"""A word by its place in the vocabulary, and the number behind it, 0 for none."""


class Words:
    """A vocabulary. Words that it lacks are one, but names written apart ("coffee machine") and usual synonyms are known."""

    def __init__(self, words: Iterable[str]) -> None:
        self.known: tuple[str, ...] = tuple(dict.fromkeys(words))
        self._ids = {word: id for id, word in enumerate((UNKNOWN, BEGINNING, *self.known))}

    def __len__(self) -> int:
        return len(self._ids)

    def read(self, text: str) -> tuple[Token, ...]:
        """The tokens of ``text``, of which at most ``LONGEST_TEXT`` characters are read."""
        found = ((one["word"], int(one["number"] or 0)) for one in _PIECE.finditer(text[:LONGEST_TEXT].lower()))
        pieces = [(word, number) for word, number in found if word not in _ARTICLES]
        tokens: list[Token] = []
        at = 0
        while at < len(pieces):
            word, number = pieces[at]
            if number == 0 and at + 1 < len(pieces) and (joined := word + pieces[at + 1][0]) in self._ids:
                word, number = joined, pieces[at + 1][1]
                at += 1
            tokens.append((self._id(word), min(number, MOST_NUMBER)))
            at += 1
        return tuple(tokens)

    def _id(self, word: str) -> int:
        for form in (word, SYNONYMS.get(word, ""), word.removesuffix("s"), word.removesuffix("es")):
            if form in self._ids:
                return self._ids[form]
        return 0
