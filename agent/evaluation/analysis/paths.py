"""L* of a run's tasks, found once and kept in the run's folder: a line a task in ``paths.jsonl``.

It is hidden knowledge, found after the episodes; no agent sees it. It is no part of what equal runs have alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from agent.config import changed_options
from agent.evaluation.runs.folder import LARGEST_INDEX, RunFolder, parsed, read_bytes
from agent.evaluation.runs.result import Number, SelectedTask
from agent.evaluation.runs.spec import Manifest
from worlds.base import Task, World
from worlds.errors import ConfigurationError, HousequestError, Unsupported
from worlds.paths import atomic_write
from worlds.registry import make_world

Watcher = Callable[[int, int], None]


class PathLine(BaseModel):
    """What a task can be done in, as it is kept; see `agent.evaluation.analysis.paths.PathLengths`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    expert: Number | None = None
    shortest: Number | None = None


def read_paths(run: RunFolder) -> dict[str, PathLengths]:
    """What is kept, by task; a line cut off in the middle of writing is left out.

    Raises ``ConfigurationError`` naming a damaged line and the way out.
    """
    content = read_bytes(run.paths_file, LARGEST_INDEX) if run.paths_file.exists() else b""
    found: dict[str, PathLengths] = {}
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            path = parsed(PathLine, line, f"{run.paths_file}:{number}")
        except ConfigurationError as error:
            raise ConfigurationError(f"{error} Delete the file; a report makes it anew.") from None
        found[path.task] = PathLengths(path.expert, path.shortest)
    return found


def paths_of(
    run: RunFolder, manifest: Manifest, tasks: Sequence[SelectedTask], watcher: Watcher | None = None
) -> dict[str, PathLengths]:
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
            known[task.id] = path_lengths(world, world.task(task.id))
        if watcher is not None:
            watcher(number, len(missing))
    with suppress(OSError):  # somebody else's folder, to be read and not written to
        _keep(run, known)
    return known


def _world(manifest: Manifest) -> World | None:
    """The world of the run with the templates' goals, which its expert can read; None where its data is not here."""
    config = manifest.configuration
    try:
        options, goals = config.world_options, changed_options(goals=config.goals)
        if make_world(config.world, **options, **goals).fingerprint(config.split) != manifest.data:
            return None
        return make_world(config.world, **options)
    except HousequestError:
        return None


def _keep(run: RunFolder, known: Mapping[str, PathLengths]) -> None:
    lines = [PathLine(task=task, expert=par.expert, shortest=par.shortest) for task, par in known.items()]
    atomic_write(run.paths_file, b"".join(f"{line.model_dump_json(exclude_none=True)}\n".encode() for line in lines))


TURNS = 50
"""After as many commands the expert is stopped: as many as an episode has by default."""


@dataclass(frozen=True, slots=True)
class PathLengths:
    """Commands that a task takes: by the world's ``expert``, who sees no more than a player, and on the ``shortest`` way.

    None: the expert gave up or was not done in time; the shortest way is not known.
    """

    expert: int | None = None
    shortest: int | None = None

    @property
    def best(self) -> int | None:
        """L*: the shortest way where it is known, else the expert's; None where neither is."""
        return self.expert if self.shortest is None else self.shortest


def path_lengths(world: World, task: Task, *, turns: int = TURNS, seconds: float | None = None) -> PathLengths:
    """What ``task`` can be done in; ``seconds`` limits the search for the shortest way beyond the world's own limit.

    Plays and plans in the caller's thread, for up to a second or two: an event loop calls it in a thread of its own. Without
    ``seconds`` the same task gives the same figures everywhere. Raises ``GameError`` where the task cannot be played.
    """
    return PathLengths(expert_turns(world, task, turns), world.shortest(task, seconds=seconds))


def expert_turns(world: World, task: Task, turns: int = TURNS) -> int | None:
    """After how many commands the world's expert has won ``task``; None where it has not within ``turns``, or there is none.

    Raises ``GameError`` where the task cannot be played.
    """
    try:
        expert, env = world.expert(), world.sandbox(task)
    except Unsupported:
        return None
    try:
        taken, step = 0, env.reset()
        memory = expert.begin(task.goal, step.observation)
        while not step.done and taken < turns:
            command, _, memory = expert.decide(memory)
            if command is None:
                break
            taken, step = taken + 1, env.step(command)
            memory = expert.observe(memory, command, step.observation)
        return taken if step.won else None
    except Unsupported:
        # The expert's own word for a goal that is beyond it.
        return None
    finally:
        env.close()
