"""A person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from housequest.agent.agents.spec import AgentParts, NoSettings, declare_agent
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.agent.base import Agent


@declare_agent("human", "you, typing", needs_model=False, takes_rules=False)
def human(parts: AgentParts[NoSettings]) -> Agent:
    from housequest.agent.agents.human.agent import Human

    if parts.asks is None:
        raise ConfigurationError("The agent 'human' needs a person to ask; it plays only in `housequest play`.")
    return Human(parts.asks)
