"""What an agent that looks at pictures makes of them, for people who watch it: its claims, its map, and what it is about to do.

An agent publishes it by being `Watchable`. Nothing of it is recorded: at a replay, the agent looks again
(`housequest.agent.episodes.impressions`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from housequest.worlds.alfred.simulator.base import touched
from housequest.worlds.household.belief import kind
from housequest.worlds.rooms.frame import Frame

if TYPE_CHECKING:
    from numpy import bool_, int16
    from numpy.typing import NDArray

    from housequest.agent.base import Turn

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
    """What an agent made of the picture at which it decided, of ``size`` columns and rows.

    ``skill`` is in progress and ``step`` a part of it, both in words. ``target`` is where the thing is that it is after, and
    ``path`` leads to where it wants to stand, from where it stands. ``held`` is the kind that it believes to hold.
    """

    size: tuple[int, int]
    claims: tuple[Claim, ...]
    map: GroundMap | None = None
    skill: str = ""
    step: str = ""
    target: Place | None = None
    path: tuple[Place, ...] = ()
    held: str | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A claim, a kind, beside what is there, a name: right or ``false``; without a claim, the thing was ``missed``.

    ``spot`` is the middle of its pixels, as shares of the picture's width and height.
    """

    claim: str | None
    name: str | None
    spot: tuple[float, float]

    @property
    def missed(self) -> bool:
        return self.claim is None

    @property
    def false(self) -> bool:
        return self.claim is not None and (self.name is None or kind(self.name).replace(" ", "").lower() != self.claim)


LEAST_PIXELS = 1 / 3_000
"""The share of a picture that a thing must fill to count as missed."""


def sightings(impression: Impression, frame: Frame) -> tuple[Sighting, ...]:
    """The claims of an impression beside what its picture really shows; ``frame`` is that picture, of the same size."""
    found: list[Sighting] = []
    claimed: set[str] = set()
    for claim in impression.claims:
        name = touched(frame, claim.mask)
        claimed.update(() if name is None else (name,))
        found.append(Sighting(claim.kind, name, _middle(claim.mask)))
    for number, name in enumerate(frame.names):
        mask = frame.ids == number
        if name not in claimed and mask.sum() >= LEAST_PIXELS * mask.size:
            found.append(Sighting(None, name, _middle(mask)))
    return tuple(found)


def _middle(mask: NDArray[bool_]) -> tuple[float, float]:
    """The pixel of a mask that is nearest to its middle."""
    import numpy as np

    rows, columns = np.nonzero(mask)
    if not len(rows):
        return 0.5, 0.5
    best = int(((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2).argmin())
    return (float(columns[best]) + 0.5) / mask.shape[1], (float(rows[best]) + 0.5) / mask.shape[0]


@runtime_checkable
class Watchable(Protocol):
    """An agent that shows people what it makes of its pictures."""

    async def attend(self, memory: Any, turn: Turn) -> Any:
        """The memory after it has looked at the turn's picture, which it may do again to decide. It calls no model."""
        ...

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
