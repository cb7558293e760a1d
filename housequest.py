"""housequest: long household tasks in text, played by people and language-model agents.

The public front door. Everything is imported from here, on first use::

    from housequest import make_agent, make_world, play
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.agents.registry import agent_names, make_agent
    from agent.episodes.events import Event
    from agent.episodes.loop import EpisodeConfig, play, run_episode
    from agent.episodes.record import EpisodeRecorder, read_episode
    from agent.models.registry import make_model
    from worlds.base import Env, Observation, Step, Task, World
    from worlds.errors import HousequestError
    from worlds.registry import make_world, world_names

__version__ = "0.1.0"

_HOMES = {
    "agent_names": "agent.agents.registry",
    "make_agent": "agent.agents.registry",
    "EpisodeConfig": "agent.episodes.loop",
    "play": "agent.episodes.loop",
    "run_episode": "agent.episodes.loop",
    "Event": "agent.episodes.events",
    "make_model": "agent.models.registry",
    "EpisodeRecorder": "agent.episodes.record",
    "read_episode": "agent.episodes.record",
    "Env": "worlds.base",
    "Observation": "worlds.base",
    "Step": "worlds.base",
    "Task": "worlds.base",
    "World": "worlds.base",
    "HousequestError": "worlds.errors",
    "make_world": "worlds.registry",
    "world_names": "worlds.registry",
}

__all__ = [
    "Env",
    "EpisodeConfig",
    "EpisodeRecorder",
    "Event",
    "HousequestError",
    "Observation",
    "Step",
    "Task",
    "World",
    "agent_names",
    "make_agent",
    "make_model",
    "make_world",
    "play",
    "read_episode",
    "run_episode",
    "world_names",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'housequest' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


if __name__ == "__main__":
    from tui.cli import main

    main()
