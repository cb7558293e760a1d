"""By what a place is chosen to look into next, apart from what kinds of thing there are.

A world's vocabulary, the kinds of object in its texts, is published and known to all. Where such things usually lie is
knowledge of another sort, the location prior: it may be counted over a training split, or be missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Literal, get_args

SearchPrior = Literal["counts", "random", "name"]
"""``counts``: the likeliest place first, counted over a training split; ``random``: in a drawn order; ``name``: by name."""
SEARCHES: tuple[SearchPrior, ...] = get_args(SearchPrior)


def salt_of(seed: int, places: Iterable[str]) -> str:
    """What draws the order of a random search in the house that has these ``places``, however its task is worded."""
    return "\n".join((str(seed), *places))


def drawn(salt: str, name: str) -> str:
    """A key that sorts names into an order drawn by ``salt``, which is the same whatever was searched before."""
    return sha256(f"{salt}\n{name}".encode("utf-8", "replace")).hexdigest()
