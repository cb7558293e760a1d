"""A long list of games, one a line, of which only the lines in view are ever drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from housequest.tui.home.catalogue import GameRow
from housequest.tui.text import TextLayout, printable

LONGEST_TEXT = 500
LONGEST_COLUMN = 60
NARROWEST_ASIDE = 20
"""Columns of an aside below which it is left out."""


class GameList(ScrollView, can_focus=True, inherit_bindings=False):
    """Games, one of them under the cursor. Picking one, by a second click, posts ``Picked``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "move(-1000000)", "First", show=False),
        Binding("end", "move(1000000)", "Last", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"list--line", "list--quiet", "list--kind", "list--cursor", "list--cursor-quiet"}
    DEFAULT_CSS = """
    GameList {
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        & > .list--line { color: $foreground; }
        & > .list--quiet { color: $quiet; }
        & > .list--kind { color: $new; }
        & > .list--cursor { color: $foreground; background: $panel; }
        & > .list--cursor-quiet { color: $quiet; background: $panel; }
        &:focus > .list--cursor { text-style: bold; }
    }
    """

    class Moved(Message):
        """Another game is under the cursor, or none any more."""

    class Picked(Message):
        """The game under the cursor was picked."""

    rows: Sequence[GameRow] = ()
    """The games that are listed."""

    _cursor = 0
    _instead = ""
    # The widths of the columns.
    _numbers = 0
    _kinds = 0
    _texts = 0

    @property
    def row(self) -> GameRow | None:
        """The game under the cursor."""
        return self.rows[self._cursor] if self.rows else None

    def show(self, rows: Sequence[GameRow], key: str = "", instead: str = "") -> None:
        """List these games, the cursor on the one with ``key``, else on the first; say something ``instead`` of none."""
        self.rows, self._instead = rows, instead
        self._texts = min(LONGEST_COLUMN, max((cell_len(_short(row.text)) for row in rows if row.aside), default=0))
        self._numbers = max((cell_len(row.number) for row in rows), default=0)
        self._kinds = max((cell_len(row.kind) for row in rows), default=0)
        self._cursor = next((number for number, row in enumerate(rows) if row.key == key), 0)
        self.virtual_size = Size(self.size.width, len(rows))
        self._follow()
        self.refresh()
        self.post_message(self.Moved())

    def action_move(self, by: int) -> None:
        """Move the cursor by so many lines, and stop at the ends."""
        place = max(0, min(len(self.rows) - 1, self._cursor + by))
        if self.rows and place != self._cursor:
            self._cursor = place
            self._follow()
            self.refresh()
            self.post_message(self.Moved())

    def action_page(self, by: int) -> None:
        self.action_move(by * max(1, self.size.height - 1))

    def on_click(self, click: events.Click) -> None:
        place = click.y + self.scroll_offset.y
        if place >= len(self.rows):
            return
        if place == self._cursor and click.chain > 1:
            self.post_message(self.Picked())
        self.action_move(place - self._cursor)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self.rows))
        self._follow()

    def _follow(self) -> None:
        height, top = self.size.height, self.scroll_offset.y
        if height and not top <= self._cursor < top + height:
            target = self._cursor if self._cursor < top else self._cursor - height + 1
            self.scroll_to(y=max(0, target), animate=False, immediate=True, force=True)

    def render_line(self, y: int) -> Strip:
        width = self.size.width - (self.scrollbar_size_vertical if self.show_vertical_scrollbar else 0)
        place = y + self.scroll_offset.y
        if place >= len(self.rows):
            return self._empty(y, width)
        row, here = self.rows[place], place == self._cursor
        line = self.get_component_rich_style("list--cursor" if here else "list--line")
        quiet = self.get_component_rich_style("list--cursor-quiet" if here else "list--quiet")
        kind = line if here else self.get_component_rich_style("list--kind")
        parts = [Segment("▸ " if here else "  ", line), Segment(f"{printable(row.number):>{self._numbers}}  ", quiet)]
        if self._kinds:
            parts.append(Segment(f"{set_cell_size(_short(row.kind), self._kinds)}  ", kind))
        left = width - sum(segment.cell_length for segment in parts)
        if row.aside and left > self._texts + NARROWEST_ASIDE:
            parts.append(Segment(f"{_cut(_short(row.text), self._texts)}   ", line))
            parts.append(Segment(_cut(_short(row.aside), left - self._texts - 3), quiet))
        else:
            parts.append(Segment(_cut(_short(row.text), left), line))
        return Strip(parts).crop_extend(0, width, line if here else self.rich_style)

    def _empty(self, y: int, width: int) -> Strip:
        """A line of what is said where there are no games."""
        lines = [] if self.rows else TextLayout(width).wrapped(self._instead)
        if not 1 <= y <= len(lines):
            return Strip.blank(width, self.rich_style)
        style = self.get_component_rich_style("list--quiet")
        return Strip([Segment(lines[y - 1], style)]).crop_extend(0, width, self.rich_style)


def _short(text: str) -> str:
    """At most what could ever be seen of a text, on one line."""
    return " ".join(printable(text[:LONGEST_TEXT]).split())


def _cut(text: str, width: int) -> str:
    """``text`` in exactly ``width`` columns, an ellipsis where it does not fit."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return f"{set_cell_size(text, width - 1)}…" if width > 0 else ""
