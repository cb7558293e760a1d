"""A run's folder: the frozen manifest, one file per episode, an index of finished episodes, and timings apart.

::

    run.json                      the manifest
    episodes/0017-<task>.jsonl    one episode, by the task's number in its split
    index.jsonl                   one whole line per finished episode
    timing.jsonl                  duration, attempts and cached tokens of every model call
    walls.jsonl                   the seconds of every episode, per session
    paths.jsonl                   best path lengths, computed for the first report
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from agent.episodes.record import read_episode
from agent.evaluation.runs.result import Result, SelectedTask, result_of
from agent.evaluation.runs.spec import SCHEMA, Manifest, slug
from worlds.errors import ConfigurationError, shown
from worlds.paths import IrregularFile, atomic_write, open_file, read_file, refuse_irregular, remove_unfinished
from worlds.text import printable

T = TypeVar("T", bound=BaseModel)

LARGEST_MANIFEST = 64 << 20
LARGEST_INDEX = 256 << 20
APPENDED = ("timing.jsonl", "walls.jsonl", "calls.jsonl")
"""Files that are written line by line; all others are replaced as a whole."""
EVAL_REWRITES = " Delete the file: `housequest eval` makes it anew."


class _Edition(BaseModel):
    """The part of a manifest that every version can read. ``family`` is set for runs without episodes."""

    schema_version: int = SCHEMA
    family: str | None = None


class RunFolder:
    """The files of one run. Nothing is created before ``begin``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_file = path / "run.json"
        self.index_file = path / "index.jsonl"
        self.timing_file = path / "timing.jsonl"
        self.walls_file = path / "walls.jsonl"
        self.paths_file = path / "paths.jsonl"
        self.episodes = path / "episodes"

    def episode(self, task: SelectedTask) -> Path:
        """The file of the finished episode of ``task``."""
        return self.episodes / f"{episode_name(task)}.jsonl"

    def part(self, task: SelectedTask) -> Path:
        """The file of the episode of ``task`` until it has finished."""
        return self.episodes / f"{episode_name(task)}.jsonl.part"

    def begin(self, manifest: Manifest) -> None:
        """Write ``manifest``; raises ``ConfigurationError`` with the differences where the folder holds another run."""
        # A template that cannot reach the model may change.
        templates = manifest.unused_templates
        now = manifest.without_prompts(templates)
        begin_run(self.manifest_file, manifest, lambda: differences(self.manifest().without_prompts(templates), now))

    def manifest(self) -> Manifest:
        """The manifest of this run. Raises ``ConfigurationError`` where it is missing or damaged."""
        content = read_bytes(self.manifest_file, LARGEST_MANIFEST, f"{self.path} is no run's folder; it has no run.json.")
        edition = parsed(_Edition, content, str(self.manifest_file))
        if edition.family is not None:
            family = printable(edition.family[:40])
            raise ConfigurationError(
                f"{self.path} is a run of {family}, which has no episodes; see it with `housequest report`."
            )
        if edition.schema_version > SCHEMA:
            later = edition.schema_version
            raise ConfigurationError(f"{self.manifest_file} is of a later housequest (schema {later}); update this one.")
        return parsed(Manifest, content, str(self.manifest_file))

    def results(self, tasks: Sequence[SelectedTask]) -> list[Result]:
        """The finished episodes of ``tasks``, in index order, without those whose file is gone.

        A truncated last line is ignored. Raises ``ConfigurationError`` naming a damaged line.
        """
        selected = {task.id: task for task in tasks}
        found: dict[str, Result] = {}
        for number, result in enumerate(parsed_lines(Result, self.index_file, way_out=EVAL_REWRITES), start=1):
            if result.task not in selected:
                raise ConfigurationError(f"{self.index_file}:{number}: {shown(result.task)} is no task of this run.")
            if self.episode(selected[result.task]).exists():
                found[result.task] = result
        # A line of an earlier version lacks a field and is recomputed from its episode.
        lines = ((selected[result.task], result) for result in found.values())
        return [result if result.repeated is not None else self._recorded(task) or result for task, result in lines]

    def finished(self, tasks: Sequence[SelectedTask]) -> list[Result]:
        """The finished episodes of ``tasks``, also those that are missing from the index."""
        results = self.results(tasks)
        known = {result.task for result in results}
        return [*results, *self.recovered([task for task in tasks if task.id not in known])]

    def _recorded(self, task: SelectedTask) -> Result | None:
        path = self.episode(task)
        try:
            return result_of(task, list(read_episode(path)))
        except ValidationError as error:
            raise ConfigurationError(f"{path} is damaged: {_fault(error)}.") from None

    def recovered(self, tasks: Sequence[SelectedTask]) -> Iterator[Result]:
        """Results of those ``tasks`` whose episode is complete but missing from the index."""
        for task in tasks:
            if self.episode(task).exists() and (result := self._recorded(task)) is not None:
                yield result

    def rewrite(self, results: Iterable[Result]) -> None:
        """Replace the index."""
        atomic_write(self.index_file, lines_of(results))

    def append(self, result: Result) -> None:
        """Add one finished episode to the index."""
        with open_file(self.index_file, "ab") as file:
            file.write(lines_of([result]))

    def clock(self, task: SelectedTask, seconds: float, *, resumed: bool = False) -> None:
        """Record the ``seconds`` that a session spent on the episode of ``task``; ``resumed``: it continued an earlier one."""
        line = {"episode": episode_name(task), "seconds": round(seconds, 3), **({"resumed": True} if resumed else {})}
        with open_file(self.walls_file, "ab") as file:
            file.write(f"{json.dumps(line)}\n".encode())

    @contextmanager
    def locked(self) -> Generator[None, None, None]:
        """Lock the folder, and remove what a killed command left half written.

        Raises ``ConfigurationError`` if another running command has locked it, if it holds something else, or if a link leads
        what would be written out of it.
        """
        lock = self.path / ".lock"
        # A command that was killed before its run began may have left these.
        ours = {lock, *self.path.glob(".run.json.*.part")}
        if self.path.is_dir() and not self.manifest_file.exists() and set(self.path.iterdir()) - ours:
            raise ConfigurationError(f"{self.path} is not empty and holds no run; give --out a new folder.")
        self._refuse_links(lock)
        from filelock import FileLock, Timeout

        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(lock, timeout=0):
                remove_unfinished(self.path)
                yield
        except Timeout:
            raise ConfigurationError(f"{self.path} is being played by another command; wait for it or stop it.") from None

    def _refuse_links(self, *files: Path) -> None:
        """Raise ``ConfigurationError`` if something that is written in place is a link, or no file at all."""
        if self.episodes.is_symlink():
            found = f"{self.episodes}: it is a link, and only a folder is used here"
        else:
            try:
                for file in (*files, *(self.path / name for name in APPENDED)):
                    refuse_irregular(file, writing=True)
                return
            except IrregularFile as error:
                found = f"{error.filename}: {error.strerror}"
        raise ConfigurationError(f"{found}. Nothing was written; move it away, or put a copy of what it names in its place.")


