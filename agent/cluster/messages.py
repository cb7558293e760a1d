"""What a driver and its players tell each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from housequest.agent.evaluation.runs.result import Result, SelectedTask
from housequest.agent.evaluation.runs.spec import Manifest, RunRequest
from housequest.agent.models.base import Timing, Usage
from housequest.agent.models.keys import KeyRing
from housequest.agent.models.rate_limiter import Verdict
from housequest.worlds.errors import HousequestError


@dataclass(frozen=True, slots=True)
class Order:
    """What a player has to know: what is to be played, and what it must find on its machine.

    ``keys`` names environment variables and holds no key. ``strict``: the budget limits calls, so that each is asked for.
    """

    request: RunRequest
    manifest: Manifest
    keys: KeyRing
    data: str
    strict: bool


@dataclass(frozen=True, slots=True)
class Play:
    """Driver: play ``task``, of which ``part`` was recorded before."""

    task: SelectedTask
    part: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """Driver: the answer to what a player asked as ``number``; None where the run is at its end."""

    number: int
    value: int | None


@dataclass(frozen=True, slots=True)
class Halt:
    """Driver: let no further call begin, and send what was recorded."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Player: on the machine ``node``, all that is needed is there."""

    node: str


@dataclass(frozen=True, slots=True)
class Wrote:
    """Player: ``content`` was added to the record of ``task`` at ``offset``."""

    task: str
    offset: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Clocked:
    """Player: whole lines of timings of calls, and of episodes."""

    timing: bytes
    walls: bytes


@dataclass(frozen=True, slots=True)
class Finished:
    """Player: an episode ended, and its whole record was sent."""

    result: Result


@dataclass(frozen=True, slots=True)
class Left:
    """Player: the episode of ``task`` was left unfinished, since the run is at its end."""

    task: str


@dataclass(frozen=True, slots=True)
class Unfit:
    """Player: the record of ``task`` that it was given cannot be gone on with, and it begins anew."""

    task: str
    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Player: it cannot play; every other one could not either."""

    error: HousequestError


@dataclass(frozen=True, slots=True)
class Stop:
    """Player: the run is to stop, for something that every call would meet."""

    why: HousequestError


@dataclass(frozen=True, slots=True)
class Begin:
    """Player: so many ``calls`` begin; asked as ``number`` where the budget may refuse them, answered with 1."""

    number: int | None
    calls: int


@dataclass(frozen=True, slots=True)
class End:
    """Player: so many ``calls`` ended, with what they used if they were answered."""

    calls: int
    used: tuple[Usage, Timing] | None


@dataclass(frozen=True, slots=True)
class Enter:
    """Player, asking as ``number``: admit an attempt at ``call``. Answered with the limiter's round."""

    number: int
    call: int
    first: bool


@dataclass(frozen=True, slots=True)
class Leave:
    """Player: how an attempt at ``call`` ended."""

    call: int
    verdict: Verdict
    wait: float


@dataclass(frozen=True, slots=True)
class IsEarly:
    """Player, asking as ``number``: was the limit lowered after ``call`` was sent? Answered with 0 or 1."""

    number: int
    call: int


ToPlayer = Play | Answer | Halt
FromPlayer = Ready | Wrote | Clocked | Finished | Left | Unfit | Failed | Stop | Begin | End | Enter | Leave | IsEarly


class PlayerLost(Exception):
    """A player is gone: its process, its machine, or the way to it."""


class RemoteHandle(Protocol):
    """A player that was started somewhere. Its methods raise `PlayerLost` once it is gone."""

    async def tell(self, messages: Sequence[ToPlayer]) -> None:
        """Send ``messages``, in their order."""
        ...

    async def hear(self) -> Sequence[FromPlayer]:
        """What it has to say, in its order; waits until it says anything."""
        ...

    def end(self) -> None:
        """End its process; it may be gone already."""
        ...
