"""Puts the native engine behind the names of ``alfworld`` and ``textworld``; see `housequest.as_alfworld`.

What they have beyond the text games is missing, and importing it raises ``ModuleNotFoundError``.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from housequest.worlds.dropin import batches, config, core, env, games
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import alfworld_data

ALFWORLD, TEXTWORLD = "0.4.2", "1.7.0"
"""The versions that are stood in for."""


def _modules() -> Mapping[str, Mapping[str, object]]:
    """What each module of the two has, by its name."""
    info = {
        "ALFWORLD_DATA": str(alfworld_data()),
        "ALFRED_PDDL_PATH": str(_logic("alfred.pddl")),
        "ALFRED_TWL2_PATH": str(_logic("alfred.twl2")),
        "__version__": ALFWORLD,
    }
    environment = {
        "AlfredTWEnv": env.AlfredTWEnv,
        "AlfredDemangler": env.AlfredDemangler,
        "AlfredInfos": env.AlfredInfos,
        "AlfredExpert": env.AlfredExpert,
        "AlfredExpertType": env.AlfredExpertType,
        "TASK_TYPES": env.NUMBERED_TYPES,
    }
    contracts = {
        "EnvInfos": core.EnvInfos,
        "Environment": core.Environment,
        "EnvInfoMissingError": core.EnvInfoMissingError,
        "GameState": core.GameState,
        "Agent": core.Agent,
    }
    wrappers = {"Filter": core.Filter, "Limit": core.Limit, "GenericEnvironment": games.PddlEnv}
    batch = {"SyncBatchEnv": batches.SyncBatchEnv, "AsyncBatchEnv": batches.SyncBatchEnv}
    gym_envs = {"TextworldGymEnv": batches.SingleEnv, "TextworldBatchGymEnv": batches.BatchEnv}
    registered = {
        "register_game": batches.register_game,
        "register_games": batches.register_games,
        "make": batches.make,
        "registry": batches.registry,
    }
    return {
        "alfworld": info,
        "alfworld.info": info,
        "alfworld.agents": {},
        "alfworld.agents.environment": {"get_environment": env.get_environment, "AlfredTWEnv": env.AlfredTWEnv},
        "alfworld.agents.environment.alfred_tw_env": environment,
        "alfworld.agents.modules": {},
        "alfworld.agents.modules.generic": {"load_config": config.load_config},
        "textworld": {**contracts, "start": games.start, "__version__": TEXTWORLD},
        "textworld.core": {**contracts, "Wrapper": core.Wrapper},
        "textworld.envs": {"PddlEnv": games.PddlEnv},
        "textworld.envs.pddl": {"PddlEnv": games.PddlEnv},
        "textworld.envs.wrappers": wrappers,
        "textworld.envs.batch": batch,
        "textworld.gym": {**registered, "Agent": core.GymAgent},
        "textworld.gym.core": {"Agent": core.GymAgent},
        "textworld.gym.envs": gym_envs,
        "textworld.gym.utils": registered,
    }


def _logic(name: str) -> Path:
    """Where ALFWorld's domain or grammar is: with the games, as ``alfworld-download`` puts it, or in an installed alfworld.

    Where there is neither, the first of these, so that whoever opens it reads what is missing.
    """
    installed = PathFinder.find_spec("alfworld")  # looks at no module that is loaded, so not at what stands in for it
    folders = (installed and installed.submodule_search_locations) or []
    paths = [alfworld_data() / "logic" / name, *(Path(folder, "data", name) for folder in folders)]
    return next((path for path in paths if path.is_file()), paths[0])


def stand_in() -> None:
    """Put the stand-ins where ``import`` looks first. Raises ``ConfigurationError`` if the real ones are imported already."""
    for name in ("alfworld", "textworld"):
        if name in sys.modules and not hasattr(sys.modules[name], "__stands_in__"):
            raise ConfigurationError(f"{name} is imported already; import housequest.as_alfworld before it.")
    os.environ.setdefault("ALFWORLD_DATA", str(alfworld_data()))
    for name, contents in _modules().items():
        sys.modules[name] = _module(name, contents)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, sys.modules[name])


def _module(name: str, contents: Mapping[str, object]) -> ModuleType:
    module = ModuleType(name, "Stands in for the real one; see housequest.as_alfworld.")
    vars(module).update(contents)
    vars(module).update(__path__=[], __stands_in__=True)
    return module


def main(arguments: list[str]) -> None:
    """Run a script, or with ``-m`` a module, in place of this one."""
    match arguments:
        case ["-m", module, *_]:
            sys.argv = arguments[1:]
            sys.path.insert(0, str(Path.cwd()))
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [script, *_] if not script.startswith("-"):
            sys.argv = arguments
            sys.path.insert(0, str(Path(script).resolve().parent))
            runpy.run_path(script, run_name="__main__")
        case _:
            sys.exit("Usage: python -m housequest.as_alfworld SCRIPT [ARGUMENT...] | -m MODULE [ARGUMENT...]")