def episode_name(task: SelectedTask) -> str:
    """The name of an episode's file: the task's number, then its id as far as a file name can hold it."""
    return f"{task.number:04d}-{slug(task.id)}"


def begin_run(file: Path, manifest: BaseModel, changed: Callable[[], list[str]]) -> None:
    """Write ``manifest`` to ``file``, or raise ``ConfigurationError`` listing what has ``changed`` since it was written."""
    if not file.exists():
        atomic_write(file, f"{manifest.model_dump_json(indent=2)}\n".encode())
    elif changes := changed():
        listed = "\n".join(f"  {change}" for change in changes)
        raise ConfigurationError(
            f"{file.parent} holds a run of another configuration:\n{listed}\n"
            "Run the same command as before to go on with it, or give --out a new folder."
        )


def differences(before: BaseModel, now: BaseModel) -> list[str]:
    """The differences between two manifests, a line each, without versions that should not matter."""
    old, new = (_compared(manifest) for manifest in (before, now))
    changes = [
        f"{key}: {shown(old.get(key), 80)} is now {shown(new.get(key), 80)}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    ]
    return changes if len(changes) <= 12 else [*changes[:12], f"and {len(changes) - 12} more"]


def _compared(manifest: BaseModel) -> dict[str, object]:
    """The entries of a manifest by name; tasks by their number and ids."""
    dumped = manifest.model_dump(mode="json", exclude={"versions"})
    tasks: list[Any] | None = dumped.pop("tasks", None)
    if tasks is None:
        return flattened(dumped)
    ids = " ".join(task if isinstance(task, str) else task["id"] for task in tasks)
    return {**flattened(dumped), "tasks": len(tasks), "tasks' ids": ids}


def flattened(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The entries of nested tables, with their names joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= flattened(cast("dict[str, Any]", value), f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = value
    return flat


def lines_of(records: Iterable[BaseModel]) -> bytes:
    """``records`` as lines of JSON, without what is None."""
    return b"".join(f"{record.model_dump_json(exclude_none=True)}\n".encode() for record in records)


def read_bytes(path: Path, largest: int, missing: str | None = None) -> bytes:
    """The content of ``path``. Raises ``ConfigurationError``, with the message ``missing`` where the file does not exist."""
    try:
        if missing is not None and not path.exists():
            raise ConfigurationError(missing)
        content = read_file(path, largest + 1)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from None
    if len(content) > largest:
        raise ConfigurationError(f"{path} is larger than {largest >> 20} MiB; a run's files are smaller.")
    return content


def parsed(kind: type[T], content: bytes, where: str, way_out: str = "") -> T:
    """Parse ``content`` as a ``kind``. Raises ``ConfigurationError`` with ``where``, the fault and the ``way_out``."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise ConfigurationError(f"{where} is damaged: {_fault(error)}.{way_out}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where} is damaged: {shown(str(error))}.{way_out}") from None


def parsed_lines(kind: type[T], file: Path, largest: int = LARGEST_INDEX, way_out: str = "") -> Iterator[T]:
    """Parse each line of ``file`` but a truncated last one; none without a file. Raises ``ConfigurationError`` by line."""
    lines = read_bytes(file, largest).split(b"\n")[:-1] if file.exists() else []
    return (parsed(kind, line, f"{file}:{number}", way_out) for number, line in enumerate(lines, start=1))


def _fault(error: ValidationError) -> str:
    """The first validation error and its place."""
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in fault['loc']) or 'it'}: {fault['msg']}"
