"""ReAct (Yao et al., ICLR 2023): without examples, or with two exemplars as its authors played ALFWorld."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from housequest.agent.agents.spec import AgentParts, AgentRoles, AgentSources, ModelSettings, declare_agent
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import Scalar, option

if TYPE_CHECKING:
    from housequest.agent.base import Agent
    from housequest.worlds.household.base import Household


@dataclass(frozen=True, slots=True)
class ReactSettings(ModelSettings):
    """Settings of ReAct.

    Without ``exemplars`` each reply is a thought with a command. With them a reply is one line, a thought or a command, and
    ``pair`` has the numbers of the two that are shown, in order: 1 and 0 as released. With ``thoughts=none`` they have no
    thoughts, as in the paper's "Act" (table 3), and a thought that the model writes all the same takes a turn. With
    ``window`` each prompt has only the last steps, as in verl-agent; ``window_prompt`` is a copy of its file of prompts, for
    models trained on its words."""

    exemplars: str = option("", "show two exemplars of the task's type: own, or a file in the form of ReAct's")
    pair: Literal["1-0", "0-1", "0-2", "2-0", "1-2", "2-1"] = option("1-0", "which two exemplars are shown")
    thoughts: Literal["free", "turns", "none"] = option("free", "with exemplars: whether a thought takes a turn")
    completions: Literal["auto", "on", "off"] = option("auto", "with exemplars: plain text instead of a chat")
    reflect: bool = option(False, "with exemplars: at a task that was lost before, first think about why")
    window: int = option(0, "how many steps each prompt shows, rendered anew; 0: the whole story", most=50)
    window_prompt: str = option("", "with window: verl-agent's file of prompts instead of ours")


def _digests(settings: Mapping[str, Scalar], household: Household | None) -> Mapping[str, str]:
    from housequest.agent.agents.react.agent import exemplar_digests

    return exemplar_digests(settings, household)


@declare_agent(
    "react",
    "one role that thinks and acts, with or without exemplars",
    settings=ReactSettings,
    roles=AgentRoles(("react", "reflection"), __name__, f"{__name__}.agent"),
    takes=("rules", "images"),
    unless={"images": "exemplars"},
    sources=AgentSources(digests=_digests),
)
def react(parts: AgentParts[Any]) -> Agent:
    from housequest.agent.agents.react.agent import FewShotReact, React, WindowReact

    # PET plays through it with settings of its own, which have no exemplars.
    if getattr(parts.settings, "exemplars", ""):
        return FewShotReact(parts)
    if getattr(parts.settings, "window", 0):
        return WindowReact(parts)
    if getattr(parts.settings, "window_prompt", ""):
        raise ConfigurationError("window_prompt needs window; give it too, for example 2, as in verl-agent.")
    return React(parts)
