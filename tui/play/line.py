"""The command line: a command, completed from those that are possible, or a hint after a question mark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

from rapidfuzz.distance import OSA
from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from housequest.agent.skills.naming import kind_of
from housequest.tui.keymap import Equipped
from housequest.tui.text import natural, printable

ROWS = 6  # completions that are seen at once
LONGEST = 1_000  # characters that the line takes
HINT = "?"  # what a hint begins with
REMEMBERED = 200
_LONGEST_TYPED = 200  # typed characters that count

_PARTICLES = frozenset(("from", "in", "into", "in/on", "on", "to", "under", "with", "at", "the"))
"""Words that say little: "fr" means the fridge rather than "from"."""


class CommandMatch(NamedTuple):
    """A command, and the places in it of the letters that were typed."""

    command: str
    marks: tuple[int, ...]


_ARTICLES = frozenset(("a", "an", "the"))
_PARTS = re.compile(r"\{\w+\}|[^\s{}]+")  # the words and the places of a pattern of commands

_Words = Sequence[tuple[int, str]]
"""The words of a command, each with the place at which it begins."""
_Rank = tuple[int, int, tuple[int, ...]]
"""A match: its kind and its distance, both better if smaller, and the places of the typed letters."""


class CommandCompleter:
    """Ranks ``commands``, which are split into words only once, for what a person has typed so far.

    First come the commands that begin with it; then those whose words begin with the typed words in their order ("t egg fr" for
    "take egg 1 from fridge 1"); then those that hold the typed letters in their order, better together or at the beginnings of
    words. Ties are in alphabetical order, with numbers in order of size.
    """

    def __init__(self, commands: Iterable[str] = ()) -> None:
        self.commands = tuple(sorted(dict.fromkeys(commands), key=natural))
        # Where small letters take more room, places in them would be others.
        self._lower = {one: one.lower() if len(one.lower()) == len(one) else one for one in self.commands}
        self._exact = {text: one for one, text in self._lower.items()}
        self._known = {one: [(at.start(), at.group()) for at in re.finditer(r"\S+", text)] for one, text in self._lower.items()}

    def exact(self, typed: str) -> str | None:
        """The command that ``typed`` is, apart from spaces and capitals."""
        return self._exact.get(_plain(typed))

    def near(self, typed: str) -> str | None:
        """The command that ``typed`` is but for slips, missing numbers and people's names of things."""
        sought = _plain(typed).split()
        return (self._slip_of(sought) or self._slip_of(self._renamed(sought))) if sought else None

    def _slip_of(self, sought: Sequence[str]) -> str | None:
        fits = (one for one, words in self._known.items() if _used(sought, [word for _, word in words]) == len(sought))
        return next(fits, None)

    def _renamed(self, sought: Sequence[str]) -> list[str]:
        """The words with what people call a thing ("tap", "kitchen counter") as the commands of this verb name it."""
        alike = [[word for _, word in words] for words in self._known.values() if [word for _, word in words[:1]] == sought[:1]]
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
        ranks = [(rank, one) for one, text in self._lower.items() if (rank := _rank(text, self._known[one], sought))]
        return tuple(CommandMatch(command, rank[2]) for rank, command in sorted(ranks, key=lambda ranked: ranked[0][:2]))


def spelled(typed: str, patterns: Iterable[str], names: Iterable[str]) -> str | None:
    """The command of ``patterns`` about ``names`` that ``typed`` is but for slips and missing numbers, possible or not."""
    sought = _plain(typed).split()
    known = sorted(set(names), key=natural)
    meant = next((command for pattern in patterns if (command := _written(sought, _PARTS.findall(pattern), known))), None)
    return None if meant == " ".join(sought) else meant


def names_in(commands: Iterable[str]) -> set[str]:
    """The numbered things that ``commands`` name."""
    return {f"{name} {number}" for one in commands for name, number in pairwise(one.lower().split()) if number.isdecimal()}


def _written(sought: Sequence[str], parts: Sequence[str], names: Sequence[str]) -> str | None:
    """The typed text as a command of these parts, with one of ``names`` in each ``{place}``."""
    if not parts or not sought:
        return None if parts or sought else ""
    for words in names if parts[0].startswith("{") else parts[:1]:
        used = _used(sought, words.split())
        if used and (rest := _written(sought[used:], parts[1:], names)) is not None:
            return f"{words} {rest}".rstrip()
    return None


