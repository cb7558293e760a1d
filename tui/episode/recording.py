"""A recorded episode, read as far as it is whole, and the branches of a rewound one, with a stop for every turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall, Outcome, Started, branches, with_beliefs
from housequest.agent.episodes.record import read_clocks, read_sound
from housequest.agent.episodes.seat_view import SeatView
from housequest.agent.evaluation.analysis.failures import Failure, failure_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.tui.episode.state import TurnEntry, ViewState, replayed
from housequest.tui.text import plural
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import Scalar

_EPISODES = "episodes"
_TIMING = "timing.jsonl"
OUTCOME_WORDS: dict[Outcome, str] = {
    "won": "✦ won in",
    "lost": "○ lost after",
    "stopped": "▪ stopped after",
    "error": "! broke off after",
}
"""The words before the number of turns, with a mark, by outcome."""


class ReplayStop(NamedTuple):
    """The moment after the event ``id``: the opening, or a turn that ``event`` spent (``id`` itself where that is None)."""

    id: int
    refused: bool = False
    replanned: bool = False
    lost: bool = False
    event: int | None = None

    @property
    def spent(self) -> int:
        """The id of the event by which the turn was spent."""
        return self.id if self.event is None else self.event


@dataclass(frozen=True)
class GameBranch:
    """One way a game went; its first ``shared`` turns are those of the branch ``origin``. The first is number 1."""

    number: int
    start: int
    end: int
    turns: tuple[TurnEntry, ...]
    shared: int
    origin: int | None
    current: bool
    ended: Ended | None = None
    failure: Failure | None = None

    @cached_property
    def stops(self) -> tuple[ReplayStop, ...]:
        """The stops of a replay: the opening and each turn."""
        lost = None if self.failure is None else self.failure.turn
        stops = [ReplayStop(self.start, lost=lost == 0)]
        for place, turn in enumerate(self.turns, 1):
            stops.append(ReplayStop(turn.id, not turn.observation.accepted, turn.replanned, lost == place))
        # The last one also shows how it ended, or what was being done when the record broke off.
        if stops[-1].id != self.end:
            stops[-1] = stops[-1]._replace(id=self.end, event=stops[-1].id)
        return tuple(stops)

    @property
    def name(self) -> str:
        return f"branch {self.number}{', current' if self.current else ''}"

    @property
    def length(self) -> str:
        """Its turns, and how many of its commands were refused."""
        refused = sum(not turn.observation.accepted for turn in self.turns)
        return plural(len(self.turns), "turn") + (f", {refused} refused" if refused else "")

    @property
    def outcome(self) -> str:
        """Its end in words, or that it has none."""
        if self.ended is None:
            return "… not over" if self.current else "‖ left before its end"
        why = f": {self.failure.label}" if self.failure is not None and self.ended.outcome == "lost" else ""
        return f"{OUTCOME_WORDS[self.ended.outcome]} {plural(self.ended.turns, 'turn')}{why}"

    @property
    def parting(self) -> str:
        """The turn and the branch at which it parts, in words."""
        if self.origin is None:
            return "the first one"
        return f"from {self.origin} after turn {self.turns[self.shared - 1].turn if self.shared else 0}"


def game_branches(events: Sequence[Event], state: ViewState | None = None) -> tuple[GameBranch, ...]:
    """The branches of an episode in the order in which they were left, the current one last; ``events`` lead to ``state``."""
    state = state or replayed(events)
    found: list[GameBranch] = []
    paths = branches(events)
    for number, path in enumerate(paths, 1):
        moment = state.moments[path[-1].id]
        turns = moment.story
        origin, shared = None, 0
        for other in found:
            alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(turns, other.turns, strict=False)))
            if origin is None or alike > shared:
                origin, shared = other.number, alike
        ends = moment.ended, failure_of(path)
        found.append(GameBranch(number, path[0].id, path[-1].id, turns, shared, origin, number == len(paths), *ends))
    return tuple(found)


def shared_turns(found: Sequence[GameBranch]) -> int:
    """The number of turns that all branches begin with."""
    return min((branch.shared for branch in found[1:]), default=len(found[0].turns) if found else 0)


def branch_lines(found: Sequence[GameBranch]) -> Iterator[tuple[str, str, str]]:
    """The branches one after the other, in words: the indents of a line's beginning and of its rest, and the line."""
    shared = shared_turns(found)
    yield "", "", f"The game was rewound. It has {len(found)} branches, the last of which is the current one."
    for branch in found:
        parting = f", {branch.parting}" if branch.origin is not None else ""
        yield "", "  ", f"Branch {branch.number}{parting}: {branch.length}; {branch.outcome[2:]}"
        # Those that no branch before it has, and none with which all begin.
        for turn in branch.turns[max(branch.shared, shared) :]:
            about = [] if turn.observation.accepted else ["refused"]
            about += [] if turn.by == "agent" else ["by a person" if turn.by == "person" else "to explore"]
            yield f"  {turn.turn:>3}  ", "       ", (turn.command or "no command") + (f" ({', '.join(about)})" if about else "")


