"""The world's texts as a `worlds.household.base.Household`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from worlds.errors import KnowledgeError, shown
from worlds.graphs import reader
from worlds.graphs.houses import FAMILIES, written_counts
from worlds.household.base import Household
from worlds.household.commands import Commands
from worlds.household.counts import Counts
from worlds.household.goals import Goal


class _GraphHousehold:
    task_types: tuple[str, ...] = tuple(FAMILIES)
    commands = Commands(
        go="walk to {place}",
        take="grab {thing}",
        puts=("put {thing} in {place}", "put {thing} on {place}"),
        use="switch on {thing}",
    )
    begin = staticmethod(reader.begin)
    update = staticmethod(reader.update)
    refused = staticmethod(reader.refused)

    @staticmethod
    def canonical(command: str, /) -> str:
        return command

    @staticmethod
    def read_goal(sentence: str, /) -> Goal | None:
        """None: the goals of this world are of several things, which no `Goal` can say."""
        del sentence
        return None

    @staticmethod
    def guess_goal(sentence: str, /, *, objects: Sequence[str], receptacles: Sequence[str]) -> Goal | None:
        del sentence, objects, receptacles
        return None

    @staticmethod
    def counts(path: Path | None = None, /) -> Counts:
        if path is not None:
            raise KnowledgeError(f"{shown(str(path))}: the habits of household graphs are written, and no table replaces them.")
        return written_counts()


HOUSEHOLD: Household = _GraphHousehold()
