"""ALFWorld's texts as a `worlds.household.base.Household`: read into its values, and refusals explained."""

from worlds.alfworld.data.counts import load_counts
from worlds.alfworld.text import goals, reader
from worlds.household.base import Household
from worlds.household.commands import Commands
from worlds.household.goals import TASK_TYPES


class _AlfworldHousehold:
    task_types: tuple[str, ...] = TASK_TYPES
    commands = Commands()
    begin = staticmethod(reader.begin)
    update = staticmethod(reader.update)
    refused = staticmethod(reader.refused)
    canonical = staticmethod(reader.canonical)
    read_goal = staticmethod(goals.read_goal)
    guess_goal = staticmethod(goals.guess_goal)
    counts = staticmethod(load_counts)


HOUSEHOLD: Household = _AlfworldHousehold()
