"""Lists of options, a choice among a few words, which carry a mark, and a framed pane of lines.

The pane redraws only lines that changed, and its frame says how many lie above and below, in place of a scroll bar.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len
from textual import events
from textual.actions import SkipAction
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget
from textual.widgets import OptionList

from housequest.tui.keymap import Equipped
from housequest.tui.text import cut, printable

GAP = 2
BEFORE, AFTER = "‹ ", " ›"
"""Stand for words that there is no room for."""
_LONGEST = 2_000


class FramedList(Equipped, OptionList):
    """A list in a frame, with one line for each option, that may be filled anew at any time.

    Textual counts the lines of the options when it draws them, so until then there is no page to move by, and it raises.
    """

    def action_page_up(self) -> None:
        with suppress(KeyError):
            super().action_page_up()  # pyright: ignore[reportUnknownMemberType]

    def action_page_down(self) -> None:
        with suppress(KeyError):
            super().action_page_down()  # pyright: ignore[reportUnknownMemberType]


class ChoiceBar(Equipped, Widget, keys="choice", can_focus=True):
    """Some words of which one is chosen, or, with ``several``, any number.

    Left and right move the choice; with ``several`` they move a cursor, and space gives or takes the word under it.
    """

    class Changed(Message):
        """Another word is chosen."""

    def __init__(self, *, several: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._several = several
        self.words: tuple[str, ...] = ()
        """The words to choose from."""
        self._chosen: frozenset[str] = frozenset()
        self._cursor = 0

    @property
    def value(self) -> str:
        """The chosen word; an empty text if there is none."""
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
        self.post_message(self.Changed())

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
        """The first word that is shown, and the one after the last: if there is no room for all, those by the cursor."""
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


class FramedPane(Equipped, ScrollView, can_focus=True):
    """A pane in a frame, which scrolls without a scroll bar and without gliding."""

    def scroll_to(self, x: float | None = None, y: float | None = None, *, animate: bool = True, **how: Any) -> None:
        del animate
        super().scroll_to(x, y, animate=False, **how)

    def strip(self, text: Content | None, component: str | None = None) -> Strip:
        """``text`` as a line across the pane, in the style of ``component`` or of the pane itself."""
        width = self.scrollable_content_region.width
        style = self.get_visual_style(component) if component else self.visual_style
        strips = [] if text is None else Visual.to_strips(self, text, width, 1, style)
        return strips[0].crop_extend(0, width, style.rich_style) if strips else Strip.blank(width, style.rich_style)


class LinesPane(FramedPane):
    """A pane that shows what ``lines`` gives for its width and height; with the focus on it, all of it."""

    _lines: tuple[Content, ...] = ()
    _hidden: str = ""

    def lines(self, width: int, height: int, whole: bool) -> Sequence[Content]:
        """The lines in ``width`` columns and ``height`` lines; unless ``whole``, what matters less may be left out."""
        raise NotImplementedError

    def relay(self) -> None:
        """Lay the lines out again, and draw those that changed."""
        size = self.scrollable_content_region.size
        if not size.width or not size.height:
            return
        old, self._lines = self._lines, tuple(self.lines(size.width, size.height, self.has_focus))
        for y, (before, now) in enumerate(zip_longest(old, self._lines)):
            if before is None or now is None or not before.is_same(now):
                self.refresh_line(y)
        if len(old) != len(self._lines) or self.virtual_size.width != size.width:
            self.virtual_size = Size(size.width, len(self._lines))
            self.scroll_to(y=min(self.scroll_offset.y, max(0, len(self._lines) - size.height)))
        self._show_hidden()

    def render_line(self, y: int) -> Strip:
        line = y + self.scroll_offset.y
        return self.strip(self._lines[line] if line < len(self._lines) else None)

    def on_resize(self) -> None:
        self.relay()

    def on_show(self) -> None:
        # What changed while it was hidden could not be laid out.
        self.relay()

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self.relay()
        if not value:
            self.scroll_home(animate=False)

    def action_scroll_end(self) -> None:
        if not self.allow_vertical_scroll:
            raise SkipAction
        self.scroll_end(animate=False, immediate=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._show_hidden()

    def _show_hidden(self) -> None:
        above = self.scroll_offset.y
        below = max(0, len(self._lines) - self.scrollable_content_region.height - above)
        hidden = "  ".join(f"{arrow} {count}" for arrow, count in (("↑", above), ("↓", below)) if count)
        if hidden != self._hidden:
            self._hidden = hidden
            self.border_subtitle = Content(hidden)


def flat(text: str) -> str:
    """``text`` made printable, on one line, and of a length that a pane can hold."""
    return printable(cut(text, _LONGEST)).replace("\n", " ")


def path_end(text: str, room: int) -> str:
    """The last ``room`` characters of ``text``: the end of a path says more than its beginning."""
    return text if len(text) <= room else f"…{text[1 - room :]}"


def cut_lines(lines: Sequence[Content], most: int, width: int) -> list[Content]:
    """At most ``most`` of ``lines``, the last of which says if there were more."""
    kept = list(lines[:most])
    if len(lines) > most:
        kept[-1] = (kept[-1].rstrip() + Content(" …")).truncate(width, ellipsis=True)
    return kept


def hung(mark: Content, text: Content, width: int) -> list[Content]:
    """``text`` wrapped to ``width`` columns, with ``mark`` before its first line and as much room before the others."""
    indent = mark.cell_length
    room = max(width - indent, 4)
    first, *rest = text.wrap(room) or [Content("")]
    return [(mark + first).truncate(width), *(line.pad_left(indent).truncate(width) for line in rest)]


def labelled(word: str, text: Content, width: int, columns: int) -> list[Content]:
    """``text`` wrapped beside a quiet ``word``, which takes so many columns."""
    return hung(Content.styled(f"{word:<{columns}}  ", "$quiet"), text, width)
