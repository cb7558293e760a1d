"""Runs on disk as the screen shows them. Nothing is written, and a folder that cannot be read is listed with the reason.

Everything here reads files: call it in a thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Literal, NamedTuple

from housequest.agent.episodes.events import Started
from housequest.agent.episodes.record import read_episode, sha256_of
from housequest.agent.evaluation.analysis.failures import Failure, failure_of
from housequest.agent.evaluation.analysis.metrics import Figures, Summary, joined, summarise
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, RunFolder
from housequest.agent.evaluation.runs.spec import Manifest, slug
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.tui.text import printable
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import state_folder

TaskMark = Literal["won", "lost", "error", "assisted", "playing", "unfinished"]
MARKS: dict[TaskMark, str] = {"won": "■", "lost": "□", "error": "×", "assisted": "◇", "playing": "▸", "unfinished": "·"}
"""The character of each way that a task can stand in a run."""
QUIET_AFTER = 120.0
"""Seconds without a new event after which an unfinished run counts as broken off: twice what a model may take by default."""
MOST_FOLDERS = 1_000
FileStates = tuple[tuple[int, int], ...]
"""Times of change in nanoseconds, and sizes, of a run's files: they differ once the run has grown."""
PairCounts = tuple[Figures, Figures]
"""The figures of two runs on the same tasks."""


class RunTask(NamedTuple):
    """A task of a run and how it stands; ``record`` is its episode's file, finished or not, None if there is none."""

    task: SelectedTask
    mark: TaskMark
    record: Path | None = None
    result: Result | None = None


Flip = tuple[RunTask, RunTask]
"""A task that one of two runs won and the other did not, in both."""


@dataclass(frozen=True)
class RunSnapshot:
    """A run as far as it has got. ``touched``: when it last grew, in seconds since the epoch."""

    path: Path
    manifest: Manifest
    cells: tuple[RunTask, ...]
    summary: Summary
    touched: float

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def done(self) -> int:
        return sum(cell.result is not None for cell in self.cells)

    @property
    def whole(self) -> bool:
        return self.done == len(self.cells)

    def alive(self, now: float) -> bool:
        """Return True if the run is probably being played at ``now``, in seconds since the epoch."""
        return not self.whole and now - self.touched < QUIET_AFTER

    @cached_property
    def by_type(self) -> dict[str, tuple[RunTask, ...]]:
        kinds = sorted({cell.task.type for cell in self.cells})
        return {kind: tuple(cell for cell in self.cells if cell.task.type == kind) for kind in kinds}

    @cached_property
    def steps_won(self) -> tuple[int, ...]:
        """The executed commands of each won episode, without episodes that a person helped with."""
        return tuple(cell.result.steps for cell in self.cells if cell.result is not None and cell.mark == "won")

    @cached_property
    def marks(self) -> Counter[TaskMark]:
        return Counter(cell.mark for cell in self.cells)


class UnreadableRun(NamedTuple):
    """A folder that holds no run, or one that cannot be read."""

    path: Path
    reason: str


def short_type(kind: str) -> str:
    """A task type in fewer words."""
    return printable(kind.replace("_", " ").removesuffix(" in recep"))


@dataclass(frozen=True)
class RunGroup(RunSnapshot):
    """The runs of a series, or of an arm of a sweep, as one: ``members`` have folders of their own below that at ``path``. Of
    lost tasks that were played again, the first attempt is the one that counts.
    """

    title: str = ""
    members: tuple[RunSnapshot, ...] = ()

    @property
    def name(self) -> str:
        return self.title

    @classmethod
    def of(cls, group: GroupName, members: Sequence[RunSnapshot]) -> RunGroup:
        """The group of these runs, of which there is one at least."""
        counted = members[:1] if group.attempts else members
        cells, touched = tuple(cell for run in counted for cell in run.cells), max(run.touched for run in members)
        title = f"{group.title}, attempt 1 of {len(members)}" if group.attempts else group.title
        summary = joined([run.summary for run in counted])
        return cls(group.path, members[0].manifest, cells, summary, touched, title, tuple(members))

    @property
    def whole(self) -> bool:
        return all(run.whole for run in self.members)


class GroupName(NamedTuple):
    """A series or an arm of a sweep: a path that no other has, and what it is called."""

    path: Path
    title: str
    attempts: bool = False


@lru_cache(maxsize=1 << 12)
def group_of(run: Path) -> GroupName | None:
    """The series or the arm that the run in the folder ``run`` is of; None for a run by itself."""
    folder = SweepFolder(run.parent)
    try:
        if not folder.begun:
            return None
        contents = folder.contents()
    except ConfigurationError:  # a damaged list is told of where its runs are reported
        return None
    if contents.series is not None:
        return GroupName(run.parent, run.parent.name, contents.series == "attempts")
    arm = next((kept.arm for kept in contents.runs if kept.folder == run.name), "")
    return GroupName(run.parent / slug(arm), f"{run.parent.name}: {arm}")


