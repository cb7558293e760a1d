"""The rulebooks: those that the person has, and those that ship, which become the person's own copy once they are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.events import ScreenResume
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from housequest.tui.base_screen import RUNS, AppScreen, OpenScreen, PickDialog
from housequest.tui.desk.state import FIRST, BookSummary, explores, list_books, open_book
from housequest.tui.keymap import APP, screen_keys
from housequest.tui.text import plural
from housequest.tui.theme import style_sheet
from housequest.tui.widgets.keybar import KeyBar
from housequest.tui.widgets.lines import FramedList, flat
from housequest.worlds.errors import HousequestError

TEACHING = (
    "A rule is a sentence about the world, for people and for agents, with what was played as its evidence. A book that ships "
    "stays as it is: what you change becomes your own copy.\n"
    "In a game or in a replay, k makes a rule of what just happened."
)
EXPLORING = " Without a screen, `housequest explore` plays, and writes down what it finds."


class BooksScreen(AppScreen):
    """Lists the rulebooks that ``books`` finds, those of the library by default; a chosen one is read and posted."""

    # Enter at once, not by a message of the list's: what is typed behind it waits for the book.
    BINDINGS: ClassVar[list[BindingType]] = [*screen_keys("books")]
    GROUP = "rules"
    GROUPS: ClassVar[Mapping[str, str]] = {"list": "look", APP: "leave"}
    AUTO_FOCUS = "OptionList"

    DEFAULT_CSS = style_sheet(__file__)

    def __init__(self, books: Callable[[], Sequence[BookSummary]] = list_books) -> None:
        super().__init__()
        self._list_books = books
        self._books: tuple[BookSummary, ...] = ()
        self._opened = ""
        self._listed = False

    def compose(self) -> ComposeResult:
        yield Static(_title("reading …"), id="books-title")
        yield FramedList()
        yield Static(Content(TEACHING + (EXPLORING if explores() else "")), id="books-teaching")
        yield Static(id="books-note")
        yield KeyBar()

    @on(ScreenResume)
    @work(group="look", exclusive=True)
    async def action_look(self) -> None:
        listed = self.query_one(OptionList)
        try:
            self._books = tuple(await self.in_thread(self._list_books))
        except (HousequestError, OSError) as error:
            self._say(str(error))
            return
        names = [book.name for book in self._books]
        at, count = listed.highlighted or 0, len(names)
        if self._opened in names:  # a new one is not, before it has a rule
            at, self._opened = names.index(self._opened), ""
        width = max(map(len, names), default=0)
        listed.set_options(Option(_row(book, width)) for book in self._books)
        listed.highlighted = min(at, count - 1) if count else None
        listed.display = bool(count)
        self.query_one("#books-title", Static).update(_title(plural(count, "book") if count else "there are none yet"))
        self._listed = True

    @on(OptionList.OptionSelected)
    def action_open(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self._open(self._books[at].name)
        elif self._listed:
            self._say("There is no book yet; n begins one.")

    def action_new(self) -> None:
        names = () if any(book.name == FIRST for book in self._books) else (FIRST,)
        self._ask("The name of a new book", names, "Letters, digits, - and _. It is there once it has a rule.")

    def action_other(self) -> None:
        self._ask("A rulebook's file", (), "A YAML file of rules. One that is not there yet is made by the first rule.")

    def _ask(self, title: str, names: Sequence[str], about: str) -> None:
        dialog = PickDialog(title, names, free=True, about=about)
        self.app.push_screen(dialog, lambda name: self._open(name) if name else None)  # pyright: ignore[reportUnknownMemberType]

    def _open(self, name: str) -> None:
        self.awaited = "The book is being read."  # at once: keys wait for it from now on
        self._read(name)

    @work(group="open", exclusive=True)
    async def _read(self, name: str) -> None:
        try:
            found = await self.in_thread(partial(open_book, name))
        except HousequestError as error:
            self.awaited = ""
            self._say(str(error))
            return
        self._say("")
        self._opened = name
        self.post_message(OpenScreen("desk", (found.book, RUNS, found.shipped), awaited=True))

    def _say(self, text: str) -> None:
        self.query_one("#books-note", Static).update(Content.styled(flat(text), "$fault"))


def _title(about: str) -> Content:
    return Content.assemble(("Rulebooks", "bold $foreground"), f"  ·  {about}")


def _row(book: BookSummary, width: int) -> Content:
    name = (f"{flat(book.name):<{width}}  ", "bold")
    if book.fault:
        return Content.assemble(name, (f"! {flat(book.fault)}", "$fault"))
    counts = f"{book.accepted:>4} accepted  {book.candidates:>4} to judge  {book.rejected:>4} rejected   "
    return Content.assemble(name, counts, ("ships" if book.shipped else "yours", "$quiet"))
