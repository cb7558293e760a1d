"""Which commands a few typed letters mean, best first: what completion offers.

A command that begins with what was typed comes first; then one whose words begin with the typed words in their order
("t egg fr" for "take egg 1 from fridge 1"); then one that holds the typed letters in their order, at the beginnings of
words or together rather than apart. Equals stand in the order of their names, numbers counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

LONGEST = 200
"""Letters that are looked at: no command is longer, and what is pasted may be."""

_PARTICLES = frozenset(("from", "in", "into", "in/on", "on", "to", "under", "with", "at", "the"))
"""Words that hardly tell one command from another: "fr" means the fridge before it means "from"."""

_Order = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class CommandMatch:
    """A command with the places of the letters that were typed."""

    command: str
    marks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class _Known:
    command: str
    lower: str
    words: tuple[_Word, ...]


class CommandCompleter:
    """Ranks ``commands`` for what is typed; they are taken apart once, so that each key costs little."""

    def __init__(self, commands: Iterable[str] = ()) -> None:
        self.commands = tuple(sorted(dict.fromkeys(commands), key=_order))
        self._known = tuple(_known(command) for command in self.commands)
        self._exact = {known.lower: known.command for known in self._known}

    def exact(self, typed: str) -> str | None:
        """The command that ``typed`` is, whatever its spaces and capitals."""
        return self._exact.get(_plain(typed))

    def ranked(self, typed: str) -> tuple[CommandMatch, ...]:
        """The commands that ``typed`` may mean, best first; all of them where nothing is typed."""
        sought = _plain(typed)
        if not sought:
            return tuple(CommandMatch(command, ()) for command in self.commands)
        words = tuple(sought.split())
        letters = "".join(words)
        found: list[tuple[int, int, CommandMatch]] = []
        for known in self._known:
            match = _begins(known, sought) or _words_begin(known, words) or _scattered(known, letters)
            if match is not None:
                found.append(match)
        found.sort(key=lambda one: one[:2])
        return tuple(match for _, _, match in found)


def _plain(text: str) -> str:
    return " ".join(text[:LONGEST].lower().split())


def _order(command: str) -> tuple[_Order, str]:
    """By words, and numbers by their size."""
    parts = re.split(r"(\d{1,9})", command.lower())
    return tuple(int(part) if at % 2 else part for at, part in enumerate(parts)), command


def _known(command: str) -> _Known:
    lower = command.lower() if len(command.lower()) == len(command) else command
    return _Known(command, lower, tuple(_Word(word.start(), word.group()) for word in re.finditer(r"\S+", lower)))


def _begins(known: _Known, sought: str) -> tuple[int, int, CommandMatch] | None:
    if not known.lower.startswith(sought):
        return None
    return 0, 0, CommandMatch(known.command, tuple(range(len(sought))))


def _words_begin(known: _Known, sought: Sequence[str]) -> tuple[int, int, CommandMatch] | None:
    for tier, lenient in ((1, False), (2, True)):
        places = _placed(known.words, sought, lenient=lenient)
        if places is not None:
            marks = [
                known.words[place].start + at for place, word in zip(places, sought, strict=True) for at in range(len(word))
            ]
            skipped = places[-1] + 1 - len(places)
            return tier, skipped, CommandMatch(known.command, tuple(marks))
    return None


def _placed(words: Sequence[_Word], sought: Sequence[str], *, lenient: bool) -> list[int] | None:
    """The first words that begin with the sought ones, in their order; ``lenient``: a part of a particle counts as well."""
    places: list[int] = []
    at = 0
    for part in sought:
        while at < len(words):
            word = words[at].text
            if word.startswith(part) and (lenient or word == part or word not in _PARTICLES):
                break
            at += 1
        else:
            return None
        places.append(at)
        at += 1
    return places


def _scattered(known: _Known, letters: str) -> tuple[int, int, CommandMatch] | None:
    marks = _marked(known.lower, letters, leap=True) or _marked(known.lower, letters, leap=False)
    if not marks:
        return None
    apart = sum(here != before + 1 and known.lower[here - 1] != " " for before, here in pairwise((-1, *marks)))
    return 3, apart, CommandMatch(known.command, marks)


def _marked(text: str, letters: str, *, leap: bool) -> tuple[int, ...] | None:
    """Where ``letters`` stand in ``text`` in their order: each beside the one before, else as soon as it comes.

    ``leap``: the beginning of a word is taken first.
    """
    marks: list[int] = []
    at = -1
    for letter in letters:
        place = at + 1 if text.startswith(letter, at + 1) else -1
        if place < 0 and leap:
            place = text.find(f" {letter}", at + 1)
            place += place >= 0
        if place < 0:
            place = text.find(letter, at + 1)
        if place < 0:
            return None
        marks.append(place)
        at = place
    return tuple(marks)
