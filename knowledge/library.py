"""Finds rulebooks by name or file. The user's own come before the shipped ones, which are read-only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from housequest.knowledge.rulebook import Rulebook, new_book, own_rulebooks, read_book
from housequest.worlds.errors import KnowledgeError, nearest, shown
from housequest.worlds.registry import DEFAULT_WORLD

SUFFIX = ".yaml"
WITNESSES = "witnesses.zip"
"""Beside the books that ship: the records that they name as witnesses, as run/task.jsonl."""
MOST_BOOKS = 1_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RuleLibrary:
    """Rulebooks by name: the user's in ``own``, then those in ``shipped`` with other names."""

    own: Path
    shipped: Path

    def names(self) -> tuple[str, ...]:
        """The names of all rulebooks, sorted."""
        return tuple(sorted({path.stem for folder in (self.own, self.shipped) for path in _books(folder)}))

    def find(self, name: str) -> Path:
        """The file of the rulebook with this name, or the file itself.

        Raises ``KnowledgeError`` for anything else.
        """
        if _NAME.fullmatch(name):
            for folder in (self.own, self.shipped):
                if (path := folder / f"{name}{SUFFIX}").is_file():
                    return path
            if not Path(name).exists():
                known = self.names()
                listed = f"there are {', '.join(known)}" if known else "there is none yet"
                raise KnowledgeError(f"There is no rulebook {shown(name)}; {listed}.{nearest(name, known)} Or give a file.")
        try:
            return Path(name).expanduser()
        except (RuntimeError, ValueError):
            raise KnowledgeError(
                f"{shown(name)} is not a path, or begins with a home folder that is not known; write the whole path."
            ) from None

    def open(self, name: str) -> Rulebook:
        """The rulebook of this name or in this file. Raises ``KnowledgeError``."""
        return read_book(self.find(name))

    def editable(self, name: str) -> Rulebook:
        """The rulebook for editing; a shipped one is copied to the user's folder when it is saved."""
        path = self.find(name)
        book = read_book(path)
        return Rulebook(self.own / path.name, book.text, book.page) if self.is_shipped(path) else book

    def writable(self, name: str, world: str = DEFAULT_WORLD) -> Rulebook:
        """The book ``name`` for adding rules about ``world``; an empty one, not saved yet, if there is none.

        Raises ``KnowledgeError``, also if the book is about another world.
        """
        if not name or not name.isprintable():
            raise KnowledgeError(f"{shown(name)} is not the name of a rulebook; give letters and digits, or a file.")
        path = Path(name)
        if _NAME.fullmatch(name) and not path.exists() and name not in self.names():
            return new_book(self.own / f"{name}{SUFFIX}", world)
        path = self.find(name)
        if not path.exists() and not path.is_symlink():
            return new_book(path, world)
        return self.editable(name).require_world(world, "Name another book, or a new one.")

    def is_shipped(self, path: Path) -> bool:
        """Whether this is a rulebook that ships."""
        return path.parent == self.shipped


def is_book_name(text: str) -> bool:
    """Whether ``text`` can be the name of a rulebook; other texts are files."""
    return _NAME.fullmatch(text) is not None


def library() -> RuleLibrary:
    """The rulebooks of this user."""
    with as_file(files("housequest.knowledge")) as folder:
        return RuleLibrary(own_rulebooks(), Path(folder) / "library")


def _books(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix == SUFFIX and is_book_name(path.stem)][:MOST_BOOKS]
    except OSError:  # no such folder
        return []
