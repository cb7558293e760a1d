"""The reference engine: the same env over the real alfworld 0.4.2 + textworld 1.7.0, each game in its own process.

A game takes a second or two to start and a step a tenth of a second; the native engine says the same
(``docs/explanation/parity.md``). Run as a program, this module is that process, a worker of `housequest.worlds.workers`:
``{"load": GAME}`` loads a game and starts it, ``{"step": COMMAND}`` plays, anything else starts it again; the answer is a
`GameOutput`. Both packages print, and take seconds to import. alfworld makes ``$ALFWORLD_DATA`` when it is imported; textworld
imports jericho, which is for other games, so a stand-in is enough.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn, cast

from housequest.worlds import workers
from housequest.worlds.alfworld.engine.game import PLACEHOLDER, Game, GameFile
from housequest.worlds.alfworld.engine.native import REFUSED
from housequest.worlds.base import Observation, Step, Task
from housequest.worlds.errors import ConfigurationError, GameError, OrderError, Unsupported, WorldError, shown
from housequest.worlds.workers import WorkerError


@dataclass(frozen=True, slots=True)
class GameOutput:
    text: str
    won: bool
    commands: tuple[str, ...]


def check_installed() -> None:
    """Raise ``ConfigurationError`` if a package of the reference is missing. Imports and starts nothing."""
    missing = [name for name in ("textworld", "alfworld", "fast_downward") if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"The engine 'textworld' needs {' and '.join(missing)}, which this Python has not: "
            '`pip install "housequest[alfworld]"` (it compiles for some minutes), or use the engine native.'
        )


def versions() -> str:
    """The installed versions, as ``textworld 1.7.0, alfworld 0.4.2``."""

    def of(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:  # importable, but from a folder that says nothing of itself
            return f"{package} unknown"

    return ", ".join(map(of, ("textworld", "alfworld")))


class Reference:
    """The real game, one at a time, with alfworld's ``domain`` and ``grammar``. The packages' errors are passed on."""

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
        return self._told(self._env.reset())

    def step(self, command: str) -> GameOutput:
        return self._told(self._env.step(command)[0])

    def _told(self, state: Any) -> GameOutput:
        return GameOutput(str(state.feedback), bool(state.won), tuple(state.admissible_commands))


@contextmanager
def _own_data() -> Generator[None]:
    """Give alfworld an existing data folder, so that it makes none; afterwards the environment is as before."""
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


WORKER = "housequest.worlds.dropin.reference"
STARTING, LOADING, ANSWERING = 120.0, 300.0, 120.0
"""Seconds after which a worker counts as hanging: to start, to load or reset a game, to answer a command."""
_GAMES = 150  # Games after which a worker is not used again: with each, the planner's library keeps a megabyte or two.


class GameWorker(workers.WorkerProcess):
    """One process, for one game at a time. `stop` may be called from any thread, at any time."""

    _games = 0
    answering = ANSWERING

    @property
    def fit(self) -> bool:
        """True if it lives, and has not grown too large for one more game."""
        return self.alive and self._games < _GAMES

    def played(self, request: dict[str, Any]) -> GameOutput:
        """The answer to a request (see `housequest.worlds.dropin.reference`). Raises ``WorkerError``."""
        self._games += "load" in request
        answer = self.call(request, self.answering if "step" in request else LOADING, STARTING)
        match answer:
            case {"text": str(text), "won": bool(won), "commands": [*commands]} if all(
                isinstance(command, str) for command in cast("list[object]", commands)
            ):
                return GameOutput(text, won, tuple(commands))
            case _:
                self.stop()
                raise WorkerError(f"gave an answer that cannot be read: {shown(str(answer)[:100])}")


class Workers:
    """Workers that are used again, each by one game at a time. Safe to share between threads. As many run as there are games
    open at once; up to ``kept`` wait for the next game. All end with the pool: when it is closed or garbage, or the interpreter
    exits; if that is killed, they end by themselves."""

    def __init__(self, module: str = WORKER, kept: int = 4, answering: float = ANSWERING) -> None:
        self._module, self._kept, self._answering = module, kept, answering
        self._idle: deque[GameWorker] = deque()
        self._all: weakref.WeakSet[GameWorker] = weakref.WeakSet()
        idle, every = self._idle, self._all

        def stop_all() -> None:
            for worker in list(every):
                worker.stop()
            idle.clear()

        self.close = weakref.finalize(self, stop_all)  # End all workers, busy ones too.

    def take(self) -> GameWorker:
        """A worker for one game; give it back."""
        with suppress(IndexError):  # another thread may have taken the last one
            while True:
                worker = self._idle.pop()
                if worker.fit:
                    return worker
                worker.stop()
        worker = GameWorker(self._module)
        worker.answering = self._answering
        self._all.add(worker)
        return worker

    def give_back(self, worker: GameWorker) -> None:
        """Take back a worker, in any state."""
        if worker.fit and len(self._idle) < self._kept and self.close.alive:
            self._idle.append(worker)
        else:
            worker.stop()


class TextworldEngine(Workers):
    """The engine ``textworld``, whose games share its workers. Raises ``ConfigurationError`` where it is not installed."""

    enacts = False

    def __init__(self) -> None:
        check_installed()
        super().__init__()

    @property
    def version(self) -> str:
        return versions()

    def open(self, task: Task, game: Game, file: GameFile) -> TextworldEnv:
        return TextworldEnv(task, game, file, self)


class TextworldEnv:
    """A game of the reference. It takes a worker with its first reset and gives it back when it is closed, or is garbage.

    ``game`` is the native engine's reading of the ``file``, and vouches for it: the reference would run code that a grammar
    holds. A goal that the file does not state (a person's, a house's) never becomes grammar; it is put into the opening's text.
    When the worker dies or hangs, `reset` raises ``GameError`` and `step` ``WorldError``; a reset starts again in another one.
    """

    def __init__(self, task: Task, game: Game, file: GameFile, workers: Workers) -> None:
        self.task, self._workers = task, workers
        own = file.grammar is not None and task.wording == "template"
        self._goal = file.sentence if own else game.sentence
        self._material = replace(file, sentence=PLACEHOLDER) if file.grammar is None else file
        self._worker: GameWorker | None = None
        self._release: weakref.finalize[..., TextworldEnv] | None = None
        self._commands: tuple[str, ...] | None = None
        self._stepping = threading.Lock()

    def reset(self) -> Step:
        """Start, or start again. Takes a second or two."""
        with self._stepping:
            self._commands = None
            try:
                if self._worker is None:
                    self._worker = self._workers.take()
                    self._release = weakref.finalize(self, self._workers.give_back, self._worker)
                    self._release.atexit = False  # the pool ends then, and all workers with it
                    output = self._worker.played({"load": asdict(self._material)})
                else:
                    output = self._worker.played({"reset": True})
            except WorkerError as error:
                self._broken(error, GameError)
            text = output.text.removesuffix(self._material.sentence)
            if text == output.text:
                raise GameError(f"{shown(self.task.id)}: the reference does not state its goal; {shown(text[-100:])}.")
            return self._step(replace(output, text=text + self._goal))

    def step(self, command: str) -> Step:
        with self._stepping:
            self.admissible_commands()
            assert self._worker is not None
            try:
                return self._step(self._worker.played({"step": command}))
            except WorkerError as error:
                self._broken(error, WorldError)

    def admissible_commands(self) -> tuple[str, ...]:
        if self._commands is None:
            raise OrderError("This env was used before its reset; call reset() first.")
        return self._commands

    def goal_conditions(self) -> None:
        """None: the reference does not list them."""

    def copy(self) -> TextworldEnv:
        """Raises ``Unsupported``; before the first reset there is nothing to copy but the order."""
        self.admissible_commands()
        raise Unsupported("The engine textworld cannot copy a running game; play its commands again in another env.")

    def close(self) -> None:
        """Give the worker back; one that is in the midst of a step, whose caller has gone, is ended."""
        if not self._stepping.acquire(blocking=False):
            if self._worker is not None:
                self._worker.stop()
            return
        try:
            self._give_back()
        finally:
            self._stepping.release()

    def _give_back(self) -> None:
        self._worker = self._commands = None
        if self._release is not None:
            self._release()

    def _broken(self, error: WorkerError, kind: type[WorldError]) -> NoReturn:
        self._give_back()
        raise kind(
            f"{shown(self.task.id)}: the reference game broke off: its process {error}. Reset it to start again, or use the "
            "engine native."
        ) from error

    def _step(self, output: GameOutput) -> Step:
        self._commands = output.commands
        return Step(Observation(output.text, accepted=output.text != REFUSED), won=output.won, terminated=output.won)


if __name__ == "__main__":
    serve_game()
