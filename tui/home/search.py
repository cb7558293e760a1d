"""Looking for words in many short texts, quickly enough to be done at every key."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

LONGEST_QUERY = 200

_WORD = re.compile(r"\w+")


class WordSearch:
    """Finds which of ``texts`` hold all the words of a query, in any order and any case.

    A word counts wherever it stands in a text. One that no text holds is looked for loosely: its letters in their order
    within one word (``cntr`` in "countertop").
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text.casefold() for text in texts]
        self._words: dict[str, set[int]] = defaultdict(set)
        for number, text in enumerate(self._texts):
            for word in _WORD.findall(text):
                self._words[word].add(number)

    def find(self, query: str) -> Sequence[int]:
        """The numbers, from 0, of the texts that answer to ``query``, in their order; all of them for an empty one."""
        found: Sequence[int] = range(len(self._texts))
        for word in query[:LONGEST_QUERY].casefold().split():
            loosely: set[int] | None = None
            if not any(word in text for text in self._texts):
                loosely = set[int]().union(*(rows for known, rows in self._words.items() if _within(word, known)))
            found = [n for n in found if (word in self._texts[n] if loosely is None else n in loosely)]
        return found


def _within(letters: str, word: str) -> bool:
    """Whether ``letters`` stand in ``word`` in this order, the first one first."""
    if not word.startswith(letters[0]):
        return False
    place = 0
    for letter in letters:
        place = word.find(letter, place) + 1
        if not place:
            return False
    return True
