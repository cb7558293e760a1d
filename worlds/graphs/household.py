"""The world's texts as a `housequest.worlds.household.base.Household`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from housequest.worlds.errors import KnowledgeError, shown
from housequest.worlds.graphs import reader
from housequest.worlds.graphs.graph import Classes
from housequest.worlds.graphs.houses import FAMILIES, VOCABULARY, counts_of, written_counts
from housequest.worlds.graphs.sentences import Wanted, modern, read_sentence
from housequest.worlds.household.base import CommandForm, Commands, Household, Terms
from housequest.worlds.household.counts import Counts
from housequest.worlds.household.goals import Goal, GoalStep, Topic


class GraphHousehold:
    """Reads the world's texts. ``classes`` are those of the user's apartments, each with its properties; without them, and so
    what planners can name, they are those of made-up ones."""

    def __init__(self, classes: Callable[[], Classes] | None = None) -> None:
        self._classes = classes

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
        reach="walk to {thing}",
    )
    terms = Terms(
        hands=reader.HANDS,
        explains=True,
        kinds={
            "setup_table": "set the table: put dishes on it",
            "put_dishwasher": "put dishes in the dishwasher and switch it on",
            "put_fridge": "put food in the fridge",
            "prepare_food": "prepare a meal: put food on the table",
            "prepare_snack": "prepare a snack: put something to eat and to drink on a table",
        },
        ways=(
            "Opening, closing and switching take a free hand.",
            "A machine with a door is filled while it is open, and switched on once it is closed.",
            "There are several rooms, and what is in a room is seen once one is there.",
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

    def steps(self, sentence: str, /) -> tuple[GoalStep, ...] | None:
        wanted = read_sentence(sentence, self.vocabulary)
        if wanted is None:
            return None
        brought = (
            step
            for thing, count in wanted.things.items()
            for step in (GoalStep("pick", thing), GoalStep("put", thing, wanted.place)) * count
        )
        return (*brought, *((GoalStep("use", wanted.place),) if wanted.switched else ()))

    def topic(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> Topic | None:
        wanted = read_sentence(sentence, self.vocabulary.union(receptacles or ()))
        return None if wanted is None else Topic(_family(wanted), frozenset({*wanted.things, wanted.place}))

    def counts(self, path: Path | None = None, /) -> Counts:
        if path is not None:
            raise KnowledgeError(f"{shown(str(path))}: the habits of household graphs are written, and no table replaces them.")
        if self._counts is None:
            self._counts = written_counts() if self._classes is None else counts_of(self._classes())
        return self._counts

    @property
    def vocabulary(self) -> frozenset[str]:
        """The classes that sentences can be about."""
        return VOCABULARY if self._classes is None else frozenset(self.counts().objects())

    _counts: Counts | None = None


def _family(wanted: Wanted) -> str | None:
    """The family of tasks in which these things are wanted at this place; None if none or several are."""
    things, place = set(map(modern, wanted.things)), modern(wanted.place)
    at = [name for name, one in FAMILIES.items() if one.place == place and things <= set(one.things)]
    return at[0] if len(at) == 1 else None


HOUSEHOLD: Household = GraphHousehold()
