"""Episodes on disk: one JSON line for each event, written as it happens; timings in a file beside them.

Other files of a run are JSON that carries its own SHA-256, so that damage is noticed. That is no signature: anybody who can
change a file can also give it a new digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from itertools import count
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ValidationError

from housequest.agent.episodes.events import CallTiming, Ended, Event, Started, with_beliefs
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.locks import UNABLE, held, is_held
from housequest.worlds.paths import atomic_write, open_file, other_format
from housequest.worlds.systems import replace_file

T = TypeVar("T", bound=BaseModel)
LONGEST_LINE = 16_000_000
"""Bytes of one recorded event; a file with a longer line is no record."""


class EpisodeRecorder:
    """Writes an episode's events to a file; an ``EventListener`` and a context manager.

    Args:
        path: The record. Until the episode has ended, its name ends in ``.part``, and events are only ever added to it.
        clock: Gets the timings, one JSON line each.
        label: Names the episode in those lines.
        resume: Continue an existing record, and drop a last line that was cut off. Without it, an unfinished record makes
            entering raise ``ConfigurationError``.
    """

    def __init__(self, path: Path, *, clock: BinaryIO | None = None, label: str = "", resume: bool = False) -> None:
        self.path = path
        self.part = part_of(path)
        self._clock = clock
        self._label = label
        self._resume = resume
        self._file: BinaryIO | None = None
        self._ended = False

    def __enter__(self) -> EpisodeRecorder:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._resume:
            if not self.part.exists() and self.path.exists():
                replace_file(self.path, self.part)
            last = b""
            for _, line in recorded_lines(self.part) if self.part.exists() else ():
                last = line
            cut_off_end(self.part)
            hint = "Give an episode's .jsonl file."
            self._ended = bool(last) and isinstance(_parsed(Event, last, str(self.part), "no record", hint).body, Ended)
        try:
            self._file = open_file(self.part, "ab" if self._resume else "xb")
        except FileExistsError:
            raise ConfigurationError(f"{self.part} is an unfinished record; go on with it, or move it away.") from None
        return self

    def __call__(self, event: Event | CallTiming) -> None:
        if isinstance(event, CallTiming):
            if self._clock is not None:
                line = {"episode": self._label, **event.model_dump(exclude_none=True)}
                self._clock.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
                self._clock.flush()
            return
        assert self._file is not None, "an EpisodeRecorder is used in a with statement"
        self._file.write(f"{event.model_dump_json(exclude_none=True)}\n".encode())
        self._file.flush()
        self._ended = isinstance(event.body, Ended)

    def __exit__(self, *error: object) -> None:
        assert self._file is not None
        self._file.close()
        if self._ended:
            replace_file(self.part, self.path)


def part_of(record: Path) -> Path:
    """The name of a ``record`` until its episode has ended."""
    return record if record.suffix == ".part" else record.with_name(f"{record.name}.part")


def whole_of(record: Path) -> Path:
    """The name of a ``record`` once its episode has ended."""
    return record.with_name(record.name.removesuffix(".part"))


@contextmanager
def playing(record: Path) -> Generator[None]:
    """Hold the lock of ``record`` while it is played, and remove the lock once there is nothing to go on with.

    Raises ``InUse`` if another window plays it, and ``OSError`` if the folder cannot be written to. Where the file system
    cannot lock, nothing is held.
    """
    lock = _lock_of(record)
    in_use = f"{part_of(record)} is being played in another window; `housequest replay` shows how it goes there."
    lock_held = ExitStack()
    try:
        # Another window's look at the lock holds it for a moment.
        lock_held.enter_context(held(lock, in_use, patience=0.2))
    except OSError as error:
        if error.errno not in UNABLE:
            raise
    try:
        with lock_held:
            yield
    finally:
        if not part_of(record).exists():
            with suppress(OSError):  # a look at it keeps it on Windows
                lock.unlink()


def is_played(record: Path) -> bool:
    """True if ``record`` is being played now, here or in another process."""
    return is_held(_lock_of(record))


def _lock_of(record: Path) -> Path:
    run = record.parent.parent
    if record.parent.name == "episodes" and (run / "run.json").exists():
        return run / ".lock"  # a run has one for all
    return record.with_name(f".{whole_of(record).stem}.lock")


class SoundRecord(NamedTuple):
    """The events of a record up to the first that does not fit; ``fault`` says what is wrong there, and is empty if all fit."""

    events: tuple[Event, ...] = ()
    fault: str = ""


def read_sound(path: Path) -> SoundRecord:
    """Read ``path`` up to the first event that is damaged or not in its place.

    Raises:
        ConfigurationError: There is no record.
    """
    found: list[Event] = []
    try:
        for event in read_episode(path):
            parents = event.parent is not None and 0 <= event.parent < len(found)
            if event.id != len(found) or parents != bool(found) or isinstance(event.body, Started) == bool(found):
                return SoundRecord(tuple(found), f"{path}: event {event.id} is not in its place.")
            found.append(event)
    except ConfigurationError as error:
        if not path.is_file():
            raise
        return SoundRecord(tuple(found), str(error))
    return SoundRecord(tuple(found))


def leave_out(path: Path, kept: int) -> Path:
    """Keep the first ``kept`` events of a record, and move what follows into a file beside it, whose name is returned."""
    with open_file(path, "r+b") as file:
        for _ in range(kept):
            file.readline(LONGEST_LINE)
        end = file.tell()
        aside = unfit_file(path)
        atomic_write(aside, file.read())
        file.truncate(end)
    return aside


def unfit_file(file: Path) -> Path:
    """A new name beside ``file`` for what cannot be used of it."""
    return next(name for n in range(1, 1_000_000) if not (name := file.with_name(f"{file.name}.unfit-{n}")).exists())


def read_episode(path: Path | str) -> Iterator[Event]:
    """Read the events of a record.

    Args:
        path: An episode's ``.jsonl`` file.

    Yields:
        Each event in order; a last line that was cut off is dropped.

    Raises:
        ConfigurationError: A line is no event; the message has its number.
    """
    for number, line in recorded_lines(Path(path)):
        yield _parsed(Event, line, f"{path}:{number}", "not a recorded event", "Give an episode's .jsonl file.")


def read_clocks(path: Path, label: str | None = None) -> Iterator[CallTiming]:
    """The timings in ``path``, of one episode if ``label`` is given. Raises ``ConfigurationError`` with file and line."""
    for number, line in recorded_lines(path):
        entry = _parsed(_Labelled, line, f"{path}:{number}", "not a recorded clock", "Give an episode's .timing.jsonl file.")
        if label is None or entry.episode == label:
            yield CallTiming.model_validate(entry.model_dump(exclude={"episode"}))


def as_played(events: Iterable[Event], clocks: Path) -> Iterator[Event | CallTiming]:
    """Recorded ``events`` as in live play: with beliefs, each followed by its last timing in ``clocks``."""
    found: dict[int, CallTiming] = {}
    with suppress(ConfigurationError):  # a game goes on without timings that cannot be read
        found.update((clock.of, clock) for clock in (read_clocks(clocks) if clocks.exists() else ()))
    for event in with_beliefs(events):
        yield event
        if event.id in found:
            yield found[event.id]


def cut_off_end(path: Path) -> None:
    """Drop the last line of ``path`` if it was cut off, so that appending begins a line. The file may be missing."""
    if not path.exists():
        return
    with open_file(path, "r+b") as file:
        if file.seek(0, os.SEEK_END):  # an empty file cannot be mapped
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                end = content.rfind(b"\n") + 1
            file.truncate(end)


class _Labelled(CallTiming):
    episode: str = ""


def recorded_lines(path: Path, *, strict: bool = True) -> Iterator[tuple[int, bytes]]:
    """Number the lines of a record, without a last one that was cut off.

    Unless it is ``strict``, one that is far too long is left out, too. Raises ``ConfigurationError``.
    """
    try:
        with open_file(path) as file:
            for number in count(1):
                line = file.readline(LONGEST_LINE)
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    if not strict:
                        while line and not line.endswith(b"\n"):
                            line = file.readline(LONGEST_LINE)
                        continue
                    raise ConfigurationError(f"{path}:{number} has more than {LONGEST_LINE} bytes, so this is not a record.")
                if not line.endswith(b"\n"):
                    return
                yield number, line
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error


def _parsed(kind: type[T], line: bytes, place: str, what: str, way_out: str) -> T:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        if (other := other_format(line)) is not None:
            raise ConfigurationError(f"{place} {other}.") from None
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in fault["loc"]) or "the line"
        raise ConfigurationError(f"{place}: {what} ({where}: {fault['msg']}). {way_out}") from None


_LAYOUTS = ((',\n  "sha256": "', '"\n}\n'), (',"sha256":"', '"}'))
"""The text before and after the digest, which is the last entry: in a file of many lines, and in a single line."""
LENGTH_OF_END = sum(map(len, _LAYOUTS[0])) + 64


class Damaged(ValueError):
    """A text does not match its own digest."""


def with_digest(text: str) -> str:
    """Add to ``text``, a JSON object, the SHA-256 of everything before it as its last entry."""
    before, after = next(layout for layout in _LAYOUTS if text.endswith(layout[1][1:]))
    body = text.removesuffix(after[1:])
    return f"{body}{before}{hashlib.sha256(body.encode()).hexdigest()}{after}"


def without_digest(content: bytes) -> bytes:
    """The object that `with_digest` was given. Raises ``Damaged`` if the digest is missing, wrong or in another place."""
    for before, after in _LAYOUTS:
        body, _, digest = content.removesuffix(after.encode()).rpartition(before.encode())
        if body and content.endswith(after.encode()) and len(digest) == 64:
            if digest != hashlib.sha256(body).hexdigest().encode():
                raise Damaged("it is not what its own sha256 says")
            return body + after[1:].encode()
    if b'"sha256":' in content[-LENGTH_OF_END - 10 :]:
        raise Damaged("its sha256 does not stand where it was written; was it saved by an editor?")
    raise Damaged("its sha256 is missing: it was cut off, or written by something else")


def sha256_of(path: Path, *, sync: bool = False) -> str:
    """The SHA-256 of a file. With ``sync`` its content survives a crash of the machine from then on. Raises ``OSError``."""
    with open_file(path, "r+b" if sync else "rb") as file:
        if sync:
            os.fsync(file.fileno())
        return hashlib.file_digest(cast("BufferedReader", file), "sha256").hexdigest()
