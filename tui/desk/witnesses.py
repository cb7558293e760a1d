"""The witnesses of rules: steps of recorded play, found where they were recorded or in an archive beside a book."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.moments import episode_files
from housequest.agent.episodes.record import read_episode
from housequest.knowledge.judging import deciding_words
from housequest.knowledge.rules import Rule
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import atomic_write, cache_folder


class FoundWitness(NamedTuple):
    """A witness whose record is on disk: the file, the event, and what happened."""

    origin: str
    path: Path
    event: int
    command: str
    observation: str


class MissingWitness(NamedTuple):
    """A witness that cannot be shown, why, and the way out."""

    origin: str
    reason: str


Witness = FoundWitness | MissingWitness


class RuleProof(NamedTuple):
    """A ``rule`` and the ``event`` that is a witness for it or ``against`` it, with the ``words`` that decide this."""

    rule: Rule
    against: bool
    event: int
    words: tuple[str, ...]

    @classmethod
    def of(cls, rule: Rule, witness: FoundWitness) -> RuleProof:
        """The proof that ``witness``, which ``rule`` names, is."""
        words = deciding_words(rule, witness.command, witness.observation)
        return cls(rule, witness.origin in rule.evidence.against, witness.event, words)


def find_witnesses(origins: Sequence[str], places: Iterable[Path], ships: Path | None = None) -> tuple[Witness, ...]:
    """Find ``origins`` in the records under ``places``, else in the archive ``ships``. Raises ``ConfigurationError``."""
    records = {(record.run, record.task): record.path for record in episode_files(places)}

    @cache
    def steps(path: Path) -> tuple[dict[int, Stepped], str]:
        """The commands of a record by event, as far as it can be read, and why it cannot be read further."""
        found: dict[int, Stepped] = {}
        try:
            for event in read_episode(path):
                if isinstance(event.body, Stepped):
                    found[event.id] = event.body
        except ConfigurationError as error:
            return found, str(error)
        return found, ""

    def find(origin: str) -> Witness:
        parts = origin.rsplit("/", 2)
        if len(parts) != 3 or not parts[2].isdecimal() or len(parts[2]) > 9:
            return MissingWitness(origin, "It does not read run/task/step; mend it in the rulebook, or check the rule again.")
        run, task, event = parts[0], parts[1], int(parts[2])
        path = records.get((run, task)) or (shipped_record(ships, run, task) if ships else None)
        if path is None:
            wanted = f"put the run {run} back, or check the rule against other runs."
            return MissingWitness(origin, f"Its record is not on disk: {wanted}")
        found, fault = steps(path)
        if step := found.get(event):
            return FoundWitness(origin, path, event, step.command, step.observation)
        return MissingWitness(origin, fault or f"{path} has no command at event {event}: check the rule again.")

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
