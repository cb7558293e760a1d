"""The contract of an agent: it has a name, begins an episode, and decides turn by turn. Read this file first.

At its end is how a person changes an episode: before a turn, at a proposal, when a model failed, at the end. Every intervention
is an event, and all that help make the episode count as assisted (`Intervened.helps`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from housequest.agent.episodes.events import Ended, Judged, ModelCall, ParseFailed, Planned, Progressed, RulesShown, Thought
from housequest.agent.models.base import Image, Timing
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition

if TYPE_CHECKING:
    from housequest.worlds.household.belief import Belief
    from housequest.worlds.rooms.render import Frame
    from housequest.worlds.rooms.room import Pose

Memory = Any
"""An agent's memory: immutable plain data, saved at every step so that an episode can be rewound."""
AgentEvent = Thought | Planned | Progressed | Judged | RulesShown | ModelCall | ParseFailed
"""What an agent may emit while it decides."""


class Emitter(Protocol):
    """Emits an event while the agent decides. Give ``timing`` with a model call."""

    def __call__(self, body: AgentEvent, timing: Timing | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """An earlier episode of the same task that was not won: what was ``played``, and the agent's ``reflection`` on it."""

    played: tuple[Transition | Thought | ParseFailed, ...]
    reflection: str = ""


@dataclass(frozen=True, slots=True)
class Grants:
    """What a configuration lets the agent see beyond text. ``attempts`` are earlier ones at the same task, ``plan`` is the
    annotated plan: subgoals, each an action with its names. Admissible commands come with each turn.
    """

    admissible: bool = False
    diagnosis: bool = False
    task_type: str | None = None
    attempts: tuple[Attempt, ...] = ()
    plan: tuple[tuple[str, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What an agent gets when it decides.

    ``number`` counts turns from 1; ``left`` are the turns that remain. ``transitions`` are the commands executed since the
    agent was last asked, whoever chose them: none on the first turn and after an unreadable reply. ``hints`` are what a person
    said since then. ``declined`` are proposals of this turn that a person did not want. ``belief`` is what the texts so far
    say of a household, None in other worlds; each transition's observation has the one after it. ``rules`` may be shown to a
    model; the agent emits ``RulesShown`` for those that it shows, and may repeat one. ``image`` is what the agent sees if the
    view is granted; it goes into messages through `housequest.agent.roles.base.ask`. ``frame`` is what its camera sees in a
    world that shows pictures, if it asks for them (`Seeing`), and ``pose`` is where it stands.
    """

    number: int
    left: int
    transitions: tuple[Transition, ...] = ()
    hints: tuple[str, ...] = ()
    declined: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    admissible: tuple[str, ...] | None = None
    belief: Belief | None = None
    image: Image | None = None
    frame: Frame | None = None
    pose: Pose | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """Execute ``command``."""

    command: str


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """Neither the model's reply nor a second one could be read. The turn is used up."""

    role: str
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """End the episode as lost."""

    reason: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Stop the episode, neither won nor lost: the player left."""

    reason: str


@dataclass(frozen=True, slots=True)
class Idle:
    """Execute nothing, because the agent's choice cannot be carried out. The turn is used up."""

    reason: str


Decision = Act | ParseFailure | Idle | GiveUp | Leave
AskPerson = Callable[[Turn], Awaitable[str | None]]
"""Asks a person for a command; the answer None means that they leave."""


class Agent(Protocol):
    """A way of playing. One agent plays many episodes at once, so keep all state of an episode in its memory."""

    @property
    def name(self) -> str:
        """The name on the command line."""
        ...

    def begin(self, goal: str, observation: Observation, grants: Grants) -> Memory:
        """The memory before the first turn."""
        ...

    async def decide(self, memory: Memory, turn: Turn, emit: Emitter) -> tuple[Decision, Memory]:
        """The next decision and the new memory. If the call is cancelled, the old memory stays valid. Raises ``ModelError``
        if a model fails: the episode ends, or, if it is ``fatal``, the run stops.
        """
        ...


@runtime_checkable
class RequiresCapabilities(Protocol):
    """An agent whose model may have to do more than chat."""

    async def check(self) -> None:
        """Raise ``Unsupported`` if the model cannot do what the agent needs. It is called before the first episode."""
        ...


@runtime_checkable
class Seeing(Protocol):
    """An agent that looks at the pictures of a world that shows them (`housequest.worlds.base.Pictured`)."""

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """Columns and rows of the pictures that it wants; None if it wants none."""
        ...


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
