"""The records in a run's files, and how they are read and written: JSON parsed as a model, with its own digest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError

from housequest.agent.episodes.events import Frozen
from housequest.agent.episodes.record import LENGTH_OF_END, with_digest, without_digest
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError, shown, unquoted
from housequest.worlds.paths import atomic_write, other_format, read_file

T = TypeVar("T", bound=BaseModel)

LARGEST_MANIFEST = 64 << 20
LARGEST_INDEX = 256 << 20
NAMED = 3
"""The most names in one message."""
EVAL_REWRITES = " Delete the file: `housequest eval` makes it anew."


class Fault(NamedTuple):
    """Damage in a run's folder: ``what`` is wrong at ``where``, a file and perhaps its line. ``miscounts``: figures
    would be wrong with it. Otherwise an episode counts as unfinished, or nothing changes.
    """

    where: str
    what: str
    miscounts: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def begin_run(file: Path, manifest: BaseModel, changed: Callable[[], str]) -> None:
    """Write ``manifest`` to ``file``, or raise ``ConfigurationError`` with what has ``changed`` since it was written. A damaged
    file is written again where what is left of it shows that it was this manifest.
    """
    content = file_of(manifest)
    kept = read_bytes(file, LARGEST_MANIFEST) if file.exists() else b""
    # Its digest has survived, or all but that.
    whole, digest = content[:-LENGTH_OF_END], content[-LENGTH_OF_END:]
    if not file.exists() or (kept != content and (kept.startswith(whole) or kept.endswith(digest))):
        atomic_write(file, content)
    elif changes := changed():
        raise ConfigurationError(
            f"{file.parent} holds a run of another configuration:{changes}\n"
            "Run the same command as before to go on with it, or give --out a new folder."
        )


def differences(before: BaseModel, now: BaseModel) -> str:
    """The differences between two manifests, each on a line of its own, without versions that should not matter."""
    old, new = (_compared(manifest) for manifest in (before, now))
    changes = [
        f"{key}: {shown(old.get(key), 80)} is now {shown(new.get(key), 80)}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    ]
    more = [f"and {len(changes) - 12} more"] if len(changes) > 12 else []
    return "".join(f"\n  {change}" for change in (*changes[:12], *more))


def _compared(manifest: BaseModel) -> dict[str, object]:
    """The entries of a manifest by name; tasks by their number and ids."""
    dumped = manifest.model_dump(mode="json", exclude={"versions"})
    tasks: list[Any] | None = dumped.pop("tasks", None)
    if tasks is None:
        return flattened(dumped)
    ids = " ".join(task if isinstance(task, str) else task["id"] for task in tasks)
    return {**flattened(dumped), "tasks": len(tasks), "tasks' ids": ids}


def few(names: Sequence[str], more: str = " and {} more") -> str:
    """The first of these names, and how many ``more`` there are."""
    return ", ".join(names[:NAMED]) + (more.format(len(names) - NAMED) if len(names) > NAMED else "")


def flattened(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The entries of nested tables, with their names joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= flattened(cast("dict[str, Any]", value), f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = value
    return flat


def file_of(record: BaseModel) -> bytes:
    """``record`` as a file of JSON with its own digest."""
    return with_digest(f"{record.model_dump_json(indent=2)}\n").encode()


def lines_of(records: Iterable[BaseModel]) -> bytes:
    """``records`` as lines of JSON, each with its own digest, without what is None."""
    return b"".join(f"{with_digest(record.model_dump_json(exclude_none=True))}\n".encode() for record in records)


def read_bytes(path: Path, largest: int, missing: str | None = None) -> bytes:
    """The content of ``path``. Raises ``ConfigurationError``, with the message ``missing`` where the file does not exist."""
    try:
        if missing is not None and not path.exists():
            raise ConfigurationError(missing)
        return read_file(path, largest)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from None


def parsed(kind: type[T], content: bytes, where: str, way_out: str = "") -> T:
    """Parse ``content`` as a ``kind``. Raises ``ConfigurationError`` with ``where``, the fault and the ``way_out``."""
    try:
        return kind.model_validate_json(without_digest(content))
    except (ValueError, RecursionError) as error:
        if (other := other_format(content)) is not None:
            raise ConfigurationError(f"{where} {other}.") from None
        raise ConfigurationError(f"{where} is damaged: {words_of(error)}.{way_out}") from None


def records(kind: type[T], file: Path, largest: int = LARGEST_INDEX, *, lines: bool = True) -> Iterator[tuple[str, T | Fault]]:
    """The records in ``file`` with their places: one of each of its ``lines``, or the whole file as one. A `Fault` stands for
    one that cannot be read, or for the file. Nothing without a file.
    """
    if not file.exists():
        return
    try:
        content = read_bytes(file, largest)
    except ConfigurationError as error:
        yield str(file), Fault(str(file), str(error).removeprefix(f"{file} "))
        return
    *whole, rest = content.split(b"\n") if lines else (content, b"")
    for number, record in enumerate(whole, start=1):
        where = f"{file}:{number}" if lines else str(file)
        try:
            yield where, kind.model_validate_json(without_digest(record))
        except (ValueError, RecursionError) as error:
            yield where, Fault(where, other_format(record) or words_of(error))
    if rest:
        where = f"{file}:{len(whole) + 1}"
        yield where, Fault(where, "the line is cut off", miscounts=False)


def parsed_lines(kind: type[T], file: Path, largest: int = LARGEST_INDEX, way_out: str = "") -> Iterator[T]:
    """Each line of ``file`` but one that was cut off. Raises ``ConfigurationError`` with the line and the ``way_out``."""
    for _, found in records(kind, file, largest):
        if not isinstance(found, Fault):
            yield found
        elif found.miscounts:
            raise ConfigurationError(f"{found.where} is damaged: {found.what}.{way_out}")


def kept_lines(kind: type[T], file: Path) -> Iterator[T]:
    """The lines of ``file`` that are whole, for what can be computed again; none where it cannot be read."""
    return (found for _, found in records(kind, file) if not isinstance(found, Fault))


def faults_of(kind: type[BaseModel], file: Path, largest: int, *, lines: bool = False) -> list[Fault]:
    """The faults of ``file``, which holds one record of ``kind`` or ``lines`` of them; none if there is no file."""
    return [found for _, found in records(kind, file, largest, lines=lines) if isinstance(found, Fault)]


def words_of(error: Exception) -> str:
    """Describe JSON that could not be read; of a validation the first error and its place."""
    if not isinstance(error, ValidationError):
        return unquoted(str(error))
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in fault['loc']) or 'it'}: {fault['msg']}"


_LARGEST = 1 << 53
Number = Annotated[int, Field(ge=0, le=_LARGEST)]
"""A count that a float can hold."""


class SelectedTask(Frozen):
    """A selected task as the manifest keeps it; ``wording`` is None where only a result names it."""

    number: int
    id: str
    type: str
    wording: str | None = None

    @classmethod
    def of(cls, task: Task) -> SelectedTask:
        """The entry for ``task``."""
        return cls(number=task.number, id=task.id, type=task.type, wording=task.wording)


def total(numbers: Iterable[int | None]) -> int | None:
    """The sum of the known values, at most what a `Number` may be; None where none is known."""
    known = [number for number in numbers if number is not None]
    return min(sum(known), _LARGEST) if known else None
