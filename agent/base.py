"""The contract of an agent: it has a name, begins an episode, and decides turn by turn. Read this file first.

The second half is the contract of an overseer: a person who intervenes before a turn, at a proposal, after a model failed, or
at the end. Every intervention is an event; those that help mark the episode as assisted (`Intervened.helps`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from housequest.agent.episodes.events import Ended, Judged, ModelCall, ParseFailed, Planned, Progressed, RulesShown, Thought
from housequest.agent.models.base import Image, Timing
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import shown

if TYPE_CHECKING:
    from housequest.worlds.household.belief import Belief
    from housequest.worlds.household.goals import Skill
    from housequest.worlds.rooms.render import Frame
    from housequest.worlds.rooms.room import Pose

Memory = Any
"""An agent's memory: immutable plain data, saved at every step so that an episode can be rewound."""
AgentEvent = Thought | Planned | Progressed | Judged | RulesShown | ModelCall | ParseFailed
"""The events that an agent may emit while it decides."""


class Emitter(Protocol):
    """Emits an event while the agent decides. Pass ``timing`` with a model call."""

    def __call__(self, body: AgentEvent, timing: Timing | None = None) -> None:
        """Emit ``body``. ``timing`` belongs to a ``ModelCall``."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """An earlier episode of the same task that was not won: what was ``played``, and the agent's ``reflection`` on it."""

    played: tuple[Transition | Thought | ParseFailed, ...]
    reflection: str = ""


@dataclass(frozen=True, slots=True)
class Grants:
    """Information beyond text that the configuration allows the agent.

    Args:
        admissible: Each turn lists the admissible commands.
        diagnosis: Refusals come with an explanation.
        task_type: The type of the task.
        attempts: Earlier attempts at the same task.
        plan: The annotated plan.
    """

    admissible: bool = False
    diagnosis: bool = False
    task_type: str | None = None
    attempts: tuple[Attempt, ...] = ()
    plan: tuple[Skill, ...] | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """The input of a decision.

    Args:
        number: Counts turns from 1.
        left: The turns that remain, this one included.
        transitions: The commands executed since the last decision, whoever chose them: none on the first turn and after an
            unreadable reply. Each observation has the belief after it.
        hints: The person's hints since the last decision.
        answered: How many of them, from the first, the agent has already answered.
        proposed: The proposal that each of them is about; empty for none.
        declined: Proposals of this turn that the person rejected.
        rules: Rules that may be shown to a model; the agent emits ``RulesShown`` for those that it shows, and may repeat one.
        admissible: The admissible commands, if granted.
        belief: The state of the household according to the texts so far; None in other worlds.
        image: The agent's view, if granted; it goes into messages through `housequest.agent.roles.base.ask`.
        frame: The camera's picture in a world that has one, if the agent asks for it (`Seeing`).
        pose: The agent's own pose, with ``frame``.
        player: In company, the agent's own name; "" if it plays alone.
        others: The names of the other players in the house.
        obeyed: The others whose requests it carries out: people, or all if the game says so.
        news: What the agent noticed of the others since its last command, and what they said (`quoted`), the oldest first.
    """

    number: int
    left: int
    transitions: tuple[Transition, ...] = ()
    hints: tuple[str, ...] = ()
    answered: int = 0
    proposed: tuple[str, ...] = ()
    declined: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    admissible: tuple[str, ...] | None = None
    belief: Belief | None = None
    image: Image | None = None
    frame: Frame | None = None
    pose: Pose | None = None
    player: str = ""
    others: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    news: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """Execute ``command``, and say ``says`` to the other players: each one printable line. Nothing is said to nobody."""

    command: str
    says: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """Neither the model's reply nor its retry could be parsed. The turn is spent."""

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
    """Execute nothing, because the agent's choice cannot be carried out. The turn is spent."""

    reason: str


@dataclass(frozen=True, slots=True)
class Say:
    """Say something to the other players. If talk is free, the turn goes on; else it is spent."""

    text: str


@dataclass(frozen=True, slots=True)
class Overheard:
    """Another player, ``who``, says something during this one's turn, which goes on."""

    who: str
    text: str


@dataclass(frozen=True, slots=True)
class HandOver:
    """From now on somebody else decides for this player: an ``agent`` while the person is away, or ``human`` again."""

    agent: str


@dataclass(frozen=True, slots=True)
class Away:
    """The person is away, so an agent decides this turn."""


Decision = Act | Say | Overheard | HandOver | ParseFailure | Idle | GiveUp | Leave
"""An agent's decision in a turn."""
AskPerson = Callable[[Turn], Awaitable[str | Say | Overheard | Idle | Away | None]]
"""Asks a person for their turn: a command, words to others, words that they hear, or a pass; None means that they leave."""


class Agent(Protocol):
    """A way of playing. One agent plays many episodes concurrently, so keep the state of an episode in its memory."""

    @property
    def name(self) -> str:
        """The agent's name on the command line."""
        ...

    def begin(self, goal: str, observation: Observation, grants: Grants) -> Memory:
        """Begin an episode.

        Args:
            goal: The task's goal sentence.
            observation: The opening, with a belief in a household.
            grants: Information beyond text that the agent may use.

        Returns:
            The memory before the first turn.
        """
        ...

    async def decide(self, memory: Memory, turn: Turn, emit: Emitter) -> tuple[Decision, Memory]:
        """Decide what to do in a turn. If the call is cancelled, the old memory stays valid.

        Args:
            memory: The memory after the last accepted decision.
            turn: What happened since, and what is possible now.
            emit: Called with each event while the agent decides, such as a thought or a call of its model.

        Returns:
            The decision, and the memory if it is accepted.

        Raises:
            ModelError: A model failed: the episode ends, and if it is ``fatal``, the run stops.
        """
        ...


