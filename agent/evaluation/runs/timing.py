"""How long episodes took and how many tokens a cache served. Kept apart from results, since no two runs agree on these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError

from housequest.agent.episodes.record import LONGEST_LINE
from housequest.agent.evaluation.runs.folder import RunFolder, episode_name
from housequest.agent.evaluation.runs.result import Number, SelectedTask, total
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import open_file

T = TypeVar("T", bound=BaseModel)

Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class EpisodeTiming:
    """What an episode took: seconds of model calls, attempts, cached prompt tokens, and seconds in all.

    ``model`` and ``cached`` are None where no call was timed or no cache reported, ``wall`` where it was not measured.
    ``wall`` includes time spent on other episodes in flight. It sums the sessions of the episode; the
    time of a killed session is lost.
    """

    model: float | None = None
    attempts: int = 0
    cached: int | None = None
    wall: float | None = None


class _Line(BaseModel):
    episode: str
    seconds: Seconds


class _CallLine(_Line):
    of: int
    attempts: Number = 1
    cached: Number | None = None


class _SessionLine(_Line):
    resumed: bool = False


def timings_of(run: RunFolder, tasks: Sequence[SelectedTask]) -> dict[str, EpisodeTiming]:
    """The timing of each episode that has one, by task id.

    Only the last attempt counts: a second timing for the same event starts a new attempt there. Lines damaged by a killed
    command are skipped. Raises ``ConfigurationError`` for a file that cannot be read.
    """
    calls = _calls(run)
    walls: dict[str, float] = {}
    for session in _lines(_SessionLine, run.walls_file):
        walls[session.episode] = session.seconds + (walls.get(session.episode, 0.0) if session.resumed else 0.0)
    found: dict[str, EpisodeTiming] = {}
    for task in tasks:
        name = episode_name(task)
        if name in calls or name in walls:
            timed = calls.get(name, [])
            seconds = sum(call.seconds for call in timed) if timed else None
            attempts, cached = sum(call.attempts for call in timed), total(call.cached for call in timed)
            found[task.id] = EpisodeTiming(seconds, attempts, cached, walls.get(name))
    return found


def call_seconds(run: RunFolder) -> dict[str, dict[int, float]]:
    """The seconds of each timed model call, by the names of episodes and the ids of the calls' events.

    Raises ``ConfigurationError`` for a file that cannot be read.
    """
    return {name: {call.of: call.seconds for call in calls} for name, calls in _calls(run).items()}


def _calls(run: RunFolder) -> dict[str, list[_CallLine]]:
    """The calls of each episode's last attempt."""
    calls: dict[str, list[_CallLine]] = {}
    for called in _lines(_CallLine, run.timing_file):
        so_far = calls.setdefault(called.episode, [])
        while so_far and so_far[-1].of >= called.of:
            so_far.pop()
        so_far.append(called)
    return calls


def _lines(kind: type[T], path: Path) -> Iterator[T]:
    """The undamaged lines of a file; none where there is no file."""
    if not path.exists():
        return
    try:
        with open_file(path) as file:
            while line := file.readline(LONGEST_LINE):
                with suppress(ValidationError, RecursionError):
                    yield kind.model_validate_json(line)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from None
