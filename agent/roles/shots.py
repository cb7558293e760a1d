"""In-context examples for planners: a task's sentence with its high-level plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agent.roles.subgoals import Subgoal


@dataclass(frozen=True, slots=True)
class Shot:
    """A task's sentence and the high-level plan that solves it."""

    goal: str
    plan: tuple[Subgoal, ...]


Shots = Callable[[str], tuple[Shot, ...]]
"""From the sentence of the task at hand to the examples for its prompt, in the order in which they are shown."""


def no_shots(_goal: str) -> tuple[Shot, ...]:
    """Zero-shot: no examples, whatever the task."""
    return ()


def without_navigation(plan: Iterable[Subgoal]) -> tuple[Subgoal, ...]:
    """The plan as the Socratic Planner writes it, where going somewhere is the controller's."""
    return tuple(subgoal for subgoal in plan if subgoal.action != "navigate")
