"""The events of an episode, as one discriminated union. The first event states the format.

Live play and replay differ only in where the events come from. Every event has an id, counted from 0, and the id of its parent,
so the branches of a rewound episode form a tree. Timings and cache counts are not events: they are sent and recorded
separately, as ``CallTiming``, so that equal episodes have equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr

from housequest.agent.models.base import Held, Message, Waste, believed
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import Boundary
from housequest.worlds.household.base import Household, with_belief
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.weighing import Weighed
from housequest.worlds.paths import Format
from housequest.worlds.registry import household

Player = Literal["agent", "person", "curiosity"]
"""The one who chose a command; ``curiosity`` is a command for exploring, and not for the task."""
Curiosity = float | Literal["linger"]
"""The share of turns that play a random command; or to ``linger`` in a home and look where was looked least."""

PersonAction = Literal["replace", "hint", "again", "another", "play", "stop", "interrupt", "retry", "model", "rewind"]
Outcome = Literal["won", "lost", "error", "stopped"]


class Frozen(BaseModel):
    """Base of all records of episodes and runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Talking = Literal["free", "turn", "off"]
"""The price of a message to the other players: none, a turn, or nobody talks."""
Deciding = Literal["turns", "at-once"]
"""Players of a round decide one after the other, each told what it could see before; or all on the state at its start."""
Obeying = Literal["people", "all"]
"""Agents carry out the requests of people alone, or of everybody; from others they take in reports and offers."""


Manner = Literal["ignorant", "mute", "slow"]
"""The manner of a held-out partner: it neither hears nor speaks, or only hears, or acts in every second round."""


class Participant(Frozen):
    """A player of a shared house, with the fields that a single player has in ``Started``; ``opening`` only if it differs. For
    a person with a ``stand_in``, they are that agent's.
    """

    name: str
    agent: str
    settings: dict[str, str | int | float | bool | None] = {}
    model: str | None = None
    rules: str | None = None
    opening: str | None = None
    manner: Manner | None = None
    stand_in: str | None = None


class Started(Frozen):
    """An episode begins. ``task`` and ``number`` are for people and metrics, never for an agent. In company, ``players`` says
    who plays, ``talk`` what a message costs, ``order`` when they decide, and ``obey`` whose requests are carried out; ``agent``
    then names all agents.
    """

    kind: Literal["started"] = "started"
    format: Format
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
    curiosity: Curiosity | None = None
    grants: tuple[str, ...] = ()
    max_turns: int
    seed: int
    opening: str
    players: tuple[Participant, ...] | None = None
    talk: Talking | None = None
    order: Deciding | None = None
    obey: Obeying | None = None


POLICY = "policy"
"""The role of an action policy. Its thoughts say what went wrong, and begin with the error mode."""


class Thought(Frozen):
    """A role's thought. ``answers`` is true if it answers a person's hint. ``rule`` is the id of the rule that decided the
    command, and ``weighed`` the odds that the text tells."""

    kind: Literal["thought"] = "thought"
    role: str
    text: str
    answers: Literal[True] | None = None
    rule: str | None = None
    weighed: Weighed | None = None

    @property
    def words(self) -> str:
        return f"by the rule {self.rule}: {self.text}" if self.rule else self.text


class Planned(Frozen):
    """A role made or revised the plan. ``revision`` counts from 0; ``reason`` is why it was asked to."""

    kind: Literal["planned"] = "planned"
    role: str
    steps: tuple[str, ...]
    revision: int
    reason: str


class Progressed(Frozen):
    """The plan has reached ``step``, counted from 0."""

    kind: Literal["progressed"] = "progressed"
    role: str
    step: int


class PromptMessage(Frozen):
    """One message of a prompt. ``image`` is the digest of its picture, which is not recorded since it can be drawn again."""

    role: Literal["system", "user", "assistant"]
    content: str
    image: str | None = None

    @classmethod
    def of(cls, message: Message) -> PromptMessage:
        return cls(role=message.role, content=message.content, image=message.image.digest if message.image else None)

    @property
    def text(self) -> str:
        """The message for people: its content, and a note if a picture came with it."""
        return self.content if self.image is None else f"{self.content}\n\n[a picture of what it sees, {self.image[:12]}]"


class Candidate(Frozen):
    """A text that a model might have written, with its log-probability in nats."""

    text: str
    logprob: float


