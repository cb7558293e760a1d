"""Turns in which an episode plays a random command in place of the agent's."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from housequest.worlds.errors import Unsupported


def is_random_turn(chance: float, seed: int, task: str, turn: int) -> bool:
    """True if ``turn`` plays a random command, with probability ``chance``. A resumed episode draws the same."""
    return Random(f"{seed}/{task}/{turn}").random() < chance


def random_command(possible: Sequence[str] | None, seed: int, task: str, turn: int) -> str | None:
    """One of the ``possible`` commands; None if there are none. Raises ``Unsupported`` if the world cannot list them."""
    if possible is None:
        raise Unsupported("Curiosity needs a list of the possible commands, and this world has none; give --curiosity 0.")
    return Random(f"{task}/{turn}/{seed}").choice(sorted(possible)) if possible else None
