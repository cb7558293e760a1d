"""What an agent that looks at pictures makes of them, for people who watch it.

An agent publishes it by being `Watchable`. Nothing of it is recorded: at a replay, the agent looks again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from housequest.agent.base import Turn

Impression = object
"""What an agent made of a picture, in the terms of its body; the view of the group ``housequest.views`` draws it."""


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