@dataclass(frozen=True, slots=True)
class Recording:
    """An episode read back, with its branches, the current one last; ``faults`` say which parts could not be read. One of
    several ``players`` is read from one's ``seat``.
    """

    path: Path
    state: ViewState
    branches: tuple[GameBranch, ...] = ()
    faults: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    options: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    seat: str | None = None
    players: tuple[str, ...] = ()

    def spot(self, event: int) -> tuple[int, int] | None:
        """The branch and the stop of the turn that ``event`` spent, on the last branch that has it; None where none does."""
        for number in range(len(self.branches) - 1, -1, -1):
            for place, stop in enumerate(self.branches[number].stops):
                if stop.spent == event:
                    return number, place
        return None


def read_recording(path: Path, seat: str | None = None) -> Recording:
    """The episode in ``path``, as far as it can be read, from one player's ``seat``, by default the first.

    Raises ``ConfigurationError`` if not even its beginning can be read.
    """
    sound = read_sound(path)
    faults = [f"{sound.fault.replace(str(path), path.name)} Shown as far as the event before it."] if sound.fault else []
    events = list(with_beliefs(sound.events))
    if not events:
        raise ConfigurationError(sound.fault or f"{path.name} holds no events: it was interrupted before it began.")
    start = events[0].body
    players = tuple(one.name for one in start.players or ()) if isinstance(start, Started) else ()
    view = SeatView(seat if seat in players else next(iter(players), None))
    events = [seen for event in events if (seen := view.of(event)) is not None]
    clocks = _clocks(path, faults)
    timed: list[Event | CallTiming] = []
    for event in events:
        timed.append(event)
        # A run keeps the clocks of every attempt at an episode: what was no call this time has none.
        if isinstance(event.body, ModelCall) and event.id in clocks:
            timed.append(clocks[event.id])
    state = replayed(timed)
    read = game_branches(events, state), tuple(faults), tuple(events), _options(path)
    return Recording(path, state, *read, view.player, players)


def _options(path: Path) -> Mapping[str, Scalar]:
    """The options of the world in which the run was played whose folder the episode lies in; none elsewhere."""
    try:
        return RunFolder(path.parent.parent).manifest().configuration.world_options if path.parent.name == _EPISODES else {}
    except ConfigurationError:  # a record alone can be shown too
        return {}


def _clocks(path: Path, faults: list[str]) -> dict[int, CallTiming]:
    """The clocks of the episode by event, from the file beside it or from its run's, as far as they can be read."""
    stem = path.name.removesuffix(".part").removesuffix(".jsonl")
    own, runs = path.with_name(f"{stem}.{_TIMING}"), path.parent.parent / _TIMING
    clocks: dict[int, CallTiming] = {}
    try:
        if own.is_file():
            clocks.update((clock.of, clock) for clock in read_clocks(own))
        elif path.parent.name == _EPISODES and runs.is_file():
            clocks.update((clock.of, clock) for clock in read_clocks(runs, stem))
    except ConfigurationError as error:
        faults.append(f"{str(error).replace(f'{path.parent}/', '')} Shown without the clocks from there on.")
    return clocks
