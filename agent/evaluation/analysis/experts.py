"""What a world's expert and planner reach on a run's tasks, computed once and kept in its folder: L*, and the ceiling.

Both use hidden state, after the episodes; no agent sees it. They are not part of what must be equal between equal runs.

L*, the best path length of each task, is kept in ``paths.jsonl``. The ceiling of a planner's run, in ``ceilings.jsonl``, is
what the world's expert reaches on the same tasks with the same location prior. A planner's commands come from a controller that
searches by a prior of its own, so part of its success is the controller's. The expert has no model and needs none: it is told
the goal in the template's words, searches by the planner's prior, and carries it out in as few commands as it can. Where a
planner's model names the places itself (``search=llm``), there are two marks: the expert that draws places at random is what
can be reached without anybody's word on them, and the one that searches by counts is what good knowledge of places reaches. A
random order is one order, drawn by the run's seed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import Field

from housequest.agent.agents.spec import learned_prior
from housequest.agent.config import changed_options
from housequest.agent.evaluation.runs.files import Frozen, Number, SelectedTask, kept_lines, lines_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import Manifest, RunConfig
from housequest.worlds.base import Task, World
from housequest.worlds.env import steps_of
from housequest.worlds.errors import HousequestError, Unsupported
from housequest.worlds.paths import atomic_write
from housequest.worlds.registry import make_world

K = TypeVar("K")

Watcher = Callable[[int, int], None]
"""Gets how many tasks are done and how many there are."""
TURNS = 50
"""The expert's turn limit: the default of an episode."""
PRIORS = ("counts", "random", "name")
"""The priors that the expert can search by too."""


class PathLengths(NamedTuple):
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


class PathLine(Frozen):
    """A line of ``paths.jsonl``; see `PathLengths`."""

    task: str
    expert: Number | None = None
    shortest: Number | None = None
    annotated: Number | None = Field(default=None, exclude_if=operator.not_)
    conditions: Number | None = Field(default=None, exclude_if=operator.not_)


class CeilingLine(Frozen):
    """A line of ``ceilings.jsonl``: in how many turns the expert wins ``task``; none where it does not. ``prior`` is by what it
    searches, if that is not the prior of the run.
    """

    task: str
    turns: Number | None = None
    prior: str | None = None


class Ceiling(NamedTuple):
    """What the expert reaches with the location ``prior`` of a run: its turns by task, None where it does not win. ``counted``
    is the same with the counts, where the run's model names the places.
    """

    prior: str
    turns: Mapping[str, int | None]
    counted: Mapping[str, int | None] | None = None

    def of(self, tasks: Sequence[str]) -> CeilingFigures | None:
        """The figures over those of ``tasks`` of which it is known; None where it is of none."""
        known = [self.turns[task] for task in tasks if task in self.turns]
        if not known:
            return None
        counted = None if self.counted is None else Ceiling("counts", self.counted).of(tasks)
        won = [turns for turns in known if turns is not None]
        mean = sum(won) / len(won) if won else None
        return CeilingFigures(self.prior, len(known), len(won), mean, len(tasks) - len(known), counted)


class CeilingFigures(NamedTuple):
    """How many of ``tasks`` the expert won with ``prior``, and in how many turns on average of those that it won.

    ``missing`` are the tasks more of which it is not known. ``counted`` are the figures with the counts, where the run's model
    names the places.
    """

    prior: str
    tasks: int
    won: int
    turns: float | None
    missing: int = 0
    counted: CeilingFigures | None = None

    @property
    def success(self) -> float:
        """The share of tasks won, in [0, 1]."""
        return self.won / self.tasks

    @classmethod
    def joined(cls, parts: Sequence[CeilingFigures]) -> CeilingFigures:
        """The ceilings of several runs with one prior as one: each task counts as often as it was played."""
        won = sum(part.won for part in parts)
        turns = sum(part.won * part.turns for part in parts if part.turns is not None)
        counted = [part.counted for part in parts if part.counted is not None]
        tasks, missing = sum(part.tasks for part in parts), sum(part.missing for part in parts)
        mean = turns / won if won else None
        return cls(parts[0].prior, tasks, won, mean, missing, cls.joined(counted) if len(counted) == len(parts) else None)


