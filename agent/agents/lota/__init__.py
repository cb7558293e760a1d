"""LoTa-Bench's planner (Choi et al., ICLR 2024) and SayCan (Ahn et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from housequest.agent.agents.spec import AgentParts, AgentRoles, ModelSettings, Strategy, declare_agent
from housequest.agent.skills.skill import PlannerSearch
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import option

if TYPE_CHECKING:
    from housequest.agent.base import Agent


@dataclass(frozen=True, slots=True)
class SayCanSettings(ModelSettings):
    """Examples, search, and telling the model why a skill failed."""

    max_tokens: int = option(64, "the most tokens in a reply")
    examples: str = option("made-up", "where examples come from: made-up, train, a file or a run's folder")
    embedder: str = option("", "the embedding model of choose=embeddings")
    search: PlannerSearch = option("counts", "how the next place to search is chosen")
    choose: Strategy = option("stratified", "how examples are chosen for a task")
    shots: int = option(6, "examples in the prompt", most=50)
    replanning: bool = option(False, "tell the model why a skill failed")


@dataclass(frozen=True, slots=True)
class LotaSettings(SayCanSettings):
    """The settings of `SayCanSettings`, and the way to find the likeliest skill. ``asking=list`` is the paper's way with
    GPT-4 (appendix D): one reply lists all skills, which are carried out in turn. With more than one of ``readings``, a plan
    that did not end the game is followed by the likeliest other one (`housequest.agent.agents.lota.selector`); this needs a
    model that scores given texts."""

    exact: bool = option(False, "choose by the probability of each skill, not by constrained decoding")
    asking: Literal["next", "list"] = option("next", "ask for the next skill, or for the whole list at once")
    readings: int = option(1, "readings of the goal, tried one after the other if the game goes on", least=1, most=20)


_ROLES = AgentRoles(("selector", "searcher"), __name__, f"{__name__}.agent")


@declare_agent(
    "lota",
    "the likeliest of a fixed set of skills, one after the other",
    settings=LotaSettings,
    roles=_ROLES,
    needs=("model", "household"),
    takes=("rules", "skills"),
)
def lota(parts: AgentParts[LotaSettings]) -> Agent:
    from housequest.agent.agents.lota.agent import Lota

    if parts.settings.exact and parts.settings.asking == "list":
        raise ConfigurationError("exact=on scores single skills, and asking=list asks for a list; leave one of them out.")
    if parts.settings.readings > 1 and parts.settings.asking == "list":
        raise ConfigurationError("readings departs from single skills, and asking=list asks for a list; leave one of them out.")
    return Lota(parts, "exact" if parts.settings.exact else parts.settings.asking, parts.settings.readings)


@declare_agent(
    "saycan",
    "every skill scored by itself, times whether it can be done",
    settings=SayCanSettings,
    roles=_ROLES,
    needs=("model", "household"),
    takes=("rules", "skills"),
)
def saycan(parts: AgentParts[SayCanSettings]) -> Agent:
    from housequest.agent.agents.lota.agent import Lota

    return Lota(parts, "each")
