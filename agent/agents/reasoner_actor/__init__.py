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
    """The occasions on which the reasoner reviews its plan.

    ``stuck_after`` counts commands that were refused, or the same command with the same answer. With short prompts
    (`housequest.agent.roles.brief`) it counts replies under a plan that would have taught nothing. Unless it is 0, the actor
    may also say that it is stuck. The actor sees hints whatever ``on_hint`` says; with short prompts only the reasoner sees
    them, and always reviews the plan.
    """

    on_subgoal: bool = option(True, "review the plan when the actor goes on to another step")
    stuck_after: int = option(
        3, "review the plan after this many commands in a row that were refused or repeated in vain (0: never)"
    )
    on_hint: bool = option(True, "review the plan when a person gives a hint")
    revisions: int = option(12, "the most times to review the plan in an episode")


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
