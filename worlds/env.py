"""What envs share whose whole state is one value that never changes."""

from __future__ import annotations

from copy import copy
from typing import Generic, Self, TypeVar

from housequest.worlds.errors import OrderError

S = TypeVar("S")


class StateEnv(Generic[S]):
    """An env whose steps replace ``_state``. A copy shares all that there is, so it is one small object."""

    _state: S | None = None

    @property
    def state(self) -> S:
        """Hidden: the present state. Raises ``OrderError`` before the first reset."""
        if self._state is None:
            raise OrderError("This env was used before its first reset; call reset() first.")
        return self._state

    def copy(self) -> Self:
        return copy(self)

    def close(self) -> None:
        """Drop the state, so that another step raises ``OrderError``."""
        self._state = None
