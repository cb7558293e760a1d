"""The one road by which a person changes an episode: before a turn, and when a command is proposed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Proceed:
    """Ask the agent, with these hints."""

    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Play:
    """The person plays this turn; the agent is not asked."""

    command: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End the episode here."""

    reason: str = "stopped by the person"


@dataclass(frozen=True, slots=True)
class Accept:
    """Execute what was proposed."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Execute this in its place."""

    command: str


@dataclass(frozen=True, slots=True)
class Again:
    """Ask the agent again from where it stood before this proposal, with a hint or none."""

    hint: str = ""


class Overseer(Protocol):
    """Watches an episode, and may step in. Whatever it does is an event, and the episode then counts as assisted."""

    async def before(self, turn: int) -> Proceed | Play | Stop:
        """Called before each turn."""
        ...

    async def review(self, turn: int, proposal: str) -> Accept | Replace | Again | Stop:
        """Called when the agent proposes a command, before anything happens."""
        ...


class Unattended:
    """An overseer that lets everything happen."""

    async def before(self, turn: int) -> Proceed:
        del turn
        return Proceed()

    async def review(self, turn: int, proposal: str) -> Accept:
        del turn, proposal
        return Accept()
