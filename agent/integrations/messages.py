"""What a client is told: the whole of it, for nothing else leaves a door."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from agent.episodes.events import Outcome


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True)


class Listed(_Told):
    """One task: the name to play it by and its goal; its type where that is granted."""

    task: str
    goal: str
    type: str | None = None


class Listing(_Told):
    """Some tasks of a split, and where to go on; ``next`` is None after the last one."""

    split: str
    splits: tuple[str, ...]
    tasks: tuple[Listed, ...]
    next: int | None


class Opening(_Told):
    """A game that has begun: what its player is told. ``type`` is None where it is not granted."""

    game: str
    goal: str
    observation: str
    turns_left: int
    grants: tuple[str, ...]
    type: str | None = None


class Answer(_Told):
    """What a command came to. ``outcome`` and ``reason`` are None until the game is over."""

    observation: str
    accepted: bool
    explanation: str | None = None
    turns_left: int
    over: bool = False
    outcome: Outcome | None = None
    reason: str | None = None


class Possible(_Told):
    """The commands that would be accepted now."""

    commands: tuple[str, ...]
