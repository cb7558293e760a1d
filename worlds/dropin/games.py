"""A game of ALFWorld as textworld's environment for PDDL, played by the native engine."""

from __future__ import annotations

import errno
import json
import os
import pickle
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from housequest.worlds.alfworld.engine.game import Action, Game, GameFile, State, load_game, numbered, read_game, read_published
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.engine.pddl import parse_problem
from housequest.worlds.alfworld.engine.planner import Solution, plan
from housequest.worlds.alfworld.games import FILE
from housequest.worlds.base import Step, Task
from housequest.worlds.dropin.core import CommandError, EnvInfos, Environment, GameState
from housequest.worlds.errors import GameError, OrderError, Unsupported, shown
from housequest.worlds.paths import read_file

_GAMES_KEPT = 8_192
_OLDER = b"put {o} in/on {r}"
_UNTOLD = ("facts", "win_facts", "fail_facts", "game", "command_templates")


class PddlEnv(Environment):
    """One game at a time. Without alfworld's demangler, things have the names of the file, as in textworld.

    A file that is no game of ALFWorld's present grammar raises ``GameError`` when it is loaded; to request ``facts``, which are
    hidden state, raises ``Unsupported``.
    """

    def __init__(self, request_infos: EnvInfos | None = None) -> None:
        super().__init__(request_infos)
        self.walkthrough: list[str] | None = None
        self._source: str | Mapping[str, Any] = {}
        self._game: Game | None = None
        self._demangled = False
        self._play: NativeEnv | None = None
        self._moves = 0

    def load(self, path: str | Mapping[str, Any]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if untold := [name for name in _UNTOLD if getattr(self.request_infos, name)]:
            raise Unsupported(f"{untold[0]} cannot be requested: it is hidden state or grammar, which is not told here.")
        if isinstance(path, Mapping):
            self._game = _given(path).game("the given game")
        else:
            self._game = loaded(os.fspath(path))
        self._source = path
        self.walkthrough = None if self._game.walkthrough is None else list(self._game.walkthrough)
        self._demangled, self._play = False, None

    def demangle(self, chance: random.Random | None) -> None:
        """Name things as alfworld does; with ``chance``, their numbers are shuffled."""
        assert self._game is not None
        self._demangled = True
        if chance is not None:
            self._game = renumbered(self._game, chance)

    def reset(self) -> GameState:
        if self._game is None:
            raise OrderError("No game was loaded; call load(path) first.")
        if not self._demangled:
            file = _given(self._source) if isinstance(self._source, Mapping) else read_game(Path(self._source))
            self._game, self._demangled = _mangled(self._game, file.problem), True
        self._play = NativeEnv(Task(self._game.origin, "alfworld", FILE, 0, "", self._game.sentence), self._game)
        self._moves = 0
        self.state = self._told(self._play, self._play.reset())
        return self.state

    def step(self, command: str) -> tuple[GameState, int, bool]:
        if self._play is None:
            raise OrderError("This game is not being played; call reset() first.")
        if not isinstance(command, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CommandError(f"A command is text, not {shown(command)}.")
        step = self._play.step(command)
        self._moves += step.observation.accepted
        self.state = state = self._told(self._play, step)
        state["last_command"] = command.strip()
        state["score"], state["done"] = int(step.won), step.won
        return state, int(step.won), step.won

    def copy(self) -> PddlEnv:
        other = PddlEnv(self.request_infos)
        other.__dict__.update(self.__dict__)
        other.state = GameState(self.state)
        other._play = None if self._play is None else self._play.copy()
        return other

    def _told(self, play: NativeEnv, step: Step) -> GameState:
        text, asked = step.observation.text, self.request_infos
        state = GameState(feedback=text, raw=text, won=step.won, lost=False, last_action=None)
        state["admissible_commands"] = list(play.admissible_commands())
        if asked.moves:  # type: ignore[attr-defined]
            state["moves"] = self._moves
        if asked.policy_commands:  # type: ignore[attr-defined]
            found = plan(play.game, play.state)
            state["policy_commands"] = list(found.commands) if isinstance(found, Solution) else []
        if "walkthrough" in asked.extras:
            state["extra.walkthrough"] = self.walkthrough
        return state


def start(path: str, request_infos: EnvInfos | None = None, wrappers: Sequence[Callable[[Any], Any]] = ()) -> Any:
    """The game in the file at ``path``, loaded. Raises ``FileNotFoundError`` and what `PddlEnv` raises."""
    if not Path(path).is_file():
        raise FileNotFoundError(errno.ENOENT, "There is no such game", os.fspath(path))
    env: Any = PddlEnv(request_infos)
    for wrapper in wrappers:
        env = wrapper(env)
    env.load(path)
    return env


def refuse_older(games: Iterable[str]) -> None:
    """Raise ``GameError`` if one of these files speaks the grammar of alfworld 0.2.2, before any is played. A file that is not
    there is left to whoever plays it."""
    if older := [file for file in games if Path(file).is_file() and _OLDER in read_file(Path(file))]:
        raise GameError(
            f"{shown(older[0], 400)}: this game speaks the older grammar (`put X in/on Y`), as do {len(older) - 1} others. "
            "Update with `housequest data download`, or with alfworld 0.4 or later and `alfworld-download`."
        )


_SHARED: dict[object, Any] = {}
_EMPTY: frozenset[Any] = frozenset()


def loaded(path: str) -> Game:
    """The game in a file, which is read once. Raises ``GameError``."""
    game: Game = pickle.loads(_pickled(path))
    # Houses have their names in common: thousands of games at once take less memory, and less of a processor's cache. And one
    # empty set stands for the many that a game has, of 216 bytes each.
    share = _SHARED.setdefault
    start = State._make(part or _EMPTY if isinstance(part, frozenset) else part for part in game.start)
    return replace(
        game,
        **{
            field: tuple([share(one, one) for one in getattr(game, field)])
            for field in ("objects", "receptacles", "object_types", "accepts")
        },
        always={share(command, command): share(action, action) for command, action in game.always.items()},
        start=start._replace(lying=tuple([things or _EMPTY for things in start.lying])),
    )


@lru_cache(_GAMES_KEPT)
def _pickled(path: str) -> bytes:
    # Ten times smaller than the game itself, and eight times as fast to make one of as its file: all of train fits.
    return pickle.dumps(load_game(Path(path)), pickle.HIGHEST_PROTOCOL)


def renumbered(game: Game, chance: random.Random) -> Game:
    """The same game with the numbers of each kind of thing shuffled ("mug 2" may become "mug 1"). alfworld calls this domain
    randomisation: names change, the order of lists does not."""
    names = [*game.objects, *game.receptacles]
    kinds: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        kinds.setdefault(name.rpartition(" ")[0], []).append(position)
    dealt = list(names)
    for positions in kinds.values():
        for position, name in zip(positions, chance.sample([names[p] for p in positions], len(positions)), strict=True):
            dealt[position] = name
    return _named(game, tuple(dealt[: len(game.objects)]), tuple(dealt[len(game.objects) :]))


def _given(data: Mapping[str, Any]) -> GameFile:
    return read_published(json.dumps(dict(data)).encode(), "the given game")


def _mangled(game: Game, problem: str) -> Game:
    """The same game with the ids of its problem for names."""
    objects, receptacles, _ = numbered(parse_problem(problem, game.origin))
    return _named(game, tuple(objects), tuple(receptacles))


def _named(game: Game, objects: tuple[str, ...], receptacles: tuple[str, ...]) -> Game:
    """The same game with other names. The walkthrough, which uses the old ones, is dropped."""

    def renamed(command: str, action: Action) -> str:
        return f"go to {receptacles[action.receptacle]}" if action.verb == "go" else command

    always = {renamed(command, action): action for command, action in game.always.items()}
    return replace(game, objects=objects, receptacles=receptacles, always=always, walkthrough=None)
