"""How each agent is made from a world, a model and settings; its code is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from agent.models.registry import EXAMPLE
from worlds.base import World
from worlds.errors import ConfigurationError, nearest, shown
from worlds.registry import belief_reader

if TYPE_CHECKING:
    from agent.agents.examples import Chooser
    from agent.agents.following import Follower
    from agent.agents.human import Question
    from agent.agents.lota.agent import Way
    from agent.base import Agent
    from agent.models.base import Model
    from agent.skills.controller import Controller
    from knowledge.examples import Example

Word = TypeVar("Word", bound=str)
Setting = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Parts:
    """What an agent may be made from."""

    world: World
    model: Model | None
    question: Question | None
    settings: Mapping[str, Setting]
    seed: int

    def number(self, key: str) -> int:
        return int(self.settings[key])

    def between(self, key: str, least: int, most: int) -> int:
        """A whole number with bounds of its own. Raises ``ConfigurationError``."""
        number = self.number(key)
        if not least <= number <= most:
            raise ConfigurationError(f"The setting {key} must lie between {least} and {most}, not {number}.")
        return number


def react(parts: Parts) -> Agent:
    from agent.agents.react.agent import React
    from agent.roles.base import Sampling

    return React(_model(parts, "react"), parts.world.manual, Sampling(*_sampling(parts)))


def reasoner_actor(parts: Parts) -> Agent:
    from agent.agents.reasoner_actor.agent import ReasonerActor, Replanning
    from agent.roles.base import Sampling

    replanning = Replanning(
        subgoal=bool(parts.settings["on_subgoal"]),
        stuck_after=parts.number("stuck_after"),
        hint=bool(parts.settings["on_hint"]),
        most=parts.number("revisions"),
    )
    return ReasonerActor(
        _model(parts, "reasoner-actor"),
        parts.world.manual,
        Sampling(*_sampling(parts)),
        replanning,
        household=belief_reader(parts.world.name) is not None,
    )


def pet(parts: Parts) -> Agent:
    from agent.agents.examples import Chooser, ExampleOptions
    from agent.agents.pet.agent import Modules, Pet
    from agent.roles.base import Sampling

    acting = _choice(parts, "pet", "acting", ("react", "reasoner-actor"))
    threshold = float(parts.settings["threshold"])
    if threshold > 1:
        raise ConfigurationError(f"The setting threshold of 'pet' must lie between 0 and 1, not {threshold:g}.")
    modules = Modules(
        plan=bool(parts.settings["plan"]),
        eliminate=bool(parts.settings["eliminate"]),
        track=bool(parts.settings["track"]),
        threshold=threshold,
        judged=_choice(parts, "pet", "judged", ("subtask", "task")),
        scores=_choice(parts, "pet", "scores", ("auto", "probability", "answer")),
    )
    return Pet(
        _model(parts, "pet"),
        react(parts) if acting == "react" else reasoner_actor(parts),
        Sampling(*_sampling(parts)),
        modules,
        chooser=_pet_examples(parts) if modules.plan else Chooser((), ExampleOptions(shots=0)),
        reader=belief_reader(parts.world.name),
    )


def _pet_examples(parts: Parts) -> Chooser:
    """Chooses among all tasks of train where that is asked for: the planner is shown no trajectory, so none is played."""
    from agent.agents.examples import TRAIN
    from knowledge.examples import tasks_of

    return _chooser(parts, tasks_of(parts.world, TRAIN) if parts.settings["examples"] == TRAIN else None)


def _choice(parts: Parts, agent: str, key: str, choices: tuple[Word, ...]) -> Word:
    """The setting ``key``, one of ``choices``. Raises ``ConfigurationError``."""
    given = str(parts.settings[key])
    if given not in choices:
        known = ", ".join(choices)
        raise ConfigurationError(
            f"The setting {key} of {agent!r} must be one of {known}, not {shown(given)}.{nearest(given, choices)}"
        )
    return choices[choices.index(given)]


def llm_planner(parts: Parts) -> Agent:
    from agent.agents.llm_planner.agent import Grounding, LlmPlanner
    from agent.agents.llm_planner.role import wording_named
    from agent.roles.base import Sampling

    return LlmPlanner(
        _model(parts, "llm-planner"),
        _follower(parts, "llm-planner"),
        _chooser(parts),
        Sampling(*_sampling(parts)),
        Grounding(bool(parts.settings["replanning"]), parts.number("revisions"), float(parts.settings["bias"])),
        wording_named(str(parts.settings["wording"])),
    )


def socratic(parts: Parts) -> Agent:
    from agent.agents.socratic.agent import DECOMPOSITIONS, Socratic, Socratics
    from agent.roles.base import Sampling

    use = Socratics(
        decompose=_choice(parts, "socratic", "decompose", DECOMPOSITIONS),
        replanning=bool(parts.settings["replanning"]),
        retries=parts.number("retries"),
        most=parts.number("revisions"),
    )
    return Socratic(_model(parts, "socratic"), _follower(parts, "socratic"), _chooser(parts), Sampling(*_sampling(parts)), use)


def _follower(parts: Parts, agent: str) -> Follower:
    from agent.agents.following import Follower

    return Follower(_controller(parts, agent), parts.number("patience"))


def opex(parts: Parts) -> Agent:
    from agent.agents.opex.agent import Opex, left_out
    from agent.agents.opex.agent import Parts as OpexParts
    from agent.roles.base import Sampling

    model, given = _model(parts, "opex"), parts.settings
    playing = OpexParts(
        planner=bool(given["planner"]),
        observer=bool(given["observer"]),
        left_out=left_out(look_around=bool(given["look_around"]), explore=bool(given["explore"])),
        revisions=parts.number("revisions"),
        on_hint=bool(given["on_hint"]),
        tries=parts.between("tries", 1, 50),
    )
    return Opex(model, _controller(parts, "opex"), _chooser(parts), Sampling(*_sampling(parts)), playing)


def _controller(parts: Parts, agent: str, *, near: bool = False) -> Controller:
    """What carries skills out."""
    from agent.skills.believing import reader_of
    from agent.skills.controller import Controller

    return Controller(reader_of(parts.world, agent), order=str(parts.settings["search"]), near=near)


def _chooser(parts: Parts, store: Sequence[Example] | None = None) -> Chooser:
    """What chooses examples, from a ``store`` of the agent's own or the one that its settings name."""
    from agent.agents.examples import make_chooser

    given = parts.settings
    return make_chooser(
        parts.world,
        examples=str(given["examples"]),
        choose=str(given["choose"]),
        shots=parts.number("shots"),
        embedder=str(given["embedder"]),
        seed=parts.seed,
        pool=parts.number("pool") if "pool" in given else None,
        store=store,
    )


