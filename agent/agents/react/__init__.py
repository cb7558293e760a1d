"""ReAct (Yao et al., ICLR 2023)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.agents.spec import AgentParts, ModelSettings, declare_agent

if TYPE_CHECKING:
    from agent.base import Agent


@declare_agent("react", "one role that thinks and acts", settings=ModelSettings, prompts=__name__)
def react(parts: AgentParts[ModelSettings]) -> Agent:
    from agent.agents.react.agent import React

    return React(parts)
