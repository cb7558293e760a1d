"""In-context examples for planners: a task's sentence with its high-level plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.roles.subgoals import Subgoal
from knowledge.examples import Example
from knowledge.examples import Subgoal as Deed


@dataclass(frozen=True, slots=True)
class Shot:
    """A task's sentence and the high-level plan that solves it."""

    goal: str
    plan: tuple[Subgoal, ...]


def shot_of(example: Example) -> Shot:
    """The example as planners are shown it: the subgoals that led to the win, with kinds of things in place of names.

    A navigation stands before what is done somewhere and names what is gone for, as in LLM-Planner (figure 1).
    """
    return Shot(example.goal, tuple(_subgoal(deed) for deed in example.subgoals()))


def without_navigation(plan: Iterable[Subgoal]) -> tuple[Subgoal, ...]:
    """The plan as the Socratic Planner writes it, where going somewhere is the controller's."""
    return tuple(subgoal for subgoal in plan if subgoal.action != "navigate")


def _subgoal(deed: Deed) -> Subgoal:
    thing, place = deed.object or "", deed.place
    match deed.action:
        case "find" | "go":
            return Subgoal("navigate", place or thing)
        case "use":
            return Subgoal("toggle", thing)
        case "put":
            return Subgoal("put", thing, place)
        case "open" | "close" as action:
            return Subgoal(action, place or thing)
        case action:
            return Subgoal(action, thing)
