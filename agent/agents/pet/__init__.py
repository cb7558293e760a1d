"""PET: Plan, Eliminate and Track (Wu et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from housequest.agent.agents.pet.thresholds import threshold_digests
from housequest.agent.agents.react import react
from housequest.agent.agents.reasoner_actor import ReasonerActorSettings, reasoner_actor
from housequest.agent.agents.spec import AgentParts, Strategy, declare_agent
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import option

if TYPE_CHECKING:
    from housequest.agent.base import Agent


@dataclass(frozen=True, slots=True)
class PetSettings(ReasonerActorSettings):
    """Which modules are on, and how they work; the settings before ``acting`` are those of the acting agent.

    ``judged``: relevance is judged against the present sub-task (abstract, table 3) or the task (section 3.2). ``scores``:
    with ``probability``, p(yes) against p(no), one question for each name, as in the paper: 50 to 160 calls a game; with
    ``answer``, one question with a number for each name, and a plain yes or no for Track; ``auto`` uses probabilities if the
    model gives log-probabilities. ``threshold`` is the paper's, for its model and its probabilities; ``thresholds`` are those
    that `housequest modules --calibrate` found for yours, by way of scoring, for places and for objects. ``again`` and
    ``weights`` are those of Action Attention. Raises ``ConfigurationError`` where another agent is given them.
    """

    acting: Literal["react", "reasoner-actor", "action-attention"] = option("react", "the agent that acts")
    plan: bool = option(True, "plan sub-tasks")
    eliminate: bool = option(True, "mask names that do not matter")
    track: bool = option(True, "track whether the sub-task is finished")
    examples: str = option("made-up", "where examples come from: made-up, train, a file or a run's folder")
    choose: Strategy = option("bm25", "how examples are chosen for a task")
    shots: int = option(5, "examples in the planner's prompt", most=50)
    embedder: str = option("", "the embedding model of choose=embeddings, and of action-attention's network if it has one")
    threshold: float = option(0.4, "names that score below this are masked", most=1)
    judged: Literal["subtask", "task"] = option("subtask", "what relevance is judged against")
    scores: Literal["auto", "probability", "answer"] = option("answer", "where verdicts come from")
    thresholds: str = option("", "a file of housequest modules --calibrate, instead of threshold")
    again: bool = option(False, "let action-attention repeat a command that taught nothing")
    weights: str = option("", "the file of action-attention's network; without it, the one that ships")

    def __post_init__(self) -> None:
        if self.acting != "action-attention" and (self.again or self.weights):
            given = "again" if self.again else "weights"
            raise ConfigurationError(f"Only acting=action-attention takes the setting {given}; leave it out for {self.acting}.")


@declare_agent(
    "pet",
    "plans, leaves out what does not matter, and watches progress, round an acting agent",
    settings=PetSettings,
    prompts=__name__,
    demonstrations=f"{__name__}.agent",
    wraps=("react", "reasoner-actor", "action-attention"),
    takes_images=True,
    rerenders=True,
    digests=threshold_digests,
)
def pet(parts: AgentParts[PetSettings]) -> Agent:
    from housequest.agent.agents.pet.agent import Pet

    return Pet(parts, _ACTING[parts.settings.acting](parts))


def _attention(parts: AgentParts[PetSettings]) -> Agent:
    """Action Attention without modules of its own."""
    from housequest.agent.agents.spec import make_agent

    given = parts.settings
    own = {"plan": False, "eliminate": False, "again": given.again, "weights": given.weights, "embedder": given.embedder}
    return make_agent("action-attention", world=parts.world, settings=own)


_ACTING = {"react": react.make, "reasoner-actor": reasoner_actor.make, "action-attention": _attention}
