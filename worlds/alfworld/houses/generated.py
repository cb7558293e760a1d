"""The split ``generated``: a house for every seed, made on demand."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import overload

from worlds.alfworld.data.tasks import GENERATED
from worlds.alfworld.houses.habits import Habits, counted
from worlds.alfworld.houses.house import SEEDS, VERSION, make_house
from worlds.base import Task
from worlds.errors import TaskNotFound, shown

_KEPT = 256


class GeneratedTasks(Sequence[Task]):
    """All generated houses: a task's number is its seed. ``habits`` are those of ``train`` by default."""

    def __init__(self, habits: Habits | None = None) -> None:
        self._habits = habits
        self.house = lru_cache(_KEPT)(partial(make_house, habits=habits))
        """The house of a seed. Raises what `make_house` raises."""

    def __len__(self) -> int:
        return SEEDS

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Task, ...]: ...
    def __getitem__(self, index: int | slice) -> Task | tuple[Task, ...]:
        seeds = range(SEEDS)[index]
        return self._task(seeds) if isinstance(seeds, int) else tuple(map(self._task, seeds))

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

    def fingerprint(self) -> str:
        """A SHA-256 over what decides a seed's house: the generator's version and the habits."""
        habits = counted() if self._habits is None else self._habits
        return hashlib.sha256(f"{VERSION} {habits.digest}".encode()).hexdigest()

    def _task(self, seed: int) -> Task:
        house = self.house(seed)
        return Task(f"{GENERATED}/{seed}", "alfworld", GENERATED, seed, house.goal.type, house.sentence)
