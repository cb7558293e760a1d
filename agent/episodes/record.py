"""Episodes on disk: one JSON line for each event, written as it happens; timings in a file beside them.

Other files of a run are JSON that carries its own SHA-256, so that damage is noticed. That is no signature: anybody who can
change a file can also give it a new digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from io import BufferedReader
from itertools import count
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from pydantic import BaseModel, ValidationError

from housequest.agent.episodes.events import CallTiming, Ended, Event, with_beliefs
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import open_file, other_format

T = TypeVar("T", bound=BaseModel)
LONGEST_LINE = 16_000_000
"""Bytes of one recorded event; a file with a longer line is no record."""


class EpisodeRecorder:
    """Writes an episode's events to a file; an ``EventListener`` and a context manager.

    Args:
        path: The record. Until the episode has ended, its name ends in ``.part``.
        clock: Gets the timings, one JSON line each.
        label: Names the episode in those lines.
        resume: Continue an existing record, and drop a last line that was cut off.
    """

    def __init__(self, path: Path, *, clock: BinaryIO | None = None, label: str = "", resume: bool = False) -> None:
        self.path = path
        self.part = path.with_name(path.name + ".part")
        self._clock = clock
        self._label = label
        self._resume = resume
        self._file: BinaryIO | None = None
        self._ended = False

    def __enter__(self) -> EpisodeRecorder:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._resume:
            if not self.part.exists() and self.path.exists():
                self.path.replace(self.part)
            last = b""
            for _, line in recorded_lines(self.part) if self.part.exists() else ():
                last = line
            cut_off_end(self.part)
            hint = "Give an episode's .jsonl file."
            self._ended = bool(last) and isinstance(_parsed(Event, last, str(self.part), "no record", hint).body, Ended)
        self._file = open_file(self.part, "ab" if self._resume else "wb")
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
            self.part.replace(self.path)


def read_episode(path: Path) -> Iterator[Event]:
    """Read the events of a record.

    Args:
        path: An episode's ``.jsonl`` file.

    Yields:
        Each event in order; a last line that was cut off is dropped.

    Raises:
        ConfigurationError: A line is no event; the message has its number.
    """
    for number, line in recorded_lines(path):
        yield _parsed(Event, line, f"{path}:{number}", "not a recorded event", "Give an episode's .jsonl file.")


def read_clocks(path: Path, label: str | None = None) -> Iterator[CallTiming]:
    """The timings in ``path``, of one episode if ``label`` is given. Raises ``ConfigurationError`` with file and line."""
    for number, line in recorded_lines(path):
        entry = _parsed(_Labelled, line, f"{path}:{number}", "not a recorded clock", "Give an episode's .timing.jsonl file.")
        if label is None or entry.episode == label:
            yield CallTiming.model_validate(entry.model_dump(exclude={"episode"}))


def read_played(path: Path, clocks: Path) -> Iterator[Event | CallTiming]:
    """The events recorded in ``path`` as in live play: with beliefs, each followed by its last timing in ``clocks``."""
    found = {clock.of: clock for clock in read_clocks(clocks)} if clocks.exists() else {}
    for event in with_beliefs(read_episode(path)):
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


def recorded_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The numbered lines of a record; a last one that was cut off is dropped. Raises ``ConfigurationError``."""
    try:
        with open_file(path) as file:
            for number in count(1):
                line = file.readline(LONGEST_LINE)
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
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
