"""The splits of household worlds: those in the user's files, ``example``, which ships, and ``generated``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Generic, TypeVar

from housequest.worlds.base import Task, World
from housequest.worlds.errors import TaskNotFound, nearest, shown
from housequest.worlds.tasks import MadeUpTasks

EXAMPLE = "example"  # the split of the shipped houses; always available
GENERATED = "generated"  # the unlisted, endless split of made-up houses, ``generated:SEED``


G = TypeVar("G", bound=MadeUpTasks)


class HouseholdWorld(World, Generic[G]):
    """A world with the user's own splits, `EXAMPLE` and `GENERATED`; each split is listed once."""

    searched = ""  # the folder in which the user's splits were looked for, if errors name it

    def __init__(self) -> None:
        self._listed: dict[str, tuple[Task, ...]] = {}

    @cached_property
    def generated(self) -> G:
        """The tasks of `GENERATED`."""
        return self.make_generated()

    @abstractmethod
    def make_generated(self) -> G:
        """The tasks of `GENERATED`. Raises ``GameError``."""

    @abstractmethod
    def installed(self) -> Sequence[str]:
        """The splits in the user's files, in a fixed order."""

    @abstractmethod
    def listed(self, split: str) -> Iterable[Task]:
        """The tasks of an installed split, or of the example split. Raises ``GameError``."""

    def splits(self) -> Sequence[str]:
        return (*self.installed(), EXAMPLE)

    def tasks(self, split: str) -> Sequence[Task]:
        if split == GENERATED:
            return self.generated
        if split not in self._listed:
            there, published = self.splits(), self.info.published_splits
            if split not in there:
                hint = "" if split in published else nearest(split, (*there, *published, GENERATED))
                fetch = f" {self.info.get_data}" if split in published or len(there) == 1 else ""
                where = f" in {shown(self.searched, 400)}" if self.searched else ""
                known = ", ".join((*there, GENERATED))
                raise TaskNotFound(f"There is no split {shown(split)}{where}; there are: {known}.{hint}{fetch}")
            self._listed[split] = tuple(self.listed(split))
        return self._listed[split]
