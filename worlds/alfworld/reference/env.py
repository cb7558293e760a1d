"""The reference engine: the same env over the real alfworld + textworld, each game in its own process.

It costs a second or two to start a game and a tenth of a second a step; the native engine says the same (``docs/parity.md``).
"""

from __future__ import annotations

import json
import threading
import weakref
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from worlds.alfworld.engine.game import MAX_FILE, Game, read_published
from worlds.alfworld.engine.native import REFUSED
from worlds.alfworld.reference.packages import PLACEHOLDER, GameOutput, Material
from worlds.alfworld.reference.workers import Worker, Workers
from worlds.base import Observation, Step, Task
from worlds.errors import GameError, OrderError, Unsupported, WorldError, shown
from worlds.workers import WorkerError


class TextworldEnv:
    """A game of the reference. It takes a worker with its first reset and gives it back when it is closed, or is garbage.

    ``game`` is the task's as the native engine reads it, which vouches for the file: the reference would run code that a
    grammar holds. ``problem`` is the PDDL of a house that has no file. A goal that the file does not state (a person's, a
    house's) never becomes grammar; it is put into the opening's text. Raises ``GameError``. When the worker dies or hangs,
    `reset` raises ``GameError`` and `step` ``WorldError``; a reset starts again in another one.
    """

    def __init__(self, task: Task, game: Game, workers: Workers, problem: str | None = None) -> None:
        self.task = task
        self._material, self._stated = read_material(task) if problem is None else (Material(problem), PLACEHOLDER)
        published = self._material.grammar is not None
        self._goal = self._stated if published and task.wording == "template" else game.sentence
        self._workers = workers
        self._worker: Worker | None = None
        self._release: weakref.finalize[..., TextworldEnv] | None = None
        self._commands: tuple[str, ...] | None = None
        self._stepping = threading.Lock()

    def reset(self) -> Step:
        """Start, or start again. Takes a second or two."""
        with self._stepping:
            self._commands = None
            try:
                told = self._started() if self._worker is None else self._worker.reset()
            except WorkerError as error:
                self._broken(error, GameError)
            text = told.text.removesuffix(self._stated)
            if text == told.text:
                raise GameError(f"{shown(self.task.id)}: the reference does not state its goal; {shown(told.text[-100:])}.")
            return self._step(GameOutput(text + self._goal, told.won, told.commands))

    def step(self, command: str) -> Step:
        with self._stepping:
            self._begun()
            assert self._worker is not None
            try:
                return self._step(self._worker.step(command))
            except WorkerError as error:
                self._broken(error, WorldError)

    def admissible_commands(self) -> tuple[str, ...]:
        return self._begun()

    def goal_conditions(self) -> None:
        """Not told by the reference."""

    def copy(self) -> TextworldEnv:
        """Raises ``Unsupported``; before the first reset there is nothing to copy but the order."""
        self._begun()
        raise Unsupported("The engine textworld cannot copy a running game; play its commands again in another env.")

    def close(self) -> None:
        """Give the worker back; one that is in the midst of a step, whose caller has gone, is ended."""
        if not self._stepping.acquire(blocking=False):
            if self._worker is not None:
                self._worker.stop()
            return
        try:
            self._commands = None
            self._give_back()
        finally:
            self._stepping.release()

    def _started(self) -> GameOutput:
        worker = self._workers.take()
        self._worker = worker
        self._release = weakref.finalize(self, self._workers.give_back, worker)
        self._release.atexit = False  # the pool ends then, and all workers with it
        return worker.load(**asdict(self._material))

    def _give_back(self) -> None:
        self._worker = None
        if self._release is not None:
            self._release()

    def _begun(self) -> tuple[str, ...]:
        if self._commands is None:
            raise OrderError("This env was used before its reset; call reset() first.")
        return self._commands

    def _broken(self, error: WorkerError, kind: type[WorldError]) -> NoReturn:
        self._commands = None
        self._give_back()
        raise kind(
            f"{shown(self.task.id)}: the reference game broke off: its process {error}. Reset it to start again, or use the "
            "engine native."
        ) from error

    def _step(self, told: GameOutput) -> Step:
        self._commands = told.commands
        return Step(Observation(told.text, accepted=told.text != REFUSED), won=told.won, terminated=told.won)


def read_material(task: Task) -> tuple[Material, str]:
    """What the reference makes the game of, and the goal sentence in it."""
    path = task.source or Path()
    origin = shown(str(path), 400)[1:-1]
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
        data: Any = json.loads(content)
        if path.suffix == ".json":
            return Material(data["pddl_problem"]), PLACEHOLDER
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise GameError(f"{origin}: the game cannot be read: {shown(str(error))}.") from error
    published = read_published(content, origin)
    return Material(published.problem, data["pddl_domain"], data["grammar"]), published.sentence
