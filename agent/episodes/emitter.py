"""How what happens becomes events: each has the next id, and for parent the one that it follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent.base import AgentEvent, Emitter
from agent.episodes import events
from agent.episodes.events import CallTiming, Event
from agent.models.base import Timing
from agent.roles.base import clean

EventListener = Callable[[Event | CallTiming], None]
"""Is told what happens, as it happens."""


class ListenerError(BaseException):
    """The listener failed while the agent was talking: no ``Exception``, so that it is not taken for a fault of the agent's."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class EventEmitter:
    """Tells a listener what happens.

    ``last`` is the event that the next one follows; set it to an older one and a branch begins there. ``assisted``: a person
    did something.
    """

    def __init__(self, listener: EventListener) -> None:
        self._listener = listener
        self._next_id = 0
        self.last: int | None = None
        self.assisted = False

    def tell(self, body: events.Body) -> int:
        """Make ``body`` an event and return its id."""
        event = Event(id=self._next_id, parent=self.last, body=body)
        self._next_id += 1
        self.last = event.id
        self._listener(event)
        return event.id

    def intervene(self, action: events.Action, text: str = "") -> None:
        """Tell that a person did something."""
        self.assisted = True
        self.tell(events.Intervened(action=action, text=clean(text)))

    def emit(self, body: AgentEvent, timing: Timing | None = None) -> None:
        """Tell what an agent says, with the clock's side of it; an ``Emitter``."""
        try:
            id = self.tell(body)
            if timing is not None:
                self._listener(CallTiming(of=id, seconds=timing.seconds, attempts=timing.attempts, cached=timing.cached))
        except Exception as error:
            raise ListenerError(error) from error


class Consulting:
    """An ``Emitter`` that tells of each rule once, with its id: several prompts of an agent show the same rules.

    ``shown`` grows by what is told. ``ids`` has those of rules that come from a book.
    """

    def __init__(self, emit: Emitter, shown: tuple[str, ...], ids: Mapping[str, str]) -> None:
        self._emit = emit
        self._ids = ids
        self.shown = shown

    def __call__(self, body: AgentEvent, timing: Timing | None = None) -> None:
        if not isinstance(body, events.RulesShown):
            self._emit(body, timing)
            return
        fresh = tuple(rule for rule in dict.fromkeys(body.rules) if rule not in self.shown)
        self.shown += fresh
        own = tuple(rule for rule in fresh if rule not in self._ids)
        listed = tuple(rule for rule in fresh if rule in self._ids)
        if own:
            self._emit(events.RulesShown(rules=own))
        if listed:
            self._emit(events.RulesShown(rules=listed, ids=tuple(self._ids[rule] for rule in listed)))
