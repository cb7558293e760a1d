"""Agent names, their settings, and how each is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from worlds.base import World
from worlds.errors import ConfigurationError, nearest, shown
from worlds.registry import belief_reader

if TYPE_CHECKING:
    from agent.agents.base import Agent
    from agent.agents.following import Follower
    from agent.agents.human import Question
    from agent.agents.lota import Way
    from agent.examples import Chooser
    from agent.models.base import Model
    from agent.skills.controller import Controller

Word = TypeVar("Word", bound=str)
Setting = str | int | float | bool

_SAMPLING: dict[str, Setting] = {"max_tokens": 512, "temperature": 0.0}
_REPLANNING: dict[str, Setting] = {"on_subgoal": True, "stuck_after": 3, "on_hint": True, "revisions": 12}
_PET: dict[str, Setting] = {
    "acting": "react",
    "plan": True,
    "eliminate": True,
    "track": True,
    "examples": "made-up",
    "choose": "bm25",
    "shots": 5,
    "embedder": "",
    "threshold": 0.4,
    "judged": "subtask",
    "scores": "auto",
}

_POOL: dict[str, Setting] = {"examples": "made-up", "pool": 100, "choose": "bm25", "embedder": ""}
_OPEX: dict[str, Setting] = {
    **_SAMPLING,
    **_POOL,
    "pool": 60,
    "shots": 3,
    "search": "counts",
    "planner": True,
    "observer": True,
    "look_around": True,
    "explore": True,
    "revisions": 6,
    "on_hint": True,
    "tries": 8,
}
_LLM_PLANNER: dict[str, Setting] = {
    **_SAMPLING,
    **_POOL,
    "shots": 9,
    "wording": "pairs",
    "replanning": True,
    "patience": 10,
    "revisions": 10,
}
_SOCRATIC: dict[str, Setting] = {
    **_SAMPLING,
    **_POOL,
    "shots": 0,
    "max_tokens": 1_024,
    "questions": True,
    "replanning": True,
    "patience": 25,
    "retries": 1,
    "revisions": 10,
}
_LOTA: dict[str, Setting] = {
    **_SAMPLING,
    "max_tokens": 64,
    "examples": "made-up",
    "choose": "stratified",
    "shots": 6,
    "embedder": "",
    "search": "counts",
    "replanning": False,
}


@dataclass(frozen=True, slots=True)
class _Parts:
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


@dataclass(frozen=True, slots=True)
class _Entry:
    make: Callable[[_Parts], Agent]
    about: str
    needs_model: bool
    settings: Mapping[str, Setting] | None
    """The defaults; None where the world says what can be set."""


def _react(parts: _Parts) -> Agent:
    from agent.agents.react import React
    from agent.roles.base import Sampling

    return React(_model(parts, "react"), parts.world.manual, Sampling(*_sampling(parts)))


def _reasoner_actor(parts: _Parts) -> Agent:
    from agent.agents.reasoner_actor import ReasonerActor, Replanning
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


def _pet(parts: _Parts) -> Agent:
    from agent.agents.pet import Modules, Pet
    from agent.examples import Choice, Chooser
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
        _AGENTS[acting].make(parts),
        Sampling(*_sampling(parts)),
        modules,
        chooser=_pet_examples(parts) if modules.plan else Chooser((), Choice(shots=0)),
        reader=belief_reader(parts.world.name),
    )


def _pet_examples(parts: _Parts) -> Chooser:
    """Chooses among all tasks of train where that is asked for: the planner is shown no trajectory, so none is played."""
    from agent.examples import TRAIN, make_chooser
    from knowledge.subtasks import tasks_of

    store = tasks_of(parts.world, TRAIN) if parts.settings["examples"] == TRAIN else None
    return make_chooser(
        parts.world,
        examples=str(parts.settings["examples"]),
        choose=str(parts.settings["choose"]),
        shots=parts.number("shots"),
        embedder=str(parts.settings["embedder"]),
        seed=parts.seed,
        store=store,
    )


def _choice(parts: _Parts, agent: str, key: str, choices: tuple[Word, ...]) -> Word:
    """The setting ``key``, one of ``choices``. Raises ``ConfigurationError``."""
    given = str(parts.settings[key])
    if given not in choices:
        known = ", ".join(choices)
        raise ConfigurationError(
            f"The setting {key} of {agent!r} must be one of {known}, not {shown(given)}.{nearest(given, choices)}"
        )
    return choices[choices.index(given)]


def _llm_planner(parts: _Parts) -> Agent:
    from agent.agents.llm_planner import Grounding, LlmPlanner
    from agent.roles.base import Sampling
    from agent.roles.llm_planner import wording_named

    return LlmPlanner(
        _model(parts, "llm-planner"),
        _follower(parts, "llm-planner"),
        _chooser(parts),
        Sampling(*_sampling(parts)),
        Grounding(dynamic=bool(parts.settings["replanning"]), most=parts.number("revisions")),
        wording_named(str(parts.settings["wording"])),
    )


def _socratic(parts: _Parts) -> Agent:
    from agent.agents.socratic import Socratic, Socratics
    from agent.roles.base import Sampling

    use = Socratics(
        questions=bool(parts.settings["questions"]),
        replanning=bool(parts.settings["replanning"]),
        retries=parts.number("retries"),
        most=parts.number("revisions"),
    )
    return Socratic(_model(parts, "socratic"), _follower(parts, "socratic"), _chooser(parts), Sampling(*_sampling(parts)), use)


def _follower(parts: _Parts, agent: str) -> Follower:
    from agent.agents.following import Follower
    from agent.skills.believing import reader_of
    from agent.skills.controller import Controller

    return Follower(Controller(reader_of(parts.world, agent)), parts.number("patience"))


def _opex(parts: _Parts) -> Agent:
    from agent.agents.opex import Opex, left_out
    from agent.agents.opex import Parts as OpexParts
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


def _controller(parts: _Parts, agent: str, *, near: bool = False) -> Controller:
    """What carries skills out."""
    from agent.skills.believing import reader_of
    from agent.skills.controller import Controller

    return Controller(reader_of(parts.world, agent), order=str(parts.settings["search"]), near=near)


def _chooser(parts: _Parts) -> Chooser:
    """What chooses examples."""
    from agent.examples import make_chooser

    given = parts.settings
    return make_chooser(
        parts.world,
        examples=str(given["examples"]),
        choose=str(given["choose"]),
        shots=parts.number("shots"),
        embedder=str(given["embedder"]),
        seed=parts.seed,
        pool=parts.number("pool") if "pool" in given else None,
    )


def _lota(parts: _Parts) -> Agent:
    return _likeliest(parts, "lota", "exact" if parts.settings["exact"] else "greedy")


def _saycan(parts: _Parts) -> Agent:
    return _likeliest(parts, "saycan", "each")


def _likeliest(parts: _Parts, name: str, way: Way) -> Agent:
    from agent.agents.lota import Lota
    from agent.roles.base import Sampling

    model, controller, chooser = _model(parts, name), _controller(parts, name, near=True), _chooser(parts)
    replanning = bool(parts.settings["replanning"])
    return Lota(model, controller, chooser, Sampling(*_sampling(parts)), way=way, replanning=replanning)


def _expert(parts: _Parts) -> Agent:
    from agent.agents.expert import Expert

    return Expert(parts.world.expert(**parts.settings))


def _human(parts: _Parts) -> Agent:
    from agent.agents.human import Human

    if parts.question is None:
        raise ConfigurationError("The agent 'human' plays in `housequest play` alone: somebody has to be asked.")
    return Human(parts.question)


def _model(parts: _Parts, agent: str) -> Model:
    if parts.model is None:
        raise ConfigurationError(
            f"The agent {agent!r} needs a language model; name one with --model, for example openai:NAME@http://localhost:8000/v1."
        )
    return parts.model


def _sampling(parts: _Parts) -> tuple[int, float, int]:
    return parts.number("max_tokens"), float(parts.settings["temperature"]), parts.seed


_AGENTS: dict[str, _Entry] = {
    "react": _Entry(_react, "one role that thinks and acts", True, _SAMPLING),
    "reasoner-actor": _Entry(_reasoner_actor, "a reasoner plans, an actor grounds the plan", True, _SAMPLING | _REPLANNING),
    "opex": _Entry(_opex, "a planner, an observer, and an executor with skills", True, _OPEX),
    "llm-planner": _Entry(_llm_planner, "few-shot plans of actions and objects, made anew when one fails", True, _LLM_PLANNER),
    "socratic": _Entry(_socratic, "plans from questions that the model asks itself", True, _SOCRATIC),
    "pet": _Entry(
        _pet,
        "plans, leaves out what does not matter, and watches progress, round an acting agent",
        True,
        _SAMPLING | _REPLANNING | _PET,
    ),
    "lota": _Entry(_lota, "the likeliest of a fixed set of skills, one after the other", True, _LOTA | {"exact": False}),
    "saycan": _Entry(_saycan, "every skill scored by itself, times whether it can be done", True, _LOTA),
    "expert": _Entry(_expert, "the world's own player, without a language model", False, None),
    "human": _Entry(_human, "you, typing", False, {}),
}


_TRUTH = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


def agent_names() -> tuple[str, ...]:
    """The agents that can be made."""
    return tuple(_AGENTS)


def about(name: str) -> str:
    """One line on what the agent is."""
    return _entry(name).about


def needs_model(name: str) -> bool:
    """Whether the agent needs a language model."""
    return _entry(name).needs_model


def resolve_settings(name: str, given: Mapping[str, str | Setting]) -> dict[str, Setting]:
    """All settings of agent ``name``: its defaults with those ``given``, each read as its default's type.

    Raises ``ConfigurationError`` for an unknown setting or a value of another type.
    """
    entry = _entry(name)
    if entry.settings is None:
        return dict(given)
    resolved = dict(entry.settings)
    for key, value in given.items():
        if key not in resolved:
            known = ", ".join(resolved) or "none"
            raise ConfigurationError(
                f"The agent {name!r} has no setting {shown(key)}; known: {known}.{nearest(key, tuple(resolved))}"
            )
        resolved[key] = _read(name, key, value, resolved[key])
    return resolved


def make_agent(
    name: str,
    *,
    world: World,
    model: Model | None = None,
    settings: Mapping[str, str | Setting] | None = None,
    seed: int = 0,
    question: Question | None = None,
) -> Agent:
    """Make the agent ``name`` for ``world``.

    ``settings`` are its variants (``resolve_settings``), ``seed`` goes to its model, ``question`` asks a person. Raises
    ``ConfigurationError``.
    """
    return _entry(name).make(_Parts(world, model, question, resolve_settings(name, settings or {}), seed))


def _entry(name: str) -> _Entry:
    if name not in _AGENTS:
        known = ", ".join(_AGENTS)
        raise ConfigurationError(f"There is no agent named {shown(name)}; known: {known}.{nearest(name, agent_names())}")
    return _AGENTS[name]


def _read(agent: str, key: str, value: str | Setting, default: Setting) -> Setting:
    text = str(value).strip()
    if isinstance(default, str):
        return text
    kind = {bool: "on or off", int: "a whole number", float: "a number"}[type(default)]
    try:
        read = _TRUTH[text.lower()] if isinstance(default, bool) else type(default)(text)
    except (KeyError, ValueError):
        raise ConfigurationError(f"The setting {key} of {agent!r} must be {kind}, not {shown(text)}.") from None
    if not 0 <= read <= 1_000_000:
        raise ConfigurationError(f"The setting {key} of {agent!r} must lie between 0 and 1000000, not {shown(text)}.")
    return read
