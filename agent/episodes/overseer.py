"""How a person changes an episode: before a turn, at a proposal, when a model failed, at the end.

Every intervention is an event, and all that help make the episode count as assisted (`Intervened.helps`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol

from housequest.agent.base import Agent
from housequest.agent.episodes.events import Ended


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
    """Execute this command instead."""

    command: str


@dataclass(frozen=True, slots=True)
class Again:
    """Ask the agent again as before this proposal, with a hint; without one it may well propose the same."""

    hint: str = ""


@dataclass(frozen=True, slots=True)
class Another:
    """Ask the agent for a command other than this proposal."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """Go back to just after the event ``to`` (a ``Started``, ``Stepped`` or ``TurnSpent``) and play on in a new branch.

    The house and the agent's memory are restored, on whichever branch; what was played since stays in the record, and a changed
    model stays too. A turn must have begun at ``to``. Any other id changes nothing: ``failed`` is called with a message that
    says so, its ``Proceed`` goes on where the rewind was requested, and no event is emitted.
    """

    to: int


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """Go on with ``agent``, one of the same kind with the model named ``model``; the memory is kept."""

    agent: Agent
    model: str


TurnAnswer = Proceed | Play | SwitchModel | Rewind | Stop
ProposalAnswer = Accept | Replace | Again | Another | Rewind | Stop


class Overseer(Protocol):
    """Watches an episode, and may step in, if ``attended``. Else only ``before`` and ``review`` are called, the loop keeps no
    checkpoints, and a failure ends the episode.

    ``before`` is called before each turn, and again after an interruption, a change of model or a rewind; ``possible`` are
    the commands that would be accepted now, for a person alone; None if nobody attends or they cannot be listed. ``review``
    is called when the agent proposes a command, before anything happens. ``interruption`` returns to interrupt the agent
    while it decides; it is cancelled once the agent has decided. ``failed`` is called when a model failed for good, after
    ``ModelFailed``, and without an event, when a ``Rewind`` leads nowhere; ``over`` when a branch has ended, whatever the
    outcome: None ends the episode.
    """

    @property
    def attended(self) -> bool: ...
    async def before(self, turn: int, possible: tuple[str, ...] | None) -> TurnAnswer: ...
    async def review(self, turn: int, proposal: str) -> ProposalAnswer: ...
    async def interruption(self) -> None: ...
    async def failed(self, turn: int, message: str) -> TurnAnswer: ...
    async def over(self, ended: Ended) -> Rewind | None: ...


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
