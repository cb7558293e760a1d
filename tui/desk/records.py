"""What the desk reads: rulebooks, the records that rules are checked against, and the witnesses of rules in these.

A check reports its progress and can be cancelled. Everything here reads files: call it in a thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from threading import Event as Flag
from time import monotonic
from typing import get_args
from zipfile import ZipFile

from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.moments import EpisodeFile, OtherWorld, episode_files, moments
from housequest.agent.episodes.record import read_episode
from housequest.knowledge.judging import Moment, RuleFinding, examine
from housequest.knowledge.mining import Location, Sightings
from housequest.knowledge.rulebook import Rulebook, library
from housequest.knowledge.rules import Rule, Standing
from housequest.tui.text import plural
from housequest.worlds.errors import ConfigurationError, KnowledgeError
from housequest.worlds.paths import atomic_write, cache_folder
from housequest.worlds.registry import DEFAULT_WORLD, plugins

FIRST = "mine"
"""What a person's first book is called unless they say otherwise."""
OFTEN = 0.1
"""Seconds between two reports of a check's progress."""


@dataclass(frozen=True, slots=True)
class BookSummary:
    """A rulebook in the library: how many rules it has of each status, or why it cannot be read."""

    name: str
    path: Path
    shipped: bool
    accepted: int = 0
    candidates: int = 0
    rejected: int = 0
    fault: str = ""
    world: str = ""


@dataclass(frozen=True, slots=True)
class OpenBook:
    """A book to be curated. ``shipped``: it is the user's copy of one that ships; the first save makes it."""

    book: Rulebook
    shipped: bool = False


def explores() -> bool:
    """Whether there is the command that explores, which is an optional part."""
    return "explore" in plugins("housequest.commands")


def list_books() -> tuple[BookSummary, ...]:
    """The books in the library, by name."""
    books = library()
    found: list[BookSummary] = []
    for name in books.names():
        path = books.find(name)
        shipped = books.is_shipped(path)
        try:
            book = books.open(name)
        except KnowledgeError as error:
            found.append(BookSummary(name, path, shipped, fault=str(error).replace(str(path), path.name)))
            continue
        of = Counter(rule.status for rule in book.rules)
        found.append(BookSummary(name, path, shipped, of["accepted"], of["candidate"], of["rejected"], world=book.world))
    return tuple(found)


def open_book(name: str, *, new: bool = True, world: str | None = None) -> OpenBook:
    """A book to be changed, by name or file; a new one if ``new``, about ``world`` if given. Raises ``KnowledgeError``."""
    books = library()
    book = books.writable(name, world) if world else books.writable(name) if new else books.editable(name)
    return OpenBook(book, shipped=name in books.names() and books.is_shipped(books.find(name)))


def latest_book(world: str = DEFAULT_WORLD) -> str:
    """The name of the user's book about ``world`` that changed last; a new name if they have none."""
    every = list_books()
    own = [book.path for book in every if not book.shipped and book.world == world]
    if own:
        return max(own, key=lambda path: path.stat().st_mtime if path.is_file() else 0.0).stem
    return FIRST if FIRST not in {book.name for book in every} else world


@dataclass(slots=True)
class CheckProgress:
    """How far a check is, in ``episodes`` and commands, and which records were damaged or (``others``) of other worlds."""

    episodes: int
    read: int = 0
    commands: int = 0
    damaged: list[str] = field(default_factory=list[str])
    others: int = 0

    def __str__(self) -> str:
        return f"{self.read:,} of {self.episodes:,} episodes, {self.commands:,} commands"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What a check found in ``records`` (run/task); ``seen``: where things lie that rules without a check are about."""

    findings: tuple[RuleFinding, ...]
    progress: CheckProgress
    records: frozenset[str] = frozenset()
    seen: Mapping[str, Location] = field(default_factory=dict[str, Location])

    def __str__(self) -> str:
        standings: tuple[Standing, ...] = get_args(Standing)
        found = [finding.standing for finding in self.findings if finding.rule.check]
        counts = ", ".join(f"{found.count(each)} {each}" for each in standings)
        counts += f", {len(self.seen)} counted" if self.seen else ""
        damaged, others = len(self.progress.damaged), self.progress.others
        left = f"; {plural(damaged, 'damaged record')} left out" if damaged else ""
        left += f"; {plural(others, 'record')} of other worlds left out" if others else ""
        played = f"{plural(self.progress.commands, 'command')} of {plural(self.progress.episodes, 'episode')}"
        return f"{counts}; {played}{left}"


def located(rule: Rule) -> str:
    """The kind of thing whose place ``rule`` states without a check, so that it can be counted anew; empty for other rules."""
    return rule.objects[0] if rule.kind == "location" and rule.check is None and len(rule.objects) == 1 else ""


@dataclass(eq=False, slots=True)
class RuleCheck:
    """One pass over all records under ``places`` for ``rules`` about ``world``; ``report`` is called in its thread."""

    rules: Sequence[Rule]
    places: Callable[[], Sequence[Path]]
    report: Callable[[CheckProgress], object] | None = None
    world: str | None = None
    _off: Flag = field(default_factory=Flag, init=False)

    def call_off(self) -> None:
        """Cancel it at the next command."""
        self._off.set()

    def run(self) -> CheckOutcome | None:
        """The result; None if it was cancelled. Raises ``ConfigurationError`` where nothing is recorded."""
        found = episode_files(self.places())
        if not found:
            raise ConfigurationError(
                "Nothing was recorded yet that rules could be checked against; play, or run `housequest eval`."
            )
        progress, sightings = CheckProgress(len(found)), Sightings()
        findings = examine(self.rules, self._moments(found, progress, sightings))
        lying = {each.thing: each for each in sightings.locations()}
        seen = {rule.id: lying[thing] for rule in self.rules if (thing := located(rule)) in lying}
        records = frozenset(f"{record.run}/{record.task}" for record in found)
        return None if self._off.is_set() else CheckOutcome(findings, progress, records, seen)

    def _moments(self, found: Sequence[EpisodeFile], progress: CheckProgress, sightings: Sightings) -> Iterator[Moment]:
        reported = 0.0
        for record in found:
            if self.report is not None and monotonic() - reported >= OFTEN:
                self.report(replace(progress))
                reported = monotonic()
            try:
                for moment in moments(read_episode(record.path), record.run, record.task, self.world):
                    if self._off.is_set():
                        return
                    progress.commands += 1
                    sightings.add(moment)
                    yield moment
            except OtherWorld:
                progress.others += 1
            except ConfigurationError as error:
                progress.damaged.append(str(error))
            progress.read += 1


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
