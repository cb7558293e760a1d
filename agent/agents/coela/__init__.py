"""An agent with CoELA's modules (Zhang et al., ICLR 2024): perception, memory, communication, planning and execution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from housequest.agent.agents.spec import AgentParts, AgentRoles, ModelSettings, declare_agent
from housequest.worlds.options import option

if TYPE_CHECKING:
    from housequest.agent.base import Agent


@dataclass(frozen=True, slots=True)
class CoelaSettings(ModelSettings):
    """CoELA's settings: its ablations, and the lengths of its histories, as in its code."""

    communicate: bool = option(True, "in company: write a message before each plan, and choose whether to send it")
    chain: bool = option(True, "the planner thinks before it selects a plan")
    history: int = option(10, "the last plans that it remembers", least=1, most=50)
    dialogue: int = option(3, "the last messages that it remembers", least=1, most=50)


@declare_agent(
    "coela",
    "selects among possible plans, and talks with others",
    settings=CoelaSettings,
    roles=AgentRoles(("communicator", "planner"), __name__, rerenders=True),
    needs=("model", "household"),
    takes=("rules",),
)
def coela(parts: AgentParts[CoelaSettings]) -> Agent:
    from housequest.agent.agents.coela.agent import Coela

    return Coela(parts)
