"""Action Attention, the acting agent of PET (Wu et al., 2023, section 3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from housequest.agent.agents.spec import WEIGHTS, AgentParts, AgentSources, declare_agent
from housequest.worlds.options import Scalar, option
from housequest.worlds.paths import given_path

if TYPE_CHECKING:
    from housequest.agent.base import Agent
    from housequest.worlds.household.base import Household


@dataclass(frozen=True, slots=True)
class ActionAttentionSettings:
    """PET's modules, each on or off; they need no model. With ``--agent pet --set acting=action-attention`` one judges."""

    plan: bool = option(True, "plan sub-tasks and track them")
    eliminate: bool = option(True, "hide names that do not matter")
    again: bool = option(False, "let it repeat a command that taught nothing")
    threshold: float = option(0.05, "hide names that score below this", most=1)
    weights: str = option("", "the network's file; without it, the one that ships")
    embedder: str = option("", "the embedding model, where the network was trained with one")


def _digests(settings: Mapping[str, Scalar], _household: Household | None) -> dict[str, str]:
    from housequest.agent.agents.action_attention.network import SHIPPED
    from housequest.agent.networks import digest

    name = str(settings.get("weights", ""))
    return {f"action-attention/{WEIGHTS}": digest(given_path(name) if name else SHIPPED)}


@declare_agent(
    "action-attention",
    "a trained network that chooses among the admissible commands, with PET's modules, without a language model",
    settings=ActionAttentionSettings,
    needs=("household", "admissible"),
    takes=(),
    sources=AgentSources("counts", ("train", "generated:0..3499"), _digests),
)
def action_attention(parts: AgentParts[ActionAttentionSettings]) -> Agent:
    from housequest.agent.agents.action_attention.agent import ActionAttention
    from housequest.agent.agents.action_attention.network import SHIPPED, load_policy

    file = given_path(parts.settings.weights) if parts.settings.weights else SHIPPED
    return ActionAttention(load_policy(file, parts.settings.embedder), parts.household, parts.settings)
