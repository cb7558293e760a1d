"""The middle steps of a task, in words as PET writes them (section 3.1, figure 2): an action and an object each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from knowledge.examples import Example, Subgoal
from worlds.alfworld.text.goals import read_goal
from worlds.base import Observation, Trajectory, World
from worlds.household.goals import Goal


def subtasks(example: Example) -> tuple[str, ...]:
    """The sub-tasks of ``example``: those that its goal states, and where that is no published wording, what was done in it.

    Going places, searching and opening are left out.
    """
    goal = read_goal(example.goal)
    return tuple(_words(example.subgoals())) if goal is None else of_goal(goal)


def of_goal(goal: Goal) -> tuple[str, ...]:
    """The sub-tasks of a structured goal; two objects are one round after the other (section 4.5)."""
    thing = goal.object
    round: list[Subgoal] = [Subgoal("pick", thing)]
    if goal.treatment:
        round.append(Subgoal(goal.treatment, thing))
    if goal.receptacle:
        round.append(Subgoal("put", thing, goal.receptacle))
    if goal.lamp:
        round.append(Subgoal("use", goal.lamp))
    return tuple(_words(round * goal.count))


def tasks_of(world: World, split: str) -> tuple[Example, ...]:
    """The tasks of ``split`` as examples without a trajectory, each wording once. Raises ``TaskNotFound``."""
    first = {task.goal: task for task in reversed(world.tasks(split)) if read_goal(task.goal)}
    return tuple(
        Example(task.reference, task.type, Trajectory(goal, Observation(""), ())) for goal, task in reversed(first.items())
    )


def _words(subgoals: Iterable[Subgoal]) -> Iterator[str]:
    for subgoal in subgoals:
        match subgoal.action:
            case "pick":
                yield f"take {_article(subgoal.object or '')} {subgoal.object}"
            case "put":
                yield f"put the {subgoal.object} in or on the {subgoal.place}"
            case "use":
                yield f"turn on the {subgoal.object}"
            case "heat" | "cool" | "clean" | "slice" as action:
                yield f"{action} the {subgoal.object}"
            case "find" | "go" | "open" | "close":
                pass


def _article(name: str) -> str:
    return "an" if name[:1] in "aeiou" else "a"
