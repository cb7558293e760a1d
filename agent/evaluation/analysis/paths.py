"""L*, the best path length of each task, computed once and kept in ``paths.jsonl`` in the run's folder.

It uses hidden state, after the episodes; no agent sees it. It is not part of what must be equal between equal runs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import Field

from housequest.agent.config import changed_options
from housequest.agent.evaluation.runs.files import kept_lines, lines_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.result import Frozen, Number, SelectedTask
from housequest.agent.evaluation.runs.spec import Manifest
from housequest.worlds.base import Task, World
from housequest.worlds.errors import HousequestError, Unsupported
from housequest.worlds.paths import atomic_write
from housequest.worlds.registry import make_world

Watcher = Callable[[int, int], None]


class PathLine(Frozen):
    """A line of ``paths.jsonl``; see `PathLengths`."""

    task: str
    expert: Number | None = None
    shortest: Number | None = None
    annotated: Number | None = Field(default=None, exclude_if=operator.not_)
    conditions: Number | None = Field(default=None, exclude_if=operator.not_)


def read_paths(run: RunFolder) -> dict[str, PathLengths]:
    """The kept path lengths by task. What is damaged counts as not kept, since it can be computed again."""
    lines = kept_lines(PathLine, run.paths_file)
    return {line.task: PathLengths(line.expert, line.shortest, line.annotated, line.conditions) for line in lines}


def paths_of(
    run: RunFolder, manifest: Manifest, tasks: Sequence[SelectedTask], watcher: Watcher | None = None
) -> dict[str, PathLengths]:
    """The path lengths of ``tasks`` by id: those kept, and those that can be computed here, which are then kept.

    Computing needs the world with exactly the run's data; tasks without it stay unknown and are tried again the next time.
    Blocks for about 10 ms per task; ``watcher`` gets how many are done and how many there are. A read-only folder is left
    alone.
    """
    known = read_paths(run)
    missing = [task for task in tasks if task.id not in known]
    world = world_of_run(manifest) if missing else None
    if world is None:
        return known
    for number, task in enumerate(missing, start=1):
        with suppress(HousequestError):  # a missing or damaged game: its path stays unknown, and the report says so
            known[task.id] = path_lengths(world, world.task(task.id))
        if watcher is not None:
            watcher(number, len(missing))
    lines = [PathLine(task=task, **asdict(par)) for task, par in known.items()]
    with suppress(OSError):  # a read-only folder
        atomic_write(run.paths_file, lines_of(lines))
    return known


def world_of_run(manifest: Manifest) -> World | None:
    """The run's world, None where the run's data is not here. A household has template goals, which its expert can read."""
    config = manifest.configuration
    try:
        options, goals = config.world_options, changed_options(goals=config.goals)
        world = make_world(config.world, **options, **goals)
        if world.fingerprint(config.split) != manifest.data:
            # Where what simulates is part of the data, it takes the same one.
            world = make_world(config.world, **options, **goals, engine=config.engine)
            if world.fingerprint(config.split) != manifest.data:
                return None
        return world if world.household is None else make_world(config.world, **options)
    except HousequestError:
        return None


TURNS = 50
"""The expert's turn limit: the default of an episode."""


@dataclass(frozen=True, slots=True)
class PathLengths:
    """How many commands a task takes: the world's ``expert``, who sees what a player sees, and the ``shortest`` path.

    None where the expert failed or ran out of turns, or where the shortest path is unknown. Where the world's benchmark has
    demonstrations, ``annotated`` is the length of its own, which is then the expert's, and ``conditions`` how many goal
    conditions it counts.
    """

    expert: int | None = None
    shortest: int | None = None
    annotated: int | None = None
    conditions: int | None = None

    @property
    def best(self) -> int | None:
        """L*: the shortest path where known, else the expert's; None where neither is."""
        return self.expert if self.shortest is None else self.shortest


def path_lengths(world: World, task: Task, *, turns: int = TURNS, seconds: float | None = None) -> PathLengths:
    """Compute the path lengths of ``task``; ``seconds`` limits the search in addition to the world's own limit.

    Blocks for up to a second or two: call it in a thread from an event loop. Deterministic without ``seconds``. Raises
    ``GameError`` where the task cannot be played.
    """
    if (annotated := world.annotated(task)) is not None:
        return PathLengths(annotated.actions, annotated=annotated.actions, conditions=annotated.conditions)
    try:
        expert = expert_turns(world, task, turns)
    except Unsupported:
        expert = None
    return PathLengths(expert, world.shortest(task, seconds=seconds))


def expert_turns(world: World, task: Task, turns: int = TURNS, settings: Mapping[str, Any] | None = None) -> int | None:
    """How many commands the world's expert needs to win ``task``; None if not within ``turns``.

    Raises ``GameError``, ``Unsupported`` where the world has no expert or no house for it to play in, and
    ``ConfigurationError`` for ``settings`` that the expert does not have.
    """
    expert, env = world.expert(**(settings or {})), world.sandbox(task)
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
        # The expert says this where it cannot reach the goal.
        return None
    finally:
        env.close()