Count = Annotated[int | None, AfterValidator(believed)]
"""A count that a model stated; None if it stated none or an impossible one (`believed`)."""


class ModelCall(Frozen):
    """A role called its model.

    The prompt is the first ``kept`` messages of the role's previous conversation, reply included, and then ``added``: so it can
    be rebuilt without being stored at every step.

    Attributes:
        reply: The reply; if given texts were scored, the selected one.
        candidates: The best of the scored texts, or the possible first words of a verdict that was taken by probability.
        calls: The number of calls, if more than one.
        plain: The model continued plain text instead of a chat.
        held: For a reply that had to keep a form: ``kept``; ``cut`` off at its limit of tokens; ``broken``, if it kept no form;
            or ``refused``, if the model did not take the form.
        weighed: A text said before was scored beside others, such as ``reply``, since it led nowhere.
        thinking: The thoughts before the reply, if the server tells them apart; ``thinking_tokens`` are theirs.
        learned: Limits of the server, found by asking it, such as that it takes no temperature.
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
    weighed: Literal[True] | None = None
    thinking: str | None = None
    thinking_tokens: Count = None
    learned: tuple[str, ...] | None = None


class ParseFailed(Frozen):
    """A reply could not be read. If ``final``, nor could a second one: the agent loses the turn or goes on without it."""

    kind: Literal["unreadable"] = "unreadable"
    role: str
    reply: str
    reason: str
    final: bool


class Relevance(Frozen):
    """The relevance of a receptacle (``place``) or an object, in [0, 1]; None, and not masked, if the reply was unreadable."""

    name: str
    place: bool
    masked: bool
    score: float | None = None


class Judged(Frozen):
    """A role judged how relevant things are to ``target``, a task or sub-task. The acting agent does not see masked names."""

    kind: Literal["judged"] = "judged"
    role: str
    target: str
    things: tuple[Relevance, ...]

    @property
    def words(self) -> str:
        masked = [thing.name for thing in self.things if thing.masked]
        return f"for \u201c{self.target}\u201d it leaves out {', '.join(masked) or f'none of {len(self.things)}'}"


class Proposed(Frozen):
    """The agent wants to execute ``command``. The overseer sees this before it happens."""

    kind: Literal["proposed"] = "proposed"
    turn: int
    command: str


class RulesShown(Frozen):
    """Rules that the next prompt shows for the first time, with their ids in the rulebook. A short prompt cuts long rules."""

    kind: Literal["consulted"] = "consulted"
    rules: tuple[str, ...]
    ids: tuple[str, ...] = ()


class ModelFailed(Frozen):
    """The model failed, and the person who plays decides what to do. Without a person, a failure ends the episode."""

    kind: Literal["failed"] = "failed"
    turn: int
    boundary: Boundary
    message: str


class Intervened(Frozen):
    """A person stepped in. ``action``: ``replace`` a command, give a ``hint``, ask ``again`` or for ``another`` command,
    ``play`` themselves, ``stop`` the episode, ``interrupt`` the agent while it decides, ``retry`` after a failure, change to
    another ``model`` (``text`` names it), or ``rewind`` to the event's parent (``text`` names the next turn). After an
    interruption, a failure or a request for another command, the agent's events before it become an abandoned branch.
    """

    kind: Literal["intervened"] = "intervened"
    action: PersonAction
    text: str = ""

    @property
    def helps(self) -> bool:
        """True if the game counts as assisted. Cancelling or retrying a call tells the agent nothing."""
        return self.action not in {"interrupt", "retry"}


class Said(Frozen):
    """A player said ``text`` to the others; if that left it its turn, ``after`` so many of the turn's news."""

    kind: Literal["said"] = "said"
    turn: int
    text: str
    after: int | None = None


class Joined(Frozen):
    """From now on ``agent`` decides for this player: the stand-in of a person who left, or ``human`` once they are back."""

    kind: Literal["joined"] = "joined"
    turn: int
    agent: str


