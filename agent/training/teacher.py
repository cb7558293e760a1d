"""What the built-in model learns to say: the expert's decisions, as plans and as thoughts with commands.

The expert plays from belief alone, so it has an answer wherever a game has got to, whoever led it there. A plan is a goal with
what was said of the house; the command follows from plan and belief.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from worlds.alfworld.expert import HouseholdExpert, HouseholdExpertMemory
from worlds.household.belief import Belief, Item
from worlds.household.goals import APPLIANCES, Goal

STUCK = "stuck"
_SOUGHT = re.compile(r"(?P<sought>.+) is likeliest found at the (?P<place>.+); look there")


@dataclass(frozen=True, slots=True)
class SearchOrder:
    """Receptacles, by name or kind, to be searched ``first`` and ``last``.

    ``lamp``: it is said of the lamp, not of the object.
    """

    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    lamp: bool = False

    def __bool__(self) -> bool:
        return bool(self.first or self.last)


def plan_of(goal: Goal, told: SearchOrder) -> tuple[str, ...]:
    """The plan for ``goal``, in two to four steps."""
    first = f", first in the {' or the '.join(told.first)}" if told.first else ""
    last = f", last in the {' or the '.join(told.last)}" if told.last else ""
    where = first + last
    find = f"find and take {_a(goal.object)}{'' if told.lamp else where}"
    if goal.lamp:
        return (find, f"find a {goal.lamp}{where if told.lamp else ''} and use it")
    if goal.count > 1:
        put = f"put it in the {goal.receptacle}"
        return (find, put, f"find and take another {goal.object}", f"{put} too")
    treat = (f"{goal.treatment} it with the {APPLIANCES[goal.treatment]}",) if goal.treatment else ()
    return (find, *treat, f"put it in the {goal.receptacle}")


def planned(goal: Goal, told: SearchOrder) -> str:
    """The reasoner's reply."""
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan_of(goal, told), 1))
    return f"Thought: {goal}\nPlan:\n{steps}"


class Teacher:
    """Says what the actor should reply, wherever a game stands."""

    def __init__(self, expert: HouseholdExpert) -> None:
        self._expert = expert

    def room(self, belief: Belief) -> str:
        """The kind of room, which never changes in a game."""
        counts = self._expert.counts
        return counts.room_of(one.kind for one in belief.receptacles) if counts else ""

    def command(self, goal: Goal, told: SearchOrder, belief: Belief, room: str, tried: Collection[str] = ()) -> tuple[str, str]:
        """The command that comes next, or ``stuck``, and the thought behind it."""
        memory = HouseholdExpertMemory(goal, False, room, belief, frozenset(tried), "", told.first, told.last)
        command, thought, _ = self._expert.decide(memory)
        if command is None:
            command, thought = STUCK, "all steps are done, but the task is not over"
        elif command == "look" and thought.startswith("every place"):
            command, thought = STUCK, "every place was searched in vain"
        if command in tried:
            command, thought = self._else(belief, tried), "that led nowhere; try something else"
        elif found := _SOUGHT.fullmatch(thought):
            thought = f"look for {found['sought']} in the {found['place']}"
        return command, thought

    def reply(self, goal: Goal, told: SearchOrder, belief: Belief, room: str, tried: Collection[str] = ()) -> str:
        """The actor's reply."""
        command, thought = self.command(goal, told, belief, room, tried)
        return f"Thought: {thought}\nStep: {step_of(goal, belief) + 1}\nAction: {command}"

    @staticmethod
    def _else(belief: Belief, tried: Collection[str]) -> str:
        moves = (f"go to {one.name}" for one in belief.receptacles if not belief.is_here(one.name))
        return next((move for move in ("look", *moves) if move not in tried), "inventory")


def step_of(goal: Goal, belief: Belief) -> int:
    """The step of the plan that is worked on, from 0."""
    held = belief.item(belief.held)
    holding = held is not None and held.kind == goal.object
    if goal.count > 1:
        settled = max(
            (_settled(goal, belief, one.name) for one in belief.receptacles if one.kind == goal.receptacle), default=0
        )
        return 2 * (settled > 0) + holding
    if held is None or not holding or goal.treatment is None:
        return int(holding)
    return 1 + _treated(goal, held)


def _treated(goal: Goal, held: Item) -> bool:
    if goal.treatment == "clean":
        return bool(held.clean)
    return held.heat == ("hot" if goal.treatment == "heat" else "cool")


def _settled(goal: Goal, belief: Belief, name: str) -> int:
    one = belief.receptacle(name)
    return sum(thing.rpartition(" ")[0] == goal.object for thing in belief.inside(one)) if one else 0


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
