"""How an episode ends: an outcome that unwinds the loop, and what breaks turned into one that names the boundary."""

from __future__ import annotations

import traceback
from pathlib import Path

from agent.episodes.events import Outcome
from agent.roles.base import clean
from worlds.errors import Boundary, HousequestError


class EpisodeOver(Exception):
    """The episode, or the branch that is being played, ends here with this outcome."""

    def __init__(self, outcome: Outcome, reason: str, boundary: Boundary | None = None, message: str | None = None):
        super().__init__(reason)
        self.outcome: Outcome = outcome
        self.reason = clean(reason)
        self.boundary: Boundary | None = boundary
        self.message = message


class attributed:
    """Turns what breaks inside into the end of the episode, attributed to a boundary."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary: Boundary = boundary

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, EpisodeOver):
            return
        if isinstance(error, HousequestError):
            raise EpisodeOver("error", "an error", error.boundary, clean(error.recorded)) from error
        if isinstance(error, Exception):
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            message = f"{type(error).__name__} at {place}: {error}"
            raise EpisodeOver("error", "a fault in the code", self.boundary, clean(message)) from error
