"""Which kinds of things a goal sentence names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from housequest.worlds.registry import household


@lru_cache(maxsize=64)
def goal_kinds(world: str, goal: str, receptacles: Sequence[str]) -> frozenset[str]:
    """The kinds that ``goal`` names; if it cannot be read, every word in it. ``receptacles`` are the kinds in this house."""
    reader = household(world)
    if reader is not None and (topic := reader.topic(goal, receptacles)) is not None:
        return topic.kinds
    words = re.findall(r"[a-z]+", goal[:1_000].lower())
    joined = {"".join(words[at : at + size]) for at in range(len(words)) for size in (1, 2, 3)}
    return frozenset(joined | {name.removesuffix(ending) for name in joined for ending in ("s", "es")})
