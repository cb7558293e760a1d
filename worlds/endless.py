"""Splits without end, whose tasks are made on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, overload

from worlds.base import Task
from worlds.errors import TaskNotFound, shown


def is_made_up(reference: str, split: str) -> bool:
    """Whether a reference to a task means one of the endless ``split``."""
    return reference == split or reference.startswith((f"{split}:", f"{split}/"))


class EndlessTasks(Sequence[Task], ABC):
    """All tasks of a split that makes them: a task's number is its seed, and its id ``SPLIT/SEED``."""

    split: ClassVar[str]
    seeds: ClassVar[int]
    """Seeds are 0 to ``seeds - 1``."""
    what: ClassVar[str]
    """What is made, in a word: house."""

    @abstractmethod
    def made(self, seed: int) -> Task:
        """The task of a seed."""

    def __len__(self) -> int:
        return self.seeds

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Task, ...]: ...
    def __getitem__(self, index: int | slice) -> Task | tuple[Task, ...]:
        if isinstance(index, slice):
            return tuple(self.made(seed) for seed in range(*index.indices(self.seeds)))
        seed = index + self.seeds if index < 0 else index
        if not 0 <= seed < self.seeds:
            raise IndexError(f"there is no made-up {self.what} {index}")
        return self.made(seed)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, Task) and value.split == self.split and self.named(value.id) == value

    def named(self, reference: str) -> Task:
        """The task ``SPLIT/SEED`` or ``SPLIT:SEED``. Raises ``TaskNotFound``."""
        seed = reference.removeprefix(self.split)[1:].rstrip("/")
        if not (seed.isascii() and seed.isdecimal() and len(seed) < 20 and int(seed) < self.seeds):
            known = f"a made-up {self.what} is {self.split}:0 to {self.split}:{self.seeds - 1}"
            raise TaskNotFound(f"There is no task {shown(reference)}: {known}.")
        return self.made(int(seed))
