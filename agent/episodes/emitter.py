"""An episode as the loop keeps and sends it: its events, its state between two turns, and its end, with failures attributed to
a boundary.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from housequest.agent.base import AgentEvent, Memory
from housequest.agent.episodes import events
from housequest.agent.episodes.events import CallTiming, Event, Outcome
from housequest.agent.models.base import Timing
from housequest.agent.roles.base import NO_TEMPLATE, clean
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Env, Transition
from housequest.worlds.errors import Boundary, HousequestError, WorldError, shown
from housequest.worlds.household.belief import Belief

EventListener = Callable[[Event | CallTiming], None]
"""Called with each event as it happens, and with the timing of a model call after its event."""
R = TypeVar("R")
Work = Callable[[], Coroutine[Any, Any, R]]
FILLED = "its own unreadable replies filled the model's context"
UNREAD = "no reply of its model could be read"
"""The reasons why an episode was lost that a longer context or readable replies might have saved."""
SEVERAL = 3
"""Only this many unreadable replies may have filled a context: one or two do not fill any that is long enough to play in."""


_Replies = tuple[int, int, bool, frozenset[str]]
_NONE: _Replies = (0, 0, False, frozenset())


class ListenerError(BaseException):
    """The listener raised this error while the agent decided. Not an ``Exception``, so that the agent is not blamed."""


class EventEmitter:
    """Sends events to a listener. Each follows ``last``, which may be set to an older event. ``assisted``: a person helped."""

    def __init__(self, listener: EventListener) -> None:
        self._listener = listener
        self._next_id = 0
        self.last: int | None = None
        self.assisted = False
        # Of the branch up to each event: its replies, those that could not be read, if the last was cut off, and what is said
        # only once: rules, and that a model has no chat template.
        self._branches: dict[int | None, Mapping[str | None, _Replies]] = {None: {}}

    def mostly_unread(self, player: str | None = None) -> bool:
        """True if at least half of a player's replies on this branch, and at least `SEVERAL`, could not be read."""
        replies, unread, *_ = self._branches[self.last].get(player, _NONE)
        return unread >= SEVERAL and 2 * unread >= replies

    def emit(self, body: events.Body, belief: Belief | None = None, player: str | None = None) -> int:
        """Send ``body`` as an event of ``player``, with the ``belief`` after an answer, and return its id."""
        event = Event(id=self._next_id, parent=self.last, player=player, body=body).believing(belief)
        before = self._branches[self.last]
        replies, unread, cut, said = counted = before.get(player, _NONE)
        if isinstance(body, events.ModelCall):
            replies, cut = replies + 1, body.held == "cut"
        elif isinstance(body, events.ParseFailed):
            # If a held reply was cut off, it is asked again without its thought, which mostly works.
            unread += body.final or not cut
        elif isinstance(body, events.RulesShown):
            said = said.union(body.rules)
        elif isinstance(body, events.Thought) and body.text == NO_TEMPLATE:
            said = said.union((NO_TEMPLATE,))
        after = replies, unread, cut, said
        self._branches[event.id] = before if after == counted else {**before, player: after}
        self._next_id += 1
        self.last = event.id
        self._listener(event)
        return event.id

    def intervene(self, action: events.PersonAction, text: str = "", player: str | None = None) -> None:
        did = events.Intervened(action=action, text=clean(text))
        self.assisted = self.assisted or did.helps
        self.emit(did, player=player)

    def from_agent(self, body: AgentEvent, timing: Timing | None = None, player: str | None = None) -> None:
        """Send an event of the agent, and the timing of its model call."""
        try:
            ids = [self.emit(each, player=player) for each in self._unsaid(body, player)]
            if timing is not None and ids:
                role = getattr(body, "role", None) if timing.wasted is not None else None
                self._listener(CallTiming(of=ids[-1], role=role, **asdict(timing)))
        except Exception as error:
            raise ListenerError(error) from error

    def _unsaid(self, body: AgentEvent, player: str | None) -> Iterator[AgentEvent]:
        """``body`` without what this branch has said. Rules with ids, from a rulebook, and others are separate events."""
        *_, said = self._branches[self.last].get(player, _NONE)
        if isinstance(body, events.RulesShown):
            ids = body.ids or ("",) * len(body.rules)
            fresh = {rule: id for rule, id in zip(body.rules, ids, strict=True) if rule not in said}
            if own := tuple(rule for rule, id in fresh.items() if not id):
                yield events.RulesShown(rules=own)
            if listed := {rule: id for rule, id in fresh.items() if id}:
                yield events.RulesShown(rules=tuple(listed), ids=tuple(listed.values()))
        elif not (isinstance(body, events.Thought) and body.text == NO_TEMPLATE and NO_TEMPLATE in said):
            yield body


