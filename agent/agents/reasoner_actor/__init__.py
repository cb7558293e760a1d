"""Reasoner and actor (OPEx, section 3, "Prior Knowledge Integration")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from housequest.agent.agents.spec import AgentParts, AgentRoles, ModelSettings, declare_agent
from housequest.worlds.options import option

if TYPE_CHECKING:
    from housequest.agent.base import Agent


@dataclass(frozen=True, slots=True)
class ReasonerActorSettings(ModelSettings):
    """When the reasoner is asked again. ``stuck_after``: so many commands in a row were refused, or were the same command with
    the same answer; with short prompts (`housequest.agent.roles.brief`), so many replies under a plan would have taught
    nothing. Unless it is 0, the actor may also say that it is stuck. ``on_hint``: the actor sees hints in any case; with short
    prompts only the reasoner does, and is always asked."""

    on_subgoal: bool = option(True, "ask the reasoner when the actor moves on to another step")
    stuck_after: int = option(3, "ask it after this many commands that led nowhere (0: never)")
    on_hint: bool = option(True, "ask it when a person gives a hint")
    revisions: int = option(12, "the most times to ask it in an episode")


@declare_agent(
    "reasoner-actor",
    "a reasoner plans, an actor grounds the plan",
    settings=ReasonerActorSettings,
    roles=AgentRoles(("reasoner", "actor"), __name__, f"{__name__}.agent"),
    takes=("rules", "images"),
)
def reasoner_actor(parts: AgentParts[ReasonerActorSettings]) -> Agent:
    from housequest.agent.agents.reasoner_actor.agent import ReasonerActor

    return ReasonerActor(parts)
