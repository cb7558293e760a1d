"""The rulebooks of the library: the user's own and those that ship, with how many rules each has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from knowledge.library import library
from knowledge.rulebook import Rulebook
from worlds.errors import KnowledgeError

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


def list_books() -> tuple[BookSummary, ...]:
    """The books in the library, by name. It reads files: call it in a thread."""
    return tuple(_book(name) for name in library().names())


def _book(name: str) -> BookSummary:
    books = library()
    path = books.find(name)
    shipped = books.is_shipped(path)
    try:
        book = books.open(name)
    except KnowledgeError as error:
        return BookSummary(name, path, shipped, fault=str(error).replace(str(path), path.name))
    found = Counter(rule.status for rule in book.rules)
    return BookSummary(name, path, shipped, found["accepted"], found["candidate"], found["rejected"], world=book.world)


def open_book(name: str, *, new: bool = True) -> OpenBook:
    """The book with this name or file, to be changed; where there is none, an empty one if ``new``.

    Raises ``KnowledgeError``.
    """
    books = library()
    book = books.writable(name) if new else books.editable(name)
    return OpenBook(book, shipped=name in books.names() and books.is_shipped(books.find(name)))


def latest_book() -> str:
    """The name of the user's book that changed last; ``FIRST`` if they have none."""
    books = library()
    own = [path for name in books.names() if not books.is_shipped(path := books.find(name))]
    return max(own, key=_changed).stem if own else FIRST


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it went away meanwhile
        return 0.0
