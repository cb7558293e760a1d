"""One player's view of a game of several, as an episode without what only others saw or thought."""

from __future__ import annotations

from typing import TypeVar

from housequest.agent.episodes.events import CallTiming, Ended, Event, Intervened, Started
from housequest.worlds.base import Observation
from housequest.worlds.household.base import with_belief
from housequest.worlds.registry import household

E = TypeVar("E", Event, CallTiming)


class SeatView:
    """Passes on the events of a game that are ``player``'s own or everybody's, in order, and links each to the previous one on
    its branch. News of others come with the player's own events. A game of one passes unchanged.
    """

    def __init__(self, player: str | None) -> None:
        self.player = player
        self._kept: dict[int, int | None] = {}

    def of(self, event: E) -> E | None:
        """The event as this player knows it; None if it does not notice it."""
        if self.player is None:
            return event
        if isinstance(event, CallTiming):
            return event if self._kept.get(event.of) == event.of else None
        before = None if event.parent is None else self._kept.get(event.parent)
        body = event.body
        # A rewind takes everybody back.
        rewound = isinstance(body, Intervened) and body.action == "rewind"
        if event.player != self.player and not (rewound or isinstance(body, Started | Ended)):
            self._kept[event.id] = before
            return None
        self._kept[event.id] = event.id
        seen = event.model_copy(update={"parent": before}) if event.parent != before else event
        return self._started(seen, body) if isinstance(body, Started) else seen

    def _started(self, event: Event, body: Started) -> Event:
        """The start, with this player first, and with its own agent and opening."""
        players = body.players or ()
        me = next((one for one in players if one.name == self.player), None)
        if me is None:
            return event
        everybody = sorted(players, key=lambda one: one is not me)
        known = tuple(one.model_copy(update={"opening": None}) for one in everybody)
        own = {name: getattr(me, name) for name in ("agent", "settings", "model", "rules")}
        seen = body.model_copy(update={**own, "players": known, "opening": me.opening or body.opening})
        belief = event.belief
        if me.opening is not None and belief is not None:
            belief = with_belief(household(body.world), Observation(me.opening)).belief
        return event.model_copy(update={"body": seen}).believing(belief)
