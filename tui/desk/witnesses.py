"""The witnesses of a rule: from an origin, run/task/step, to its record and the command there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.episodes.events import Stepped
from agent.episodes.moments import EpisodeFile, episode_files
from agent.episodes.record import read_episode
from worlds.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class FoundWitness:
    """A witness whose record is on disk: the file, the event, and what happened."""

    origin: str
    path: Path
    event: int
    command: str
    observation: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class MissingWitness:
    """A witness that cannot be shown, why, and the way out."""

    origin: str
    reason: str


Witness = FoundWitness | MissingWitness


def find_witnesses(origins: Sequence[str], places: Iterable[Path]) -> tuple[Witness, ...]:
    """Find each of ``origins`` in the records under ``places``; each record is read once.

    Raises ``ConfigurationError`` where a place holds no records. It reads files: call it in a thread.
    """
    known = {(record.run, record.task): record for record in episode_files(places)}
    asked: dict[tuple[str, str], set[int]] = {}
    for origin in origins:
        found = _parsed(origin)
        if found is not None and found[:2] in known:
            asked.setdefault(found[:2], set()).add(found[2])
    read = {episode: _steps(known[episode], steps) for episode, steps in asked.items()}
    return tuple(_witness(origin, known, read) for origin in origins)


def _parsed(origin: str) -> tuple[str, str, int] | None:
    parts = origin.rsplit("/", 2)
    if len(parts) != 3 or not parts[2].isdecimal() or len(parts[2]) > 9:
        return None
    return parts[0], parts[1], int(parts[2])


def _steps(record: EpisodeFile, wanted: set[int]) -> dict[int, Stepped] | str:
    """The ``wanted`` steps, or why the record cannot be read."""
    found: dict[int, Stepped] = {}
    try:
        for event in read_episode(record.path):
            if event.id in wanted and isinstance(event.body, Stepped):
                found[event.id] = event.body
                if len(found) == len(wanted):
                    break
    except ConfigurationError as error:
        return found or str(error)
    return found


def _witness(
    origin: str, known: dict[tuple[str, str], EpisodeFile], read: dict[tuple[str, str], dict[int, Stepped] | str]
) -> Witness:
    parsed = _parsed(origin)
    if parsed is None:
        return MissingWitness(origin, "It does not read run/task/step; mend it in the rulebook, or check the rule again.")
    run, task, event = parsed
    episode = (run, task)
    if episode not in known:
        return MissingWitness(
            origin, f"Its record is not on disk: put the run {run} back, or check the rule against other runs."
        )
    steps = read[episode]
    if isinstance(steps, str):
        return MissingWitness(origin, steps)
    step = steps.get(event)
    if step is None:
        return MissingWitness(origin, f"{known[episode].path} has no command at event {event}: check the rule again.")
    return FoundWitness(origin, known[episode].path, event, step.command, step.observation, step.accepted)
