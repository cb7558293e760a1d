"""High-level plans in ALFRED's terms, written one step a line: ``PutObject apple fridge``.

A model's reply is untrusted: `read_plan` takes any text in linear time, `read_loosely` looks for a plan among other words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from housequest.worlds.errors import nearest, shown
from housequest.worlds.household.goals import Treatment

ActionName = Literal[
    "GotoLocation",
    "PickupObject",
    "PutObject",
    "SliceObject",
    "CleanObject",
    "HeatObject",
    "CoolObject",
    "ToggleObject",
]
"""ALFRED's high-level actions without ``NoOp``, which ends most annotated plans and does nothing."""

ARGUMENTS: dict[ActionName, int] = {**dict.fromkeys(get_args(ActionName), 1), "PutObject": 2}
"""How many names each action takes: the thing, and for ``PutObject`` the receptacle."""

TREATMENTS: dict[str, Treatment] = {"CleanObject": "clean", "HeatObject": "heat", "CoolObject": "cool"}
"""The actions that clean, heat and cool."""

NOTHING = "NoOp"

LONGEST_PLAN = 60
"""In steps; the longest annotated plan of ``train`` has 19."""

LONGEST_TEXT = 20_000
"""The longest reply that is read, in characters."""

_LONGEST_NAME = 40
_NAME = rf"[A-Za-z]{{1,{_LONGEST_NAME}}}"
_LINE = re.compile(rf"\s*(?:\d{{1,3}}\s?[.):]\s?)?({_NAME})((?:\s{{1,4}}{_NAME}){{0,4}})\s*", re.ASCII)
_WORD = re.compile(r"[A-Za-z]+|\n", re.ASCII)
_LITTLE = frozenset(
    {"a", "an", "and", "from", "in", "into", "it", "on", "onto", "some", "the", "them", "then", "to", "up", "with"}
)
"""Function words: they mark prose, and name nothing."""

_FULL: dict[str, ActionName] = {action.casefold(): action for action in ARGUMENTS}
_ACTIONS: dict[str, ActionName] = {
    **_FULL,
    **{name.removesuffix("object"): action for name, action in _FULL.items()},
    "goto": "GotoLocation",
    "navigation": "GotoLocation",
}
"""By full and by short name (``put``)."""


class PlanError(ValueError):
    """A text is not a plan; the message says why."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan. Names are kinds in lower case, without a number (``sinkbasin``).

    ``thing`` of a ``GotoLocation`` is a receptacle or an object; only ``PutObject`` has a ``receptacle``.
    """

    action: ActionName
    thing: str
    receptacle: str | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.action, self.thing, self.receptacle)))


Plan = tuple[PlanStep, ...]


def plan_text(plan: Plan) -> str:
    """The plan as text, one subgoal a line; `read_plan` gives it back."""
    return "\n".join(map(str, plan))


def read_plan(text: str) -> Plan:
    """Read a plan, one step a line, numbered or not. Raises ``PlanError`` naming the first bad line."""
    plan: list[PlanStep] = []
    for line in _bounded(text).splitlines():
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise PlanError(f"{shown(line)} is no subgoal; write one a line, as in 'PutObject apple fridge'.")
        action, names = cast("str", match[1]), cast("str", match[2]).split()
        if action != NOTHING:
            plan.append(plan_step(action, names))
    return _checked(plan)


def read_loosely(text: str) -> Plan:
    """Read the plan among the words of ``text``, ignoring punctuation, numbers and prose; short action names are accepted.

    Raises ``PlanError`` if no step is found, or too many.
    """
    words: list[str] = [word.casefold() for word in _WORD.findall(_bounded(text))]
    no_name = {*_ACTIONS, *_LITTLE, "\n"}
    plan: list[PlanStep] = []
    for place, word in enumerate(words, start=1):
        action = _ACTIONS.get(word)
        if action is None:
            continue
        names = words[place : place + ARGUMENTS[action]]
        if len(names) == ARGUMENTS[action] and all(len(name) <= _LONGEST_NAME for name in names) and no_name.isdisjoint(names):
            plan.append(PlanStep(action, *names))
    return _checked(plan)


def plan_step(action: str, names: list[str]) -> PlanStep:
    """Make a step. Raises ``PlanError`` for an unknown action or a wrong number of names."""
    known = _FULL.get(action.casefold())
    if known is None:
        raise PlanError(
            f"There is no action {shown(action)}; known: {', '.join(ARGUMENTS)}.{nearest(action, tuple(ARGUMENTS))}"
        )
    if len(names) != ARGUMENTS[known]:
        raise PlanError(f"{known} takes {ARGUMENTS[known]} name(s), and {shown(' '.join(names))} has {len(names)}.")
    return PlanStep(known, *(name.casefold() for name in names))


def _bounded(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise PlanError(f"{len(text):,} characters are no plan; at most {LONGEST_TEXT:,} are read.")
    return text


def _checked(plan: list[PlanStep]) -> Plan:
    if not plan:
        raise PlanError("There is no subgoal in it.")
    if len(plan) > LONGEST_PLAN:
        raise PlanError(f"A plan of {len(plan):,} subgoals does not end; at most {LONGEST_PLAN} are read.")
    return tuple(plan)
