"""The world's texts as a `worlds.household.base.Household`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from worlds.errors import KnowledgeError, shown
from worlds.graphs import reader
from worlds.graphs.houses import FAMILIES, VOCABULARY, written_counts
from worlds.graphs.sentences import Wanted, read_sentence
from worlds.household.base import Household
from worlds.household.commands import CommandForm, Commands
from worlds.household.counts import Counts
from worlds.household.goals import Goal, Topic


class _GraphHousehold:
    task_types: tuple[str, ...] = tuple(FAMILIES)
    commands = Commands(
        go="walk to {place}",
        take="grab {thing}",
        puts=("put {thing} in {place}", "put {thing} on {place}"),
        use="switch on {thing}",
        forms=(
            CommandForm("walk to {thing}"),
            CommandForm("open {receptacle}"),
            CommandForm("close {receptacle}"),
            CommandForm("grab {object}"),
            CommandForm("put {object} in {receptacle}"),
            CommandForm("put {object} on {receptacle}"),
            CommandForm("switch on {thing}", ("put_dishwasher",)),
            CommandForm("switch off {thing}"),
            CommandForm("examine {thing}"),
        ),
        checks=(
            "open {receptacle}; when no hand is free; then refused",
            "switch on {thing}; when {thing} is a dishwasher and {thing} is closed; then {thing} is lit",
        ),
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
    def topic(sentence: str, receptacles: Sequence[str] | None = None, /) -> Topic | None:
        wanted = read_sentence(sentence, VOCABULARY.union(receptacles or ()))
        return None if wanted is None else Topic(_family(wanted), frozenset({*wanted.things, wanted.place}))

    @staticmethod
    def counts(path: Path | None = None, /) -> Counts:
        if path is not None:
            raise KnowledgeError(f"{shown(str(path))}: the habits of household graphs are written, and no table replaces them.")
        return written_counts()


def _family(wanted: Wanted) -> str | None:
    """The family of tasks in which these things are wanted at this place; None if none or several are."""
    at = [name for name, one in FAMILIES.items() if one.place == wanted.place and wanted.things.keys() <= set(one.things)]
    return at[0] if len(at) == 1 else None


HOUSEHOLD: Household = _GraphHousehold()
