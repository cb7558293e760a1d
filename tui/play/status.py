"""The status of a live game between its events: how the person plays, and what the game waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

PlayMode = Literal["watch", "step", "you"]
"""The person watches the agent, decides on each of its commands, or plays in its place."""

Waiting = Literal["opening", "deciding", "acting", "pace", "paused", "verdict", "turn", "failed", "over", "closed"]
"""What a game waits for.

The world to open, the agent, the world, the time of the next turn, the person to go on, their verdict on a proposal, their
turn, their answer to a failure, what they do at the end, or nothing any more.
"""

PACES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 100.0)
"""Turns a second at most, while a person watches."""

DEFAULT_PACE = 2.0


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """The status of a game between its events.

    ``pace`` is in turns a second; ``possible`` are the commands that would be accepted now, None where the world cannot list
    them; ``hints`` wait for the agent's next turn; ``repeated``: what is proposed was declined at this turn; ``model`` is
    the agent's, None where it has none; ``destinations`` say what goes to another machine; ``trouble`` why there is no game, or
    no record of it; ``failure`` what the person is asked about.
    """

    mode: PlayMode
    waiting: Waiting = "opening"
    pace: float = DEFAULT_PACE
    possible: tuple[str, ...] | None = None
    hints: tuple[str, ...] = ()
    repeated: bool = False
    model: str | None = None
    destinations: tuple[str, ...] = ()
    trouble: str | None = None
    failure: str | None = None

    @property
    def playing(self) -> bool:
        """Whether there is a game that takes commands."""
        return self.waiting not in {"opening", "closed"}


def next_pace(paces: Sequence[float], pace: float, by: int) -> float:
    """The next of ``paces`` above ``pace``, or below it where ``by`` is negative; ``pace`` itself at either end."""
    further = [one for one in paces if (one - pace) * by > 0]
    return min(further, key=lambda one: abs(one - pace), default=pace)
