"""The real alfworld + textworld, loaded into this process. It prints, and takes seconds to import: see `textworld`.

Facts about alfworld 0.4.2 and textworld 1.7.0: alfworld makes ``$ALFWORLD_DATA`` when it is imported; textworld imports
jericho, which plays another kind of game, so that it need only be importable.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from worlds.errors import ConfigurationError

PLACEHOLDER = "UNKNOWN GOAL."
"""The task sentence in the grammar that alfworld installs."""

_PACKAGES = ("textworld", "alfworld", "fast_downward")


@dataclass(frozen=True, slots=True)
class Material:
    """What the reference makes a game of; without a domain or a grammar, those that alfworld installs."""

    problem: str
    domain: str | None = None
    grammar: str | None = None


@dataclass(frozen=True, slots=True)
class GameOutput:
    """One answer of the reference."""

    text: str
    won: bool
    commands: tuple[str, ...]


def check_installed() -> None:
    """Raise ``ConfigurationError`` where a package of the reference is missing. Imports and starts nothing."""
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"The engine 'textworld' needs {' and '.join(missing)}, which this Python has not: "
            '`pip install "housequest[alfworld]"` (it compiles for some minutes), or use the engine native.'
        )


def versions() -> str:
    """The installed versions, as ``textworld 1.7.0, alfworld 0.4.2``."""
    return ", ".join(f"{name} {_version(name)}" for name in ("textworld", "alfworld"))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # importable, but from a folder that says nothing of itself
        return "unknown"


class Reference:
    """The real game, one at a time. Whatever the packages raise comes through as it is.

    ``domain`` and ``grammar`` are those that alfworld installs.
    """

    def __init__(self) -> None:
        with _own_data():
            _import_or_stand_in("jericho")
            textworld: Any = importlib.import_module("textworld")
            pddl: Any = importlib.import_module("textworld.envs.pddl.pddl")
            wrapper: Any = importlib.import_module("alfworld.agents.environment.alfred_tw_env")
            info: Any = importlib.import_module("alfworld.info")
        self._env: Any = wrapper.AlfredDemangler(pddl.PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)))
        self.domain = Path(info.ALFRED_PDDL_PATH).read_text(encoding="utf-8")
        self.grammar = Path(info.ALFRED_TWL2_PATH).read_text(encoding="utf-8")

    def load(self, material: Material) -> None:
        """Load a game, in place of the one before. The grammar can hold code: it must be one that is vouched for."""
        domain = self.domain if material.domain is None else material.domain
        grammar = self.grammar if material.grammar is None else material.grammar
        self._env.load({"pddl_domain": domain, "grammar": grammar, "pddl_problem": material.problem})

    def reset(self) -> GameOutput:
        return _told(self._env.reset())

    def step(self, command: str) -> GameOutput:
        return _told(self._env.step(command)[0])


def _told(state: Any) -> GameOutput:
    return GameOutput(str(state.feedback), bool(state.won), tuple(state.admissible_commands))


@contextmanager
def _own_data() -> Generator[None]:
    """Let alfworld make a data folder of one that is there, so that none is left behind; then the environment as it was."""
    before = os.environ.get("ALFWORLD_DATA")
    os.environ["ALFWORLD_DATA"] = str(Path(__file__).parent)
    try:
        yield
    finally:
        if before is None:
            del os.environ["ALFWORLD_DATA"]
        else:
            os.environ["ALFWORLD_DATA"] = before


def _import_or_stand_in(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        module = types.ModuleType(name)
        vars(module).update(UnsupportedGameWarning=UserWarning, TruncatedInputActionWarning=UserWarning)
        sys.modules[name] = module
