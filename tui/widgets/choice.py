"""Lists of options; and a choice among a few words on one line, which carry a mark, so that nothing depends on colour."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList

from housequest.tui.text import printable
from housequest.tui.theme import style_sheet

GAP = 2
BEFORE, AFTER = "‹ ", " ›"
"""Stand for words that there is no room for."""


class PagedList(OptionList):
    """An ``OptionList`` that may be filled anew at any time.

    Textual counts the lines of the options when it draws them, so until then there is no page to move by, and it raises.
    """

    def action_page_up(self) -> None:
        with suppress(KeyError):
            super().action_page_up()  # pyright: ignore[reportUnknownMemberType]

    def action_page_down(self) -> None:
        with suppress(KeyError):
            super().action_page_down()  # pyright: ignore[reportUnknownMemberType]


class FramedList(PagedList):
    """A list in a frame, with one line for each option."""

    DEFAULT_CSS = style_sheet(__file__)


class ChoiceBar(Widget, can_focus=True):
    """Some words of which one is chosen, or, with ``several``, any number.

    Left and right move the choice; with ``several`` they move a cursor, and space gives or takes the word under it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "Previous", show=False),
        Binding("right", "move(1)", "Next", show=False),
        Binding("space", "give", "Give or take", show=False),
    ]
    DEFAULT_CSS = style_sheet(__file__)

    @dataclass
    class Changed(Message):
        """Another word is chosen."""

        choice: ChoiceBar

        @property
        def control(self) -> ChoiceBar:
            """The choice that changed."""
            return self.choice

    def __init__(self, *, several: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._several = several
        self.words: tuple[str, ...] = ()
        """What can be chosen."""
        self._chosen: frozenset[str] = frozenset()
        self._cursor = 0

    @property
    def value(self) -> str:
        """The chosen word; an empty text where there is none."""
        return next(iter(self.values), "")

    @property
    def values(self) -> tuple[str, ...]:
        """Every chosen word, in the order shown."""
        return tuple(word for word in self.words if word in self._chosen)

    def offer(self, words: Sequence[str], *chosen: str) -> None:
        """Show these words, with those chosen; nothing is posted. Without ``several`` the first one stands in for none."""
        self.words = tuple(words)
        found = [word for word in chosen if word in self.words]
        self._chosen = frozenset(found if self._several else (found or self.words)[:1])
        self._cursor = self.words.index(self.value) if self.value and not self._several else 0
        self.refresh(layout=True)

    def choose(self, word: str) -> None:
        """Choose ``word``, or, with ``several``, give or take it, and say so."""
        if word not in self.words or (not self._several and word == self.value):
            return
        self._chosen = self._chosen ^ {word} if self._several else frozenset({word})
        self._cursor = self.words.index(word)
        self.refresh(layout=True)
        self.post_message(self.Changed(self))

    def next(self, by: int = 1) -> None:
        """Choose the word after the chosen one, round and round."""
        if self.words:
            self.choose(self.words[(self.words.index(self.value) + by) % len(self.words)])

    def action_move(self, by: int) -> None:
        if not self._several:
            self.next(by)
        elif self.words:
            self._cursor = (self._cursor + by) % len(self.words)
            self.refresh()

    def action_give(self) -> None:
        """Give or take the word under the cursor; a single choice goes on to the next word."""
        if not self._several:
            self.next()
        elif self.words:
            self.choose(self.words[self._cursor])

    def on_click(self, click: events.Click) -> None:
        first, last = self._seen()
        end = len(BEFORE) if first else 0
        for word in self.words[first:last]:
            end += cell_len(self._label(word)) + GAP
            if click.x < end:
                self.choose(word)
                return

    def _label(self, word: str) -> str:
        on = word in self._chosen
        mark = ("✓ " if on else "· ") if self._several else ("● " if on else "")
        return f"{mark}{printable(word)}"

    def _seen(self) -> tuple[int, int]:
        """The first word that is shown, and the one after the last: where there is no room for all, those by the cursor."""
        room = self.region.width
        if isinstance(self.parent, Widget) and self.parent.content_region.right > self.region.x:
            room = min(room, self.parent.content_region.right - self.region.x)
        widths = [cell_len(self._label(word)) + GAP for word in self.words]

        def fits(first: int, last: int) -> bool:
            marks = (len(BEFORE) if first else 0) + (len(AFTER) if last < len(widths) else 0)
            return sum(widths[first:last]) - GAP + marks <= room

        first, last = 0, len(widths)
        while last > self._cursor + 1 and not fits(first, last):
            last -= 1
        while first < self._cursor and not fits(first, last):
            first += 1
        return first, last

    def render(self) -> Content:
        first, last = self._seen()
        parts: list[Content] = []
        for number, word in enumerate(self.words[first:last], first):
            style = "bold $foreground" if word in self._chosen else "$quiet"
            if self._several and self.has_focus and number == self._cursor:
                style = f"underline {style}"
            parts.append(Content.styled(self._label(word), style))
        words = Content(" " * GAP).join(parts)
        return Content.assemble(BEFORE if first else "", words, AFTER if last < len(self.words) else "")

    def get_content_width(self, container: Size, viewport: Size) -> int:
        del container, viewport
        return sum(cell_len(self._label(word)) for word in self.words) + GAP * max(0, len(self.words) - 1)