class SeatEmitter:
    """Sends the events of one ``player`` (None: who plays alone). If ``held``, those of the agent wait for `release`."""

    def __init__(self, emitter: EventEmitter, player: str | None, *, held: bool = False) -> None:
        self._emitter, self.player = emitter, player
        self._held: list[tuple[AgentEvent, Timing | None]] | None = [] if held else None

    @property
    def mostly_unread(self) -> bool:
        """True if most of this player's replies could not be read."""
        return self._emitter.mostly_unread(self.player)

    def emit(self, body: events.Body, belief: Belief | None = None) -> int:
        """Send ``body``, with the ``belief`` after an answer, and return its id."""
        return self._emitter.emit(body, belief, self.player)

    def intervene(self, action: events.PersonAction, text: str = "") -> None:
        """Send what the person did who attends this player."""
        self._emitter.intervene(action, text, self.player)

    def from_agent(self, body: AgentEvent, timing: Timing | None = None) -> None:
        """Send or hold an event of the agent. This is the agent's ``Emitter``."""
        if self._held is None:
            self._emitter.from_agent(body, timing, self.player)
        else:
            self._held.append((body, timing))

    def release(self) -> None:
        """Send what was held."""
        for body, timing in self._held or ():
            self._emitter.from_agent(body, timing, self.player)
        if self._held:
            self._held.clear()


class EpisodeOver(Exception):
    """The episode, or its present branch, ends here with this outcome."""

    def __init__(self, outcome: Outcome, reason: str, boundary: Boundary | None = None, message: str | None = None):
        super().__init__(reason)
        self.outcome: Outcome = outcome
        self.reason = clean(reason)
        self.boundary: Boundary | None = boundary
        self.message = message


@contextmanager
def attributed(boundary: Boundary) -> Generator[None, None, None]:
    """Turn an error inside into ``EpisodeOver``, attributed to ``boundary`` unless the error names its own."""
    try:
        yield
    except EpisodeOver:
        raise
    except HousequestError as error:
        raise EpisodeOver("error", "an error", error.boundary, clean(error.recorded)) from error
    except Exception as error:
        raise EpisodeOver("error", "a fault in the code", boundary, clean(fault(error))) from error


def fault(error: Exception) -> str:
    """A line that names a fault in the code and its place."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {error}"


async def unless(interruption: Work[None], work: Work[R]) -> R | None:
    """Run ``work`` until it returns or ``interruption`` does, and cancel the other. Returns None if interrupted (also on a
    tie). Raises what either raises, but drops an ``Exception`` of interrupted work.
    """
    working = asyncio.create_task(work())
    waiting = asyncio.create_task(interruption())
    try:
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
        interrupted = waiting.done()
    finally:
        working.cancel()
        waiting.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)
    if not interrupted:
        return working.result()
    waiting.result()
    error = None if working.cancelled() else working.exception()
    if error is not None and not isinstance(error, Exception):
        raise error
    return None


async def wait_for_end(task: asyncio.Task[object]) -> None:
    """Wait until ``task`` ends. ``await task`` could not tell a cancelled task from a cancelled caller."""
    await asyncio.wait((task,))
    if not task.cancelled():
        task.result()


@dataclass(slots=True)
class EpisodeState:
    """The state of an episode between two events. Its values are immutable, so a shallow copy is a snapshot. ``hints``, of
    which the first ``answered`` have an answer, each about what was then ``proposed``, and ``unseen`` transitions wait for the
    agent. ``rules`` may be shown to its model. ``notes`` are findings about the model. ``unread`` counts the last turns in a
    row without a readable reply. In company, ``news`` waits for the next turn, ``shown`` is that of the current one, and
    ``told`` is what the house reported since the player's last command. A player who is ``gone`` has left the game.
    """

    memory: Memory = None
    turn: int = 0
    steps: int = 0
    hints: tuple[str, ...] = ()
    answered: int = 0
    proposed: tuple[str, ...] = ()
    unseen: tuple[Transition, ...] = ()
    rules: tuple[Rule, ...] = ()
    notes: frozenset[str] = frozenset()
    played: tuple[Transition, ...] = ()
    belief: Belief | None = None
    unread: int = 0
    news: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    gone: bool = False


def replay(env: Env, played: tuple[Transition, ...]) -> None:
    """Play ``played`` again in ``env``. Raises ``WorldError`` if an answer differs."""
    env.reset()
    for turn, transition in enumerate(played, 1):
        answer = env.step(transition.command).observation
        if answer != transition.observation:
            raise WorldError(
                f"The game cannot go back: command {turn}, {shown(transition.command)}, was answered "
                f"{shown(str(answer))} this time. Start a new game."
            )
