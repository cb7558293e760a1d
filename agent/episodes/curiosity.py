"""Curiosity: now and then a random admissible command in place of an agent's own, so that play meets what a plan never would.

Whether it strikes, and what it then does, depends on the seed, the task and the turn alone, so that an episode that broke off
goes on as it would have.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from worlds.errors import Unsupported


def strikes(chance: float, seed: int, task: str, turn: int) -> bool:
    """Whether this ``turn`` is curiosity's, which it is with probability ``chance``."""
    return random.Random(f"{seed}/{task}/{turn}").random() < chance


def choose(possible: Sequence[str] | None, seed: int, task: str, turn: int) -> str | None:
    """One of the commands that are ``possible``, each as likely; None where there are none.

    Raises ``Unsupported`` where the world cannot list them.
    """
    if possible is None:
        raise Unsupported("This world cannot list the commands that are possible, which curiosity needs; give --curiosity 0.")
    return random.Random(f"{task}/{turn}/{seed}").choice(sorted(possible)) if possible else None
