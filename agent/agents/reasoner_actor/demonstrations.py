"""What an expert replies as reasoner and actor: a plan, and the command that grounds it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from housequest.agent.agents.reasoner_actor.agent import PACKAGE
from housequest.agent.models.base import Request
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Lesson, Reply, asked_before, shown_part
from housequest.knowledge.examples import subtasks_of_goal
from housequest.worlds.household.goals import APPLIANCES, Goal

_KEPT = "Thought: The plan is right\nPlan: keep"


@dataclass(frozen=True, slots=True)
class SearchOrder:
    """Receptacles, by name or kind, to be searched ``first`` and ``last``: for the lamp with ``lamp``, else for the object."""

    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    lamp: bool = False

    def __bool__(self) -> bool:
        return bool(self.first or self.last)


ANYWHERE = SearchOrder()
"""No order: the searcher looks where it would."""


def plan_of(goal: Goal, order: SearchOrder = ANYWHERE) -> tuple[str, ...]:
    """The plan for ``goal``, in two to four steps."""
    first = f", first in the {' or the '.join(order.first)}" if order.first else ""
    last = f", last in the {' or the '.join(order.last)}" if order.last else ""
    where = first + last
    a = "an" if goal.object[0] in "aeiou" else "a"
    find = f"find and take {a} {goal.object}{'' if order.lamp else where}"
    if goal.lamp:
        return (find, f"find a {goal.lamp}{where if order.lamp else ''} and use it")
    if goal.count > 1:
        put = f"put it in the {goal.receptacle}"
        return (find, put, f"find and take another {goal.object}", f"{put} too")
    treat = (f"{goal.treatment} it with the {APPLIANCES[goal.treatment]}",) if goal.treatment else ()
    return (find, *treat, f"put it in the {goal.receptacle}")


def planned(goal: Goal, order: SearchOrder = ANYWHERE) -> str:
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan_of(goal, order), 1))
    return f"Thought: {goal}\nPlan:\n{steps}"


def acted(lesson: Lesson) -> str:
    return f"Thought: {lesson.thought}\nStep: {lesson.step}\nAction: {lesson.command}"


def _reasoner(knows: Demonstrator, request: Request) -> Reply:
    if asked_before(request):
        return Reply(_KEPT)
    part = shown_part(knows, request)
    if part is None:
        return Reply(planned(knows.goal))
    step = plan_of(knows.goal)[subtasks_of_goal(knows.goal).index(part)]
    return Reply(f"Thought: {part}\nPlan:\n1. {step}")


def _actor(knows: Demonstrator, request: Request) -> Reply:
    part = shown_part(knows, request)
    lesson, learned = knows.lesson(request, part)
    return Reply(acted(replace(lesson, step=1) if part else lesson), learned)


ROLES = (DemonstratedRole(PACKAGE, "reasoner", _reasoner), DemonstratedRole(PACKAGE, "actor", _actor))