def lota(parts: Parts) -> Agent:
    return _likeliest(parts, "lota", "exact" if parts.settings["exact"] else "greedy")


def saycan(parts: Parts) -> Agent:
    return _likeliest(parts, "saycan", "each")


def _likeliest(parts: Parts, name: str, way: Way) -> Agent:
    from agent.agents.lota.agent import Lota
    from agent.roles.base import Sampling

    model, controller, chooser = _model(parts, name), _controller(parts, name, near=True), _chooser(parts)
    replanning = bool(parts.settings["replanning"])
    return Lota(model, controller, chooser, Sampling(*_sampling(parts)), way=way, replanning=replanning)


def expert(parts: Parts) -> Agent:
    from agent.agents.expert import Expert

    return Expert(parts.world.expert(**parts.settings))


def human(parts: Parts) -> Agent:
    from agent.agents.human import Human

    if parts.question is None:
        raise ConfigurationError("The agent 'human' plays in `housequest play` alone: somebody has to be asked.")
    return Human(parts.question)


def _model(parts: Parts, agent: str) -> Model:
    if parts.model is None:
        raise ConfigurationError(f"The agent {agent!r} needs a language model; name one with --model, for example {EXAMPLE}.")
    return parts.model


def _sampling(parts: Parts) -> tuple[int, float, int]:
    return parts.number("max_tokens"), float(parts.settings["temperature"]), parts.seed
