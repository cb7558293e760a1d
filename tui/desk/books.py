"""The rulebooks of the library: the user's own and those that ship, with how many rules each has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from housequest.knowledge.rulebook import Rulebook, library
from housequest.worlds.errors import KnowledgeError
from housequest.worlds.registry import DEFAULT_WORLD, plugins

FIRST = "mine"
"""What a person's first book is called unless they say otherwise."""


@dataclass(frozen=True, slots=True)
class BookSummary:
    """A rulebook in the library: how many rules it has of each status, or why it cannot be read."""

    name: str
    path: Path
    shipped: bool
    accepted: int = 0
    candidates: int = 0
    rejected: int = 0
    fault: str = ""
    world: str = ""


@dataclass(frozen=True, slots=True)
class OpenBook:
    """A book to be curated. ``shipped``: it is the user's copy of one that ships; the first save makes it."""

    book: Rulebook
    shipped: bool = False


def explores() -> bool:
    """Whether there is the command that explores, which is an optional part."""
    return "explore" in plugins("housequest.commands")


def list_books() -> tuple[BookSummary, ...]:
    """The books in the library, by name. It reads files: call it in a thread."""
    books = library()
    found: list[BookSummary] = []
    for name in books.names():
        path = books.find(name)
        shipped = books.is_shipped(path)
        try:
            book = books.open(name)
        except KnowledgeError as error:
            found.append(BookSummary(name, path, shipped, fault=str(error).replace(str(path), path.name)))
            continue
        of = Counter(rule.status for rule in book.rules)
        found.append(BookSummary(name, path, shipped, of["accepted"], of["candidate"], of["rejected"], world=book.world))
    return tuple(found)


def open_book(name: str, *, new: bool = True, world: str | None = None) -> OpenBook:
    """The book with this name or file, to be changed; if there is none and ``new``, an empty one.

    With a ``world``, a book about another one is refused, and a new one is about it. Raises ``KnowledgeError``.
    """
    books = library()
    book = books.writable(name, world) if world else books.writable(name) if new else books.editable(name)
    return OpenBook(book, shipped=name in books.names() and books.is_shipped(books.find(name)))


def latest_book(world: str = DEFAULT_WORLD) -> str:
    """The name of the user's book about ``world`` that changed last; a new name if they have none."""
    every = list_books()
    own = [book.path for book in every if not book.shipped and book.world == world]
    if own:
        return max(own, key=_changed).stem
    return FIRST if FIRST not in {book.name for book in every} else world


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it went away meanwhile
        return 0.0
