"""The one road by which a person changes an episode: before a turn, at a proposal, when a model failed, at the end.

Whatever a person does is an event, and the episode then counts as assisted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol

from agent.base import Agent
from agent.episodes.events import Ended


@dataclass(frozen=True, slots=True)
class Proceed:
    """Ask the agent, with these hints; after a failure, try again."""

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


@dataclass(frozen=True, slots=True)
class Rewind:
    """Go back to just after the event ``to`` (a ``Started``, ``Stepped`` or ``Spent``) and play on from there, as a new branch.

    The house and the agent's memory are then what they were, on whichever branch; what was played since stays in the record,
    and a model that was changed to stays. A turn must have begun at ``to``. Any other id changes nothing: ``failed`` is asked
    with a message that says so, its ``Proceed`` goes on where the rewind was asked for, and no event is told.
    """

    to: int


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """Go on with ``agent``, another one of the same kind with the model named ``model``; its memory is kept."""

    agent: Agent
    model: str


TurnAnswer = Proceed | Play | SwitchModel | Rewind | Stop
ProposalAnswer = Accept | Replace | Again | Rewind | Stop


class Overseer(Protocol):
    """Watches an episode, and may step in.

    ``attended``: whether anybody may. Where nobody does, the loop keeps nothing to rewind to, and a failure ends the episode.
    """

    @property
    def attended(self) -> bool:
        """Whether the calls below other than ``before`` and ``review`` are made at all."""
        ...

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> TurnAnswer:
        """Called before each turn, and again after an interruption, a change of model or a rewind.

        ``possible`` are the commands that would be accepted now, for a person's line; None where nobody attends, or where the
        world cannot list them. The agent is not told.
        """
        ...

    async def review(self, turn: int, proposal: str) -> ProposalAnswer:
        """Called when the agent proposes a command, before anything happens."""
        ...

    async def interruption(self) -> None:
        """Returns when the agent is to be interrupted while it decides; it is cancelled, and ``before`` is asked again.

        Cancelled itself once the agent has decided. Where both come at once, the interruption counts.
        """
        ...

    async def failed(self, turn: int, message: str) -> TurnAnswer:
        """Called when a model failed for good, which was told as ``Failed``; ``Proceed`` tries again.

        Also called, with nothing told before, when a ``Rewind`` leads nowhere.
        """
        ...

    async def over(self, ended: Ended) -> Rewind | None:
        """Called when a branch has ended, whatever the outcome; None leaves it at that."""
        ...


class Unattended:
    """An overseer that lets everything happen."""

    attended = False

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> TurnAnswer:
        del turn, possible
        return Proceed()

    async def review(self, turn: int, proposal: str) -> ProposalAnswer:
        del turn, proposal
        return Accept()

    async def interruption(self) -> None:
        await asyncio.Event().wait()

    async def failed(self, turn: int, message: str) -> TurnAnswer:
        del turn
        return Stop(message)

    async def over(self, ended: Ended) -> None:
        del ended
