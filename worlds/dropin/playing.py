"""Games as they are played here, alone, in batches and in groups: the commands of a situation are listed once and kept."""

from __future__ import annotations

import gc
import warnings
from bisect import bisect_left
from collections.abc import Mapping
from copy import copy

from housequest.worlds.alfworld.engine.game import Game, GroundAction, State
from housequest.worlds.alfworld.engine.native import REFUSED, at_hand, opening, perform, won
from housequest.worlds.alfworld.text import canonical
from housequest.worlds.dropin.core import CommandError
from housequest.worlds.errors import shown

_SITUATIONS_KEPT = 16  # for each of up to four players of a game; more are hardly met again
_PUT_REFUSED = (
    "`put X in/on Y` is refused, as in alfworld 0.4: say `move X to Y`, or run the program with "
    "`python -m housequest.as_alfworld --accept-put`."
)
_WINS_NOTHING = frozenset({"go", "open", "close", "slice", "use"})
"""Verbs that can only help the goal of looking at a thing in light."""


class UncollectedStep:
    """Pauses the collector of cycles, which would search thousands of games, though a step makes no cycles. As a generator this
    would create an object at its end, and so start the collector before the caller has dropped the infos of the step before. As
    it is, a loop that keeps nothing makes as many objects as it drops, and the collector hardly runs."""

    __slots__ = ("_collects",)

    def __enter__(self) -> None:
        self._collects = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._collects:
            gc.enable()


Situation = tuple[dict[str, GroundAction], tuple[str, ...], tuple[str, ...]]
"""The commands that the present place adds to a game's own, those that it takes away, and the texts of all in order."""


class Place:
    """One game, shared by its players, with the commands of the latest situations."""

    __slots__ = ("__weakref__", "_always", "_going", "_kept", "_known", "file", "game", "opening", "won")

    def __init__(self, game: Game, file: str = "", players: int = 1) -> None:
        self.game, self.file = game, file
        self._kept = 0
        self.join(players)
        self._always = sorted(game.always)
        self._going = {action.receptacle: command for command, action in game.always.items() if action.verb == "go"}
        self.opening = opening(game)
        self.won = won(game, game.start)
        self._known: dict[object, Situation] = {}

    def join(self, players: int) -> None:
        """Keep situations for these ``players``, too."""
        self._kept = min(self._kept + _SITUATIONS_KEPT * players, 4 * _SITUATIONS_KEPT)

    def situation(self, state: State) -> Situation:
        """The commands possible in ``state``, which depend only on the things at hand."""
        game, held, place = self.game, state.held, state.place
        here = game.receptacles_at[place]
        lying = state.lying[place] if held in game.knives else None
        contents, opened = state.contents, state.opened
        seen: list[object] = [place, held, lying]
        for one in here:
            seen += contents[one], one in opened
        key = tuple(seen)
        found = self._known.get(key)
        if found is None:
            possible, listed = at_hand(game, state), self._always.copy()
            left = tuple([self._going[one] for one in here])
            for command in left:
                del listed[bisect_left(listed, command)]
            listed += possible
            listed.sort()
            found = possible, left, tuple(listed)
            if len(self._known) == self._kept:
                del self._known[next(iter(self._known))]
            self._known[key] = found
        return found


class OlderCommands:
    """The treatment of ``put X in/on Y``, which alfworld 0.4 refuses: if ``accepted``, it is played as ``move X to Y``, and
    ``read`` counts how often; otherwise the first one that would have done something is warned of."""

    def __init__(self) -> None:
        self.accepted, self.read = False, 0

    def meant(self, command: str, possible: Mapping[str, GroundAction]) -> str | None:
        """The command to play in place of a refused one."""
        meant = canonical(command)
        if meant == command or meant not in possible:
            return None
        if not self.accepted:
            warnings.warn(_PUT_REFUSED, stacklevel=4)
            return None
        self.read += 1
        return meant


OLDER = OlderCommands()  # for this process, as whoever runs a program chose


class RunningGame:
    """A running game: the last answer, whether it is won, and the commands possible now, ``listed`` in order. ``read_as`` is
    the command that was played in place of the last one."""

    __slots__ = ("_left", "_possible", "accepted", "listed", "place", "read_as", "state", "text", "won")

    def __init__(self, place: Place) -> None:
        self.place, self.state = place, place.game.start
        self.text, self.won, self.accepted = place.opening, place.won, True
        self.read_as: str | None = None
        self._possible, self._left, self.listed = place.situation(self.state)

    def act(self, command: object) -> None:
        """Play a command. Raises ``CommandError`` for what is no text."""
        if not isinstance(command, str):
            raise CommandError(f"A command is text, not {shown(command)}.")
        game, command, self.read_as = self.place.game, command.strip(), None
        action = self._possible.get(command)
        if action is None and command not in self._left:
            action = game.always.get(command)
        if action is None:
            self.read_as = OLDER.meant(command, self._possible)
            if self.read_as is None:
                self.text, self.accepted = REFUSED, False
                return
            action = self._possible[self.read_as]
        self.accepted = True
        state, self.text = perform(game, self.state, action)
        if state is not self.state:
            self.state = state
            self._possible, self._left, self.listed = self.place.situation(state)
            if action.verb not in _WINS_NOTHING or game.goal.form == "light":
                self.won = won(game, state)

    def copy(self) -> RunningGame:
        """The same game, to be played on by itself."""
        return copy(self)