def _used(sought: Sequence[str], words: Sequence[str]) -> int | None:
    """The number of typed words that stand for ``words``, whose numbers may be left out; None where they do not."""
    at = 0
    for word in words:
        typed = sought[at] if at < len(sought) else ""
        if _slipped(typed, word):
            at += 1
        elif not word.isdecimal() or typed.isdecimal():
            return None
    return at


def _slipped(typed: str, word: str) -> bool:
    """Return True if ``typed`` is ``word``, with at most a letter or two wrong."""
    if typed == word or typed.isdecimal() or word.isdecimal() or len(word) < 3:
        return typed == word
    return OSA.distance(typed, word, score_cutoff=2) <= (2 if len(word) > 6 else 1)


def _plain(text: str) -> str:
    return " ".join(text[:_LONGEST_TYPED].lower().split())


def _rank(text: str, known: _Words, sought: str) -> _Rank | None:
    words, letters = sought.split(), sought.replace(" ", "")
    if text.startswith(sought):
        return 0, 0, tuple(range(len(sought)))
    for tier, lenient in ((1, False), (2, True)):
        if places := _placed(known, words, lenient=lenient):
            marks = tuple(known[place][0] + at for place, word in zip(places, words, strict=True) for at in range(len(word)))
            return tier, places[-1] + 1 - len(places), marks
    if marks := _marked(text, letters, leap=True) or _marked(text, letters, leap=False):
        return 3, sum(here != before + 1 and text[here - 1] != " " for before, here in pairwise((-1, *marks))), marks
    return None


def _placed(words: _Words, sought: Sequence[str], *, lenient: bool) -> list[int] | None:
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
    """The places of ``letters`` in order: each next to the last, else at the start of a word (``leap``), else anywhere."""
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


class CompletionList(Equipped, Widget):
    """The list above the command line: matching commands, the chosen one marked; one that is clicked is ``picked``."""

    def __init__(self, picked: Callable[[str], None]) -> None:
        super().__init__()
        self._picked = picked
        self.matches: tuple[CommandMatch, ...] = ()
        self.chosen: int | None = None
        self._first = 0

    @property
    def command(self) -> str | None:
        return None if self.chosen is None else self.matches[self.chosen].command

    def show(self, matches: tuple[CommandMatch, ...]) -> None:
        """Offer ``matches``, none of them chosen; hide if there are none."""
        if not matches and not self.matches:
            return
        self.matches, self.chosen, self._first = matches, None, 0
        self.display = bool(matches)
        self._placed()

    def move(self, by: int) -> None:
        """Choose the next or the previous match; beyond either end, none."""
        place = by + (-1 if self.chosen is None and by > 0 else len(self.matches) if self.chosen is None else self.chosen)
        self.chosen = place if 0 <= place < len(self.matches) else None
        if self.chosen is not None:
            self._first = min(max(self._first, self.chosen - ROWS + 1), self.chosen)
        self._placed()

    def render(self) -> Content:
        lines = [self._line(place) for place in range(self._first, min(self._first + ROWS, len(self.matches)))]
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        place = event.get_content_offset(self)
        if place is not None and place.y + self._first < len(self.matches):
            self._picked(self.matches[place.y + self._first].command)

    def _line(self, place: int) -> Content:
        match = self.matches[place]
        # Marks are places in the command as it is, so one that has to be made printable goes without.
        name = printable(match.command).replace("\n", " ")
        text = Content(name)
        for mark in match.marks if name == match.command else ():
            text = text.stylize("$new", mark, mark + 1)
        chosen = place == self.chosen
        text = Content.assemble("▸ " if chosen else "  ", text).truncate(self.content_size.width, pad=True)
        return text.stylize_before("bold on $panel") if chosen else text

    def _placed(self) -> None:
        count = len(self.matches)
        rows = min(ROWS, count)
        at = f"{count} possible" if self.chosen is None else f"{self.chosen + 1} of {count}"
        self.border_subtitle = f"{at} · ↑↓ choose · tab takes · enter sends"
        self.styles.offset = (0, -rows - 2)
        self.refresh(layout=True)


