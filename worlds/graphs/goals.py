"""What tasks ask for: counts of things on or in something, and what is switched on; counted as LoTa-Bench does.

All is measured at one instance of what the first condition names, such as one of two kitchen tables: the one at which the
conditions are met best, by the mean of ``min(n, wanted) / wanted``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import Literal

from housequest.worlds.graphs.graph import Graph

How = Literal["on", "inside", "turnOn"]
"""VirtualHome's words for what is wanted."""


@dataclass(frozen=True, slots=True)
class Condition:
    """``count`` things of class ``kind`` are on or inside of something of class ``where``, or ``kind`` is switched on."""

    how: How
    kind: str
    where: str | None = None
    count: int = 1

    @property
    def at(self) -> str:
        """The class of the thing at which this is measured."""
        return self.where or self.kind


@dataclass(frozen=True, slots=True)
class GraphGoal:
    """All conditions of a task, in the order of its file; at least one."""

    conditions: tuple[Condition, ...]

    @property
    def at(self) -> Condition:
        """The condition that says where all is measured."""
        return self.conditions[0]

    @property
    def total(self) -> int:
        """How many things are wanted in all."""
        return sum(one.count for one in self.conditions)


def met(goal: GraphGoal, graph: Graph) -> tuple[int, int]:
    """How much of a goal is met, and how much there is: sums of ``min(n, wanted)`` and of ``wanted``.

    Of places that are as good by the mean the one counts at which more is met, so that no ids decide.
    """
    whole = lcm(*(one.count for one in goal.conditions))
    there = (_met_at(goal, graph, id) for id in graph.apartment.classes.get(goal.at.at, ()))
    # The mean in whole numbers: rounding would decide between equal ones.
    means = ((sum(n * (whole // one.count) for n, one in zip(at, goal.conditions, strict=True)), sum(at)) for at in there)
    return max(means, default=(0, 0))[1], goal.total


def _met_at(goal: GraphGoal, graph: Graph, id: int) -> tuple[int, ...]:
    """How much of each condition is met, up to what is wanted, where the first is measured at ``id``."""
    return tuple(min(one.count, _count(one, graph, id if one.at == goal.at.at else None)) for one in goal.conditions)


def _count(condition: Condition, graph: Graph, id: int | None) -> int:
    if id is None:
        return max((_count(condition, graph, other) for other in graph.apartment.classes.get(condition.at, ())), default=0)
    if condition.how == "turnOn":
        return int("ON" in graph.state(id))
    inside = graph.children(id, "ON" if condition.how == "on" else "INSIDE")
    return sum(graph.node(one).kind == condition.kind for one in inside)
