"""Policies that answer in the formats of LLM-Planner and of the Socratic Planner, told nothing but the prompt.

They know what each task type takes, and leave out what the prompt says is carried out already.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from housequest.worlds.alfworld.text import read_goal
from housequest.worlds.household.goals import APPLIANCES, Goal
from tests.backends import prompts
from tests.backends.server import Messages
from tests.backends.surfaces import surface

TASK = re.compile(r"^Task(?: description)?: (?P<goal>.+)$", re.MULTILINE)
PAIR = re.compile(r"(?P<action>\w+) (?P<object>\w+)")
TRIPLE = re.compile(r"\((?P<action>\w+), (?P<object>\w+)(?:, (?P<place>\w+))?\)")
_HELD = re.compile(r"holding (?:(?:clean|hot|cool|sliced) )*(?P<thing>\w+) \d+\.")
_PAIRS = {"pick": "PickupObject", "put": "PutObject", "toggle": "ToggleObject"}
_TREATMENTS = {"heat": "HeatObject", "cool": "CoolObject", "clean": "CleanObject"}
NAVIGATION = "Navigation"

Doing = tuple[str, ...]
"""An action with its object and, where something is put, the place."""


@dataclass(frozen=True)
class Planners:
    """Answers every prompt of both planners. With ``wrong_first_plan`` the first one picks up what nobody can."""

    wrong_first_plan: bool = False

    def reply(self, messages: Messages) -> str | None:
        """The reply; None where the prompt is neither planner's."""
        system = prompts.said_by(messages, "system")[0]
        asked = prompts.said_by(messages, "user")
        if system.startswith("You are the planner of a robot"):
            return self._pairs(asked)
        if system.startswith("You take household tasks apart"):
            return _questions(_goal(asked[0])) if "Things to discover" in system else _reasoning(_goal(asked[0]))
        if system.startswith("You stand beside a robot"):
            return advice(asked)
        if system.startswith("You plan household tasks for a robot"):
            return self._triples(asked)
        return None

    def _pairs(self, asked: list[str]) -> str:
        text = next(text for text in reversed(asked) if "Task description: " in text)
        goal = _goal(text)
        told = told_line(text, "Completed plan: ")
        completed = [(action, thing) for action, thing in PAIR.findall(told) if action != NAVIGATION]
        if self.wrong_first_plan and told in {"", "nothing yet"}:
            return f"Navigation {_seen(text)}, PickupObject {_seen(text)}"
        left = without([_pair(doing) for doing in doings(goal)], completed)
        held = told_line(text, "Holding: ")
        place = surface(held, told_line(text, "Visible objects: ").split(", ")) if held else ""
        away = [f"{NAVIGATION} {place}, PutObject {place}"] if held and held != goal.object else []
        return ", ".join([*away, *(f"{NAVIGATION} {_target(goal, action, thing)}, {action} {thing}" for action, thing in left)])

    def _triples(self, asked: list[str]) -> str:
        goal = _goal(asked[0])
        last = next(text for text in reversed(asked) if "could not be read" not in text)
        told = told_line(last, "Carried out so far: ")
        completed = [tuple(part for part in found if part) for found in TRIPLE.findall(told)]
        first = len([text for text in asked if "could not be read" not in text]) == 1
        if first and self.wrong_first_plan:
            return "Plan:\n1. (Pickup, sinkbasin)"
        left = without([(doing[0].capitalize(), *doing[1:]) for doing in doings(goal)], completed)
        held = _HELD.search(last)
        if held and held["thing"] != goal.object:
            place = surface(held["thing"], told_line(last, "Observed so far: ").split(", "))
            left = [("Put", held["thing"], place), *left]
        plan = "\n".join(f"{number}. ({', '.join(doing)})" for number, doing in enumerate(left, 1))
        return f"Plan:\n{plan}" if first else f"Change: what is left is done in order\nPlan:\n{plan}"


def doings(goal: Goal) -> list[Doing]:
    """What it takes, in order, as picking, treating, switching and putting."""
    treating: list[Doing] = [(goal.treatment, goal.object)] if goal.treatment else []
    if goal.lamp:
        return [("pickup", goal.object), ("toggle", goal.lamp)]
    return [("pickup", goal.object), *treating, ("put", goal.object, goal.receptacle or "")] * goal.count


def _goal(text: str) -> Goal:
    goal = read_goal(list(TASK.finditer(text))[-1]["goal"])
    assert goal is not None, "the planners read template goals alone"
    return goal


def told_line(text: str, label: str) -> str:
    """What stands behind the last ``label``, up to the end of its line."""
    _, found, rest = text.rpartition(label)
    return rest.partition("\n")[0] if found else ""


def _seen(text: str) -> str:
    """A kind of place that the prompt says was seen, and that nobody can carry."""
    return told_line(text, "Visible objects: ").split(", ")[0] or "sinkbasin"


def _pair(doing: Doing) -> Doing:
    action = {"pickup": "pick"}.get(doing[0], doing[0])
    return (_PAIRS.get(action) or _TREATMENTS[action], doing[-1])


def _target(goal: Goal, action: str, thing: str) -> str:
    appliance = {name: APPLIANCES[treatment] for treatment, name in _TREATMENTS.items() if treatment == goal.treatment}
    return appliance.get(action, thing)


def without(plan: list[Doing], completed: list[Doing]) -> list[Doing]:
    """The plan without what was completed, in its order."""
    left = list(plan)
    for doing in completed:
        if doing in left:
            left.remove(doing)
    return left


def _questions(goal: Goal) -> str:
    told = [f"Q{at}: What comes then?\nA{at}: {' '.join(doing)}." for at, doing in enumerate(doings(goal), 1)]
    return "\n".join(told)


def _reasoning(goal: Goal) -> str:
    return "\n".join(f"Then I {' '.join(doing)}." for doing in doings(goal))


def advice(asked: list[str]) -> str:
    last = next(text for text in reversed(asked) if "could not be read" not in text)
    if "Valid: yes or no" not in last:
        return "Cause: it stands firm, or is not where it was looked for."
    return f"Valid: {'no' if any(f'(Pickup, {place})' in last for place in APPLIANCES.values()) else 'yes'}"
