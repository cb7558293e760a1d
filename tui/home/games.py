"""The games of one source: a search line, the kinds, and the list."""

from __future__ import annotations

from dataclasses import dataclass
from random import choice

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from tui.home.catalogue import LONGEST_QUERY, GameIndex, GameRow, GameSource
from tui.home.places import missing, name
from tui.home.task_list import GameList
from tui.text import printable
from tui.widgets.choice import ChoiceBar

ALL = "all"

_EMPTY = {
    "unfinished": "No game broke off. One that does, because you left it or the terminal closed, waits here to go on.",
    "played": "No game was played to its end yet. Those that were can be seen again from here, step by step.",
}
_NO_MATCH = "No game here answers to that. Escape clears the search, t shows other types."


class GameBrowser(Vertical):
    """Lists the games of a source that match the search and are of the chosen kind."""

    DEFAULT_CSS = """
    GameBrowser {
        width: 1fr;
        padding: 0 1;
        border: round $frame;
        border-title-color: $foreground;
        border-subtitle-color: $quiet;
        &:focus-within { border: round $goal; }
        & > Input { background: $background; color: $foreground; }
        & > Input:focus { background: $panel; background-tint: $background 0%; }
        & > GameList { height: 1fr; }
    }
    """

    class Changed(Message):
        """Another game is under the cursor, or another one may be."""

    @dataclass
    class Sought(Message):
        """The made-up task of ``seed`` is searched for."""

        seed: int

    def __init__(self, place: GameSource, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.place = place
        self.busy = True
        self._listing = GameIndex()

    def compose(self) -> ComposeResult:
        yield Input(placeholder="/ words, or a number", id="search", compact=True, max_length=LONGEST_QUERY)
        yield ChoiceBar(id="types")
        yield GameList(id="tasks")

    def on_mount(self) -> None:
        self._query.cursor_blink = False
        self._filter()

    @property
    def row(self) -> GameRow | None:
        """The game under the cursor."""
        return self._list.row

    @property
    def searching(self) -> bool:
        return self._query.has_focus or bool(self._query.value)

    def open(self, place: GameSource) -> None:
        """Show ``place``, whose games are being loaded."""
        self.place, self.busy = place, True
        self._clear()
        self._types.offer(())
        self._list_all(GameIndex())

    def fill(self, listing: GameIndex, key: str = "") -> None:
        """Show the games, with the cursor where it is, else on the one with ``key``."""
        self.busy = False
        known = {row.key for row in listing.rows}
        before = [row for row in self._listing.rows if row.key not in known]
        self._types.offer([ALL, *listing.kinds] if listing.kinds else (), self._types.value)
        self._list_all(GameIndex([*before, *listing.rows], listing.order), self.row.key if self.row else key)

    def put_first(self, row: GameRow) -> None:
        """Add a game before the others, and go to it."""
        others = (each for each in self._listing.rows if each.key != row.key)
        self._list_all(GameIndex([row, *others], self._listing.order), row.key)

    def give_up(self) -> None:
        self.busy = False
        self._filter()

    def search(self) -> None:
        self._query.focus()

    def leave(self) -> None:
        """Go to the list; there, clear the search."""
        if self._list.has_focus:
            self._query.value = ""
        self._list.focus()

    def next_type(self) -> None:
        """Show only the next kind."""
        self._types.next()

    def show_all(self) -> None:
        """Show all games."""
        self._clear()
        self._types.offer(self._types.words)
        self._filter()

    def draw(self) -> None:
        """Go to a random game of the list."""
        if self._list.rows:
            self._list.show(self._list.rows, choice(self._list.rows).key)

    def move(self, by: int) -> None:
        """Move in the list while the search line is typed in."""
        if self._query.has_focus:
            self._list.action_move(by)

    def _list_all(self, listing: GameIndex, key: str = "") -> None:
        self._listing = listing
        self._filter(key)

    def _filter(self, key: str = "") -> None:
        kind, of = self._types.value, len(self._listing.rows)
        rows = self._listing.find(self._query.value, "" if kind == ALL else kind)
        place = printable(name(self.place))
        empty = "" if self.busy else missing(self.place) or _EMPTY.get(self.place.kind, "There is no game here.")
        self._list.show(rows, key, _NO_MATCH if of else empty)
        self.border_title = place
        self.border_subtitle = "looking" if self.busy else self._count(len(rows), of)

    def _count(self, shown: int, of: int) -> str:
        if self.place.kind == "made-up":
            return f"{shown:,} of them · / and a number: any other"
        return f"{shown:,} of {of:,}" if of else ""

    def _clear(self) -> None:
        with self.prevent(Input.Changed):
            self._query.value = ""

    @on(Input.Changed)
    def _searched(self, changed: Input.Changed) -> None:
        changed.stop()
        self._filter(self.row.key if self.row and changed.value else "")
        sought = changed.value.strip()
        if self.place.kind == "made-up" and sought.isascii() and sought.isdecimal() and len(sought) < 20:
            self.post_message(self.Sought(int(sought)))

    @on(ChoiceBar.Changed)
    def _typed(self, changed: ChoiceBar.Changed) -> None:
        changed.stop()
        self._filter(self.row.key if self.row else "")

    @on(GameList.Moved)
    def _moved(self, moved: GameList.Moved) -> None:
        moved.stop()
        self.post_message(self.Changed())

    @property
    def _list(self) -> GameList:
        return self.query_one(GameList)

    @property
    def _query(self) -> Input:
        return self.query_one(Input)

    @property
    def _types(self) -> ChoiceBar:
        return self.query_one(ChoiceBar)
