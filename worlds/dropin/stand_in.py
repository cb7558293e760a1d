"""Puts the native engine behind the names of ``alfworld`` and ``textworld``; see `housequest.as_alfworld`.

What they have beyond the text games is missing, and importing it raises ``ModuleNotFoundError``.
"""

from __future__ import annotations

import os
import runpy
import sys
import tomllib
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from housequest.worlds.dropin import config, core, env, games
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import alfworld_data

ALFWORLD, TEXTWORLD = "0.4.2", "1.7.0"  # The versions that are stood in for.


def _modules() -> Mapping[str, Mapping[str, object]]:
    ours, found = {"config": config, "core": core, "env": env, "games": games}, dict[str, dict[str, object]]()
    for name, contents in tomllib.loads(Path(__file__).with_name("stand_in.toml").read_text("utf-8")).items():
        pairs = ((module, *one.split("=")) for module, names in contents.items() for one in names.split())
        found[name] = {theirs[0]: getattr(ours[module], theirs[-1]) for module, *theirs in pairs}
    paths = {"ALFRED_PDDL_PATH": str(_logic("alfred.pddl")), "ALFRED_TWL2_PATH": str(_logic("alfred.twl2"))}
    info = {"ALFWORLD_DATA": str(alfworld_data()), **paths, "__version__": ALFWORLD}
    return {**found, "alfworld": info, "alfworld.info": info, "textworld": {**found["textworld"], "__version__": TEXTWORLD}}


def _logic(name: str) -> Path:
    """The path of ALFWorld's domain or grammar: with the games, as ``alfworld-download`` puts it, or in an installed alfworld.
    If neither is there, the first of these, so that opening it says what is missing."""
    installed = PathFinder.find_spec("alfworld")  # ignores loaded modules, and so our own stand-in
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
        module = sys.modules[name] = ModuleType(name, "Stands in for the real one; see housequest.as_alfworld.")
        vars(module).update(contents, __path__=[], __stands_in__=True)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)


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
