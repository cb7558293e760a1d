"""What may play ALFWorld's games in place of the native engine: any entry point of the group ``housequest.engines``."""

from __future__ import annotations

from typing import Protocol

from housequest.worlds.alfworld.engine.game import Game, GameFile
from housequest.worlds.base import Env, Task


class Engine(Protocol):
    """An engine, made without arguments once a world needs it.

    Making it raises ``ConfigurationError`` where something that it needs is not installed.
    """

    enacts: bool
    """Whether its envs also carry out their commands in a simulator (`housequest.worlds.household.enacted`)."""

    @property
    def version(self) -> str:
        """Itself and its version, for records; the name of its entry point is a word of it."""
        ...

    def open(self, task: Task, game: Game, file: GameFile) -> Env:
        """A new env for ``task``. ``game`` is what the native engine makes of the ``file``. Raises ``GameError``."""
        ...

    def close(self) -> None:
        """Release what it holds, such as processes."""
