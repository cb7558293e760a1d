"""Looks a data folder over: what is there, what is left out, what is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from worlds.alfworld.data.annotations import sentences_of
from worlds.alfworld.data.index import Entry, Index
from worlds.alfworld.data.tasks import PUBLISHED, TRAJECTORY_FILE
from worlds.household.goals import TASK_TYPES


@dataclass(frozen=True, slots=True)
class SplitReport:
    """One split: its tasks by type, the games left out or refused, and the ids of the tasks that no person worded."""

    split: str
    types: tuple[tuple[str, int], ...]
    left_out: tuple[Entry, ...]
    refused: tuple[Entry, ...]
    without_human_goal: tuple[str, ...]

    @property
    def games(self) -> int:
        """How many tasks the split has, refused games among them."""
        return sum(count for _, count in self.types)

    @property
    def published(self) -> int | None:
        """How many games the published split has; None for a split of another name."""
        return PUBLISHED.get(self.split)

    @property
    def sound(self) -> bool:
        """Whether every game can be played and none of the published ones is missing."""
        return not self.refused and self.games == (self.published or self.games)


def check(data: Path) -> tuple[SplitReport, ...]:
    """Read every game under ``data`` (the folder that holds ``json_2.1.1``) anew, whatever is cached."""
    index = Index(data, cached=False)
    return tuple(_report(index, split) for split in index.splits())


def _report(index: Index, split: str) -> SplitReport:
    entries = index.entries(split)
    tasks = [entry for entry in entries if entry.standing != "left out"]
    counts = Counter(entry.type for entry in tasks)
    return SplitReport(
        split,
        types=tuple((kind, counts[kind]) for kind in TASK_TYPES if counts[kind]),
        left_out=tuple(entry for entry in entries if entry.standing == "left out"),
        refused=tuple(entry for entry in entries if entry.standing == "refused"),
        without_human_goal=tuple(
            f"{split}/{entry.trial}"
            for entry in tasks
            if not any(sentences_of(index.path(split, entry.trial).with_name(TRAJECTORY_FILE)))
        ),
    )
