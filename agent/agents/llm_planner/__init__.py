"""LLM-Planner (Song et al., ICCV 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from housequest.agent.agents.spec import AgentParts, AgentRoles, CameraSettings, declare_agent
from housequest.agent.skills.skill import PlannerSearch
from housequest.worlds.options import option

if TYPE_CHECKING:
    from housequest.agent.base import Agent

Wording = Literal["pairs", "lines"]
"""The form of plans in the prompt: all pairs on one line, or each on a numbered line."""


@dataclass(frozen=True, slots=True)
class LlmPlannerSettings(CameraSettings):
    """The wording of plans, and their grounding in the house. ``bias`` (nats; section 5.3: 0.1) favours the tokens of
    allowed actions and seen objects, if the model takes one. The paper does not limit ``revisions``, and its prompt does not
    have the lines of ``feedback``, without which a model cannot know that it holds the wrong thing."""

    search: PlannerSearch = option("random", "how the next place to search is chosen")
    shots: int = option(9, "examples in the prompt", most=50)
    wording: Wording = option("pairs", "how plans are written")
    bias: float = option(0.1, "nats by which allowed actions and seen objects are favoured")
    replanning: bool = option(True, "plan again when a subgoal fails")
    feedback: bool = option(True, "tell what is held and which subgoal failed when planning again")
    patience: int = option(10, "commands after which a subgoal has failed (0: any number)")
    actions: int = option(150, "with a camera: actions after which a subgoal has failed (0: any number)")
    revisions: int = option(10, "the most times to plan again in an episode")


@declare_agent(
    "llm-planner",
    "few-shot plans of actions and objects, made anew when one fails",
    settings=LlmPlannerSettings,
    roles=AgentRoles(("planner", "searcher"), __name__, f"{__name__}.agent", rerenders=True),
    needs=("model", "household"),
    takes=("rules", "images", "camera"),
)
def llm_planner(parts: AgentParts[LlmPlannerSettings]) -> Agent:
    from housequest.agent.agents.llm_planner.agent import LlmPlanner

    return LlmPlanner(parts)
