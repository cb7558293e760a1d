"""What an expert replies as LLM-Planner: the subgoals that are left."""

from __future__ import annotations

from housequest.agent.agents.llm_planner.agent import PACKAGE, prompted_plan
from housequest.agent.models.base import Request
from housequest.agent.roles.base import load_prompt
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, with_ways
from housequest.agent.roles.subgoals import as_subgoal


def _planner(knows: Demonstrator, request: Request) -> Reply:
    lines = load_prompt(PACKAGE, "llm_planner").render("lines") in request.messages[0].content
    plan = tuple(map(as_subgoal, with_ways(knows.left())))
    return Reply(prompted_plan(plan, "lines" if lines else "pairs").strip())


ROLES = (DemonstratedRole(PACKAGE, "llm_planner", _planner),)
