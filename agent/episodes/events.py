"""The events of an episode, as one discriminated union with a schema version.

Live play and replay differ only in where the events come from. Every event has an id, counted from 0 in order, and the id of
its parent, so that the branches of a rewound episode form a tree. Timings and cache counts are not events: they are sent and
recorded separately, as ``CallTiming``, so that two equal episodes have equal bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agent.models.base import Message, believed
from worlds.errors import Boundary

SCHEMA = 1

Player = Literal["agent", "person", "curiosity"]
"""Who chose a command; ``curiosity`` is a random command, for exploring."""

PersonAction = Literal["replace", "hint", "again", "another", "play", "stop", "interrupt", "retry", "model", "rewind"]
Outcome = Literal["won", "lost", "error", "stopped"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Started(_Frozen):
    """An episode begins. ``task`` and ``number`` are for people and metrics, never for an agent."""

    kind: Literal["started"] = "started"
    schema_version: int = SCHEMA
    world: str
    engine: str
    task: str
    split: str
    number: int
    type: str
    goal: str
    wording: str
    agent: str
    settings: dict[str, str | int | float | bool | None] = {}
    model: str | None = None
    rules: str | None = None
    rules_budget: int | None = None
    habits: str | None = None
    curiosity: float | None = None
    grants: tuple[str, ...] = ()
    max_turns: int
    seed: int
    opening: str


POLICY = "policy"
"""The role of an action policy, whose thoughts say what went wrong, each beginning with its error mode."""


class Thought(_Frozen):
    """A role's thought."""

    kind: Literal["thought"] = "thought"
    role: str
    text: str


class Planned(_Frozen):
    """A role made or revised the plan; ``revision`` counts from 0, ``reason`` says what asked for it."""

    kind: Literal["planned"] = "planned"
    role: str
    steps: tuple[str, ...]
    revision: int
    reason: str


class Progressed(_Frozen):
    """The plan's present step is now ``step``, counted from 0."""

    kind: Literal["progressed"] = "progressed"
    role: str
    step: int


class PromptMessage(_Frozen):
    """One message of a prompt; ``image`` is the digest of its picture, which is not recorded but can be drawn again."""

    role: Literal["system", "user", "assistant"]
    content: str
    image: str | None = None

    @classmethod
    def of(cls, message: Message) -> PromptMessage:
        """``message`` as it is recorded."""
        return cls(role=message.role, content=message.content, image=message.image.digest if message.image else None)

    @property
    def text(self) -> str:
        """The message for people: its content, and that a picture came with it."""
        return self.content if self.image is None else f"{self.content}\n\n[a picture of what it sees, {self.image[:12]}]"


class Candidate(_Frozen):
    """A text that a model might have written, with its log-probability in nats."""

    text: str
    logprob: float


Count = Annotated[int | None, AfterValidator(believed)]
"""A count that a model stated; None where it did not, or is not `believed`, also in a record of an earlier version."""


Held = Literal["kept", "cut", "broken", "refused"]
"""What came of a reply that was to be held to its form."""


class ModelCall(_Frozen):
    """A role called its model.

    The first ``kept`` messages are those of the role's previous call with its reply, and ``added`` follow them, so the whole
    prompt can be rebuilt without being stored at every step. If given texts were scored, ``reply`` is the selected one,
    ``candidates`` are the best, and ``calls`` is the number of calls if more than one. If a verdict was taken by probability,
    ``candidates`` are the possible first words of the reply. ``plain`` is set where the model continued plain text, and was not
    asked as a chat. ``held`` says what came of a reply that was to be held to its form: it kept the form, its budget cut it
    off, it broke the form all the same, or the model refused to be held to it.
    """

    kind: Literal["called"] = "called"
    role: str
    kept: int
    added: tuple[PromptMessage, ...]
    reply: str
    finish: str
    prompt_tokens: Count = None
    completion_tokens: Count = None
    candidates: tuple[Candidate, ...] | None = None
    calls: Count = None
    plain: Literal[True] | None = None
    held: Held | None = None


class ParseFailed(_Frozen):
    """A reply could not be read. ``final``: nor could the second one.

    The agent then gives up the turn (``TurnSpent``) or goes on without the answer.
    """

    kind: Literal["unreadable"] = "unreadable"
    role: str
    reply: str
    reason: str
    final: bool


class Relevance(_Frozen):
    """How relevant one thing is: a ``place`` is a receptacle, anything else an object.

    ``score`` is between 0 and 1; None if it could not be read, which masks nothing.
    """

    name: str
    place: bool
    masked: bool
    score: float | None = None


