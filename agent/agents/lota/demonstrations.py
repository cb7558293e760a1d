"""What an expert replies as the selector of LoTa-Bench's planner: the skill that comes next."""

from __future__ import annotations

from collections.abc import Iterable

from housequest.agent.agents.lota.carrying import listed_skill
from housequest.agent.agents.lota.selector import DONE, said
from housequest.agent.models.base import Request
from housequest.agent.roles.base import load_prompt
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, with_ways
from housequest.agent.skills.skill import as_skill
from housequest.worlds.household.goals import GoalStep

_PACKAGE = "housequest.agent.agents.lota"


def _selector(knows: Demonstrator, request: Request) -> Reply:
    """The skill that comes next, ``done`` after the last; all of them where the whole list is asked for."""
    whole = load_prompt(_PACKAGE, "selector").sections["whole"].rpartition("$skills")[2].strip()
    if whole in request.messages[0].content:
        return Reply(", ".join((*_listed(knows.left()), DONE)))
    skills, at = _listed(knows.goal.steps()), sum(message.role == "assistant" for message in request.messages)
    return Reply(said(skills[at] if at < len(skills) else DONE))


def _listed(parts: Iterable[GoalStep]) -> list[str]:
    """The skills of the fixed set that take these parts of the goal."""
    return [listed_skill(as_skill(one)).text for one in with_ways(parts)]


ROLES = (DemonstratedRole(_PACKAGE, "selector", _selector),)