async def decision_of(agent: Agent, memory: Memory, turn: Turn, emit: Emitter) -> tuple[Decision, Memory]:
    """Let ``agent`` decide. Raises ``TypeError`` if it gives anything but a decision and its memory."""
    asked = cast("object", agent.decide(memory, turn, emit))  # other people's code, whose types nobody checked
    if not isinstance(asked, Awaitable):
        raise TypeError(f"`decide` of the agent {agent.name!r} does not wait for anything; write `async def decide`")
    answer = cast("object", await asked)
    if (decided := _decided(answer)) is None:
        raise TypeError(
            f"`decide` of the agent {agent.name!r} gave {shown(answer)}; return a decision and the memory, such as "
            '`Act("look"), memory`'
        )
    return decided


def _decided(answer: object) -> tuple[Decision, Memory] | None:
    if isinstance(answer, tuple) and len(cast("tuple[object, ...]", answer)) == 2:
        decision, after = cast("tuple[object, Memory]", answer)
        if isinstance(decision, Decision) and isinstance(getattr(decision, "command", ""), str):
            return decision, after
    return None


@runtime_checkable
class RequiresCapabilities(Protocol):
    """An agent that may need more of its model than a chat."""

    async def check(self) -> None:
        """Raise ``Unsupported`` if the model lacks an ability. Called before the first episode."""
        ...


@runtime_checkable
class Answering(Protocol):
    """An agent that answers people in its company at once, without a turn and without a call of a model."""

    def answer(self, memory: Any, turn: Turn) -> tuple[tuple[str, ...], Any]:
        """Take in what others have said since the last decision or answer.

        Args:
            memory: The memory after that.
            turn: What the agent knows now. Its news, with what was said, comes again with the next decision.

        Returns:
            The answers, and the memory after them.
        """
        ...


@runtime_checkable
class Seeing(Protocol):
    """An agent that uses the pictures of a world (`housequest.worlds.base.Pictured`)."""

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """Width and height of the pictures that it needs; None for no pictures."""
        ...


Impression = object
"""An agent's interpretation of a picture; a view of the group ``housequest.views`` draws it."""


@runtime_checkable
class Watchable(Protocol):
    """An agent that shows people how it interprets its pictures."""

    async def attend(self, memory: Any, turn: Turn) -> Any:
        """Return the memory after looking at the turn's picture, without calling a model; ``decide`` may look again."""
        ...

    def doing(self, memory: Any) -> str:
        """Describe the skill in progress in a few words; "" for none. Must be cheap."""
        ...

    def impression(self, memory: Any) -> Impression | None:
        """Return the interpretation of the last picture; None before the first. May take milliseconds, in any thread."""
        ...


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The impression after the event ``at``, computed by ``look`` when shown; ``doing`` is the skill in progress."""

    at: int
    doing: str
    look: Callable[[], Impression | None]


Watcher = Callable[[Glimpse], None]
"""Called after a decision, before it is executed."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """Ask the agent, with these hints; after a failure, retry."""

    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Play:
    """The person plays this turn instead of the agent."""

    command: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End the episode here."""

    reason: str = "stopped by the person"


@dataclass(frozen=True, slots=True)
class Accept:
    """Execute the proposal."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Execute this command instead."""

    command: str


@dataclass(frozen=True, slots=True)
class Again:
    """Ask the agent again from before this proposal, with a hint; without one it may propose the same."""

    hint: str = ""


@dataclass(frozen=True, slots=True)
class Another:
    """Ask the agent to propose another command."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """Go back to just after the event ``to`` on any branch, and play on in a new branch.

    ``to`` is a ``Started``, ``Stepped`` or ``TurnSpent`` after which a turn began. The house and the agent's memory are
    restored; the record keeps the old branch, and a changed model stays. With any other id nothing changes and no event is
    emitted: ``failed`` is called with a message, and after its ``Proceed`` the episode goes on where the rewind was requested.
    """

    to: int


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """Go on with ``agent``, of the same kind but with the model named ``model``; the memory stays."""

    agent: Agent
    model: str


TurnAnswer = Proceed | Play | SwitchModel | Rewind | Stop
ProposalAnswer = Accept | Replace | Again | Another | Rewind | Stop


class Overseer(Protocol):
    """Watches an episode and, if ``attended``, may intervene.

    If it is not attended, only ``before`` and ``review`` are called, the loop keeps no checkpoints, and a failure ends the
    episode.

    ``before`` is called before each turn, and again after an interruption, a change of model or a rewind; ``possible`` are the
    commands that would be accepted now, shown only to a person; None if nobody attends or they cannot be listed. ``review`` is
    called with a proposed command before it is executed. ``interruption`` returns to interrupt the agent while it decides; it
    is cancelled after the decision. ``failed`` is called after ``ModelFailed``, and without an event after an impossible
    ``Rewind``; ``over`` after the end of a branch, where None ends the episode.
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

    async def over(self, ended: Ended) -> Rewind | None:
        del ended
        return None
