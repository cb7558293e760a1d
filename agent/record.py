"""Episodes on disk: one JSON line an event, saved as it happens, and read back as the same events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TextIO

from pydantic import ValidationError

from agent.events import Clocked, Ended, Event
from worlds.errors import ConfigurationError

LONGEST_LINE = 16_000_000
"""Bytes of one recorded event; a longer line is no record of ours."""


class EpisodeRecorder:
    """Writes an episode's events to ``path``; call it as the episode's listener.

    Until the episode has ended the file is called ``path`` with ``.part`` behind it, so that a whole record is known by its
    name. Clocks go to ``clock``, one JSON line each with the episode's ``label``, and are dropped without one.
    """

    def __init__(self, path: Path, *, clock: TextIO | None = None, label: str = "") -> None:
        self.path = path
        self.part = path.with_name(path.name + ".part")
        self._clock = clock
        self._label = label
        self._file: TextIO | None = None
        self._ended = False

    def __enter__(self) -> EpisodeRecorder:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.part.open("w", encoding="utf-8", newline="\n")
        return self

    def __call__(self, event: Event | Clocked) -> None:
        if isinstance(event, Clocked):
            if self._clock is not None:
                line = {"episode": self._label, **event.model_dump(exclude_none=True)}
                self._clock.write(json.dumps(line, ensure_ascii=False) + "\n")
                self._clock.flush()
            return
        assert self._file is not None, "an EpisodeRecorder is used in a with statement"
        self._file.write(event.model_dump_json(exclude_none=True) + "\n")
        self._file.flush()
        self._ended = self._ended or isinstance(event.body, Ended)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._file is not None
        self._file.close()
        if self._ended:
            self.part.replace(self.path)


def read_episode(path: Path) -> Iterator[Event]:
    """The events recorded in ``path``, in order; a last line cut off in the middle of writing is left out.

    Raises ``ConfigurationError`` with file and line where it is no record.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_LINE):
                number += 1
                if not line.endswith(b"\n"):
                    if len(line) == LONGEST_LINE:
                        raise ConfigurationError(f"{path}:{number}: a line of more than {LONGEST_LINE} bytes; no record.")
                    return
                try:
                    yield Event.model_validate_json(line)
                except ValidationError as error:
                    fault = error.errors(include_url=False, include_input=False)[0]
                    where = ".".join(str(part) for part in fault["loc"]) or "the line"
                    raise ConfigurationError(
                        f"{path}:{number}: not a recorded event ({where}: {fault['msg']}). Give an episode's .jsonl file."
                    ) from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
