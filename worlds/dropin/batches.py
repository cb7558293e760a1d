"""Several games at once under ``textworld.gym``'s interface, in one process: each reset starts the next game in every slot."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, SupportsIndex, cast

from housequest.worlds.dropin.core import CommandError, EnvInfos, Environment, Filter, Limit, Wrapper, answer, rendered
from housequest.worlds.dropin.games import PddlEnv, refuse_older
from housequest.worlds.errors import ConfigurationError, OrderError, nearest, shown

Infos = dict[str, list[Any]]
"""As in textworld: under each key, a list with one entry per game."""

_Answer = tuple[str, float, bool, dict[str, Any]]


class UnknownEnv(ConfigurationError, ValueError):
    """No environment was registered under this id."""


class UselessNumber(ConfigurationError, ValueError):
    """A seed or a batch size that no batch can have."""


class SyncBatchEnv(Environment):
    """One environment for each of several games; a game that is over stays as it is, or with ``auto_reset`` starts again."""

    def __init__(self, env_fns: Sequence[Callable[[], Any]], auto_reset: bool = False) -> None:
        super().__init__()
        self.env_fns = env_fns
        self.batch_size = len(env_fns)
        self.auto_reset = auto_reset
        self.envs = [make_one() for make_one in env_fns]
        self.last: list[_Answer | None] = []

    def load(self, game_files: Sequence[str]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for env, file in zip(self.envs, game_files, strict=True):
            env.load(file)

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed each environment by a number of its own."""
        chance = random.Random(seed)
        seeds = [chance.getrandbits(32) for _ in self.envs]
        for env, one in zip(self.envs, seeds, strict=True):
            env.seed(one)
        return seeds

    def reset(self) -> tuple[tuple[str, ...], Infos]:
        self.last = [None] * self.batch_size
        texts, infos = zip(*(env.reset() for env in self.envs), strict=True)
        return texts, _by_key(infos)

    def step(self, actions: Sequence[str]) -> tuple[tuple[str, ...], tuple[float, ...], tuple[bool, ...], Infos]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not self.last:
            raise OrderError("These games are not being played; call reset() first.")
        if not isinstance(cast("object", actions), list | tuple) or len(actions) != self.batch_size:
            raise CommandError(f"Give a list of {self.batch_size} commands, one for each game, not {shown(actions)}.")
        for slot, (env, last, action) in enumerate(zip(self.envs, self.last, actions, strict=True)):
            if last is None or not last[2]:
                self.last[slot] = env.step(action)
            elif self.auto_reset:
                text, infos = env.reset()
                self.last[slot] = text, 0.0, False, infos  # a float, as in textworld
        texts, scores, dones, infos = zip(*cast("list[_Answer]", self.last), strict=True)
        return texts, scores, dones, _by_key(infos)

    def render(self, mode: str = "human") -> list[Any]:
        return [env.render(mode) for env in self.envs]

    def close(self) -> None:
        for env in self.envs:
            env.close()


