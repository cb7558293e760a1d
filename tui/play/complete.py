"""Ranks commands for what a person has typed so far.

First come the commands that begin with it; then those whose words begin with the typed words in their order ("t egg fr" for
"take egg 1 from fridge 1"); then those that hold the typed letters in their order, better together or at the beginnings of
words. Ties are in alphabetical order, with numbers in order of size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import OSA

from tui.text import natural

LONGEST = 200
"""Typed characters that count."""

_PARTICLES = frozenset(("from", "in", "into", "in/on", "on", "to", "under", "with", "at", "the"))
"""Words that say little: "fr" means the fridge rather than "from"."""


@dataclass(frozen=True, slots=True)
class CommandMatch:
    """A command, and the places in it of the letters that were typed."""

    command: str
    marks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    command: str
    lower: str
    words: tuple[tuple[int, str], ...]
    """Each with the place at which it begins."""


_Rank = tuple[int, int, tuple[int, ...]]
"""How a command matches: in which way, how closely, both better if smaller, and the places of the typed letters."""


class CommandCompleter:
    """Ranks ``commands``, which are split into words only once."""

    def __init__(self, commands: Iterable[str] = ()) -> None:
        self.commands = tuple(sorted(dict.fromkeys(commands), key=natural))
        self._known = tuple(_known(command) for command in self.commands)
        self._exact = {known.lower: known.command for known in self._known}

    def exact(self, typed: str) -> str | None:
        """The command that ``typed`` is, apart from spaces and capitals."""
        return self._exact.get(_plain(typed))

    def near(self, typed: str) -> str | None:
        """The command that ``typed`` is but for slips of the finger and numbers that were left out; None where there is none.

        None too for a command of other names, which the game may well know.
        """
        sought = _plain(typed).split()
        numbered = any(word.isdecimal() for word in sought)
        for known in self._known:
            words = [word for _, word in known.words if numbered or not word.isdecimal()]
            if len(words) == len(sought) and all(map(_slipped, sought, words)):
                return known.command
        return None

    def ranked(self, typed: str) -> tuple[CommandMatch, ...]:
        """The commands that ``typed`` may mean, best first; all of them for an empty text."""
        sought = _plain(typed)
        ranks = [(rank, known.command) for known in self._known if (rank := _rank(known, sought)) is not None]
        return tuple(CommandMatch(command, rank[2]) for rank, command in sorted(ranks, key=lambda ranked: ranked[0][:2]))


def _slipped(typed: str, word: str) -> bool:
    """Whether ``typed`` is ``word``, or it with a letter or two wrong."""
    if typed == word or typed.isdecimal() or word.isdecimal() or len(word) < 3:
        return typed == word
    return OSA.distance(typed, word, score_cutoff=2) <= (2 if len(word) > 6 else 1)


def _plain(text: str) -> str:
    return " ".join(text[:LONGEST].lower().split())


def _known(command: str) -> _Known:
    lower = command.lower() if len(command.lower()) == len(command) else command
    return _Known(command, lower, tuple((word.start(), word.group()) for word in re.finditer(r"\S+", lower)))


def _rank(known: _Known, sought: str) -> _Rank | None:
    text, words, letters = known.lower, sought.split(), sought.replace(" ", "")
    if text.startswith(sought):
        return 0, 0, tuple(range(len(sought)))
    for tier, lenient in ((1, False), (2, True)):
        if places := _placed(known.words, words, lenient=lenient):
            starts = (known.words[place][0] for place in places)
            marks = tuple(start + at for start, word in zip(starts, words, strict=True) for at in range(len(word)))
            return tier, places[-1] + 1 - len(places), marks
    if marks := _marked(text, letters, leap=True) or _marked(text, letters, leap=False):
        return 3, sum(here != before + 1 and text[here - 1] != " " for before, here in pairwise((-1, *marks))), marks
    return None


def _placed(words: Sequence[tuple[int, str]], sought: Sequence[str], *, lenient: bool) -> list[int] | None:
    """The first words that begin with the sought ones, in order; only if ``lenient`` does a part of a particle count."""
    places: list[int] = []
    rest = iter(enumerate(words))
    for part in sought:
        fits = (at for at, (_, word) in rest if word.startswith(part) and (lenient or word == part or word not in _PARTICLES))
        if (place := next(fits, None)) is None:
            return None
        places.append(place)
    return places


def _marked(text: str, letters: str, *, leap: bool) -> tuple[int, ...] | None:
    """Where ``letters`` stand in ``text`` in order: each next to the last one, else as soon as it comes.

    ``leap``: rather at the beginning of a word.
    """
    marks: list[int] = []
    at = 0
    for letter in letters:
        word = text.find(f" {letter}", at) + 1 if leap else 0
        place = at if text.startswith(letter, at) else word or text.find(letter, at)
        if place < 0:
            return None
        marks.append(place)
        at = place + 1
    return tuple(marks)
