"""The real alfworld 0.4.2 + textworld 1.7.0, and the program that plays it for another process.

It is a worker as `housequest.worlds.workers` has it: ``{"load": GAME}`` loads a game and starts it, ``{"step": COMMAND}``
plays, anything else starts it again; each is answered by a `GameOutput`. Both packages print, and take seconds to import.
alfworld makes
``$ALFWORLD_DATA`` when it is imported; textworld imports jericho, which plays another kind of game: it need only be importable.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

from housequest.worlds import workers
from housequest.worlds.alfworld.engine.game import GameFile
from housequest.worlds.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class GameOutput:
    """One answer of the reference."""

    text: str
    won: bool
    commands: tuple[str, ...]


def check_installed() -> None:
    """Raise ``ConfigurationError`` where a package of the reference is missing. Imports and starts nothing."""
    missing = [name for name in ("textworld", "alfworld", "fast_downward") if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"The engine 'textworld' needs {' and '.join(missing)}, which this Python has not: "
            '`pip install "housequest[alfworld]"` (it compiles for some minutes), or use the engine native.'
        )


def versions() -> str:
    """The installed versions, as ``textworld 1.7.0, alfworld 0.4.2``."""
    found: list[str] = []
    for package in ("textworld", "alfworld"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:  # importable, but from a folder that says nothing of itself
            found.append(f"{package} unknown")
    return ", ".join(found)


class Reference:
    """The real game, one at a time, with alfworld's ``domain`` and ``grammar``. What the packages raise comes through."""

    def __init__(self) -> None:
        with _own_data():
            try:
                importlib.import_module("jericho")
            except ImportError:
                stand_in = types.ModuleType("jericho")
                vars(stand_in).update(UnsupportedGameWarning=UserWarning, TruncatedInputActionWarning=UserWarning)
                sys.modules["jericho"] = stand_in
            textworld: Any = importlib.import_module("textworld")
            pddl: Any = importlib.import_module("textworld.envs.pddl.pddl")
            wrapper: Any = importlib.import_module("alfworld.agents.environment.alfred_tw_env")
            info: Any = importlib.import_module("alfworld.info")
        self._env: Any = wrapper.AlfredDemangler(pddl.PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)))
        self.domain = Path(info.ALFRED_PDDL_PATH).read_text(encoding="utf-8")
        self.grammar = Path(info.ALFRED_TWL2_PATH).read_text(encoding="utf-8")

    def load(self, file: GameFile) -> None:
        """Load a game, in place of the one before. The grammar can hold code: it must be one that is vouched for."""
        domain = self.domain if file.domain is None else file.domain
        grammar = self.grammar if file.grammar is None else file.grammar
        self._env.load({"pddl_domain": domain, "grammar": grammar, "pddl_problem": file.problem})

    def reset(self) -> GameOutput:
        return _output(self._env.reset())

    def step(self, command: str) -> GameOutput:
        return _output(self._env.step(command)[0])


def _output(state: Any) -> GameOutput:
    return GameOutput(str(state.feedback), bool(state.won), tuple(state.admissible_commands))


@contextmanager
def _own_data() -> Generator[None]:
    """Let alfworld make a data folder of one that is there, so that none is left behind; then the environment as it was."""
    before = os.environ.get("ALFWORLD_DATA")
    os.environ["ALFWORLD_DATA"] = str(Path(__file__).parent)
    try:
        yield
    finally:
        del os.environ["ALFWORLD_DATA"]
        if before is not None:
            os.environ["ALFWORLD_DATA"] = before


def serve_game(make: Callable[[], Reference] = Reference) -> NoReturn:
    """Serve requests with the game that ``make`` makes, until the input ends."""

    def start(_first: object) -> tuple[None, workers.Handler]:
        game = make()

        def answer(request: dict[str, Any], _cancelled: object) -> dict[str, Any]:
            if "step" in request:
                return asdict(game.step(request["step"]))
            if "load" in request:
                game.load(GameFile(**request["load"]))
            return asdict(game.reset())

        return None, answer

    workers.serve(start)


if __name__ == "__main__":
    serve_game()