class BatchEnv:
    """Games in ``batch_size`` slots, cycled through in a shuffled order, see `seed`; textworld calls it TextworldBatchGymEnv.

    ``_gamefiles_iterator`` names the next games: whoever replaces it decides what is played. ``asynchronous`` changes nothing
    here. ``max_episode_steps`` of 0 or None is no limit. Raises ``ConfigurationError`` for no games or a batch size below 1.
    """

    def __init__(
        self,
        gamefiles: Sequence[str],
        request_infos: EnvInfos | None = None,
        batch_size: int = 1,
        asynchronous: bool = True,
        auto_reset: bool = False,
        max_episode_steps: int | None = None,
        wrappers: Sequence[Callable[[Any], Any]] = (),
    ) -> None:
        del asynchronous
        if not isinstance(cast("object", batch_size), SupportsIndex):
            raise UselessNumber(f"The batch size is {shown(batch_size)}, which is not a whole number.")
        if batch_size < 1:
            raise UselessNumber(f"A batch of {batch_size} games plays nothing; give at least 1.")
        self.gamefiles = gamefiles
        self.batch_size = batch_size
        self.request_infos = request_infos or EnvInfos()
        self.last_commands: Sequence[str | None] = [None] * batch_size
        self.obs: tuple[str, ...] = ()
        one = partial(_slot, self.request_infos, max_episode_steps or 0, tuple(wrappers))
        self.batch_env: SyncBatchEnv | None = SyncBatchEnv([one] * batch_size, auto_reset)
        self.seed(1234)

    def seed(self, seed: SupportsIndex | None = None) -> list[SupportsIndex | None]:
        """Restart the cycle of games, in textworld's order for ``seed`` (0 to 2**32 - 1; None: random)."""
        self._gamefiles_iterator: Iterator[str] = ShuffledCycle(self.gamefiles, seed)
        if self.batch_env is not None:
            self.batch_env.seed(None if seed is None else int(seed))
        return [seed]

    def skip(self, nb_games: int = 1) -> None:
        """Skip the next games of the cycle."""
        for _ in range(nb_games):
            next(self._gamefiles_iterator)

    def reset(self) -> tuple[Any, dict[str, Any]]:
        """Start the next game in every slot: observations and ``infos``. Raises ``GameError`` for a damaged game."""
        batch = self._playing()
        batch.load([next(self._gamefiles_iterator) for _ in range(self.batch_size)])
        self.last_commands = [None] * self.batch_size
        self.obs, infos = batch.reset()
        return self.obs, infos

    def step(self, commands: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Execute one command in each slot: observations, scores (1 while won), whether each is over, and ``infos``."""
        self.obs, scores, dones, infos = self._playing().step(commands)
        self.last_commands = commands
        return self.obs, scores, dones, infos

    def render(self, mode: str = "human") -> Any:
        """Print the last commands with their answers, or return them with ``mode`` "text" or "ansi"."""
        pairs = zip(self.obs, self.last_commands, strict=True)
        return rendered([answer(text, command, coloured=mode != "text") for text, command in pairs], mode)

    def close(self) -> None:
        """Drop the games; it can be called again."""
        if self.batch_env is not None:
            self.batch_env.close()
        self.batch_env = None

    def _playing(self) -> SyncBatchEnv:
        if self.batch_env is None:
            raise OrderError("This env was closed; make another.")
        return self.batch_env


class SingleEnv(BatchEnv):
    """One game with plain values in place of lists; textworld calls it TextworldGymEnv."""

    def reset(self) -> tuple[str, dict[str, Any]]:
        texts, infos = super().reset()
        return texts[0], {key: values[0] for key, values in infos.items()}

    def step(self, commands: str) -> tuple[str, float, bool, dict[str, Any]]:
        texts, scores, dones, infos = super().step([commands])
        return texts[0], scores[0], dones[0], {key: values[0] for key, values in infos.items()}


registry: dict[str, dict[str, Any]] = {}
"""What `register_games` registered, by id."""


def register_games(
    gamefiles: Sequence[str],
    request_infos: EnvInfos | None = None,
    batch_size: int | None = None,
    auto_reset: bool = False,
    max_episode_steps: int = 50,
    asynchronous: bool = True,
    name: str = "",
    **settings: Any,
) -> str:
    """Register games to play in turn under the id that is returned. Without ``batch_size``, values are plain. Raises
    ``GameError`` for games of the older grammar."""
    refuse_older(gamefiles)
    stem = f"tw-{name}" if name else "tw"
    versions = [int(id.rpartition("-v")[2]) for id in registry if id.rpartition("-v")[0] == stem]
    id, kind = f"{stem}-v{max(versions, default=-1) + 1}", SingleEnv if batch_size is None else BatchEnv
    settings |= {"gamefiles": gamefiles, "request_infos": request_infos, "batch_size": 1 if batch_size is None else batch_size}
    settings |= {"asynchronous": asynchronous, "auto_reset": auto_reset, "max_episode_steps": max_episode_steps}
    registry[id] = {"id": id, "entry_point": kind, "kwargs": settings}
    return id


def register_game(gamefile: str, *arguments: Any, **settings: Any) -> str:
    """`register_games` for one."""
    return register_games([gamefile], *arguments, **settings)


def make(id: str) -> Any:
    """The environment that was registered as ``id``. Raises ``UnknownEnv``, a ``ValueError``."""
    if id not in registry:
        raise UnknownEnv(f"There is no environment {shown(id)}; register games first.{nearest(id, list(registry))}")
    return registry[id]["entry_point"](**registry[id]["kwargs"])


def _slot(infos: EnvInfos, limit: int, wrappers: Sequence[Callable[[Any], Any]]) -> Any:
    """The environment of a slot; each has its own copy of a wrapper that was given as an instance."""
    env: Any = PddlEnv(infos)
    if limit:
        env = Limit(env, limit)
    for wrapper in (*wrappers, Filter):
        env = (copy(wrapper) if isinstance(wrapper, Wrapper) else wrapper)(env)
    return env


def _by_key(infos: Sequence[dict[str, Any]]) -> Infos:
    keys = dict.fromkeys(key for one in infos for key in one)
    return {key: [one.get(key) for one in infos] for key in keys}


class ShuffledCycle(Iterator[str]):
    """Cycles through the games, shuffled before each round in textworld's order for ``seed`` (None: random). Raises
    ``ConfigurationError`` for no games and for a seed outside 0 to 2**32 - 1."""

    def __init__(self, games: Sequence[str], seed: SupportsIndex | None) -> None:
        import numpy as np

        if not games:
            raise ConfigurationError("There are no games to play; give a folder, a number and task types that leave some.")
        try:
            self._chance = np.random.RandomState(None if seed is None else operator.index(seed))
        except (TypeError, ValueError):
            raise UselessNumber(f"The seed {shown(seed)} is not a whole number from 0 to {2**32 - 1}.") from None
        self._games = tuple(games)  # a tuple is shared by all who cycle through it
        self._order, self._next = np.arange(len(games), dtype=np.uint32), len(games)

    def __next__(self) -> str:
        if self._next == len(self._order):
            self._chance.shuffle(self._order)
            self._next = 0
        self._next += 1
        return self._games[int(self._order[self._next - 1])]
