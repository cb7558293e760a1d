"""What an expert replies as OPEx's planner, observer and executor."""

from __future__ import annotations

import re

from housequest.agent.agents.opex.agent import PACKAGE, SURVEY, objective, planned, planned_steps
from housequest.agent.agents.opex.roles import kinds_in
from housequest.agent.models.base import Request
from housequest.agent.roles.base import load_prompt
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, asked, asked_before, told, with_ways
from housequest.agent.skills.skill import Skill, as_skill

LOOKS = 2
"""How often the expert looks into the room for a general idea of it."""


def _planner(knows: Demonstrator, request: Request) -> Reply:
    survey = str(load_prompt(PACKAGE, "opex_planner").sections["survey"]).strip()
    surveys = not asked_before(request) and bool(survey) and survey in request.messages[0].content
    answer = planned(kinds_in(knows.world)[knows.goal.type], planned_steps(_left(knows), survey=surveys))
    return Reply(f"Task type: {answer['kind']}\nThought: {answer['thought']}\nPlan:\n{answer['plan']}")


def _observer(knows: Demonstrator, request: Request) -> Reply:
    """Where the robot is, what it holds, where the things are that the objective names, and how it went."""
    del knows
    question = asked(request)
    room, here, held, note = (
        told(question, label) for label in ("Room type: ", "In front of the robot: ", "Holding: ", "Last action: ")
    )
    aim = told(question, "Objective: ")
    wanted = set(re.findall(r"[a-z]+", aim))
    found = [each.rstrip(")") for each in told(question, "Found so far: ").split("), ") if wanted.intersection(each.split())]
    at = here if aim == objective(SURVEY) else here.partition(":")[0]
    known = f" {', '.join(f'{each})' for each in found)}." if found else ""
    return Reply(f"Observation: The robot is in a {room} at {at}, holding {held}.{known} Its last action: {note}.")


def _executor(knows: Demonstrator, request: Request) -> Reply:
    """The skill that the objective names, until it is done; the plan is made again where it fails."""
    aim, note = (told(asked(request), label) for label in ("Current objective: ", "Last action: "))
    failed = note.startswith("it failed")
    before = [message.content for message in request.messages if message.role == "assistant"]
    whole = map(as_skill, with_ways(knows.goal.steps()))
    steps = {objective(step): skill for step, skill in planned_steps(whole, survey=False)}
    if aim == objective(SURVEY):
        skill = Skill("explore") if len(before) < LOOKS and not failed else None
    elif aim in steps:
        if before and failed:
            return Reply(f"Thought: {note}\nAction: Play[RequireReplan, None]")
        skill = None if before else steps[aim]
    else:
        # The whole task is the objective. What was found or reached is not looked for again.
        skill = next((skill for skill in _left(knows) if not before or _called(skill) != before[-1]), None)
    return Reply(_called(skill) if skill else "Thought: This objective is reached\nAction: Finish[yes]")


def _called(skill: Skill) -> str:
    """The executor's call of a skill."""
    target = skill.receptacle if skill.verb in {"put", "go"} else skill.object
    name = {"find": "NavigateTo", "go": "NavigateTo"}.get(skill.verb, skill.verb.capitalize())
    return f"Thought: For this I {skill.text}\nAction: Play[{name}, {target}]"


def _left(knows: Demonstrator) -> list[Skill]:
    """The skills that are left."""
    return [as_skill(one) for one in with_ways(knows.left())]


ROLES = (
    DemonstratedRole(PACKAGE, "opex_planner", _planner),
    DemonstratedRole(PACKAGE, "opex_observer", _observer),
    DemonstratedRole(PACKAGE, "opex_executor", _executor),
)
