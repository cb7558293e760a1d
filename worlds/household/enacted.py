"""What becomes of a text game's commands in a simulator: low-level actions that people can watch, and where the two part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol, cast, runtime_checkable

from housequest.worlds.base import Env, Task, World
from housequest.worlds.env import Wrapper
from housequest.worlds.rooms.room import Pose


@dataclass(frozen=True, slots=True)
class Move:
    """One low-level ``action``, with the name of what it acts on, and the pose after it."""

    action: str
    pose: Pose


@dataclass(frozen=True, slots=True)
class Divergence:
    """A command that the simulator could not carry out as the game did, and its reason."""

    command: str
    reason: str


@dataclass(frozen=True, slots=True)
class Enacted:
    """How many commands were enacted, in how many low-level actions, where the two parted, and the last command's moves."""

    commands: int = 0
    actions: int = 0
    divergences: tuple[Divergence, ...] = ()
    moves: tuple[Move, ...] = ()

    @property
    def count(self) -> str:
        """How much was enacted, in a few words, for people."""
        parted = len(self.divergences)
        return f"{self.actions} actions, {parted or 'no'} divergence{'s' if parted > 1 else ''}"

    @property
    def words(self) -> str:
        """The same as a sentence's end, with the reason of each divergence."""
        reasons = "; ".join(f"{one.command}: {one.reason.rstrip('.')}" for one in self.divergences)
        return f"enacted in {self.count}{f' ({reasons})' if reasons else ''}"


def moves_in_words(moves: tuple[Move, ...]) -> str:
    """The actions one after the other; of equal ones their number."""
    runs = ((action, len(list(same))) for action, same in groupby(one.action for one in moves))
    return ", ".join(action if count == 1 else f"{action} \u00d7{count}" for action, count in runs)


@runtime_checkable
class Enacting(Protocol):
    """An env whose commands are also carried out in a simulator."""

    @property
    def enacted(self) -> Enacted:
        """What was enacted so far."""
        ...


def enacting(env: Env) -> Enacting | None:
    """The env among the wrappers of ``env`` that enacts its commands; None where none does."""
    # What isinstance(env, Enacting) asks, which takes twenty times as long, at every step.
    while not hasattr(env, "enacted"):
        if not isinstance(env, Wrapper):
            return None
        env = env.env
    return cast("Enacting", env)


def enacted_game(world: World, task: Task, commands: Sequence[str]) -> Enacted | None:
    """What becomes of these commands, played from the beginning; None in a world that enacts nothing. Raises ``GameError``."""
    env = world.open(task)
    try:
        found = enacting(env)
        if found is None:
            return None
        env.reset()
        for command in commands:
            env.step(command)
        return found.enacted
    finally:
        env.close()
