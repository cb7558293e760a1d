"""The players without a language model: the world's own, and a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from housequest.agent.agents.spec import AgentParts, NoSettings, declare_agent
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.agent.base import Agent


@declare_agent(
    "expert", "the world's own player, without a language model", settings=None, needs=(), takes=("places", "camera")
)
def expert(parts: AgentParts[Mapping[str, Any]]) -> Agent:
    from housequest.agent.agents.unaided.players import PolicyAgent
    from housequest.worlds.env import expert_of

    chance = {"seed": parts.seed} if parts.settings.get("search") == "random" else {}
    player = PolicyAgent(expert_of(parts.world, **{**chance, **parts.settings}), parts.world.household)
    by_camera = parts.world.info.pictured and not parts.world.info.skills
    if not by_camera:
        return player
    from housequest.agent.agents.unaided.by_camera import CameraExpert

    return CameraExpert(parts, player)


@declare_agent("human", "you, typing", needs=(), takes=())
def human(parts: AgentParts[NoSettings]) -> Agent:
    from housequest.agent.agents.unaided.players import Human

    if parts.asks is None:
        raise ConfigurationError("The agent 'human' needs a person to ask; it plays only in `housequest play`.")
    return Human(parts.asks)
