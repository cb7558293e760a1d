"""The contract of an agent. Read this file first: an agent has a name, begins an episode and decides turn by turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from agent.episodes.events import Judged, ModelCall, ParseFailed, Planned, Progressed, RulesShown, Thought
from agent.models.base import Timing
from knowledge.rules import Rule
from worlds.base import Observation, Transition

Memory = Any
"""What an agent remembers: immutable plain data of its own, kept with every step so that an episode can be rewound."""

AgentEvent = Thought | Planned | Progressed | Judged | RulesShown | ModelCall | ParseFailed
"""What an agent may emit while it decides."""


class Emitter(Protocol):
    """How an agent's thoughts leave it while it decides."""

    def __call__(self, body: AgentEvent, timing: Timing | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Grants:
    """What a configuration lets the agent see beyond text.

    ``task_type`` is the type itself where it is granted, else None. Admissible commands come with each turn.
    """

    admissible: bool = False
    diagnosis: bool = False
    task_type: str | None = None

    def names(self) -> tuple[str, ...]:
        """The grants by name, sorted."""
        given = {"admissible": self.admissible, "diagnosis": self.diagnosis, "type": self.task_type is not None}
        return tuple(sorted(name for name, value in given.items() if value))


@dataclass(frozen=True, slots=True)
class Turn:
    """What an agent gets when it decides.

    ``transitions`` are the commands that were really executed since it was last asked, whoever chose them; empty on the
    first turn and after a turn that was spent on an unreadable reply. ``number`` counts turns from 1. ``rules`` are all that
    may be shown to a model by now; an agent reports those it shows (``RulesShown``), however often it shows them.
    """

    number: int
    left: int
    transitions: tuple[Transition, ...] = ()
    hints: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    admissible: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """Execute ``command``."""

    command: str


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """No reply could be read, even asked for again; the turn is spent."""

    role: str
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Lose the episode here: nothing more can be done."""

    reason: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Stop the episode here, neither won nor lost: the player went away."""

    reason: str


@dataclass(frozen=True, slots=True)
class Idle:
    """Execute nothing: what the agent decided on cannot be done, for this reason; the turn is spent."""

    reason: str


Decision = Act | ParseFailure | Idle | GiveUp | Leave


AskPerson = Callable[[Turn], Awaitable[str | None]]
"""Asks a person for a command; None means that they leave."""


@runtime_checkable
class RequiresCapabilities(Protocol):
    """An agent that may need more of its model than a chat."""

    async def check(self) -> None:
        """Raise ``Unsupported`` where the model cannot do what the agent needs; before anything is played."""
        ...


class Agent(Protocol):
    """A way of playing. One agent plays many episodes at once: all that changes is in the memory."""

    @property
    def name(self) -> str:
        """The name on the command line."""
        ...

    def begin(self, goal: str, observation: Observation, grants: Grants) -> Memory:
        """The memory before the first turn."""
        ...

    async def decide(self, memory: Memory, turn: Turn, emit: Emitter) -> tuple[Decision, Memory]:
        """The next decision, and the memory that goes with it; a cancelled call leaves the old memory valid.

        Raises ``ModelError`` when a model failed.
        """
        ...
