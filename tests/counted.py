"""A plugin: the shipped houses, read by a household that counts what it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Observation, Task
from housequest.worlds.household.belief import Belief


class CountingHousehold:
    """Reads as ALFWorld's household does. ``read`` lists the command of each answer that was read, "" for an opening."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(HOUSEHOLD, name)

    def begin(self, opening: Observation) -> Belief:
        self.read.append("")
        return HOUSEHOLD.begin(opening)

    def update(self, belief: Belief, command: str, observation: Observation) -> Belief:
        self.read.append(command)
        return HOUSEHOLD.update(belief, command, observation)


COUNTING = CountingHousehold()


class CountedWorld(AlfworldWorld):
    name = "counted"
    household = COUNTING  # type: ignore[assignment]

    def tasks(self, split: str) -> Sequence[Task]:
        return [replace(task, world=self.name) for task in super().tasks(split)]
