"""Makes events: each gets the next id, and the event that it follows as its parent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from housequest.agent.base import AgentEvent, Emitter
from housequest.agent.episodes import events
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.models.base import Timing
from housequest.agent.roles.base import NO_TEMPLATE, clean

EventListener = Callable[[Event | CallTiming], None]
"""Called with each event as it happens, and with the timing of a model call after its event."""

SEVERAL = 3
"""Unreadable replies that can have filled a context: one or two fill none that is long enough to play in."""


class ListenerError(BaseException):
    """The listener failed while the agent decided. Not an ``Exception``, so that the agent is not blamed for it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class _Counts:
    """Replies of a branch so far, how many of them could not be read, and whether its budget cut the last one off."""

    replies: int = 0
    unread: int = 0
    cut: bool = False

    def after(self, body: events.Body) -> _Counts:
        match body:
            case events.ModelCall(held=held):
                return replace(self, replies=self.replies + 1, cut=held == "cut")
            case events.ParseFailed(final=final) if final or not self.cut:
                return replace(self, unread=self.unread + 1)
            case _:
                # A held reply that broke off is asked for again without its thought; that mostly mends it.
                return self


class EventEmitter:
    """Sends events to a listener.

    ``last`` is the id that the next event follows; set it to an older one to begin a branch there. ``assisted``: a person
    helped.
    """

    def __init__(self, listener: EventListener) -> None:
        self._listener = listener
        self._next_id = 0
        self.last: int | None = None
        self.assisted = False
        self._counts: dict[int | None, _Counts] = {None: _Counts()}

    @property
    def mostly_unread(self) -> bool:
        """Whether at least half of this branch's replies, and several, could not be read."""
        counts = self._counts[self.last]
        return counts.unread >= SEVERAL and 2 * counts.unread >= counts.replies

    def emit(self, body: events.Body) -> int:
        """Send ``body`` as an event and return its id."""
        event = Event(id=self._next_id, parent=self.last, body=body)
        self._counts[event.id] = self._counts[self.last].after(body)
        self._next_id += 1
        self.last = event.id
        self._listener(event)
        return event.id

    def intervene(self, action: events.PersonAction, text: str = "") -> None:
        """Send that a person intervened."""
        did = events.Intervened(action=action, text=clean(text))
        self.assisted = self.assisted or did.helps
        self.emit(did)

    def from_agent(self, body: AgentEvent, timing: Timing | None = None) -> None:
        """Send an event of the agent, and the timing of its model call; an ``Emitter``."""
        try:
            id = self.emit(body)
            if timing is not None:
                self._listener(CallTiming(of=id, seconds=timing.seconds, attempts=timing.attempts, cached=timing.cached))
        except Exception as error:
            raise ListenerError(error) from error


class RuleReporter:
    """An ``Emitter`` that reports each rule once, since several prompts of an agent show the same rules.

    So it does with what every role says of a model without a chat template. ``shown`` are the statements reported so far. Rules
    with ids, from a rulebook, and rules without become separate events.
    """

    def __init__(self, emit: Emitter, shown: tuple[str, ...]) -> None:
        self._emit = emit
        self.shown = shown

    def __call__(self, body: AgentEvent, timing: Timing | None = None) -> None:
        if isinstance(body, events.Thought) and body.text == NO_TEMPLATE:
            if NO_TEMPLATE in self.shown:
                return
            self.shown += (NO_TEMPLATE,)
        if not isinstance(body, events.RulesShown):
            self._emit(body, timing)
            return
        ids = body.ids or ("",) * len(body.rules)
        fresh = {rule: id for rule, id in zip(body.rules, ids, strict=True) if rule not in self.shown}
        self.shown += tuple(fresh)
        if own := tuple(rule for rule, id in fresh.items() if not id):
            self._emit(events.RulesShown(rules=own))
        if listed := {rule: id for rule, id in fresh.items() if id}:
            self._emit(events.RulesShown(rules=tuple(listed), ids=tuple(listed.values())))
