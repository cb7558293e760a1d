"""A run's card: under what conditions it was measured, in the words that every report begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from housequest.agent.agents.registry import agent_spec, learned_prior
from housequest.agent.agents.spec import WEIGHTS
from housequest.agent.evaluation.runs.selection import MANY, selection_text
from housequest.agent.evaluation.runs.spec import Manifest, RunConfig
from housequest.agent.protocols import PROTOCOLS
from housequest.worlds.base import World
from housequest.worlds.errors import ConfigurationError, unquoted
from housequest.worlds.registry import DEFAULT_WORLD, world_class

_PRIORS: Mapping[object, str] = {
    "llm": "the agent's own model",
    "random": "none, places are searched at random",
    "name": "none, places are searched by name",
}
"""What is known of places before anything was seen, by the setting that says how places are searched; but for counts."""


def card(manifest: Manifest, asked: str) -> dict[str, str]:
    """The conditions of a run by name; ``asked`` is how its model was asked, as its `Figures` say."""
    config = manifest.configuration
    told = config.settings.get("exemplars") and config.settings.get("thoughts") in ("turns", "none")
    counted = ", thoughts among them" if told else ""
    protocol = PROTOCOLS.get(config.protocol or "")
    listed = protocol.tasks(config.split) if protocol else None
    whole = len(manifest.tasks) == (len(listed) if listed else manifest.of) or manifest.of > MANY or config.attempt
    perception = _perception(config)
    part = "" if whole else f": not the whole {'list' if listed else 'split'}"
    return {
        "protocol": config.protocol or "none named",
        "split": config.split,
        "tasks": f"{selection_text(len(manifest.tasks), manifest.of)}{part}",
        "goals": config.goals,
        "turns": f"at most {config.max_turns}{counted}",
        "grants": ", ".join(config.grants) or "none",
        "retries": f"attempt {config.attempt}, at tasks that were not won before" if config.attempt else "none",
        "repeats": f"several runs, of which this is number {config.repeat}" if config.repeat else "1",
        "asked": asked,
        "examples": _examples(config),
        "rules": config.rules.label if config.rules else "none",
        "weights": _weights(manifest),
        "sees": f"what its camera shows, by perception {perception}" if perception else "text",
        "prior": counted_prior(config) if perception else _prior(config),  # of which closed receptacle to open
        "data": manifest.data[:16],
        "engine": manifest.engine,
    }


def card_differences(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What two cards do not share: each may be why the runs differ, whatever the agents are."""
    return {name: (line, second[name]) for name, line in first.items() if line != second[name]}


def shared_card(cards: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The lines that all of these cards have alike; empty for no card."""
    first = cards[0] if cards else dict[str, str]()
    return {name: line for name, line in first.items() if all(other.get(name) == line for other in cards)}


_MOST_VALUES = 6
"""How many values of a line are listed; of a large grid, the arms' names say what differs."""


def arms_card(cards: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """The cards of a sweep by arm as one: first what all arms share, then each line in which they differ."""
    shared = shared_card(list(cards.values()))
    others = dict.fromkeys(name for each in cards.values() for name in each if name not in shared)
    differ = [(name, _differing({arm: each.get(name, "-") for arm, each in cards.items()})) for name in others]
    return [*shared.items(), *differ]


def _differing(lines: Mapping[str, str]) -> str:
    by_value = {value: ", ".join(arm for arm, line in lines.items() if line == value) for value in lines.values()}
    if len(by_value) > _MOST_VALUES:
        return f"differs in {len(by_value)} ways; --json has each arm's card"
    return f"differs: {'; '.join(f'{value} ({arms})' for value, arms in by_value.items())}"


def _weights(manifest: Manifest) -> str:
    """The digests of the files of model and network, where they have one: two files of one name may play otherwise."""
    networks = [digest for name, digest in manifest.prompts.items() if name.endswith(f"/{WEIGHTS}")]
    known = (*filter(None, (manifest.configuration.script_sha256,)), *networks)
    return ", ".join(digest[:12] for digest in known) or ("none" if manifest.configuration.model is None else "not known here")


def _perception(config: RunConfig) -> str:
    """What makes things of an agent's pictures; empty for one that reads texts."""
    try:
        seeing = agent_spec(config.agent).by_camera and world_class(config.world).pictured
    except ConfigurationError:  # a run of a plugin that is not here
        return ""
    return str(config.settings.get("seeing", "truth")) if seeing else ""


def counted_prior(config: RunConfig) -> str:
    """What a search by counts knows of places in a run's world."""
    try:
        return world_class(config.world).prior
    except ConfigurationError:  # a run of a plugin that is not here
        return World.prior


def _prior(config: RunConfig) -> str:
    settings = config.settings
    how = settings.get("search", settings.get("order", learned_prior(config.agent, settings)))
    if how is None and config.model is None:
        # The expert's settings are its world's, whose defaults a run does not keep.
        return counted_prior(config) if config.world == DEFAULT_WORLD else "the player's own"
    if how == "counts":
        return counted_prior(config)
    return _PRIORS.get(how, unquoted(how)) if how is not None else "none but the model's"


def _examples(config: RunConfig) -> str:
    settings = config.settings
    exemplars = settings.get("exemplars")
    if exemplars:
        kind = "without thoughts, " if settings.get("thoughts") == "none" else ""
        return f"2 exemplars of the task's type, {kind}{'ours' if exemplars == 'own' else 'from a file'}"
    shots, source = settings.get("shots"), settings.get("examples")
    return f"{shots} of {unquoted(source)}" if shots and source else "none"
