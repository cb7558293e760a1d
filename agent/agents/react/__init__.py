"""ReAct (Yao et al., ICLR 2023)."""

from __future__ import annotations

from agent.agents.spec import AgentParts, ModelSettings, declare_agent


@declare_agent("react", "one role that thinks and acts", settings=ModelSettings, prompts=__name__)
def react(parts: AgentParts[ModelSettings]):
    from agent.agents.react.agent import React

    return React(parts)
