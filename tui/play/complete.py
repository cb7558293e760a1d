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

from housequest.agent.skills.naming import kind_of
from housequest.tui.text import natural

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


_ARTICLES = frozenset(("a", "an", "the"))
_PARTS = re.compile(r"\{\w+\}|[^\s{}]+")
"""The words and the places of a pattern of commands."""

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
        """The command that ``typed`` is but for slips of the finger, numbers that were left out, and what people call things;
        None where there is none.

        None too for a command of other names, which the game may well know.
        """
        sought = _plain(typed).split()
        return (self._slip_of(sought) or self._slip_of(self._renamed(sought))) if sought else None

    def _slip_of(self, sought: Sequence[str]) -> str | None:
        return next((known.command for known in self._known if _fits(sought, [word for _, word in known.words])), None)

    def _renamed(self, sought: Sequence[str]) -> list[str]:
        """The words with what people call a thing ("tap", "kitchen counter") as the commands of this verb name it."""
        alike = [[word for _, word in known.words] for known in self._known if known.lower.split()[:1] == sought[:1]]
        kinds = {name for words in alike for name, number in pairwise(words) if number.isdecimal()}
        known, renamed, at = {word for words in alike for word in words}, list[str](), 0
        while at < len(sought):
            # A word of a name may be one by itself: the kitchen's counter is no kitchen.
            names = ((size, kind_of("".join(sought[at : at + size]), kinds)) for size in (3, 2, 1))
            size, name = next((one for one in names if one[1]), (1, None))
            if size == 1 and (name is None or sought[at] in known):
                name = "" if sought[at] in _ARTICLES else sought[at]
            renamed += [name] if name else []
            at += size
        return renamed

    def ranked(self, typed: str) -> tuple[CommandMatch, ...]:
        """The commands that ``typed`` may mean, best first; all of them for an empty text."""
        sought = _plain(typed)
        ranks = [(rank, known.command) for known in self._known if (rank := _rank(known, sought)) is not None]
        return tuple(CommandMatch(command, rank[2]) for rank, command in sorted(ranks, key=lambda ranked: ranked[0][:2]))


def spelled(typed: str, patterns: Iterable[str], names: Iterable[str]) -> str | None:
    """The command of one of ``patterns`` about things of these ``names`` that ``typed`` is but for slips of the finger and
    numbers that were left out, possible now or not; None where there is none, or it is that command as it stands.
    """
    sought = _plain(typed).split()
    known = sorted(set(names), key=natural)
    meant = next((command for pattern in patterns if (command := _written(sought, _PARTS.findall(pattern), known))), None)
    return None if meant == " ".join(sought) else meant


def names_in(commands: Iterable[str]) -> set[str]:
    """The numbered things that ``commands`` name."""
    return {f"{name} {number}" for one in commands for name, number in pairwise(one.lower().split()) if number.isdecimal()}


def _written(sought: Sequence[str], parts: Sequence[str], names: Sequence[str]) -> str | None:
    """What was typed as a command of these parts, in each ``{place}`` of which one of ``names`` stands."""
    if not parts or not sought:
        return None if parts or sought else ""
    for words in names if parts[0].startswith("{") else parts[:1]:
        used = _used(sought, words.split())
        if used and (rest := _written(sought[used:], parts[1:], names)) is not None:
            return f"{words} {rest}".rstrip()
    return None


def _fits(sought: Sequence[str], words: Sequence[str]) -> bool:
    """Whether each of ``words`` was typed, or was left out and is a number."""
    return _used(sought, words) == len(sought)


def _used(sought: Sequence[str], words: Sequence[str]) -> int | None:
    """How many of the typed words stand for ``words``, of which numbers may be left out; None where they do not."""
    at = 0
    for word in words:
        typed = sought[at] if at < len(sought) else ""
        if _slipped(typed, word):
            at += 1
        elif not word.isdecimal() or typed.isdecimal():
            return None
    return at


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
