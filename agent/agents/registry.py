"""Agent names, their settings, and how each is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worlds.base import World
from worlds.errors import ConfigurationError, nearest, shown
from worlds.registry import belief_reader

if TYPE_CHECKING:
    from agent.agents.base import Agent
    from agent.agents.human import Question
    from agent.models.base import Model

Setting = str | int | float | bool

_SAMPLING: dict[str, Setting] = {"max_tokens": 512, "temperature": 0.0}
_REPLANNING: dict[str, Setting] = {"on_subgoal": True, "stuck_after": 3, "on_hint": True, "revisions": 12}


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


@dataclass(frozen=True, slots=True)
class _Entry:
    make: Callable[[_Parts], Agent]
    about: str
    needs_model: bool
    settings: Mapping[str, Setting] | None
    """The defaults; None where the world says what can be set."""
    takes_rules: bool = True


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
    "expert": _Entry(_expert, "the world's own player, without a language model", False, None, takes_rules=False),
    "human": _Entry(_human, "you, typing", False, {}, takes_rules=False),
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
