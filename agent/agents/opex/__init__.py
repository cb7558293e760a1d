"""OPEx (Shi et al., section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from housequest.agent.agents.spec import AgentParts, AgentRoles, CameraSettings, declare_agent
from housequest.agent.skills.skill import PlannerSearch
from housequest.worlds.options import option

if TYPE_CHECKING:
    from housequest.agent.base import Agent


@dataclass(frozen=True, slots=True)
class OpexSettings(CameraSettings):
    """The parts of OPEx that play: without its planner, observer or single skills it is the paper's ablation (table 2).
    Without the planner the task is the only subtask; without the observer the executor reads the observations' text. In a
    world that shows pictures, OPEx plays by a camera, and each heuristic of its action policy can be left out, too."""

    pool: int = option(60, "examples to choose from")
    shots: int = option(3, "examples in the planner's prompt", most=50)
    search: PlannerSearch = option("llm", "how the next place to search is chosen")
    planner: bool | Literal["oracle"] = option(True, "plan subtasks; oracle: carry out the annotated plan, without a model")
    observer: bool = option(True, "describe the state to the executor")
    look_around: bool = option(True, "have the skill LookAround")
    explore: bool = option(True, "have the skill Explore")
    revisions: int = option(6, "the most times to plan again in an episode")
    on_hint: bool = option(True, "plan again when a person gives a hint")
    tries: int = option(8, "the most times to ask the executor within a turn", least=1, most=50)


@declare_agent(
    "opex",
    "a planner, an observer, and an executor with skills",
    settings=OpexSettings,
    roles=AgentRoles(("planner", "observer", "executor", "searcher"), __name__, f"{__name__}.agent", rerenders=True),
    needs=("model", "household"),
    takes=("rules", "images", "camera"),
    unless={"model": "planner=oracle"},
)
def opex(parts: AgentParts[OpexSettings]) -> Agent:
    from housequest.agent.agents.bodies import make_body
    from housequest.agent.agents.opex.agent import Opex, OraclePlayer

    body = make_body(parts, parts.settings.search)
    oracle = parts.world.info.pictured and parts.settings.planner == "oracle"
    return OraclePlayer(parts.name, body) if oracle else Opex(parts, body)
