"""The split ``generated``: a house for every seed, made on demand."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import overload

from worlds.alfworld.data.tasks import GENERATED
from worlds.alfworld.houses.habits import Habits, counted
from worlds.alfworld.houses.house import SEEDS, VERSION, House, make_house
from worlds.base import Task
from worlds.errors import TaskNotFound, shown

_KEPT = 256


class GeneratedTasks(Sequence[Task]):
    """All generated houses by seed, from 0: a task's number is its seed. Recent houses are cached.

    ``habits`` are those of ``train`` by default.
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

    def __contains__(self, value: object) -> bool:
        return isinstance(value, Task) and value.split == GENERATED and self.named(value.id) == value

    def named(self, reference: str) -> Task:
        """The task ``generated/SEED`` or ``generated:SEED``. Raises ``TaskNotFound``."""
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
        """A SHA-256 over what decides a seed's house: the generator's version and the habits."""
        habits = counted() if self._habits is None else self._habits
        return hashlib.sha256(f"{VERSION} {habits.digest}".encode()).hexdigest()

    def _task(self, seed: int) -> Task:
        house = self.house(seed)
        return Task(f"{GENERATED}/{seed}", "alfworld", GENERATED, seed, house.goal.type, house.sentence)
