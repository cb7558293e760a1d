"""The Socratic Planner (Shin et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from housequest.agent.agents.spec import AgentParts, AgentRoles, CameraSettings, declare_agent
from housequest.agent.skills.skill import PlannerSearch
from housequest.worlds.options import option

if TYPE_CHECKING:
    from housequest.agent.base import Agent

Decomposition = Literal["questions", "chain-of-thought", "none"]
"""The way in which a task is decomposed before it is planned: the method's questions, or one of its ablations in table 3."""


@dataclass(frozen=True, slots=True)
class SocraticSettings(CameraSettings):
    """Decomposition, re-planning, and limits on re-planning, which the paper does not set. Few ``retries`` are enough: in a
    text household the same commands fail again, while the paper's controller may just have had bad luck."""

    max_tokens: int = option(1_024, "the most tokens in a reply")
    search: PlannerSearch = option("llm", "how the next place to search is chosen")
    shots: int = option(0, "examples in the planner's prompt", most=50)
    decompose: Decomposition = option("questions", "how a task is decomposed")
    replanning: bool = option(True, "revise the plan when a subgoal fails")
    patience: int = option(25, "commands after which a subgoal has failed (0: any number)")
    actions: int = option(150, "with a camera: actions after which a subgoal has failed (0: any number)")
    retries: int = option(1, "the most times in a row to try a subgoal again that was judged valid")
    revisions: int = option(10, "the most times to revise the plan in an episode")


@declare_agent(
    "socratic",
    "plans from questions that the model asks itself",
    settings=SocraticSettings,
    roles=AgentRoles(("questioner", "decomposer", "planner", "advisor", "searcher"), __name__, f"{__name__}.agent"),
    needs=("model", "household"),
    takes=("rules", "images", "camera"),
)
def socratic(parts: AgentParts[SocraticSettings]) -> Agent:
    from housequest.agent.agents.socratic.agent import Socratic

    return Socratic(parts)
