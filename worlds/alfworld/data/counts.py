"""The shipped table of counts: where things are in the games of ``train``. ``scripts/count_locations.py`` makes it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from housequest.worlds.household.counts import Counts, read_counts

TABLE = "counts.json"


def load_counts(path: Path | None = None) -> Counts:
    """The shipped table, read once, or the one at ``path``. Raises ``KnowledgeError`` naming the file."""
    return _shipped() if path is None else read_counts(path)


@cache
def _shipped() -> Counts:
    return read_counts(Path(__file__).with_name(TABLE))
