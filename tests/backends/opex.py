"""A policy that answers in OPEx's format: each role from its own messages, and nothing that was not told to it.

The planner reads the goal; the executor reads the objective, the observation and how its last skill went, and never the goal.
"""

from __future__ import annotations

import re

from housequest.worlds.alfworld.text import read_goal
from housequest.worlds.household.goals import APPLIANCES
from tests.backends import prompts
from tests.backends.server import Messages
from tests.backends.surfaces import surface

_TASK = re.compile(r"^Task: (?P<goal>.+)$|for the task: (?P<again>.+)$", re.MULTILINE)
_FIELD = re.compile(
    r"^(?P<name>Observation|Found so far|Holding|Last action|Current objective|Objective): (?P<value>.*)$", re.MULTILINE
)
_HOLDS = re.compile(r"It holds (?:(?:clean|hot|cool|sliced) )*(?P<thing>\w+) \d+\.")
_EXPLORE = "Explore the room to have a general idea of it."
_FIND = re.compile(r"Find an? (?P<thing>\w+)\.")
_TAKE = re.compile(r"Pick up the (?P<thing>\w+)\.")
_TREAT = re.compile(r"(?P<verb>Heat|Cool|Clean) the (?P<thing>\w+)\.")
_PUT = re.compile(r"Put the (?P<thing>\w+) in the (?P<place>\w+)\.")
_USE = re.compile(r"Turn on the (?P<thing>\w+)\.")
_SLICE = re.compile(r"Slice the (?P<thing>\w+)\.")


def opex(messages: Messages, *, wrong_first_plan: bool = False) -> str | None:
    """The reply, where the system message is one of OPEx's roles."""
    system = prompts.said_by(messages, "system")[0]
    if system.startswith("You plan for a robot"):
        return _plan(messages, wrong=wrong_first_plan and len(prompts.said_by(messages, "user")) == 1)
    if system.startswith("You help a robot"):
        return _describe(_fields(messages))
    return _order(messages) if system.startswith("You control a robot") else None


def _plan(messages: Messages, *, wrong: bool) -> str:
    first = _TASK.findall(prompts.said_by(messages, "user")[0])[-1][0]
    goal = read_goal(first)
    assert goal is not None, first
    thing = goal.object
    fetch = [f"Find a {thing}.", f"Pick up the {thing}."]
    if goal.lamp:
        steps = [*fetch, f"Find a {goal.lamp}.", f"Turn on the {goal.lamp}."]
    else:
        treat = [f"{goal.treatment.capitalize()} the {thing}."] if goal.treatment else []
        steps = [*fetch, *treat, f"Put the {thing} in the {goal.receptacle}."] * goal.count
    held = len(prompts.said_by(messages, "user")) > 1 and f"It holds {thing}" in prompts.said_by(messages, "user")[-1]
    if held:
        steps = steps[2:]
    elif other := _HOLDS.search(prompts.said_by(messages, "user")[-1]):
        steps = [f"Put the {other['thing']} in the {surface(other['thing'], _places(messages))}.", *steps]
    if wrong:
        elsewhere = APPLIANCES["clean"] if goal.receptacle != APPLIANCES["clean"] else APPLIANCES["cool"]
        steps = [*fetch, f"Heat the {thing} with the {elsewhere}."]
    if "explore the room" in prompts.said_by(messages, "system")[0] and len(prompts.said_by(messages, "user")) == 1:
        steps = [_EXPLORE, *steps]
    listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps))
    return f"Task type: {goal.type.replace('_', ' ')}\nThought: this is what it takes.\nPlan:\n{listed}\n<END_OF_PLAN>"


def _places(messages: Messages) -> list[str]:
    """The kinds of place that the room has."""
    return prompts.said_by(messages, "user")[0].rpartition("It has: ")[2].split("\n")[0].split(", ")


def _describe(fields: dict[str, str]) -> str:
    return f"Observation: You hold {fields['Holding']}. Your last action: {fields['Last action']}."


def _order(messages: Messages) -> str:
    fields = _fields(messages)
    objective, last = fields["Current objective"], fields["Last action"]
    begun = len(prompts.said_by(messages, "assistant")) > 0
    if begun and last.startswith("it failed"):
        return "Thought: this cannot be done\nAction: Play[RequireReplan, None]"
    if begun:
        return "Thought: the objective is reached\nAction: Finish[yes]"
    return f"Thought: on to it\nAction: {_skill(objective)}"


def _skill(objective: str) -> str:
    if objective == _EXPLORE:
        return "Play[Explore, None]"
    if found := _FIND.fullmatch(objective):
        return f"Play[NavigateTo, {found['thing']}]"
    if found := _TAKE.fullmatch(objective):
        return f"Play[Pick, {found['thing']}]"
    if found := _TREAT.fullmatch(objective):
        return f"Play[{found['verb']}, {found['thing']}]"
    if found := _PUT.fullmatch(objective):
        return f"Play[Put, {found['place']}]"
    if found := _USE.fullmatch(objective):
        return f"Play[Use, {found['thing']}]"
    if found := _SLICE.fullmatch(objective):
        return f"Play[Slice, {found['thing']}]"
    return "Play[RequireReplan, None]"


def _fields(messages: Messages) -> dict[str, str]:
    """What the messages said last of each field: what has not changed is not said again."""
    told = "\n".join(prompts.said_by(messages, "user"))
    return {match["name"]: match["value"] for match in _FIELD.finditer(told)}
