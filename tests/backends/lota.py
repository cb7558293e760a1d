"""A policy that answers in LoTa-Bench's format: from the instruction and the skills before alone, one skill a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from housequest.worlds.alfworld.text import read_goal
from housequest.worlds.household.goals import APPLIANCES, Goal
from tests.backends.prompts import said_by
from tests.backends.server import Messages

_ASKED = re.compile(r"^Human: (.+)$", re.MULTILINE)
_NUMBER = re.compile(r"(\n\n|^| )\d+\.$")
"""What ends a message that asks for the next skill."""

_FAILED = "(this skill failed:"


@dataclass(frozen=True)
class Lister:
    """Lists the skills that the goal takes. With ``hasty`` it first puts down what it does not hold yet, and once it is told
    that this failed, begins anew; told nothing, it goes on as if it had not.
    """

    hasty: bool = False

    def __call__(self, messages: Messages) -> str:
        return f"{self.skill(messages)},"

    def skill(self, messages: Messages) -> str:
        """The skill that comes next."""
        told = [text for text in said_by(messages, "user") if _NUMBER.search(text)]
        goal = read_goal(_ASKED.findall(told[0])[-1])
        assert goal is not None, "the policy reads template goals alone"
        skills = list(listed(goal))
        if self.hasty:
            failed = sum(text.startswith(_FAILED) for text in told)
            skills = [f"put down the {goal.object}", *skills[0 if failed else 2 :]]
        return [*skills, "done"][min(len(told) - 1, len(skills))]


def listed(goal: Goal) -> Iterator[str]:
    """The skills by which a goal is reached where nothing goes wrong."""
    for _ in range(goal.count):
        yield f"find {a(goal.object)}"
        yield f"pick up the {goal.object}"
        if goal.treatment:
            yield f"find {a(APPLIANCES[goal.treatment])}"
            yield f"{goal.treatment} the {goal.object}"
        if goal.lamp:
            yield f"find {a(goal.lamp)}"
            yield f"turn on the {goal.lamp}"
        else:
            yield f"find {a(goal.receptacle or '')}"
            yield f"put down the {goal.object}"


def a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
