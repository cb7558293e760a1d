"""The games of one source: a search line, the kinds, and the list, of which only the lines in view are ever drawn."""

from __future__ import annotations

from collections.abc import Sequence
from random import choice
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from housequest.tui.home.catalogue import LONGEST_QUERY, GameIndex, GameRow, GameSource
from housequest.tui.text import TextLayout, plural, printable
from housequest.tui.widgets.choice import ChoiceBar

ALL = "all"

_EMPTY = {
    "unfinished": "No game broke off. One that does, because you left it or the terminal closed, waits here to go on.",
    "played": "No game was played to its end yet. Those that were can be seen again from here, step by step.",
}
_NO_MATCH = "No game here fits. Escape leaves the search, and once more clears it; t shows other types."

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


class GameBrowser(Vertical):
    """Lists the games of a source that match the search and are of the chosen kind."""

    DEFAULT_CSS = """
    GameBrowser {
        width: 1fr; padding: 0 1;
        border: round $frame; border-title-color: $foreground; border-subtitle-color: $quiet;
        &:focus-within { border: round $goal; }
        & > Input { background: $background; color: $foreground; }
        & > Input:focus { background: $panel; background-tint: $background 0%; }
        & > GameList { height: 1fr; }
    }
    """

    class Changed(Message):
        """Another game is under the cursor, or another one may be."""

    def __init__(self, place: GameSource, *, id: str) -> None:
        super().__init__(id=id)
        self.place = place
        self.busy = True
        self.search = Input(placeholder="/ words, or a number", id="search", compact=True, max_length=LONGEST_QUERY)
        self.search.cursor_blink = False
        self.types = ChoiceBar(id="types")
        self.list = GameList(id="tasks")
        self._listing = GameIndex()

    def compose(self) -> ComposeResult:
        yield from (self.search, self.types, self.list)

    def on_mount(self) -> None:
        self._filter()

    @property
    def row(self) -> GameRow | None:
        """The game under the cursor."""
        return self.list.row

    def open(self, place: GameSource) -> None:
        """Show ``place``, whose games are being loaded."""
        self.place, self.busy = place, True
        self._clear()
        self.types.offer(())
        self._list_all(GameIndex())

    def fill(self, listing: GameIndex, key: str = "") -> None:
        """Show the games, with the cursor where it is, else on the one with ``key``."""
        self.busy = False
        known = {row.key for row in listing.rows}
        before = [row for row in self._listing.rows if row.key not in known]
        self.types.offer([ALL, *listing.kinds] if listing.kinds else (), self.types.value)
        self._list_all(GameIndex([*before, *listing.rows], listing.order), self.row.key if self.row else key)

    def put_first(self, row: GameRow) -> None:
        """Add a game before the others, and go to it."""
        others = (each for each in self._listing.rows if each.key != row.key)
        self._list_all(GameIndex([row, *others], self._listing.order), row.key)

    def give_up(self) -> None:
        self.busy = False
        self._filter()

    def show_all(self) -> None:
        """Show all games."""
        self._clear()
        self.types.offer(self.types.words)
        self._filter()

    def draw(self) -> None:
        """Go to a random game of the list."""
        if self.list.rows:
            self.list.show(self.list.rows, choice(self.list.rows).key)

    def _list_all(self, listing: GameIndex, key: str = "") -> None:
        self._listing = listing
        self._filter(key)

    def _filter(self, key: str = "") -> None:
        kind, of = self.types.value, len(self._listing.rows)
        rows = self._listing.find(self.search.value.strip(), "" if kind == ALL else kind)
        empty = "" if self.busy else self.place.missing or _EMPTY.get(self.place.kind, "There is no game here.")
        self.list.show(rows, key, _NO_MATCH if of else empty)
        self.border_title = printable(self.place.title)
        count = f"{len(rows):,} of {of:,}" if of else ""
        if self.place.kind == "made-up":
            count = f"{plural(len(rows), 'game')} · / and a number for the rest"
        self.border_subtitle = "looking" if self.busy else count

    def _clear(self) -> None:
        with self.prevent(Input.Changed):
            self.search.value = ""

    @on(Input.Changed)
    def _searched(self, changed: Input.Changed) -> None:
        self._filter(self.row.key if self.row and changed.value else "")

    @on(GameList.Moved)
    def _moved(self) -> None:
        # What the list posts while this widget fills it does not reach the screen.
        self.post_message(self.Changed())

    @on(ChoiceBar.Changed)
    def _typed(self) -> None:
        self._filter(self.row.key if self.row else "")