class Stepped(Frozen):
    """A command was executed. ``met`` of the goal's ``conditions`` hold now, if the world reports them. ``enacted`` counts the
    low-level actions of a simulator, and ``diverged`` says why it could not follow. ``news`` is all that the player was told of
    the others before it.
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
    news: tuple[str, ...] | None = None

    @property
    def transition(self) -> Transition:
        """The command with its answer, as the agent got it."""
        return Transition(self.command, Observation(self.observation, self.accepted, self.explanation))


class TurnSpent(Frozen):
    """A turn passed without a command: the reply was unreadable, or could not be carried out for this ``reason``. ``news`` is
    that of ``Stepped``.
    """

    kind: Literal["spent"] = "spent"
    turn: int
    reason: str | None = None
    news: tuple[str, ...] | None = None


class Ended(Frozen):
    """The episode is over. After an error, ``boundary`` and ``message`` say where and why. A ``message`` without a ``boundary``
    is the model's, when its own unreadable replies had filled its context.
    """

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
    | Said
    | Joined
    | Stepped
    | TurnSpent
    | Ended,
    Field(discriminator="kind"),
]


class Event(Frozen):  # noqa: PLW1641 (pydantic makes the hash of a frozen model)
    """One event, in its place in the tree. ``belief`` is what the player knows after a ``Started`` or ``Stepped`` of a
    household. Live events have it, records do not; `with_beliefs` adds it to recorded events. ``player`` names whose event it
    is, in company."""

    id: int
    parent: int | None = None
    player: str | None = None
    body: Body
    _belief: Belief | None = PrivateAttr(None)

    @property
    def belief(self) -> Belief | None:
        return self._belief

    def believing(self, belief: Belief | None) -> Event:
        """Return the same event with a belief, which records do not hold.

        Args:
            belief: The belief after it.

        Returns:
            A copy.
        """
        event = self.model_copy()
        event._belief = belief
        return event

    @property
    def _fields(self) -> tuple[int, int | None, str | None, Body]:
        return self.id, self.parent, self.player, self.body

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._fields == other._fields


class CallTiming(Frozen):
    """The timing of the event ``of``. ``seconds`` are wall seconds, ``cached`` are prompt tokens from a cache. ``wasted``
    (`Waste`) was paid beside it, in its ``role``. ``at`` is the time of the answer in seconds since the epoch, ``served``
    names the model that gave it."""

    of: int
    seconds: float
    attempts: int = 1
    cached: int | None = None
    wasted: Waste | None = None
    role: str | None = None
    at: int | None = None
    served: str | None = None


def branch(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events of the final branch, from the first to the last, each the parent of the next."""
    by_id = {event.id: event for event in events}
    path: list[Event] = []
    event = events[-1] if events else None
    while event is not None:
        path.append(event)
        # A parent is older than its child; a damaged record must not cause an endless loop.
        event = by_id.get(event.parent) if event.parent is not None and event.parent < event.id else None
    return tuple(reversed(path))


def branches(events: Sequence[Event]) -> tuple[tuple[Event, ...], ...]:
    """The events of every branch, in the order in which rewinding left them; the last is the final `branch`."""
    rewinds = [at for at, event in enumerate(events) if isinstance(event.body, Intervened) and event.body.action == "rewind"]
    return tuple(branch(events[:at]) for at in rewinds if at - 1 not in rewinds) + ((branch(events),) if events else ())


def with_beliefs(events: Iterable[Event]) -> Iterator[Event]:
    """Add to recorded ``events`` the beliefs that live ones carry. Each answer is read once, after those of its own branch and
    player.
    """
    known: dict[int | None, dict[str | None, Belief | None]] = {None: {}}
    reader: Household | None = None
    for event in events:
        body = event.body
        beliefs: dict[str | None, Belief | None] = known.get(event.parent, {})
        belief = event.belief or beliefs.get(event.player)
        if isinstance(body, Started):
            reader = household(body.world)
            belief = belief or with_belief(reader, Observation(body.opening)).belief
            openings = {one.name: Observation(one.opening or body.opening) for one in body.players or ()}
            beliefs = {name: with_belief(reader, opening).belief for name, opening in openings.items()}
        elif isinstance(body, Stepped | TurnSpent) and event.belief is None:
            belief = belief or Belief()
            if event.player is not None and reader is not None:
                belief = reader.hear(belief, body.news or ())
            if isinstance(body, Stepped):
                belief = with_belief(reader, body.transition.observation, belief, body.command).belief
        known[event.id] = beliefs if beliefs.get(event.player) is belief else {**beliefs, event.player: belief}
        yield event.believing(belief) if event.belief is None and isinstance(body, Started | Stepped) else event
