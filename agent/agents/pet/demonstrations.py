"""What an expert replies as PET's modules: the sub-tasks, whether one is finished, and what matters for it."""

from __future__ import annotations

from housequest.agent.agents.pet.roles import PACKAGE
from housequest.agent.models.base import Request
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, asked, told
from housequest.knowledge.examples import subtask_words, subtasks_of_goal


def _subtasks(knows: Demonstrator, request: Request) -> Reply:
    del request
    return Reply(", ".join(subtasks_of_goal(knows.goal)))


def _tracker(knows: Demonstrator, request: Request) -> Reply:
    """A part is finished where no more is left of the goal than what comes after it."""
    work = told(asked(request), "The work: ")
    parts, rest = subtasks_of_goal(knows.goal), len(knows.left())
    return Reply("Yes" if any(part == work and rest == len(parts) - at for at, part in enumerate(parts, 1)) else "No")


def _eliminator(knows: Demonstrator, request: Request) -> Reply:
    """What matters for the sub-task, or for the task: a number for each name, or a word for one."""
    target, (question, *names) = told(asked(request), "What is to be done: "), asked(request).partition("\n\n")[2].splitlines()
    whole = knows.goal.steps()
    parts = tuple(one for one in whole if subtask_words(one) == target) or whole
    verdicts = {name: knows.matters(name, parts, place="going there" in question) for name in names}
    if question.startswith("How likely"):
        return Reply("\n".join(f"{name}: {int(matters)}" for name, matters in verdicts.items()))
    return Reply("Yes" if any(verdicts.values()) else "No")


ROLES = (
    DemonstratedRole(PACKAGE, "subtasks", _subtasks),
    DemonstratedRole(PACKAGE, "tracker", _tracker),
    DemonstratedRole(PACKAGE, "eliminator", _eliminator),
)
