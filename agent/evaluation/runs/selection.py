"""Select the tasks of a split: by type, then the first N or a seeded sample."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from housequest.worlds.base import Task, World
from housequest.worlds.errors import ConfigurationError, nearest, shown

MANY = 1_000_000
"""A split with more tasks than this counts as endless and is never enumerated."""

_MOST = 10_000
"""The most tasks of an endless split in one run: all are generated and checked before the first is played."""

_DRAWS = 10_000
"""How many tasks of an endless split are tried for each wanted one, to find its type."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected tasks in the split's order. ``of`` is the split's full size, ``here`` how many tasks are installed."""

    split: str
    tasks: tuple[Task, ...]
    here: int
    of: int

    def __str__(self) -> str:
        return selection_text(len(self.tasks), self.of)

    @property
    def warning(self) -> str | None:
        """What is wrong with a published split that is incomplete here; None if nothing is."""
        if self.here == self.of:
            return None
        return f"{self.split} has {self.here} games here and {self.of} where it is published: these are not its figures."


def selection_text(selected: int, of: int) -> str:
    """How many tasks of a split of size ``of`` were selected, in words."""
    return f"{selected} of a split without end" if of > MANY else f"{selected} of the split's {of}"


def find_types(wanted: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The task types meant by ``wanted``: full names, or words (``heat``) of exactly one. Raises ``ConfigurationError``."""
    found: list[str] = []
    for word in wanted:
        having = [word] if word in known else [kind for kind in known if word.lower() in kind.lower().split("_")]
        if len(having) != 1:
            told = "is not a task type" if not having else f"could be {' or '.join(having)}"
            raise ConfigurationError(f"--type: {shown(word)} {told}; known: {', '.join(known)}.{nearest(word, list(known))}")
        found += having
    return tuple(sorted(set(found)))


def check_one_limit(limit: int | None, sample: int | None) -> None:
    """Raise ``ConfigurationError`` where both are given."""
    if limit is not None and sample is not None:
        raise ConfigurationError("--limit and --sample cannot be given together: take the first ones or drawn ones.")


def select(
    world: World,
    split: str,
    types: Sequence[str] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    only: Collection[str] | None = None,
) -> Selection:
    """Select tasks of ``split``: those of ``types``, then the first ``limit``, or ``sample`` drawn with ``seed``.

    ``only`` are the ids of those to choose from, where that is not the whole split: all of them must be here. Raises
    ``ConfigurationError`` where one is not, where no task is left, where both limit and sample are given, and where neither is
    given for an endless split.
    """
    check_one_limit(limit, sample)
    every = world.tasks(split)
    if len(every) > MANY:
        tasks = _of_endless(world, split, types, limit, sample, seed)
        return Selection(split, tasks, len(every), len(every))
    wanted = find_types(types, sorted({task.type for task in every}))
    tasks = tuple(task for task in every if (not wanted or task.type in wanted) and (only is None or task.id in only))
    if only is not None and (missing := sorted(set(only) - {task.id for task in every})):
        raise ConfigurationError(f"{len(missing)} of these {len(only)} games are not here, such as {shown(missing[0])}.")
    if limit is not None:
        tasks = tasks[:limit]
    elif sample is not None and sample < len(tasks):
        # Draw from the sorted ids, so that the world's order does not matter.
        ids = set(random.Random(seed).sample(sorted(task.id for task in tasks), sample))
        tasks = tuple(task for task in tasks if task.id in ids)
    if not tasks:
        raise ConfigurationError(f"The split {shown(split)} has no tasks to play.")
    return Selection(split, tasks, len(every), max(len(every), world.published_splits.get(split, 0)))


def _of_endless(
    world: World, split: str, types: Sequence[str], limit: int | None, sample: int | None, seed: int
) -> tuple[Task, ...]:
    """Tasks of a split generated on demand: the first ones, or drawn ones in the split's order."""
    number = limit if limit is not None else sample
    if number is None:
        raise ConfigurationError(
            f"The split {shown(split)} is endless; say how many tasks to play with --limit N or --sample N."
        )
    if not 0 < number <= _MOST:
        raise ConfigurationError(
            f"{number:,} tasks of the split {shown(split)} are too many for one run; "
            f"give 1 to {_MOST:,}, and draw others with --sample N --seed S."
        )
    wanted = find_types(types, tuple(world.task_types)) if types else ()
    every = world.tasks(split)
    looked = iter(every) if limit is not None else _drawn(every, seed)
    fitting = (task for task in islice(looked, number * _DRAWS) if not wanted or task.type in wanted)
    tasks = tuple(islice(fitting, number))
    if len(tasks) < number:
        raise ConfigurationError(f"The split {shown(split)} has too few tasks of the type {' or '.join(wanted)}.")
    return tuple(sorted(tasks, key=lambda task: task.number))


def _drawn(every: Sequence[Task], seed: int) -> Iterator[Task]:
    """Random tasks without duplicates."""
    dice, seen = random.Random(seed), set[int]()
    while True:
        number = dice.randrange(len(every))
        if number not in seen:
            seen.add(number)
            yield every[number]
