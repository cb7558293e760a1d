"""The homes that agents know, by their rulebooks. Reading the books may take a second: call it in a thread."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from housequest.knowledge.rulebook import LARGEST_FILE, library, parse_book
from housequest.knowledge.rules import accepted
from housequest.tui.base_screen import RUNS
from housequest.worlds.errors import HousequestError
from housequest.worlds.paths import read_file
from housequest.worlds.registry import world_class

BOOK = "book.yaml"
"""The name of a book below the folder of runs."""
_DAYS = re.compile(r"(?P<home>[^:]+:[0-9]+):(?:[0-9]+\.\.)?(?P<day>[0-9]+)", re.ASCII)


class LearnedHousehold(NamedTuple):
    """A home, such as ``household:7``, with a ``book`` about its first ``days``."""

    world: str
    home: str
    days: int
    book: Path

    @property
    def name(self) -> str:
        return self.home.replace("-", " ").replace(":", " ").capitalize()


def learned_households(runs: Path = RUNS) -> Sequence[LearnedHousehold]:
    """The homes in accepted rules, each with the book that knows most of its days.

    Args:
        runs: The folder of runs. A life there has a book for each day; only the last counts.

    Returns:
        The homes, sorted by name, without those in a book of the library.
    """
    own = library()
    last = {file.parent.parent: file for file in sorted(runs.rglob(BOOK))}
    found = dict[tuple[str, str], LearnedHousehold]()
    for file in (*map(own.find, own.names()), *last.values()):
        for one in _homes_of(file):
            known = found.setdefault(one[:2], one)
            found[one[:2]] = max(known, one, key=lambda home: home.days)
    return sorted(found.values())


def _homes_of(file: Path) -> Sequence[LearnedHousehold]:
    try:
        state = file.stat()
        return _read(file, state.st_mtime_ns, state.st_size)
    except (OSError, HousequestError):  # it was just removed, or it is no book, as the desk will say
        return ()


@lru_cache(maxsize=256)
def _read(file: Path, *state: int) -> Sequence[LearnedHousehold]:
    """The homes in ``file``, cached as long as its ``state`` is the same."""
    del state
    content = read_file(file, LARGEST_FILE)
    if b"scope: household" not in content:  # most books have none, and a book takes a while to read
        return ()
    book, days = parse_book(file, content), Counter[str]()
    for part in (part for rule in accepted(book.rules) for part in rule.days):
        if (found := _DAYS.fullmatch(part)) and part.partition(":")[0] in world_class(book.world).info.homes:
            days[found["home"]] = max(days[found["home"]], int(found["day"]))
    return [LearnedHousehold(book.world, home, day, file) for home, day in days.items()]