class Judged(_Frozen):
    """A role judged how relevant things are to ``target``, a task or sub-task; the acting agent does not see masked names."""

    kind: Literal["judged"] = "judged"
    role: str
    target: str
    things: tuple[Relevance, ...]

    @property
    def words(self) -> str:
        """The result, for people."""
        masked = [thing.name for thing in self.things if thing.masked]
        return f"for \u201c{self.target}\u201d it leaves out {', '.join(masked) or f'none of {len(self.things)}'}"


class Proposed(_Frozen):
    """The agent wants to execute ``command``; shown to the overseer before it happens."""

    kind: Literal["proposed"] = "proposed"
    turn: int
    command: str


class RulesShown(_Frozen):
    """Rules of the world that the next prompt shows for the first time.

    ``ids`` are their ids in the rulebook; empty if they come from none. A short prompt has only the beginning of a long rule.
    """

    kind: Literal["consulted"] = "consulted"
    rules: tuple[str, ...]
    ids: tuple[str, ...] = ()


class ModelFailed(_Frozen):
    """The model failed, and the person who attends is asked what to do. Without one a failure ends the episode."""

    kind: Literal["failed"] = "failed"
    turn: int
    boundary: Boundary
    message: str


class Intervened(_Frozen):
    """A person did something: replaced a command, gave a hint, asked again or for ``another`` command, took over, stopped the
    episode.

    ``interrupt`` cancelled the agent while it decided, ``retry`` asked it again after a failure, ``model`` gave it another
    model (``text``), ``rewind`` went back to the event's parent, and ``text`` names the turn that is played next. The events of
    an agent that was interrupted, asked again or failed are an abandoned branch.
    """

    kind: Literal["intervened"] = "intervened"
    action: PersonAction
    text: str = ""

    @property
    def helps(self) -> bool:
        """Whether the game counts as assisted: a call that was called off, or made again, tells the agent nothing."""
        return self.action not in {"interrupt", "retry"}


class Stepped(_Frozen):
    """A command was executed. ``met`` of the goal's ``conditions`` hold now, if the world reports them.

    Where commands are also enacted in a simulator, ``enacted`` counts the low-level actions that it took, and ``diverged`` is
    why the simulator could not do as the world did.
    """

    kind: Literal["stepped"] = "stepped"
    turn: int
    command: str
    by: Player = "agent"
    observation: str
    accepted: bool
    explanation: str | None = None
    won: bool = False
    terminated: bool = False
    truncated: bool = False
    met: int | None = None
    conditions: int | None = None
    enacted: int | None = None
    diverged: str | None = None


class TurnSpent(_Frozen):
    """A turn passed without a command: the reply was unreadable, or the agent's choice cannot be carried out (``reason``)."""

    kind: Literal["spent"] = "spent"
    turn: int
    reason: str | None = None


class Ended(_Frozen):
    """The episode is over. ``boundary`` and ``message`` say what broke in an errored one."""

    kind: Literal["ended"] = "ended"
    outcome: Outcome
    reason: str
    turns: int
    steps: int
    refused: int
    assisted: bool = False
    boundary: Boundary | None = None
    message: str | None = None


Body = Annotated[
    Started
    | RulesShown
    | Thought
    | Planned
    | Progressed
    | ModelCall
    | ParseFailed
    | Judged
    | Proposed
    | ModelFailed
    | Intervened
    | Stepped
    | TurnSpent
    | Ended,
    Field(discriminator="kind"),
]


class Event(_Frozen):
    """One thing that happened, in its place in the tree."""

    id: int
    parent: int | None = None
    body: Body


class CallTiming(_Frozen):
    """The timing of the event ``of``: wall seconds, attempts, prompt tokens served by a cache."""

    of: int
    seconds: float
    attempts: int = 1
    cached: int | None = None


def branch(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events of the final branch: from the first to the last one, each the parent of the next.

    If the episode was never rewound, that is all but what an agent said before it was asked again.
    """
    by_id = {event.id: event for event in events}
    path: list[Event] = []
    event = events[-1] if events else None
    while event is not None:
        path.append(event)
        # A parent is older than its child; a damaged record must not cause an endless loop.
        event = by_id.get(event.parent) if event.parent is not None and event.parent < event.id else None
    return tuple(reversed(path))


def branches(events: Sequence[Event]) -> tuple[tuple[Event, ...], ...]:
    """The events of every branch, in the order in which they were left; the last is the final `branch`.

    A branch is left by a rewind. One on which nothing happened since the rewind before is none.
    """
    rewinds = [at for at, event in enumerate(events) if isinstance(event.body, Intervened) and event.body.action == "rewind"]
    return tuple(branch(events[:at]) for at in rewinds if at - 1 not in rewinds) + ((branch(events),) if events else ())
