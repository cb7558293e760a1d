"""The witnesses of a rule: from an origin, run/task/step, to its record and the command there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zipfile import ZipFile

from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.moments import episode_files
from housequest.agent.episodes.record import read_episode
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import atomic_write, cache_folder


@dataclass(frozen=True, slots=True)
class FoundWitness:
    """A witness whose record is on disk: the file, the event, and what happened."""

    origin: str
    path: Path
    event: int
    command: str
    observation: str


@dataclass(frozen=True, slots=True)
class MissingWitness:
    """A witness that cannot be shown, why, and the way out."""

    origin: str
    reason: str


Witness = FoundWitness | MissingWitness


def find_witnesses(origins: Sequence[str], places: Iterable[Path], ships: Path | None = None) -> tuple[Witness, ...]:
    """Find each of ``origins`` in the records under ``places``, else among those in the archive ``ships``; each is read once.

    Raises ``ConfigurationError`` where a place holds no records. It reads files: call it in a thread.
    """
    records = {(record.run, record.task): record.path for record in episode_files(places)}
    steps = cache(_steps)

    def find(origin: str) -> Witness:
        parts = origin.rsplit("/", 2)
        if len(parts) != 3 or not parts[2].isdecimal() or len(parts[2]) > 9:
            return MissingWitness(origin, "It does not read run/task/step; mend it in the rulebook, or check the rule again.")
        run, task, event = parts[0], parts[1], int(parts[2])
        path = records.get((run, task)) or (shipped_record(ships, run, task) if ships else None)
        if path is None:
            reason = f"Its record is not on disk: put the run {run} back, or check the rule against other runs."
            return MissingWitness(origin, reason)
        found, fault = steps(path)
        if event not in found:
            return MissingWitness(origin, fault or f"{path} has no command at event {event}: check the rule again.")
        step = found[event]
        return FoundWitness(origin, path, event, step.command, step.observation)

    return tuple(find(origin) for origin in origins)


def shipped_record(archive: Path, run: str, task: str) -> Path | None:
    """The record of ``task`` in the ``archive``, written to a file of the cache; None where it is not there."""
    with ZipFile(archive) as shipped:
        try:
            content = shipped.read(f"{run}/{task}.jsonl")
        except KeyError:
            return None
    # As in a run's folder, so that its origin is the same there.
    path = cache_folder() / "witnesses" / run / "episodes" / f"{task}.jsonl"
    if not (path.is_file() and path.read_bytes() == content):
        atomic_write(path, content, sync=False)
    return path


def _steps(path: Path) -> tuple[dict[int, Stepped], str]:
    """The commands of a record by event, as far as it can be read, and why it cannot be read further."""
    found: dict[int, Stepped] = {}
    try:
        for event in read_episode(path):
            if isinstance(event.body, Stepped):
                found[event.id] = event.body
    except ConfigurationError as error:
        return found, str(error)
    return found, ""
