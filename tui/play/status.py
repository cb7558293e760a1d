"""How a live game stands between its events: who sits where, and what is waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Seat = Literal["watch", "step", "you"]
"""Where a person sits: beside the agent, before each of its commands, or in its place."""

Waiting = Literal["opening", "deciding", "acting", "pace", "paused", "verdict", "turn", "failed", "over", "closed"]
"""What a game waits for.

The world to open, the agent, the world, the next turn's time to come, a person's wish to go on, their verdict on a proposal,
their turn, what they want done about a failure, what they do at the end, or nothing any more.
"""

PACES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 100.0)
"""Turns a second at most, while a person watches."""

CALM = 3
"""The index of the pace at which anybody can follow."""


@dataclass(frozen=True, slots=True)
class Status:
    """How a game stands between its events.

    ``pace`` is in turns a second; ``possible`` are the commands that would be accepted now, None where the world cannot list
    them; ``hints`` wait for the agent's next turn; ``model`` is the agent's, None where it has none; ``trouble`` says why there
    is no game, or no record of it; ``failure`` what the person is asked about.
    """

    seat: Seat
    waiting: Waiting = "opening"
    pace: float = PACES[CALM]
    possible: tuple[str, ...] | None = None
    hints: tuple[str, ...] = ()
    model: str | None = None
    trouble: str | None = None
    failure: str | None = None

    @property
    def playing(self) -> bool:
        """Whether there is a game, which a wish can reach."""
        return self.waiting not in {"opening", "closed"}
