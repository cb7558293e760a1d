"""The games of one source: a search line, the kinds, and the list."""

from __future__ import annotations

from random import choice

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from housequest.tui.home.catalogue import LONGEST_QUERY, GameIndex, GameRow, GameSource
from housequest.tui.home.task_list import GameList
from housequest.tui.text import plural, printable
from housequest.tui.widgets.choice import ChoiceBar

ALL = "all"

_EMPTY = {
    "unfinished": "No game broke off. One that does, because you left it or the terminal closed, waits here to go on.",
    "played": "No game was played to its end yet. Those that were can be seen again from here, step by step.",
}
_NO_MATCH = "No game here fits. Escape leaves the search, and once more clears it; t shows other types."


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