def prior_of(config: RunConfig) -> str | None:
    """By what the expert searches that is a run's ceiling; None for one that neither has skills that search nor learned to."""
    search = config.settings.get("search")
    if config.model is None or not isinstance(search, str):
        return learned_prior(config.agent, config.settings)
    return "random" if search == "llm" else search if search in PRIORS else None


def named_by_model(config: RunConfig) -> bool:
    """Whether the agent's own model names the places to look into."""
    return config.model is not None and config.settings.get("search") == "llm"


def paths_of(
    run: RunFolder, manifest: Manifest, tasks: Sequence[SelectedTask], watcher: Watcher | None = None
) -> dict[str, PathLengths]:
    """The path lengths of ``tasks`` by id: those kept, and those that can be computed here, which are then kept. Tasks without
    the world's data stay unknown and are tried again the next time. Blocks for about 10 ms per task.
    """
    known = read_paths(run)

    def compute(world: World, task: SelectedTask) -> None:
        known[task.id] = path_lengths(world, world.task(task.id))

    if _computed(manifest, [task for task in tasks if task.id not in known], compute, watcher):
        _keep(run.paths_file, [PathLine(task=task, **par._asdict()) for task, par in known.items()])
    return known


def read_paths(run: RunFolder) -> dict[str, PathLengths]:
    """The kept path lengths by task. What is damaged counts as not kept, since it can be computed again."""
    lines = kept_lines(PathLine, run.paths_file)
    return {line.task: PathLengths(line.expert, line.shortest, line.annotated, line.conditions) for line in lines}


def ceiling_of(
    run: RunFolder, manifest: Manifest, tasks: Sequence[SelectedTask], watcher: Watcher | None = None
) -> Ceiling | None:
    """The ceiling over ``tasks``: what was kept, and what can be computed here, which is then kept. None where the agent does
    not search. Blocks for a few milliseconds per task.
    """
    config, prior = manifest.configuration, prior_of(manifest.configuration)
    if prior is None:
        return None
    own = {by: None if by == prior else by for by in ((prior, "counts") if named_by_model(config) else (prior,))}
    known = {by: _kept(run, named) for by, named in own.items()}

    def compute(world: World, each: tuple[str, SelectedTask]) -> None:
        by, task = each
        settings = {"search": by, **({"seed": config.seed} if by == "random" else {})}
        known[by][task.id] = expert_turns(world, world.task(task.id), config.max_turns, settings)

    if _computed(manifest, [(by, task) for by in own for task in tasks if task.id not in known[by]], compute, watcher):
        found = [(by, task, turns) for by in own for task, turns in known[by].items()]
        _keep(run.ceilings_file, [CeilingLine(task=task, turns=turns, prior=own[by]) for by, task, turns in found])
    return Ceiling(prior, known[prior], known["counts"] if named_by_model(config) else None)


def kept_ceiling(run: RunFolder, config: RunConfig) -> Ceiling | None:
    """The ceiling as far as an earlier report has kept it; None where the agent does not search."""
    prior = prior_of(config)
    return None if prior is None else Ceiling(prior, _kept(run, None))


def _kept(run: RunFolder, prior: str | None) -> dict[str, int | None]:
    return {line.task: line.turns for line in kept_lines(CeilingLine, run.ceilings_file) if line.prior == prior}


def _computed(manifest: Manifest, missing: Sequence[K], compute: Callable[[World, K], None], watcher: Watcher | None) -> bool:
    """Compute what is ``missing``, where the world with exactly the run's data is here; whether it is."""
    world = world_of_run(manifest) if missing else None
    if world is None:
        return False
    for number, each in enumerate(missing, start=1):
        with suppress(HousequestError):  # a missing or damaged game, or a world whose expert has no such prior: not known
            compute(world, each)
        if watcher is not None:
            watcher(number, len(missing))
    return True


def _keep(file: Path, lines: Iterable[Frozen]) -> None:
    with suppress(OSError):  # a read-only folder is left alone
        atomic_write(file, lines_of(lines))


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
        steps = [env.reset()]
        steps += (step for _, step in steps_of(expert, task, env, steps[0], turns))
        return len(steps) - 1 if steps[-1].won else None
    except Unsupported:
        # The expert says this where it cannot reach the goal.
        return None
    finally:
        env.close()
