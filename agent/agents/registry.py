"""Agents by name: finds their specs, reads their settings, and makes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from housequest.agent.agents.spec import AgentParts, AgentSpec, needs_a_model
from housequest.agent.models.registry import DEFAULT_MODEL, EXAMPLE, parse_model
from housequest.worlds.errors import ConfigurationError, Unsupported, shown
from housequest.worlds.options import Scalar
from housequest.worlds.registry import DEFAULT_WORLD, household, load_plugin, plugins, ships

if TYPE_CHECKING:
    from housequest.agent.agents.spec import Worked
    from housequest.agent.base import Agent, AskPerson
    from housequest.agent.models.base import Model
    from housequest.worlds.base import World

SEARCHER = "housequest.agent.skills"
"""The package of the prompt that asks a model where to look."""

DEFAULT_AGENT = "reasoner-actor"

CORE = ("react", DEFAULT_AGENT, "expert", "human")
"""The agents that are always there, first in lists; the others that ship follow by name, and then those of other packages."""


def agent_names() -> tuple[str, ...]:
    """The names of all agents, of plugins too."""
    return tuple(dict.fromkeys((*CORE, *plugins("housequest.agents"))))


def agent_spec(name: str) -> AgentSpec:
    """The spec of the agent ``name``. Raises ``ConfigurationError``."""
    spec = load_plugin("housequest.agents", name, "agent")
    if not isinstance(spec, AgentSpec) or spec.name != name:
        raise ConfigurationError(
            f"The entry point {name!r} of housequest.agents is not an AgentSpec of that name; correct its package."
        )
    return spec


def default_agent(model: str | None, world: str) -> str:
    """The agent that plays ``world`` if none is given: the expert if no model can play it."""
    return DEFAULT_AGENT if model or _builtin_speaks(world) else "expert"


def _builtin_speaks(world: str) -> bool:
    """Whether the world is a household with the commands that the built-in model was taught."""
    reader = household(world)
    taught = household(DEFAULT_WORLD)
    return reader is not None and taught is not None and reader.commands == taught.commands


def shipped_model(agent: str) -> str | None:
    """The model that ships if it can play ``agent`` in a household, else None."""
    return DEFAULT_MODEL if agent_spec(agent).builtin else None


def model_for(agent: str, model: str | None, world: str, settings: Mapping[str, object] | None = None) -> str | None:
    """The model that ``agent`` plays ``world`` with: ``model``, else the built-in one; None if it needs none with
    ``settings``. Raises ``ConfigurationError`` if none is given or the built-in one cannot play.
    """
    spec = agent_spec(agent)
    if not spec.needs_model_with(settings or {}):
        return None
    serves = spec.builtin and _builtin_speaks(world)
    if model is None and serves:
        return DEFAULT_MODEL
    if model is None:
        raise ConfigurationError(needs_a_model(agent))
    if parse_model(model).provider.brief and not serves:
        raise ConfigurationError(
            f"The model {shown(model, 60)} plays households like ALFWorld's as {DEFAULT_AGENT} and knows nothing else. Take "
            f"that agent there, or name another model, for example {EXAMPLE}."
        )
    return model


def resolve_settings(name: str, given: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """All settings of agent ``name``: its defaults, replaced by those ``given``. Raises ``ConfigurationError``."""
    spec = agent_spec(name)
    read = spec.read_settings(given)
    return read if spec.settings is None else dataclasses.asdict(read)


def make_agent(
    name: str,
    *,
    world: World,
    model: Model | None = None,
    settings: Mapping[str, Scalar] | None = None,
    seed: int = 0,
    question: AskPerson | None = None,
    worked: Worked | None = None,
) -> Agent:
    """Make the agent ``name`` for ``world``. ``question`` asks a person for a command, and ``worked`` has example replies for
    a model that continues plain text. Raises ``ConfigurationError``, and ``Unsupported`` if it does not play such a world.
    """
    spec = agent_spec(name)
    read = spec.read_settings(settings or {})
    if spec.needs_model_with(settings or {}) and model is None:
        raise ConfigurationError(needs_a_model(name))
    able = spec.takes_skills if world.skills else spec.by_camera and world.pictured
    if spec.needs_household and world.skills and not able:
        others = ", ".join(other for other in agent_names() if agent_spec(other).takes_skills)
        raise Unsupported(
            f"The agent {name!r} gives commands, and the commands of {shown(world.name)} are whole skills here; take "
            f"{f'{others} or ' if others else ''}react, or leave that option of the world out."
        )
    if spec.needs_household and world.household is None and not able:
        raise Unsupported(
            f"The agent {name!r} plays households, and the world {shown(world.name)} is not one; take a household, or react."
        )
    return spec.make(AgentParts(name, world, read, seed, model, question, worked))


def acting_agent(agent: str, settings: Mapping[str, object]) -> str:
    """Who gives the commands: ``agent``, or the one that it wraps by its ``settings``."""
    return str(settings.get("acting", agent))


def learned_prior(agent: str, settings: Mapping[str, object]) -> str | None:
    """By what the network of who acts learned to search; None where no network acts, or its package is not installed."""
    acting = acting_agent(agent, settings)
    return agent_spec(acting).prior if acting in agent_names() else None


def data_digests(agent: str, settings: Mapping[str, Scalar], world: World) -> dict[str, str]:
    """The SHA-256 of all that ``agent`` and who acts for it read besides prompts. Raises ``ConfigurationError`` and others."""
    from housequest.agent.agents.examples import store_digests

    found = store_digests(world, settings)
    for name in dict.fromkeys((agent, acting_agent(agent, settings))):
        if (digests := agent_spec(name).digests) is not None:
            found |= digests(settings, world.household)
    return found


def used_prompts(agent: str) -> frozenset[str]:
    """The templates that can reach a model when ``agent`` plays, by their names in `prompt_hashes`."""
    from housequest.agent.roles.base import template_hashes

    spec = agent_spec(agent)
    players = (agent, *(name for name in spec.wraps if name in agent_names()))
    packages = ["housequest.agent.roles", *filter(None, (agent_spec(name).prompts for name in players))]
    packages += [SEARCHER] if spec.searches else []
    names = [name for package in packages for name in template_hashes(package)]
    return frozenset((*names, *(f"{agent}/{name}" for name in names)))


def prompt_hashes(agent: str | None = None) -> dict[str, str]:
    """The SHA-256 of each prompt template by name, for a record: of all that ship, and those of a plugin ``agent``."""
    from housequest.agent.roles.base import template_hashes

    agents = [name for name in agent_names() if ships("housequest.agents", name)]
    others = [point.module for name, point in plugins("housequest.prompts").items() if ships("housequest.prompts", name)]
    packages = {"housequest.agent.roles", SEARCHER, *others, *filter(None, (agent_spec(name).prompts for name in agents))}
    hashes = {name: digest for package in packages for name, digest in template_hashes(package).items()}
    if agent is not None and agent not in agents and (package := agent_spec(agent).prompts):
        hashes |= {f"{agent}/{name}": digest for name, digest in template_hashes(package).items()}
    return dict(sorted(hashes.items()))
