"""Recorded episodes as moments, for checking rules.

A moment's origin is ``run/task/step``: the run's folder, the name of the episode's record, and the event's id, so that a replay
can find it. Branches of a rewound episode share their first events, so each command is there once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from housequest.agent.episodes.events import Event, Started, Stepped, with_beliefs
from housequest.agent.episodes.record import read_episode
from housequest.knowledge.judging import Moment
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief
from housequest.worlds.registry import household


class OtherWorld(ConfigurationError):
    """The record's world is not that of the checked rules, or no household reads its texts."""


PLAYED = "played"
"""The run's name in origins of games played outside a run."""

_CLOCKS = ".timing.jsonl"
_OTHERS = {"index.jsonl", "timing.jsonl"}


class EpisodeFile(NamedTuple):
    """An episode's file, and its name in origins."""

    path: Path
    run: str
    task: str


def recorded_moments(
    paths: Iterable[Path], left_out: Callable[[ConfigurationError], None] | None = None, *, world: str | None = None
) -> Iterator[Moment]:
    """The moments in ``paths`` (runs' folders or episodes' files), in order. Raises ``ConfigurationError`` for any other path.
    Damaged records, and those of worlds that cannot be read or are not ``world``, go to ``left_out`` if given.
    """
    for record in episode_files(paths):
        try:
            yield from moments(read_episode(record.path), record.run, record.task, world)
        except ConfigurationError as error:
            if left_out is None:
                raise
            left_out(error)


def episode_files(paths: Iterable[Path]) -> tuple[EpisodeFile, ...]:
    """The records under ``paths`` (runs, folders, files), each once, also unfinished ones. Raises ``ConfigurationError``."""
    found: dict[Path, EpisodeFile] = {}
    names: dict[str, Path] = {}
    for path in paths:
        for file in _files(path):
            whole = file.absolute()
            if whole in found:
                continue
            # Runs of the same name are told apart by their folders.
            run, folder = PLAYED, whole.parent
            if whole.parent.name == "episodes" and (whole.parent.parent / "run.json").exists():
                run, folder = whole.parent.parent.name, whole.parent.parent
            label, number = run, 1
            while names.setdefault(label, folder) != folder:
                number += 1
                label = f"{run}~{number}"
            found[whole] = EpisodeFile(file, label, file.name.removesuffix(".part").removesuffix(".jsonl"))
    return tuple(found.values())


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise ConfigurationError(f"{path} is not there; give a run's folder, or an episode's .jsonl file.")
    if not path.is_dir():
        return [path]
    folder = path / "episodes" if (path / "episodes").is_dir() else path
    try:
        names = {file.name for file in folder.iterdir()}
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be listed: {error.strerror}.") from None
    whole = {name for name in names if name.endswith(".jsonl") and not name.endswith(_CLOCKS) and name not in _OTHERS}
    broken = {name for name in names if name.endswith(".jsonl.part") and name.removesuffix(".part") not in whole}
    if not whole | broken:
        raise ConfigurationError(f"{path} holds no recorded episodes; give a run's folder, or an episode's .jsonl file.")
    return [folder / name for name in sorted(whole | broken)]


def digest(paths: Iterable[Path]) -> str:
    """The SHA-256 of all records under ``paths``; it changes with every new event. Raises as `episode_files`."""
    found = sha256()
    for record in episode_files(paths):
        content = record.path.read_bytes()
        found.update(f"{record.task} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def started(record: EpisodeFile) -> Started | None:
    """The first event of a record; None if it is damaged."""
    try:
        first = next(read_episode(record.path), None)
    except ConfigurationError:
        return None
    return first.body if first is not None and isinstance(first.body, Started) else None


def moments(events: Iterable[Event], run: str, task: str, world: str | None = None) -> Iterator[Moment]:
    """The executed commands on all branches of an episode, each with the belief of its branch. Raises ``ConfigurationError`` if
    no household reads the recorded world, it is not ``world``, or several played.
    """
    beliefs: dict[int | None, Belief] = {}
    reader: Household | None = None
    house = f"{run}/{task}"
    for event in with_beliefs(events):
        before = beliefs.get(event.parent, Belief())
        match event.body:
            case Started() as start:
                if world is not None and start.world != world:
                    raise OtherWorld(f"{house} was played in the world {start.world}; these rules are for {world}.")
                if start.players is not None:
                    # One player's answers do not show what another has just changed.
                    raise ConfigurationError(f"{house} was played by several; rules are checked against games of one player.")
                reader = household(start.world)
                if reader is None:
                    name = shown(start.world)
                    raise OtherWorld(f"{house} was played in the world {name}, whose texts rules cannot be checked against.")
                # Two made-up houses of one name differ if their habits do.
                opening = sha256(start.opening.encode("utf-8", "backslashreplace")).hexdigest()[:8]
                house = f"{start.world}/{start.task}/{opening}"
            case Stepped(transition=done) if reader is not None and event.belief is not None:
                # The diagnosis accepts older forms of a command.
                command = reader.canonical(done.command) if done.observation.accepted else done.command
                seen, refused = done.observation, reader.refused(done.observation)
                yield Moment(f"{run}/{task}/{event.id}", house, before, command, seen, event.belief, refused)
            case _:
                pass
        beliefs[event.id] = event.belief or before
