"""The trajectories of a split, with what a list of tasks needs of each, cached so that files are opened only once.

The cache is kept as that of ALFWorld's games (`housequest.worlds.alfworld.data.index`): in the user's cache folder, by path,
size and modification time, so only new and changed files are read. A missing or damaged cache is rebuilt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple, dataclass
from os import stat_result
from pathlib import Path
from typing import Any, cast

from housequest.worlds.alfred.tasks import Instruction, goal_of, instructions_of, read_annotated
from housequest.worlds.alfworld.data.tasks import TRAJECTORY_FILE
from housequest.worlds.paths import atomic_write, cache_folder, read_file
from housequest.worlds.tasks import joined_sentences

_VERSION = 1
_COLUMNS = (str, int, int, str, list)


@dataclass(frozen=True, slots=True)
class ListedTrajectory:
    """A trajectory in a list: its place under the split, ``<task>/<trial>``, and what each annotator wrote; it may be empty."""

    trial: str
    size: int
    changed: int
    type: str
    sentences: tuple[str, ...]


def listed(folder: Path, *, steps: bool = False) -> tuple[ListedTrajectory, ...]:
    """The trajectories in a split's ``folder``, sorted by trial; with ``steps``, instructions follow each goal.

    Raises ``GameError`` naming a damaged file.
    """
    key = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogatepass")).hexdigest()
    file = cache_folder() / "alfred" / f"{key[:24]}{'-steps' if steps else ''}.json"
    known = _load(file)
    found = [_read(folder, trial, status, known.get(trial), steps=steps) for trial, status in _files(folder)]
    if found != list(known.values()):
        with suppress(OSError):  # without a cache the next listing is slower, and nothing else is wrong
            atomic_write(file, json.dumps({"version": _VERSION, "trajectories": [astuple(one) for one in found]}).encode())
    return tuple(found)


def _files(folder: Path) -> Iterator[tuple[str, stat_result]]:
    for path in sorted(folder.glob(f"*/*/{TRAJECTORY_FILE}"), key=lambda path: path.parts[-3:-1]):
        yield "/".join(path.parts[-3:-1]), path.stat()


def _read(folder: Path, trial: str, status: stat_result, known: ListedTrajectory | None, *, steps: bool) -> ListedTrajectory:
    if known is not None and (known.size, known.changed) == (status.st_size, status.st_mtime_ns):
        return known

    def make(_: Path, content: Any) -> ListedTrajectory:
        sentences = tuple(_sentence(one, steps=steps) for one in instructions_of(content, steps=steps))
        return ListedTrajectory(trial, status.st_size, status.st_mtime_ns, goal_of(content).type, sentences)

    return read_annotated(folder / trial / TRAJECTORY_FILE, make)


def _sentence(told: Instruction, *, steps: bool) -> str:
    return joined_sentences((told.goal, *told.steps)) if steps and told.goal else told.goal


def _load(file: Path) -> dict[str, ListedTrajectory]:
    """The trajectories of a cache file by trial; none if any of it is damaged."""
    found: dict[str, ListedTrajectory] = {}
    try:
        content: Any = json.loads(read_file(file))
        if content["version"] != _VERSION:
            return {}
        for row in cast("list[list[Any]]", content["trajectories"]):
            trial, size, changed, kind, sentences = row
            if tuple(map(type, row)) != _COLUMNS or not all(isinstance(one, str) for one in sentences):
                return {}
            found[trial] = ListedTrajectory(trial, size, changed, kind, tuple(sentences))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}
    return found
