"""A recorded episode as it is scrubbed through: read once, as far as it is whole, with a stop for every turn of each branch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from housequest.agent.episodes.events import CallTiming, Event, ModelCall, Started
from housequest.agent.episodes.record import read_clocks, read_episode
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.tui.episode.branches import GameBranch, game_branches
from housequest.tui.episode.state import ViewState, replayed
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import Scalar

EPISODES = "episodes"
TIMING = "timing.jsonl"
PART = ".part"


@dataclass(frozen=True, slots=True)
class Recording:
    """An episode read back. ``branches`` are in the order in which they were left; the last is the one that was played on.

    ``faults`` say what could not be read, and how far it went. ``options`` are those of its run's world.
    """

    path: Path
    state: ViewState
    branches: tuple[GameBranch, ...] = ()
    faults: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    options: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])

    def spot(self, event: int) -> tuple[int, int] | None:
        """The branch and the stop of the turn that ``event`` spent, on the last branch that has it; None where none does."""
        for number in range(len(self.branches) - 1, -1, -1):
            for place, stop in enumerate(self.branches[number].stops):
                if stop.spent == event:
                    return number, place
        return None


def read_recording(path: Path) -> Recording:
    """Read the episode in ``path`` and its clocks, as far as both go.

    Raises ``ConfigurationError`` where not even its beginning can be read.
    """
    faults: list[str] = []
    events = list(_sound(path, faults))
    if not events:
        raise ConfigurationError(faults[0] if faults else f"{path.name} holds no events: it was interrupted before it began.")
    clocks = _clocks(path, faults)
    timed: list[Event | CallTiming] = []
    for event in events:
        timed.append(event)
        # A run keeps the clocks of every attempt at an episode: what was no call this time has none.
        if isinstance(event.body, ModelCall) and event.id in clocks:
            timed.append(clocks[event.id])
    return Recording(path, replayed(timed), game_branches(events), tuple(faults), tuple(events), _options(path))


def _options(path: Path) -> Mapping[str, Scalar]:
    """The options of the world in which the run was played whose folder the episode lies in; none elsewhere."""
    try:
        return RunFolder(path.parent.parent).manifest().configuration.world_options if path.parent.name == EPISODES else {}
    except ConfigurationError:  # a record alone can be shown too
        return {}


def _sound(path: Path, faults: list[str]) -> Iterator[Event]:
    """The events up to the first that is damaged or out of its place, which is added to ``faults``."""
    seen: set[int] = set()
    last = -1
    try:
        for event in read_episode(path):
            orphan = event.parent not in seen if seen else event.parent is not None
            if event.id <= last or orphan or isinstance(event.body, Started) == bool(seen):
                faults.append(f"{path.name}: event {event.id} is not in its place; shown as far as the one before it.")
                return
            seen.add(event.id)
            last = event.id
            yield event
    except ConfigurationError as error:
        faults.append(str(error).replace(str(path), path.name))


def _clocks(path: Path, faults: list[str]) -> dict[int, CallTiming]:
    """The clocks of the episode by event, from the file beside it or from its run's, as far as they can be read."""
    stem = path.name.removesuffix(PART).removesuffix(".jsonl")
    own, runs = path.with_name(f"{stem}.{TIMING}"), path.parent.parent / TIMING
    clocks: dict[int, CallTiming] = {}
    try:
        if own.is_file():
            clocks.update((clock.of, clock) for clock in read_clocks(own))
        elif path.parent.name == EPISODES and runs.is_file():
            clocks.update((clock.of, clock) for clock in read_clocks(runs, stem))
    except ConfigurationError as error:
        faults.append(f"{str(error).replace(f'{path.parent}/', '')} Shown without the clocks from there on.")
    return clocks
