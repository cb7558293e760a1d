"""Which tasks of a split are played: by type, the first so many, or a seeded sample."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from worlds.base import Task, World
from worlds.errors import ConfigurationError, nearest, shown


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected tasks in the split's order. ``of`` is the split's full size, ``here`` how much of it is there."""

    split: str
    tasks: tuple[Task, ...]
    here: int
    of: int

    def __str__(self) -> str:
        return f"{len(self.tasks)} of the split's {self.of}"

    @property
    def warning(self) -> str | None:
        """What is wrong with a published split that is not there in full."""
        if self.here == self.of:
            return None
        return f"{self.split} has {self.here} games here and {self.of} where it is published: these are not its figures."


def published_size(world: str, split: str) -> int | None:
    """How many tasks a published split has; None for others."""
    if world != "alfworld":
        return None
    from worlds.alfworld.tasks import PUBLISHED

    return PUBLISHED.get(split)


def find_types(wanted: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The task types meant by ``wanted``: whole names, or a word that only one of them has (``heat``).

    Raises ``ConfigurationError`` for a word that none or several have.
    """
    found: list[str] = []
    for word in wanted:
        having = [word] if word in known else [kind for kind in known if word.lower() in kind.lower().split("_")]
        if len(having) != 1:
            told = "is no task type" if not having else f"could be {' or '.join(having)}"
            raise ConfigurationError(f"--type: {shown(word)} {told}; known: {', '.join(known)}.{nearest(word, list(known))}")
        found += having
    return tuple(sorted(set(found)))


def select(
    world: World, split: str, types: Sequence[str] = (), limit: int | None = None, sample: int | None = None, seed: int = 0
) -> Selection:
    """Choose tasks of ``split``: those of ``types``, then the first ``limit``, or ``sample`` drawn with ``seed``.

    Raises ``ConfigurationError`` when nothing is left or both a limit and a sample are asked for.
    """
    if limit is not None and sample is not None:
        raise ConfigurationError("--limit and --sample cannot be given together: take the first ones or drawn ones.")
    every = tuple(world.tasks(split))
    wanted = find_types(types, sorted({task.type for task in every}))
    tasks = tuple(task for task in every if not wanted or task.type in wanted)
    if limit is not None:
        tasks = tasks[:limit]
    elif sample is not None and sample < len(tasks):
        # The draw is over the sorted ids, whatever order a world lists its tasks in.
        ids = set(random.Random(seed).sample(sorted(task.id for task in tasks), sample))
        tasks = tuple(task for task in tasks if task.id in ids)
    if not tasks:
        raise ConfigurationError(f"The split {shown(split)} has no tasks to play.")
    return Selection(split, tasks, len(every), max(len(every), published_size(world.name, split) or 0))
