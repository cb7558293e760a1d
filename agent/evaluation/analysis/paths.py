"""L* of a run's tasks, found once and kept in the run's folder: a line a task in ``paths.jsonl``.

It is hidden knowledge, found after the episodes; no agent sees it. It is no part of what equal runs have alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from pydantic import BaseModel, ConfigDict

from agent.evaluation.analysis.par import Par, par_of
from agent.evaluation.runs.folder import LARGEST_INDEX, RunFolder, parsed, read
from agent.evaluation.runs.result import Number, Selected
from agent.evaluation.runs.spec import Manifest
from worlds.base import World
from worlds.errors import ConfigurationError, HousequestError
from worlds.paths import atomic_write
from worlds.registry import make_world

Watcher = Callable[[int, int], None]


class Path(BaseModel):
    """What a task can be done in, as it is kept; see `agent.evaluation.analysis.par.Par`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    expert: Number | None = None
    shortest: Number | None = None


def read_paths(run: RunFolder) -> dict[str, Par]:
    """What is kept, by task; a line cut off in the middle of writing is left out.

    Raises ``ConfigurationError`` naming a damaged line and the way out.
    """
    content = read(run.paths_file, LARGEST_INDEX) if run.paths_file.exists() else b""
    found: dict[str, Par] = {}
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            path = parsed(Path, line, f"{run.paths_file}:{number}")
        except ConfigurationError as error:
            raise ConfigurationError(f"{error} Delete the file; a report makes it anew.") from None
        found[path.task] = Par(path.expert, path.shortest)
    return found


def paths_of(run: RunFolder, manifest: Manifest, tasks: Sequence[Selected], watcher: Watcher | None = None) -> dict[str, Par]:
    """What each of ``tasks`` can be done in, by its id: what is kept, and what can be found here, which is then kept.

    It is found where the world is here with the very data of the run; what is not stays unknown, and is looked for again the
    next time. Plays and plans in the caller's thread, for about a hundredth of a second a task; ``watcher`` is told how many of
    how many are done. A folder that cannot be written to is left as it is. Raises ``ConfigurationError`` for what is kept and
    cannot be read.
    """
    known = read_paths(run)
    missing = [task for task in tasks if task.id not in known]
    world = _world(manifest) if missing else None
    if world is None:
        return known
    for number, task in enumerate(missing, start=1):
        with suppress(HousequestError):  # a game that is gone or damaged: its path stays unknown, and the report says so
            known[task.id] = par_of(world, world.task(task.id))
        if watcher is not None:
            watcher(number, len(missing))
    with suppress(OSError):  # somebody else's folder, to be read and not written to
        _keep(run, known)
    return known


def _world(manifest: Manifest) -> World | None:
    """The world of the run with the templates' goals, which its expert can read; None where its data is not here."""
    config = manifest.configuration
    try:
        if make_world(config.world, goals=config.goals).fingerprint(config.split) != manifest.data:
            return None
        return make_world(config.world)
    except HousequestError:
        return None


def _keep(run: RunFolder, known: Mapping[str, Par]) -> None:
    lines = [Path(task=task, expert=par.expert, shortest=par.shortest) for task, par in known.items()]
    atomic_write(run.paths_file, b"".join(f"{line.model_dump_json(exclude_none=True)}\n".encode() for line in lines))
