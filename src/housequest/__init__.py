"""housequest: long household tasks in text, played by people and language-model agents.

The public interface. Each name is imported on first use::

    from housequest import evaluate, make_agent, make_world, play

docs/guides/extending.md builds a world, an agent and a kind of model with it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from housequest.agent.agents.checking import check_agent
    from housequest.agent.agents.spec import (
        AgentParts,
        AgentRoles,
        AgentSources,
        AgentSpec,
        agent_names,
        declare_agent,
        make_agent,
    )
    from housequest.agent.base import Act, Agent, Decision, Emitter, GiveUp, Grants, Idle, ParseFailure, Turn
    from housequest.agent.episodes.config import EpisodeConfig
    from housequest.agent.episodes.events import Event
    from housequest.agent.episodes.loop import play, run_episode
    from housequest.agent.episodes.record import EpisodeRecorder, read_episode
    from housequest.agent.evaluation.library import evaluate, evaluate_async, register, report
    from housequest.agent.evaluation.notebook import NotebookView, ReportFigures, show_episode, show_house
    from housequest.agent.models.base import Capabilities, Completion, Image, Message, Model, Request, Scores
    from housequest.agent.models.checking import check_model
    from housequest.agent.models.registry import CallOptions, ModelProvider, make_model
    from housequest.worlds.base import Env, Metric, Observation, Policy, Step, Task, Transition, World, WorldInfo
    from housequest.worlds.checking import check_world
    from housequest.worlds.errors import (
        ConfigurationError,
        GameError,
        HousequestError,
        ModelError,
        OrderError,
        TaskNotFound,
        Unsupported,
        WorldError,
    )
    from housequest.worlds.options import option
    from housequest.worlds.registry import make_world, world_names
    from housequest.worlds.shared import Seat, Shareable, Shared

__version__ = "0.2.0"

# The packages lie at the top of a checkout, to which there are links here; where links cannot be had (Windows), Python is told
# of the folder that holds them.
if not Path(__path__[0], "agent").is_dir():
    __path__.append(str(Path(__path__[0]).parents[1]))

_MODULES = {
    "housequest.agent.agents.checking": ("check_agent",),
    "housequest.agent.agents.spec": (
        *("AgentParts", "AgentRoles", "AgentSources", "AgentSpec"),
        *("agent_names", "declare_agent", "make_agent"),
    ),
    "housequest.agent.base": ("Act", "Agent", "Decision", "Emitter", "GiveUp", "Grants", "Idle", "ParseFailure", "Turn"),
    "housequest.agent.episodes.events": ("Event",),
    "housequest.agent.episodes.config": ("EpisodeConfig",),
    "housequest.agent.episodes.loop": ("play", "run_episode"),
    "housequest.agent.episodes.record": ("EpisodeRecorder", "read_episode"),
    "housequest.agent.evaluation.library": ("evaluate", "evaluate_async", "register", "report"),
    "housequest.agent.evaluation.notebook": ("NotebookView", "ReportFigures", "show_episode", "show_house"),
    "housequest.agent.models.base": ("Capabilities", "Completion", "Image", "Message", "Model", "Request", "Scores"),
    "housequest.agent.models.checking": ("check_model",),
    "housequest.agent.models.registry": ("CallOptions", "ModelProvider", "make_model"),
    "housequest.worlds.base": ("Env", "Metric", "Observation", "Policy", "Step", "Task", "Transition", "World", "WorldInfo"),
    "housequest.worlds.checking": ("check_world",),
    "housequest.worlds.errors": (
        *("ConfigurationError", "GameError", "HousequestError", "ModelError"),
        *("OrderError", "TaskNotFound", "Unsupported", "WorldError"),
    ),
    "housequest.worlds.options": ("option",),
    "housequest.worlds.registry": ("make_world", "world_names"),
    "housequest.worlds.shared": ("Seat", "Shareable", "Shared"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

# fmt: off
__all__ = [
    "Act", "Agent", "AgentParts", "AgentRoles", "AgentSources", "AgentSpec", "CallOptions", "Capabilities", "Completion",
    "ConfigurationError", "Decision", "Emitter", "Env", "EpisodeConfig", "EpisodeRecorder", "Event", "GameError", "GiveUp",
    "Grants", "HousequestError", "Idle", "Image", "Message", "Metric", "Model", "ModelError", "ModelProvider",
    "NotebookView", "Observation", "OrderError", "ParseFailure", "Policy", "ReportFigures", "Request", "Scores", "Seat",
    "Shareable", "Shared", "Step", "Task", "TaskNotFound", "Transition", "Turn", "Unsupported", "World", "WorldError",
    "WorldInfo", "agent_names", "check_agent", "check_model", "check_world", "declare_agent", "evaluate", "evaluate_async",
    "make_agent", "make_model", "make_world", "option", "play", "read_episode", "register", "report", "run_episode",
    "show_episode", "show_house", "world_names",
]
# fmt: on


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'housequest' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__


def main() -> None:
    """The ``housequest`` command, which Ctrl-C ends without a traceback, also while it is still being imported."""
    try:
        from housequest.tui.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)
