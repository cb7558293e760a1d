"""Agent names and their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.agents import making
from agent.agents.making import Parts, Setting
from agent.models.registry import DEFAULT_MODEL, EXAMPLE, parse_model
from worlds.base import World
from worlds.errors import ConfigurationError, nearest, shown
from worlds.registry import belief_reader

if TYPE_CHECKING:
    from agent.agents.human import Question
    from agent.base import Agent
    from agent.models.base import Model

DEFAULT_AGENT = "reasoner-actor"
"""Who plays where nobody is named."""


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
    "search": "counts",
    "shots": 9,
    "wording": "pairs",
    "bias": 0.1,
    "replanning": True,
    "patience": 10,
    "revisions": 10,
}
_SOCRATIC: dict[str, Setting] = {
    **_SAMPLING,
    **_POOL,
    "search": "counts",
    "max_tokens": 1_024,
    "shots": 0,
    "decompose": "questions",
    "replanning": True,
    "patience": 25,
    "retries": 1,
    "revisions": 10,
}

_LIKELIEST: dict[str, Setting] = {
    **_SAMPLING,
    "examples": "made-up",
    "embedder": "",
    "search": "counts",
    "max_tokens": 64,
    "choose": "stratified",
    "shots": 6,
    "replanning": False,
}


@dataclass(frozen=True, slots=True)
class _Entry:
    make: Callable[[Parts], Agent]
    about: str
    needs_model: bool
    settings: Mapping[str, Setting] | None
    """The defaults; None where the world says what can be set."""
    brief: bool = False
    """Whether it can speak briefly, as the built-in model needs it."""
    takes_rules: bool = True


_AGENTS: dict[str, _Entry] = {
    "react": _Entry(making.react, "one role that thinks and acts", True, _SAMPLING),
    "reasoner-actor": _Entry(
        making.reasoner_actor, "a reasoner plans, an actor grounds the plan", True, _SAMPLING | _REPLANNING, brief=True
    ),
    "opex": _Entry(making.opex, "a planner, an observer, and an executor with skills", True, _OPEX),
    "llm-planner": _Entry(
        making.llm_planner, "few-shot plans of actions and objects, made anew when one fails", True, _LLM_PLANNER
    ),
    "socratic": _Entry(making.socratic, "plans from questions that the model asks itself", True, _SOCRATIC),
    "pet": _Entry(
        making.pet,
        "plans, leaves out what does not matter, and watches progress, round an acting agent",
        True,
        _SAMPLING | _REPLANNING | _PET,
    ),
    "lota": _Entry(
        making.lota, "the likeliest of a fixed set of skills, one after the other", True, _LIKELIEST | {"exact": False}
    ),
    "saycan": _Entry(making.saycan, "every skill scored by itself, times whether it can be done", True, _LIKELIEST),
    "expert": _Entry(making.expert, "the world's own player, without a language model", False, None, takes_rules=False),
    "human": _Entry(making.human, "you, typing", False, {}, takes_rules=False),
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


def default_agent(model: str | None, world: str) -> str:
    """Who plays in the world named ``world`` where nobody is named: the expert where there is no model to play with."""
    return DEFAULT_AGENT if model or belief_reader(world) is not None else "expert"


def shipped_model(agent: str) -> str | None:
    """The model that ships, where it can fill the roles of ``agent`` in a household; else None."""
    return DEFAULT_MODEL if _entry(agent).brief else None


def model_for(agent: str, model: str | None, world: str) -> str | None:
    """The model that ``agent`` plays the world named ``world`` with: ``model``, else the one that ships where it can serve.

    None where the agent needs none. Raises ``ConfigurationError`` where there is none, or the built-in one cannot serve.
    """
    entry = _entry(agent)
    if not entry.needs_model:
        return None
    serves = entry.brief and belief_reader(world) is not None
    if model is None and serves:
        return DEFAULT_MODEL
    if model is None:
        raise ConfigurationError(f"The agent {agent!r} needs a language model; name one with --model, for example {EXAMPLE}.")
    if parse_model(model).provider.brief and not serves:
        raise ConfigurationError(
            f"The model {shown(model, 60)} plays households as {DEFAULT_AGENT} and knows nothing else. Take that agent there, "
            f"or name another model, for example {EXAMPLE}."
        )
    return model


def takes_rules(name: str) -> bool:
    """Whether what the agent does can depend on the rules that it is told."""
    return _entry(name).takes_rules


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
    return _entry(name).make(Parts(world, model, question, resolve_settings(name, settings or {}), seed))


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
