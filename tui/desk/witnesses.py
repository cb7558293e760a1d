"""The witnesses of rules: steps of recorded play, found where they were recorded or in an archive that came with a book.

A book is shared as one file: an archive with its YAML and the records of its witnesses, as run/task.jsonl. What comes in such a
file is a stranger's: names and sizes are checked before anything is written.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from hashlib import sha256
from io import BytesIO
from itertools import takewhile
from lzma import LZMAError
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_LZMA, BadZipFile, ZipFile, ZipInfo

from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.moments import episode_files
from housequest.agent.episodes.record import read_episode
from housequest.knowledge.judging import deciding_words
from housequest.knowledge.rulebook import (
    LARGEST_FILE,
    SUFFIX,
    WITNESSES,
    Rulebook,
    is_book_name,
    library,
    parse_book,
    read_book,
    save,
)
from housequest.knowledge.rules import Rule
from housequest.tui.runs.data import recorded_play, run_folders
from housequest.tui.text import plural
from housequest.worlds.errors import ConfigurationError, KnowledgeError, shown
from housequest.worlds.paths import atomic_write, cache_folder, open_file

ARCHIVE = ".zip"
"""The ending of a shared book, and of the records beside a book that was shared."""
LARGEST_RECORD = 8_000_000
LARGEST_ARCHIVE = 200_000_000
MOST_RECORDS = 10_000
_RECORD = ".jsonl"
# No run or task leads out of its folder.
_ORIGIN = re.compile(r"(?P<run>(?!\.)[^/\\:\x00-\x1f]{1,200})/(?P<task>(?!\.)[^/\\:\x00-\x1f]{1,200})/(?P<event>[0-9]{1,9})")


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


def find_witnesses(origins: Sequence[str], places: Iterable[Path], archives: Sequence[Path] = ()) -> tuple[Witness, ...]:
    """Find ``origins`` in the ``archives``, which came with books, else in the records under ``places``. Raises
    ``ConfigurationError``."""
    found = Records(places, archives)

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
        if (named := _ORIGIN.fullmatch(origin)) is None:
            return MissingWitness(origin, "It does not read run/task/step; mend it in the rulebook, or check the rule again.")
        run, task, event = named["run"], named["task"], int(named["event"])
        path = found.path(run, task)
        if path is None:
            wanted = f"put the run {run} back, or check the rule against other runs."
            return MissingWitness(origin, f"Its record is not on disk: {wanted}")
        taken, fault = steps(path)
        if step := taken.get(event):
            return FoundWitness(origin, path, event, step.command, step.observation)
        return MissingWitness(origin, fault or f"{path} has no command at event {event}: check the rule again.")

    return tuple(map(find, origins))


class Records:
    """Records by run and task: those in ``archives``, which came with books, else those under ``places``.

    Look first at the archives, since a stranger's run may have the same name as the user's.
    """

    def __init__(self, places: Iterable[Path], archives: Sequence[Path] = ()) -> None:
        self._archives = archives
        self._places = {(record.run, record.task): record.path for record in episode_files(places)}

    def path(self, run: str, task: str) -> Path | None:
        """The file of a record, written to the cache if it is in an archive; None if it is nowhere."""
        for archive in self._archives:
            if (content := read_member(archive, f"{run}/{task}{_RECORD}")) is not None:
                folder = cache_folder() / "witnesses" / sha256(content).hexdigest()[:16]
                path = folder / run / "episodes" / f"{task}{_RECORD}"
                if not (path.is_file() and path.read_bytes() == content):
                    atomic_write(path, content, sync=False)
                return path
        return self._places.get((run, task))


def archives(book: Rulebook | None = None) -> tuple[Path, ...]:
    """The archives of records that came with ``book``, or with any book."""
    books = library()
    own = [book.path] if book else map(books.find, books.names())
    came = (path.with_suffix(ARCHIVE) for path in own)
    return (*(path for path in came if path.is_file()), books.shipped / WITNESSES)


def recorded_for(book: Rulebook, runs: Path) -> list[Path]:
    """The folders with records of what ``book`` tells: of a book that lies in a day of a life the days there, which other lives
    name alike; then whatever was played in ``runs`` and on the screen."""
    day = book.path.parent
    beside = run_folders(day.parent) if (day / "run.json").is_file() else ()
    return [*beside, *recorded_play(runs)]


def read_member(archive: Path, name: str) -> bytes | None:
    """The content of one file in an archive, at most `LARGEST_RECORD` bytes; None where it is not there.

    Raises:
        KnowledgeError: The archive is damaged, or this file too large.
    """
    with _unpacked(archive) as packed:
        try:
            info = packed.getinfo(name)
        except KeyError:
            return None
        if info.file_size > LARGEST_RECORD:
            raise KnowledgeError(f"{archive}: {shown(name)} is too large: at most {LARGEST_RECORD:,} bytes.")
        return packed.read(info)


@contextmanager
def _unpacked(path: Path) -> Generator[ZipFile]:
    """The archive at ``path``. Raises ``KnowledgeError`` for whatever is wrong with it."""
    try:
        with open_file(path) as file, ZipFile(file) as archive:
            yield archive
    except KnowledgeError:
        raise
    # A RuntimeError is of a password, a NotImplementedError of a compression that is not known.
    except (BadZipFile, LZMAError, zlib.error, struct.error, EOFError, RuntimeError, ValueError, MemoryError) as error:
        raise KnowledgeError(f"{path} is no archive that can be read: {str(error) or type(error).__name__}.") from error
    except OSError as error:
        raise KnowledgeError(f"{path} cannot be read: {error.strerror or error}.") from error


def packed_book(book: Rulebook, places: Iterable[Path]) -> tuple[bytes, tuple[str, ...]]:
    """``book`` with the records of its witnesses as one archive, and the witnesses that are left out since nobody has them.

    Each record ends with the last step that the book names. Equal books and records make equal archives.
    """
    evidence = [rule.evidence for rule in book.rules]
    last: dict[tuple[str, str], int] = {}
    missing: list[str] = []
    found = find_witnesses([origin for each in evidence for origin in (*each.witnesses, *each.against)], places, archives(book))
    paths: dict[tuple[str, str], Path] = {}
    for witness in found:
        if isinstance(witness, MissingWitness):
            missing.append(witness.origin)
            continue
        run, task, _ = witness.origin.rsplit("/", 2)
        last[run, task] = max(last.get((run, task), 0), witness.event)
        paths[run, task] = witness.path
    made = BytesIO()
    with ZipFile(made, "w", ZIP_LZMA) as archive:
        # With a date of its own, an archive of equal records would be another one every time.
        archive.writestr(ZipInfo(f"{book.path.stem}{SUFFIX}"), book.text.encode(), ZIP_LZMA)
        for (run, task), event in sorted(last.items()):
            # It is not read further: what follows may be damaged.
            before = takewhile(lambda each, event=event: each.id != event, read_episode(paths[run, task]))
            content = paths[run, task].read_bytes().splitlines(keepends=True)[: 1 + sum(1 for _ in before)]
            archive.writestr(ZipInfo(f"{run}/{task}{_RECORD}"), b"".join(content), ZIP_LZMA)
    return made.getvalue(), tuple(dict.fromkeys(missing))


def share_book(name: str, file: Path, runs: Path) -> str:
    """Write the library's book ``name`` with its rules' witnesses in ``runs`` into one ``file``; say so."""
    book = library().open(name)
    content, missing = packed_book(book, recorded_for(book, runs))
    try:
        atomic_write(file, content)
    except OSError as error:
        raise KnowledgeError(f"{file} cannot be written: {error.strerror or error}.") from error
    told = f" Left out, since their records are not here: {len(missing):,} witnesses." if missing else ""
    return f"Saved {file}: {plural(len(book.rules), 'rule')}.{told}"


def import_book(path: Path, into: str | None = None) -> tuple[Rulebook, int]:
    """Save the book in ``path``, an archive or the book alone, under a new name in the library, with the records it brings.

    Args:
        path: A file that somebody shared.
        into: The book's new name; by default the one that it had.

    Returns:
        The saved book, and the number of its records.

    Raises:
        KnowledgeError: It is damaged, too large, no rulebook, or its name is taken.
    """
    if path.suffix == SUFFIX:
        return _saved(read_book(path), into, path.stem), 0
    records: dict[str, bytes] = {}
    with _unpacked(path) as archive:
        members = [info for info in archive.infolist() if not info.filename.endswith("/")]
        books = [info for info in members if info.filename.endswith(SUFFIX) and "/" not in info.filename]
        if len(books) != 1 or len(members) > MOST_RECORDS or sum(info.file_size for info in members) > LARGEST_ARCHIVE:
            limits = f"one rulebook and at most {MOST_RECORDS:,} records, of {LARGEST_ARCHIVE:,} bytes in all"
            raise KnowledgeError(f"{path} is no shared rulebook: that is an archive of {limits}.")
        if books[0].file_size > LARGEST_FILE:
            raise KnowledgeError(f"{path}: the rulebook in it is too large: at most {LARGEST_FILE:,} bytes.")
        book = parse_book(Path(books[0].filename), archive.read(books[0]))
        named = {
            origin.rpartition("/")[0] for rule in book.rules for origin in (*rule.evidence.witnesses, *rule.evidence.against)
        }
        for info in members:
            record = info.filename.removesuffix(_RECORD)
            # Other files are of no use, and a name that is no run/task leads elsewhere.
            if record in named and _ORIGIN.fullmatch(f"{record}/0") and info.file_size <= LARGEST_RECORD:
                records[info.filename] = archive.read(info)
    saved = _saved(book, into, book.path.stem)
    saved.path.with_suffix(ARCHIVE).unlink(missing_ok=True)
    if records:
        made = BytesIO()
        with ZipFile(made, "w", ZIP_LZMA) as archive:
            for name, content in sorted(records.items()):
                archive.writestr(ZipInfo(name), content, ZIP_LZMA)
        atomic_write(saved.path.with_suffix(ARCHIVE), made.getvalue())
    return saved, len(records)


def _saved(book: Rulebook, into: str | None, stem: str) -> Rulebook:
    name, books = into or stem, library()
    if not is_book_name(name):
        raise KnowledgeError(f"{shown(name)} is not the name of a rulebook; give one of letters and digits with --name.")
    if name in books.names():
        raise KnowledgeError(f"There is a rulebook {name} already; give this one another name with --name.")
    return save(replace(book, path=books.own / f"{name}{SUFFIX}", read=None))