class CommandLine(Equipped, Widget, keys="line"):
    """One line of input, which posts what is sent and never moves the focus; by ``patterns`` and
    the ``canonical`` form of a command it knows what is misspelled."""

    @dataclass
    class Submitted(Message):
        command: str

    @dataclass
    class Hinted(Message):
        text: str

    @dataclass
    class Doubted(Message):
        """The ``typed`` text is no command; ``meant``, now in the line, would be accepted if ``possible``."""

        typed: str
        meant: str
        possible: bool

    class Left(Message):
        """Give the focus back."""

    def __init__(self, *, hints: bool = True, patterns: Sequence[str] = (), canonical: Callable[[str], str] = str) -> None:
        super().__init__()
        self._hints, self._canonical = hints, canonical
        self._patterns = patterns
        self._names = set[str]()
        self._completer = CommandCompleter()
        self._history: list[str] = []
        self._recalled: int | None = None
        self._listed = False
        self._doubted = ""
        self._input = Input(placeholder=self._offered(False), compact=True, select_on_focus=False, max_length=LONGEST)
        self._input.cursor_blink = False
        self._list = CompletionList(self.prefill)

    def compose(self) -> ComposeResult:
        yield self._list
        with Horizontal():
            yield Static("› ", classes="line--mark")
            yield self._input

    @property
    def value(self) -> str:
        return self._input.value

    def offer(self, commands: tuple[str, ...] | None) -> None:
        """Complete from ``commands``; None: from what was sent before."""
        completer = CommandCompleter(self._history if commands is None else commands)
        if completer.commands == self._completer.commands:
            return
        self._completer = completer
        self._names |= names_in(commands or ())
        self._listed = bool(commands)
        self._input.placeholder = self._offered(bool(commands))
        self._complete()

    def prefill(self, text: str) -> None:
        """Put ``text`` in the line, to be edited."""
        self._put(text)
        self.focus()

    def focus(self, scroll_visible: bool = True) -> Self:
        # At once, since the next key may be waiting already.
        self.screen.set_focus(self._input, scroll_visible)
        return self

    def action_back(self) -> None:
        """Choose the match above; without matches, recall the line sent before."""
        if self._list.matches:
            self._list.move(-1)
        elif self._history:
            place = len(self._history) if self._recalled is None else self._recalled
            self._recall(max(0, place - 1))

    def action_forward(self) -> None:
        """Choose the match below; in an empty line, list what is possible."""
        if self._list.matches:
            self._list.move(1)
        elif self._recalled is not None:
            self._recall(self._recalled + 1)
        elif not self.value.strip():
            self._list.show(self._completer.ranked(""))

    def action_take(self) -> None:
        """Put the chosen match in the line, or the best one."""
        if self._list.matches:
            self._put(self._list.command or self._list.matches[0].command)
        elif self.value.strip():
            raise SkipAction
        else:
            self._list.show(self._completer.ranked(""))

    def action_leave(self) -> None:
        self._list.show(())
        self.post_message(self.Left())

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()
        if (safe := printable(message.value).replace("\n", " ")) != message.value:
            self._input.value = safe[:LONGEST]
        elif self._recalled is None or message.value != self._history[self._recalled]:
            self._recalled = None
            self._complete()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        text = " ".join(self.value.split())
        if text.startswith(HINT):
            self._send(self.Hinted(text.removeprefix(HINT).strip()), text)
            return
        command = self._completer.exact(text) or self._list.command
        doubtful = command is None and self._listed and text != self._doubted
        older = self._canonical(text)
        near = self._completer.near(older) if doubtful else None
        meant = near or (spelled(older, self._patterns, self._names) if doubtful else None)
        if doubtful and older != text:
            meant = meant or older
        if meant is not None:
            self._doubted = text
            self._put(meant)
            self.post_message(self.Doubted(text, meant, near is not None))
        elif command or text:
            self._send(self.Submitted(command or text), command or text)

    def on_descendant_focus(self) -> None:
        self.add_class("-typing")

    def on_descendant_blur(self) -> None:
        self.remove_class("-typing")
        self._list.show(())

    def on_click(self) -> None:
        self.focus()

    def _offered(self, listed: bool) -> str:
        return f"a command{' · ↓ lists what is possible' if listed else ''}{' · ?words for a hint' if self._hints else ''}"

    def _send(self, message: Message, line: str) -> None:
        if not self._history or self._history[-1] != line:
            self._history = [*self._history[-REMEMBERED:], line]
        self._doubted = ""
        self._put("")
        self.post_message(message)

    def _put(self, text: str) -> None:
        self._recalled = None
        self._input.value = printable(text[:LONGEST]).replace("\n", " ")
        self._input.cursor_position = len(self._input.value)
        self._list.show(())

    def _recall(self, place: int) -> None:
        known = place < len(self._history)
        self._put(self._history[place] if known else "")
        self._recalled = place if known else None

    def _complete(self) -> None:
        typed = self.value
        meant = bool(typed.strip()) and not typed.lstrip().startswith(HINT) and self._completer.exact(typed) is None
        self._list.show(self._completer.ranked(typed) if meant and self._input.has_focus else ())
