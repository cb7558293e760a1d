"""ALFWorld's texts as a `housequest.worlds.household.base.Household`: read into its values, and refusals explained."""

from __future__ import annotations

from collections.abc import Sequence

from housequest.worlds.alfworld.data.counts import load_counts
from housequest.worlds.alfworld.text import goals, reader
from housequest.worlds.household.base import Household, Terms
from housequest.worlds.household.commands import CommandForm, Commands
from housequest.worlds.household.goals import APPLIANCES, TASK_TYPES, TYPES, GoalStep, Topic

COMMANDS = Commands(
    go="go to {place}",
    take="take {thing} from {place}",
    puts=("move {thing} to {place}",),
    use="use {thing}",
    treat="{verb} {thing} with {place}",
    forms=(
        CommandForm("go to {receptacle}"),
        CommandForm("open {receptacle}"),
        CommandForm("close {receptacle}"),
        CommandForm("take {object} from {receptacle}"),
        CommandForm("move {object} to {receptacle}"),
        CommandForm("examine {thing}"),
        CommandForm("use {object}", (TYPES["light"],)),
        CommandForm("heat {object} with {receptacle}", (TYPES["heat"],)),
        CommandForm("cool {object} with {receptacle}", (TYPES["cool"],)),
        CommandForm("clean {object} with {receptacle}", (TYPES["clean"],)),
        CommandForm("slice {object} with {tool}"),
    ),
    checks=(
        "take {object} from {receptacle}; when holding something; then refused",
        "heat {object} with {receptacle}; when holding {object} and {receptacle} is a microwave; then {object} is hot",
    ),
)
"""The commands of the games."""


class _AlfworldHousehold:
    task_types: tuple[str, ...] = TASK_TYPES
    commands = COMMANDS
    terms = Terms()
    begin = staticmethod(reader.begin)
    update = staticmethod(reader.update)
    refused = staticmethod(reader.refused)
    canonical = staticmethod(reader.canonical)
    read_goal = staticmethod(goals.read_goal)
    guess_goal = staticmethod(goals.guess_goal)
    counts = staticmethod(load_counts)

    @staticmethod
    def steps(sentence: str, /) -> tuple[GoalStep, ...] | None:
        goal = goals.read_goal(sentence)
        return None if goal is None else goal.steps()

    @staticmethod
    def topic(sentence: str, receptacles: Sequence[str] | None = None, /) -> Topic | None:
        goal = goals.read_goal(sentence)
        if goal is None and receptacles is not None:
            goal = goals.guess_goal(sentence, objects=load_counts().objects(), receptacles=receptacles)
        if goal is None:
            return None
        named = frozenset(name.lower() for name in (goal.object, goal.receptacle, goal.lamp) if name)
        return Topic(goal.type, named, frozenset({APPLIANCES[goal.treatment]} if goal.treatment else ()))


HOUSEHOLD: Household = _AlfworldHousehold()
