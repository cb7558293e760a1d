"""The command line: a command, completed from the possible ones, words to read, or a hint after a question mark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

from rapidfuzz import process
from rapidfuzz.distance import OSA
from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from housequest.agent.skills.language.directions import Directions
from housequest.agent.skills.language.playing import PlayersLine
from housequest.agent.skills.language.sentences import Control
from housequest.tui.keymap import Equipped
from housequest.tui.text import natural, printable

Reader = Callable[[str, str | None], PlayersLine | None]

ROWS = 6  # completions that are seen at once
LONGEST = 1_000  # characters that the line takes
HINT = "?"  # what a hint begins with
REMEMBERED = 200
_LONGEST_TYPED = 200  # typed characters that count
_SLIPS = 1  # typing slips in a command: a letter, or two swapped

_PARTICLES = frozenset(("from", "in", "into", "in/on", "on", "to", "under", "with", "at", "the"))
"""Words that say little: "fr" means the fridge rather than "from"."""


class CommandMatch(NamedTuple):
    """A command, and the places in it of the letters that were typed."""

    command: str
    marks: tuple[int, ...]


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
        """The command that ``typed`` would be without a slip."""
        # "Look down" is LookDown in worlds that write commands so.
        joined = _plain(typed).replace(" ", "")
        if joined in self._exact:
            return self._exact[joined]
        found = process.extractOne(_plain(typed), self._exact, scorer=OSA.distance, score_cutoff=_SLIPS)
        return None if found is None or not found[1] else self._exact[found[0]]

    def ranked(self, typed: str) -> tuple[CommandMatch, ...]:
        """The commands that ``typed`` may mean, best first; all of them for an empty text."""
        sought = _plain(typed)
        ranks = [(rank, one) for one, text in self._lower.items() if (rank := _rank(text, self._known[one], sought))]
        return tuple(CommandMatch(command, rank[2]) for rank, command in sorted(ranks, key=lambda ranked: ranked[0][:2]))


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


class _TypedInput(Input):
    """The typed text. While it is empty, keys that move in it or mark it go to the game."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        return not action.startswith("cursor_") or bool(self.value)

    def _on_paste(self, event: events.Paste) -> None:
        # An input keeps the first line alone, and nothing that is too long: several lines become one, which is cut.
        event.prevent_default()
        room = LONGEST - len(self.value) + len(self.selected_text)
        super()._on_paste(events.Paste(" ".join(event.text.split())[:room]))
        event.stop()

    async def _on_key(self, event: events.Key) -> None:
        if event.key != "enter":
            await super()._on_key(event)
            return
        # As a binding, it would come after the letters that were typed next.
        event.stop()
        event.prevent_default()
        await self.action_submit()


class CommandLine(Equipped, Widget, keys="line"):
    """One line of input, which posts sent lines and never moves the focus.

    ``reader`` reads words that are no command; the line shows their meaning below them, and Enter sends it. ``reader`` gets the
    words and, if the person was asked which thing they mean, their pick; it returns None for words to send unchanged.
    """

    @dataclass
    class Submitted(Message):
        """Send ``command``, and then the ``orders``."""

        command: str
        orders: Directions | None = None

    @dataclass
    class Hinted(Message):
        text: str

    @dataclass
    class Controlled(Message):
        """The ``said`` words steer the game, such as "stop"."""

        word: Control
        said: str

    class Left(Message):
        """Give the focus back."""

    def __init__(self, *, hints: bool = True, reader: Reader | None = None, words: str = "") -> None:
        super().__init__()
        self._hints, self._reader, self._words = hints, reader, words
        self._completer = CommandCompleter()
        self._history: list[str] = []
        self._recalled: int | None = None
        self.meant: PlayersLine | None = None
        self._input = _TypedInput(placeholder=self._offered(False), compact=True, select_on_focus=False, max_length=LONGEST)
        self._input.cursor_blink = False
        self._list = CompletionList(self.prefill)
        self._below = Static("", classes="line--meant", markup=False)

    def compose(self) -> ComposeResult:
        yield self._list
        with Horizontal():
            yield Static("› ", classes="line--mark")
            yield self._input
        yield self._below

    @property
    def value(self) -> str:
        return self._input.value

    def offer(self, commands: tuple[str, ...] | None) -> None:
        """Complete from ``commands``; None: from what was sent before."""
        completer = CommandCompleter(self._history if commands is None else commands)
        if completer.commands == self._completer.commands:
            return
        self._completer = completer
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
        typed = " ".join(message.value.split())
        if self.meant is not None and not self.meant.choices and typed not in ("", self.meant.said):
            self.tell(None)
            self._complete()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        # A fast typist has begun the next line before this one is read.
        later = self.value.removeprefix(message.value) if self.value.startswith(message.value) else ""
        self._take(" ".join(message.value.split()))
        if later and not self.value:
            self._put(later)
        elif self.value and not later:
            # What is typed next takes the place of a line that was not sent.
            self._input.action_select_all()

    def _take(self, text: str) -> None:
        """Send a line, or show its meaning."""
        if text.startswith(HINT):
            self._send(self.Hinted(text.removeprefix(HINT).strip()), text)
        elif (command := self._completer.exact(text) or self._list.command) is not None:
            self._send(self.Submitted(command), command)
        elif text:
            self._understand(text)

    def _understand(self, text: str) -> None:
        """Show the meaning of words that are no command, or send it if shown."""
        read, picked = self.meant, None
        if read is not None and text == read.said and read.commands:
            self._send(self.Submitted(read.commands[0], read.orders), text)
            return
        if read is not None and read.choices and text.isdecimal() and 0 < int(text) <= len(read.choices):
            text, picked = read.said, read.choices[int(text) - 1]
        meant = None if self._reader is None else self._reader(text, picked)
        if meant is None and self._completer.commands:
            near = self._completer.near(text)
            meant = PlayersLine(text, (near or text,), says="" if near else "It is not possible now.")
        if meant is None or (meant.commands == (text,) and not meant.says) or (picked is not None and meant.commands):
            command, orders = (text, None) if meant is None else (meant.commands[0], meant.orders)
            self._send(self.Submitted(command, orders), text)
        elif meant.control is not None:
            self._send(self.Controlled(meant.control, text), text)
        else:
            if meant.asked or meant.choices:
                self._remember(text)
            self.tell(meant)

    def tell(self, meant: PlayersLine | None) -> None:
        """Show the meaning of a line below it; None hides it."""
        self.meant = meant
        self._list.show(())
        words = "" if meant is None else meant.shown
        if meant is not None and meant.commands:
            words = f"{words}  ⏎"
        elif meant is not None and not self.value:
            words = f"{meant.said}: {words}"
        self._below.update(printable(words).replace("\n", " "))
        self.set_class(bool(words), "-meant")

    def on_descendant_focus(self) -> None:
        self.add_class("-typing")

    def on_descendant_blur(self) -> None:
        self.remove_class("-typing")
        self._list.show(())

    def on_click(self) -> None:
        self.focus()

    def _offered(self, listed: bool) -> str:
        below, hint = "↓ lists what is possible" if listed else "", "?words for a hint" if self._hints else ""
        kinds = (
            "a command" if self._reader is None or self._words else "a command or your own words",
            self._words,
            below,
            hint,
        )
        return " · ".join(filter(None, kinds))

    def _send(self, message: Message, line: str) -> None:
        self._remember(line)
        self.tell(None)
        self.post_message(message)

    def _remember(self, line: str) -> None:
        """Add the line to the history, and empty it."""
        if not self._history or self._history[-1] != line:
            self._history = [*self._history[-REMEMBERED:], line]
        self._put("")

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