def grouped(found: Iterable[RunSnapshot | UnreadableRun | Path]) -> Iterator[RunSnapshot | UnreadableRun | Path]:
    """``found`` with the runs of a group, which follow each other, as one where one is read."""
    for group, runs in groupby(found, lambda each: group_of(each if isinstance(each, Path) else each.path)):
        each = list(runs)
        read = [run for run in each if isinstance(run, RunSnapshot)]
        if group is None or not read:
            yield from each
        else:
            yield RunGroup.of(group, read)
            yield from (run for run in each if isinstance(run, UnreadableRun))


def run_folders(folder: Path) -> tuple[Path, ...]:
    """``folder`` if it is a run, else the folders in it that may be, by name; of series and sweeps, those of their runs. Raises
    ``ConfigurationError``.
    """
    try:
        if (folder / "run.json").exists():
            return (folder,)
        if not folder.exists():
            return ()
        inside = [path for path in islice(folder.iterdir(), 10 * MOST_FOLDERS) if path.is_dir() and path.name[0] != "."]
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be listed: {error.strerror}.") from None
    if (folder / "sweep.json").exists():
        return tuple(sorted(path for path in inside if (path / "run.json").exists()))[:MOST_FOLDERS]
    runs = (run for path in sorted(inside) for run in (run_folders(path) if (path / "sweep.json").exists() else (path,)))
    return tuple(islice(runs, MOST_FOLDERS))


def recorded_play(folder: Path) -> list[Path]:
    """The folders with records: the runs in ``folder``, and the games played on the screen or in the terminal."""
    runs = [run for run in run_folders(folder) if (run / "episodes").is_dir() and any((run / "episodes").iterdir())]
    episodes = state_folder() / "episodes"
    return [*runs, *([episodes] if episodes.is_dir() and any(episodes.iterdir()) else [])]


def read_overview(path: Path) -> RunSnapshot | UnreadableRun:
    """The run in the folder ``path`` as far as it has got, or why it cannot be read."""
    folder = RunFolder(path)
    try:
        touched = max(nanoseconds for nanoseconds, _ in file_states(path)) / 1e9
        manifest = folder.manifest()
        finished = {result.task: result for result in folder.results(manifest.tasks, lambda file: _sha256(file, _state(file)))}
        files = {file.name for file in folder.episodes.iterdir()} if folder.episodes.is_dir() else set[str]()
        cells = tuple(_cell(folder, task, finished.get(task.id), files) for task in manifest.tasks)
    except ConfigurationError as error:
        return UnreadableRun(path, str(error))
    except OSError as error:
        return UnreadableRun(path, f"{path} cannot be read: {error.strerror}.")
    return RunSnapshot(path, manifest, cells, _summary(cells), touched)


@lru_cache(maxsize=1 << 16)
def _sha256(file: Path, state: tuple[int, int]) -> str:
    """The digest of a finished episode, computed again only if its ``state`` changed: a run is looked at again and again."""
    del state
    return sha256_of(file)


def _cell(folder: RunFolder, task: SelectedTask, result: Result | None, files: set[str]) -> RunTask:
    record, part = folder.episode(task), folder.part(task)
    if result is not None:
        mark = "assisted" if result.assisted else "lost" if result.outcome == "stopped" else result.outcome
        return RunTask(task, mark, record, result)
    if record.name in files:
        return RunTask(task, "unfinished", record)
    return RunTask(task, "playing", part) if part.name in files else RunTask(task, "unfinished")


def file_states(path: Path) -> FileStates:
    """The states of the files that change when the run in ``path`` grows; cheap enough to ask for every second."""
    run = RunFolder(path)
    return tuple(_state(file) for file in (run.manifest_file, run.index_file, *sorted(run.episodes.glob("*.part"))))


def _state(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:  # gone since, or not there yet: that too is a state to compare
        return (0, -1)
    return (found.st_mtime_ns, found.st_size)


def read_digest(record: Path) -> tuple[str, Failure | None] | None:
    """An episode's goal, and why it was not won; None where it does not begin like one. Raises ``ConfigurationError``."""
    events = list(read_episode(record))
    if not events or not isinstance(events[0].body, Started):
        return None
    return events[0].body.goal, failure_of(events)


class RunPair(NamedTuple):
    """Two runs over the ``shared`` tasks; ``flips`` are those that both finished without help and that one of them won."""

    first: RunSnapshot
    second: RunSnapshot
    shared: int
    overall: PairCounts
    by_type: dict[str, PairCounts]
    flips: tuple[Flip, ...]


def pair_runs(first: RunSnapshot, second: RunSnapshot) -> RunPair:
    others = {cell.task.id: cell for cell in second.cells}
    both = [(cell, others[cell.task.id]) for cell in first.cells if cell.task.id in others]
    left, right = _summary([cell for cell, _ in both]), _summary([cell for _, cell in both])
    kinds = dict.fromkeys([*left.by_type, *right.by_type])
    by_type = {kind: (left.by_type.get(kind, Figures()), right.by_type.get(kind, Figures())) for kind in kinds}
    finished = {"won", "lost", "error"}
    marks = (({one.mark, other.mark}, (one, other)) for one, other in both)
    flips = tuple(tasks for found, tasks in marks if found <= finished and "won" in found and len(found) > 1)
    return RunPair(first, second, len(both), (left.overall, right.overall), by_type, flips)


def _summary(cells: Sequence[RunTask]) -> Summary:
    return summarise([cell.task for cell in cells], [cell.result for cell in cells if cell.result is not None])
