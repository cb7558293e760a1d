"""Which tasks clients may play, and what they are granted. They name a task by its number: its id gives its solution away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from housequest.agent.episodes.loop import VIEW, EpisodeConfig
from housequest.agent.evaluation.runs.spec import MANY, find_types
from housequest.worlds.base import Task, World
from housequest.worlds.errors import TaskNotFound, Unsupported, nearest, shown

LONGEST_COMMAND = 2_000


@dataclass(frozen=True, slots=True)
class OfferedTasks:
    """The tasks of ``split``, or of all splits, of these ``types`` if there are any.

    ``grants`` are the most that a client can be granted; ``seed`` makes the drawn tasks repeatable. Raises ``Unsupported`` for
    what no client can be granted.
    """

    world: World
    split: str | None
    types: tuple[str, ...] = ()
    grants: frozenset[str] = frozenset()
    max_turns: int = 50
    seed: int | None = None

    def __post_init__(self) -> None:
        if VIEW in self.grants:
            raise Unsupported("A client plays by texts, so nothing can be shown to it; leave out --grant view.")
        if "diagnosis" in self.grants:
            tasks = self.world.tasks(self.split or self.world.example_split)
            EpisodeConfig(self.world.engine, self.grants).check_grants(self.world, tasks)

    @property
    def splits(self) -> tuple[str, ...]:
        """The offered splits; tasks are drawn from the first one by default."""
        return (self.split,) if self.split is not None else (*self.world.endless_splits, *self.world.splits())

    def split_named(self, split: str | None) -> str:
        """The offered split of this name; the first one for None. Raises ``TaskNotFound``."""
        splits = self.splits
        if split is not None and split not in splits:
            raise TaskNotFound(f"There is no split {shown(split)} here; there is: {', '.join(splits)}.{nearest(split, splits)}")
        return splits[0] if split is None else split

    def types_among(self, every: Sequence[Task]) -> tuple[str, ...]:
        """The offered types in full, where ``every`` are the tasks of a split; none if all are."""
        if not self.types:
            return ()
        few = len(every) <= MANY
        return find_types(self.types, sorted({task.type for task in every}) if few else tuple(self.world.task_types))

    def named(self, reference: str) -> Task:
        """The task ``split:number``; ids and paths are refused. Raises ``TaskNotFound``."""
        split, _, number = reference.partition(":")
        if not (number.isascii() and number.isdecimal() and len(number) < 20):
            raise TaskNotFound(f"There is no task {shown(reference)}; name one as {self.splits[0]}:1.")
        return self.checked(self.world.task(f"{self.split_named(split)}:{int(number)}"))

    def checked(self, task: Task) -> Task:
        """``task``, if it is of an offered type. Raises ``TaskNotFound``."""
        types = self.types_among(self.world.tasks(task.split))
        if types and task.type not in types:
            raise TaskNotFound("That task is of a type that this server does not offer.")
        return task
