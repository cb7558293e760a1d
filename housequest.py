"""housequest: long household tasks in text, played by people and language-model agents.

The public interface. Each name is imported on first use::

    from housequest import evaluate, make_agent, make_world, play

docs/guides/extending.md builds a world, an agent and a kind of model with it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.agents.checking import check_agent
    from agent.agents.registry import agent_names, make_agent
    from agent.agents.spec import AgentParts, AgentSpec, declare_agent
    from agent.base import Act, Agent, Decision, Emitter, GiveUp, Grants, Idle, ParseFailure, Turn
    from agent.episodes.events import Event
    from agent.episodes.loop import EpisodeConfig, play, run_episode
    from agent.episodes.record import EpisodeRecorder, read_episode
    from agent.evaluation.library import evaluate, report
    from agent.models.base import Capabilities, Completion, Image, Message, Model, Request, Scores
    from agent.models.checking import check_model
    from agent.models.provider import CallOptions, ModelProvider
    from agent.models.registry import make_model
    from worlds.base import Env, Observation, Policy, Step, Task, Transition, World
    from worlds.checking import check_world
    from worlds.errors import (
        ConfigurationError,
        GameError,
        HousequestError,
        ModelError,
        OrderError,
        TaskNotFound,
        Unsupported,
        WorldError,
    )
    from worlds.options import option
    from worlds.registry import make_world, world_names

__version__ = "0.1.0"

_MODULES = {
    "agent.agents.checking": ("check_agent",),
    "agent.agents.registry": ("agent_names", "make_agent"),
    "agent.agents.spec": ("AgentParts", "AgentSpec", "declare_agent"),
    "agent.base": ("Act", "Agent", "Decision", "Emitter", "GiveUp", "Grants", "Idle", "ParseFailure", "Turn"),
    "agent.episodes.events": ("Event",),
    "agent.episodes.loop": ("EpisodeConfig", "play", "run_episode"),
    "agent.episodes.record": ("EpisodeRecorder", "read_episode"),
    "agent.evaluation.library": ("evaluate", "report"),
    "agent.models.base": ("Capabilities", "Completion", "Image", "Message", "Model", "Request", "Scores"),
    "agent.models.checking": ("check_model",),
    "agent.models.provider": ("CallOptions", "ModelProvider"),
    "agent.models.registry": ("make_model",),
    "worlds.base": ("Env", "Observation", "Policy", "Step", "Task", "Transition", "World"),
    "worlds.checking": ("check_world",),
    "worlds.errors": (
        *("ConfigurationError", "GameError", "HousequestError", "ModelError"),
        *("OrderError", "TaskNotFound", "Unsupported", "WorldError"),
    ),
    "worlds.options": ("option",),
    "worlds.registry": ("make_world", "world_names"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

# fmt: off
__all__ = [
    "Act", "Agent", "AgentParts", "AgentSpec", "CallOptions", "Capabilities", "Completion", "ConfigurationError",
    "Decision", "Emitter", "Env", "EpisodeConfig", "EpisodeRecorder", "Event", "GameError", "GiveUp", "Grants",
    "HousequestError", "Idle", "Image", "Message", "Model", "ModelError", "ModelProvider", "Observation", "OrderError",
    "ParseFailure", "Policy", "Request", "Scores", "Step", "Task", "TaskNotFound", "Transition", "Turn", "Unsupported",
    "World", "WorldError", "agent_names", "check_agent", "check_model", "check_world", "declare_agent", "evaluate",
    "make_agent", "make_model", "make_world", "option", "play", "read_episode", "report", "run_episode", "world_names",
]
# fmt: on


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'housequest' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def main() -> None:
    """The ``housequest`` command, which Ctrl-C ends without a traceback, also while it is still being imported."""
    try:
        from tui.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
