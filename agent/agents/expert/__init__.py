"""The world's own player."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from housequest.agent.agents.spec import AgentParts, declare_agent

if TYPE_CHECKING:
    from housequest.agent.base import Agent


@declare_agent(
    "expert", "the world's own player, without a language model", settings=None, needs_model=False, takes_rules=False
)
def expert(parts: AgentParts[Mapping[str, Any]]) -> Agent:
    from housequest.agent.agents.expert.agent import Expert

    chance = {"seed": parts.seed} if parts.settings.get("search") == "random" else {}
    return Expert(parts.world.expert(**{**chance, **parts.settings}))
