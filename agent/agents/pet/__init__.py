"""PET: Plan, Eliminate and Track (Wu et al., 2023)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from housequest.agent.agents.react import react
from housequest.agent.agents.reasoner_actor import ReasonerActorSettings, reasoner_actor
from housequest.agent.agents.spec import AgentParts, AgentRoles, AgentSources, Strategy, declare_agent, make_agent
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.options import Scalar, option
from housequest.worlds.paths import atomic_write, given_path, read_file

if TYPE_CHECKING:
    from housequest.agent.base import Agent
    from housequest.worlds.household.base import Household


@dataclass(frozen=True, slots=True)
class PetSettings(ReasonerActorSettings):
    """PET's modules and their options; the settings before ``acting`` are those of the acting agent.

    ``judged``: relevance is judged against the present sub-task (abstract, table 3) or the task (section 3.2). ``scores``:
    with ``probability``, p(yes) against p(no), one question for each name, as in the paper: 50 to 160 calls a game; with
    ``answer``, one question with a number for each name, and a plain yes or no for Track; ``auto`` uses probabilities if the
    model gives log-probabilities. ``threshold`` is the paper's, for its model and its probabilities; ``thresholds`` is a
    file of `housequest modules --calibrate` for your model, by way of scoring, for places and for objects. ``again`` and
    ``weights`` are those of Action Attention. Raises ``ConfigurationError`` if another agent gets them."""

    acting: Literal["react", "reasoner-actor", "action-attention"] = option("react", "the agent that acts")
    plan: bool = option(True, "plan sub-tasks")
    eliminate: bool = option(True, "hide names that do not matter")
    track: bool = option(True, "track whether the sub-task is finished")
    examples: str = option("made-up", "where examples come from: made-up, train, a file or a run's folder")
    choose: Strategy = option("bm25", "how examples are chosen for a task")
    shots: int = option(5, "examples in the planner's prompt", most=50)
    embedder: str = option("", "the embedding model of choose=embeddings, and of action-attention's network if it has one")
    threshold: float = option(0.4, "hide names that score below this", most=1)
    judged: Literal["subtask", "task"] = option("subtask", "what relevance is judged against")
    scores: Literal["auto", "probability", "answer"] = option("answer", "where verdicts come from")
    thresholds: str = option("", "a file of housequest modules --calibrate, instead of threshold")
    again: bool = option(False, "let action-attention repeat a command that taught nothing")
    weights: str = option("", "the file of action-attention's network; without it, the one that ships")

    def __post_init__(self) -> None:
        if self.acting != "action-attention" and (self.again or self.weights):
            given = "again" if self.again else "weights"
            raise ConfigurationError(f"Only acting=action-attention takes the setting {given}; leave it out for {self.acting}.")


Way = Literal["probability", "answer"]  # A way of scoring.

_LARGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Names of places and of objects are masked if their score is lower. A score has another meaning for each model and way,
    so `housequest modules` writes these for one model (section 3.2)."""

    places: float
    objects: float


def read_thresholds(file: Path) -> dict[Way, Thresholds]:
    """The thresholds in ``file``. Raises ``ConfigurationError`` if it holds none."""
    try:
        said: dict[str, Any] = json.loads(read_file(file, _LARGEST))
        found = {
            way: Thresholds(float(said[way]["places"]), float(said[way]["objects"])) for way in get_args(Way) if way in said
        }
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise _refused(file, shown(str(error), 200)) from None
    if not found or not all(0 <= each <= 1 for one in found.values() for each in (one.places, one.objects)):
        raise _refused(file, "it has no thresholds from 0 to 1")
    return found


def keep_thresholds(file: Path, way: Way, thresholds: Thresholds) -> None:
    """Write those of ``way`` into ``file``, beside those of another way. Raises ``ConfigurationError``."""
    kept = read_thresholds(file) if file.exists() else {}
    told = {one: asdict(each) for one, each in sorted({**kept, way: thresholds}.items())}
    try:
        atomic_write(file, json.dumps(told, indent=1).encode())
    except OSError as error:
        raise ConfigurationError(f"{shown(str(file), 400)} cannot be written: {error}.") from None


def _digests(settings: Mapping[str, Scalar], _household: Household | None) -> dict[str, str]:
    name = str(settings.get("thresholds", ""))
    if not name:
        return {}
    told = {way: asdict(each) for way, each in read_thresholds(given_path(name)).items()}
    return {"pet/thresholds": sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()}


def _refused(file: Path, why: str) -> ConfigurationError:
    way_out = "Calibrate some with `housequest modules RUN --model NAME --calibrate FILE`."
    return ConfigurationError(f"{shown(str(file), 400)} has no thresholds of pet: {why}. {way_out}")


@declare_agent(
    "pet",
    "plans, hides what does not matter and tracks progress for another agent, which acts",
    settings=PetSettings,
    roles=AgentRoles(("subtasks", "tracker", "eliminator"), __name__, f"{__name__}.agent", rerenders=True),
    takes=("rules", "images"),
    wraps=("react", "reasoner-actor", "action-attention"),
    sources=AgentSources(digests=_digests),
)
def pet(parts: AgentParts[PetSettings]) -> Agent:
    from housequest.agent.agents.pet.agent import Pet

    settings = parts.settings
    same = dict.fromkeys(get_args(Way), Thresholds(settings.threshold, settings.threshold))
    thresholds = read_thresholds(given_path(settings.thresholds)) if settings.thresholds else same
    return Pet(parts, _ACTING[settings.acting](parts), thresholds)


def _attention(parts: AgentParts[PetSettings]) -> Agent:
    given = parts.settings
    own = {"plan": False, "eliminate": False, "again": given.again, "weights": given.weights, "embedder": given.embedder}
    return make_agent("action-attention", world=parts.world, settings=own)


_ACTING = {"react": react.make, "reasoner-actor": reasoner_actor.make, "action-attention": _attention}
