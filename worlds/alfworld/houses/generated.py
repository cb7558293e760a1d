"""The split ``generated``: a made-up house for every seed, made when it is asked for."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import overload

from worlds.alfworld.data.tasks import GENERATED
from worlds.alfworld.houses.habits import Habits, counted
from worlds.alfworld.houses.house import SEEDS, VERSION, House, make_house
from worlds.base import Task
from worlds.errors import TaskNotFound, shown

_KEPT = 256


class GeneratedTasks(Sequence[Task]):
    """All made-up houses in the order of their seeds, from 0: a task's number is its seed. Never listed, only asked.

    A few houses are kept, so that a task which is looked up and then played is made once. ``habits`` are those of ``train``
    unless others are given.
    """

    def __init__(self, habits: Habits | None = None) -> None:
        self._habits = habits
        self._houses: OrderedDict[int, House] = OrderedDict()

    def __len__(self) -> int:
        return SEEDS

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Task, ...]: ...
    def __getitem__(self, index: int | slice) -> Task | tuple[Task, ...]:
        if isinstance(index, slice):
            return tuple(self._task(seed) for seed in range(*index.indices(SEEDS)))
        seed = index + SEEDS if index < 0 else index
        if not 0 <= seed < SEEDS:
            raise IndexError(f"there is no made-up house {index}")
        return self._task(seed)

    def __iter__(self) -> Iterator[Task]:
        return (self._task(seed) for seed in range(SEEDS))

    def __contains__(self, value: object) -> bool:
        return isinstance(value, Task) and value.split == GENERATED and self.named(value.id) == value

    def named(self, reference: str) -> Task:
        """The task of an id or reference, ``generated/SEED`` or ``generated:SEED``. Raises ``TaskNotFound``."""
        seed = reference.removeprefix(GENERATED)[1:].rstrip("/")
        if not (seed.isascii() and seed.isdecimal() and len(seed) < 20 and int(seed) < SEEDS):
            raise TaskNotFound(
                f"There is no task {shown(reference)}: a made-up house is {GENERATED}:0 to {GENERATED}:{SEEDS - 1}."
            )
        return self._task(int(seed))

    def house(self, seed: int) -> House:
        """The house of ``seed``. Raises what `make_house` raises."""
        house = self._houses.pop(seed, None) or make_house(seed, self._habits)
        self._houses[seed] = house
        while len(self._houses) > _KEPT:
            self._houses.popitem(last=False)
        return house

    def fingerprint(self) -> str:
        """A SHA-256 over what decides what a seed gives: the version of the generator, and the habits."""
        habits = counted() if self._habits is None else self._habits
        return hashlib.sha256(f"{VERSION} {habits.digest}".encode()).hexdigest()

    def _task(self, seed: int) -> Task:
        house = self.house(seed)
        return Task(f"{GENERATED}/{seed}", "alfworld", GENERATED, seed, house.goal.type, house.sentence)
