"""What an agent that looks at pictures makes of them, for people who watch it: its claims, its map, and what it is about to do.

An agent publishes it by being `Watchable`. Nothing of it is recorded: at a replay, the agent looks again
(`agent.episodes.impressions`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from numpy import bool_, int16
    from numpy.typing import NDArray

Place = tuple[float, float]
"""A point of the floor: x and z in metres, as in the pose of the player's camera."""


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """Something that the agent claims to see: its kind, how sure it is (0 to 1), and its pixels."""

    kind: str
    score: float
    mask: NDArray[bool_]


@dataclass(frozen=True, slots=True, eq=False)
class GroundMap:
    """What an agent knows of the floor, from above. Arrays are by cell (x, z); the first begins at ``corner``, in metres.

    ``explored`` was seen at all, ``blocked`` is in the way. ``kinds`` are indices into ``names`` of what is there, -1 for
    nothing; ``sure`` says of which the agent is.
    """

    corner: Place
    cell: float
    explored: NDArray[bool_]
    blocked: NDArray[bool_]
    kinds: NDArray[int16]
    sure: NDArray[bool_]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Impression:
    """What an agent made of the picture at which it decided.

    ``skill`` is in progress and ``step`` a part of it, both in words. ``target`` is where the thing is that it is after, and
    ``path`` leads to where it wants to stand, from where it stands. ``held`` is the kind that it believes to hold.
    """

    claims: tuple[Claim, ...]
    map: GroundMap | None = None
    skill: str = ""
    step: str = ""
    target: Place | None = None
    path: tuple[Place, ...] = ()
    held: str | None = None


@runtime_checkable
class Watchable(Protocol):
    """An agent that shows people what it makes of its pictures."""

    def doing(self, memory: Any) -> str:
        """The skill in progress, in a few words; "" for none. It costs nothing."""
        ...

    def impression(self, memory: Any) -> Impression | None:
        """What it made of the last picture; None before the first. It may take some milliseconds, in any thread."""
        ...


@dataclass(frozen=True, slots=True)
class Glimpse:
    """An impression of the picture after the event ``at``, made when somebody looks at it; ``doing`` is the skill."""

    at: int
    doing: str
    look: Callable[[], Impression | None]


Watcher = Callable[[Glimpse], None]
"""Called when an agent has decided, before anything happens."""
