"""What an expert replies as the searcher: the places in the order in which it would look there."""

from __future__ import annotations

from housequest.agent.models.base import Request
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, asked, told
from housequest.agent.skills.searcher import MOST_NAMED, NAME


def _searcher(knows: Demonstrator, request: Request) -> Reply:
    places = told(asked(request), "Left: ").split(", ")
    return Reply(", ".join(knows.searched(told(asked(request), "Looking for: "), places)[:MOST_NAMED]))


ROLES = (DemonstratedRole("housequest.agent.skills", NAME, _searcher),)
