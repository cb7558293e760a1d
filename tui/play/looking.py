"""A live game as one person looks at it: what was told of it, the turn they look at, and how it went."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent.episodes.events import Ended, Event
from tui.background import aside
from tui.episode.state import Moment, State, apply
from tui.play.game import GameConfig
from tui.play.session import Session, Told
from tui.play.situation import Situation
from tui.play.status import Status
from worlds.errors import HousequestError

if TYPE_CHECKING:
    from agent.evaluation.analysis.failures import Failure
    from agent.evaluation.analysis.par import Par


class Look:
    """What a screen shows of ``session``. ``cursor`` is the event that is looked back to, None at the present."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = State()
        self.cursor: int | None = None
        self.failure: Failure | None = None
        self.par: Par | None = None
        self._events: list[Event] = []

    @property
    def game(self) -> GameConfig:
        """What is played."""
        return self.session.game

    @property
    def situation(self) -> Situation:
        """What holds at this moment."""
        return Situation(self.game, self.session.status, self.state, self.cursor, self._missed())

    @property
    def moment(self) -> Moment:
        """The moment that is looked at."""
        return self.state.moment if self.cursor is None else self.state.moments[self.cursor]

    def hear(self, told: Told) -> bool:
        """Take in what the session told; whether a branch has ended with it."""
        if isinstance(told, Status):
            return False
        self.state = apply(self.state, told)
        return isinstance(told, Event) and self._ended(told)

    async def measure(self) -> None:
        """Find out what the task can be done in."""
        from agent.evaluation.analysis.par import Par, par_of

        if self.par is None:
            try:
                self.par = await aside(partial(par_of, self.game.world, self.game.task))
            except HousequestError:  # whatever is wrong with the task, the game itself has told by now
                self.par = Par()

    def at(self, event: int | None) -> None:
        """Look at the moment after this event; at the present where that is the last turn's."""
        self.cursor = None if event == self._present else event

    def back(self) -> None:
        """Look a turn further back."""
        stops = self._stops()
        now = stops.index(self.cursor) if self.cursor in stops else len(stops) - (self._present is not None)
        self.at(stops[max(0, now - 1)])

    def forward(self) -> None:
        """Look a turn further on, at last at the present."""
        stops = self._stops()
        next_one = stops.index(self.cursor) + 1 if self.cursor in stops else len(stops)
        self.at(stops[next_one] if next_one < len(stops) else None)

    def branch(self) -> None:
        """Play on from the turn that is looked at; at the end, look at the one at which the game was lost."""
        if self.cursor is None:
            self.at(self._missed())
        else:
            self.session.rewind(self.cursor)
            self.cursor = None

    @property
    def _present(self) -> int | None:
        """The event of the last turn, after which the game goes on or with which it ended; None where it ended later."""
        last, anchor = self._events[-1] if self._events else None, self.state.moment.anchor
        later = last is not None and isinstance(last.body, Ended) and last.parent != anchor
        return None if later else anchor

    def _ended(self, event: Event) -> bool:
        self._events.append(event)
        ended = isinstance(event.body, Ended)
        if ended:
            from agent.evaluation.analysis.failures import why

            self.failure = why(self._events)
        return ended

    def _stops(self) -> list[int]:
        """The events that one can look back to, from the start on."""
        start = next(iter(self.state.moments))
        return [start, *(entry.id for entry in self.state.moment.story)]

    def _missed(self) -> int | None:
        """What to go back to in order to do better: the event before the turn at which the game was lost."""
        moment = self.state.moment
        if self.failure is None or moment.ended is None or not 0 < self.failure.turn <= len(moment.story):
            return None
        return self._stops()[self.failure.turn - 1]
