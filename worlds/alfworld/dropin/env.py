"""alfworld's own interface over the native engine: training and evaluation code runs on it by changing one import.

``from alfworld.agents.environment import get_environment`` becomes ``from worlds.alfworld.dropin import get_environment``. The
configuration, the order of the games for a seed, every observation, score and end, and what is in ``infos`` are those of
alfworld 0.4.2 over textworld 1.7.0. What differs, on purpose:

- Nothing is printed, a batch is played in one process, and mistakes raise the errors of `worlds.errors`.
- ``infos["extra.expert_plan"]`` is the next command of our own expert, whatever ``env.expert_type`` says (alfworld ignores it
  too). It is always admissible and follows from what was really executed; at a reset it is a first command, not ``look``. No
  plan wins once the agent holds something that no receptacle of the house takes, such as some teddybears.
- ``infos`` has no ``facts``, the hidden state that alfworld's expert leaves there.
- ``env.domain_randomization`` uses the env's own seed, not Python's global generator.
"""

from __future__ import annotations

import operator
import os
import random
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any, SupportsIndex, cast

from worlds.alfworld.data.tasks import FILE, GAME_FILE, GET_DATA, TRAJECTORY_FILE
from worlds.alfworld.dropin.config import load_config, setting
from worlds.alfworld.engine.game import Game, load_game
from worlds.alfworld.engine.native import REFUSED, NativeEnv
from worlds.alfworld.expert import MAX_FAILED, HouseholdExpert, make_expert
from worlds.base import Observation, Task
from worlds.errors import ConfigurationError, GameError, OrderError, Unsupported, WorldError, nearest, shown
from worlds.household.goals import TASK_TYPES
from worlds.paths import alfworld_data, read_file
from worlds.wrappers import StepLimit

__all__ = ["AlfredTWEnv", "BatchEnv", "get_environment", "load_config"]

_FOLDERS = {
    "train": "dataset.data_path",
    "eval_in_distribution": "dataset.eval_id_data_path",
    "eval_out_of_distribution": "dataset.eval_ood_data_path",
}
_STEPS = {
    "dqn": "rl.training.max_nb_steps_per_episode",
    "dagger": "dagger.training.max_nb_steps_per_episode",
}
_GAMES_KEPT = 64
# Searched, not parsed, because there are thousands of files. JSON strings hold no bare quote, so nothing is misread.
_TYPE = re.compile(rb'"task_type"\s*:\s*"([^"\\]*)"')
_SOLVABLE = re.compile(rb'"solvable"\s*:\s*(true|false)\b')

Infos = dict[str, list[Any]]
"""As in alfworld: under each key, a list with one entry per game."""


def get_environment(env_type: str) -> type[AlfredTWEnv]:
    """The class of that name, as alfworld's own ``get_environment``. Raises ``Unsupported`` for the rendered ones."""
    if env_type == "AlfredTWEnv":
        return AlfredTWEnv
    if env_type in ("AlfredThorEnv", "AlfredHybrid"):
        raise Unsupported(f"{env_type} needs AI2-THOR, which is not here; set env.type to AlfredTWEnv.")
    raise ConfigurationError(f"There is no environment {shown(env_type)}; known: AlfredTWEnv.")


class AlfredTWEnv:
    """The games of one split under alfworld's configuration, and batches of them to play.

    ``train_eval`` is ``train``, ``eval_in_distribution`` or ``eval_out_of_distribution``. ``game_files`` may be cut or sorted
    before `init_env`, and ``config`` changed. Raises ``ConfigurationError`` naming the key that is missing or wrong.
    """

    def __init__(self, config: Mapping[str, Any], train_eval: str = "train") -> None:
        if train_eval not in _FOLDERS:
            hint = nearest(str(train_eval), tuple(_FOLDERS))
            raise ConfigurationError(f"There is no train_eval {shown(train_eval)}; known: {', '.join(_FOLDERS)}.{hint}")
        self.config = config
        self.train_eval = train_eval
        self.game_files: list[str] = []
        self.num_games = 0
        if setting(config, "env.goal_desc_human_anns_prob", float, 0.0) > 0:
            ignored = "env.goal_desc_human_anns_prob is ignored, as in alfworld: games are played as they are."
            warnings.warn(ignored, stacklevel=2)
        self.collect_game_files()

    def collect_game_files(self, verbose: bool = False) -> None:
        """Fill ``game_files`` and ``num_games`` in alfworld's order, which is that of the file system.

        Nothing is printed, whatever ``verbose``; a warning names games that do not say whether they can be solved.
        """
        del verbose
        types = self._task_types()
        key = "dataset.num_train_games" if self.train_eval == "train" else "dataset.num_eval_games"
        limit = setting(self.config, key, int, -1)
        trials = [folder for folder in _trials(self._folder()) if _searched(f"{folder}/{TRAJECTORY_FILE}", _TYPE) in types]
        files = [os.path.join(folder, GAME_FILE) for folder in trials]  # noqa: PTH118 (they are strings in alfworld's infos)
        solvable = {file: _searched(file, _SOLVABLE) for file in files}
        if unsaid := [file for file in files if solvable[file] is None]:
            several = f"{len(unsaid)} games are left out, for they do not say whether they can be solved"
            warnings.warn(f"{several}, such as {shown(unsaid[0], 400)}.", stacklevel=2)
        found = [file for file in files if solvable[file] == "true"]
        self.game_files = found[:limit] if limit > 0 else found
        self.num_games = len(self.game_files)

    def init_env(self, batch_size: int) -> BatchEnv:
        """A batch of ``batch_size`` games over ``game_files``, with the step limit of ``general.training_method``."""
        method = setting(self.config, "general.training_method", str)
        if method not in _STEPS:
            hint = nearest(method, tuple(_STEPS))
            raise ConfigurationError(f"general.training_method is {shown(method)}; known: {', '.join(_STEPS)}.{hint}")
        training = self.train_eval == "train"
        return BatchEnv(
            self.game_files,
            batch_size,
            max_steps=setting(self.config, _STEPS[method], int),
            expert=make_expert() if training and method == "dagger" else None,
            renumber=training and setting(self.config, "env.domain_randomization", bool, False),
        )

    def _task_types(self) -> list[str]:
        numbers = cast("list[Any]", setting(self.config, "env.task_types", list))
        if not numbers or any(type(number) is not int or not 1 <= number <= len(TASK_TYPES) for number in numbers):
            raise ConfigurationError(f"env.task_types is {shown(numbers)}; give a list of numbers from 1 to {len(TASK_TYPES)}.")
        return [TASK_TYPES[number - 1] for number in numbers]

    def _folder(self) -> str:
        key = _FOLDERS[self.train_eval]
        # alfworld sets this variable if it is unset; here the environment stays as it is.
        named = Template(setting(self.config, key, str)).safe_substitute(ALFWORLD_DATA=alfworld_data())
        folder = os.path.expandvars(named)
        if "\0" in folder or not Path(folder).is_dir():
            raise ConfigurationError(f"{key} is {shown(folder, 400)}, which is no folder. {GET_DATA}")
        return folder


class BatchEnv:
    """Several games at once, like textworld's batched env: ``reset`` starts the next game in each slot.

    ``game_files`` are cycled through in a shuffled order, see `seed`. A finished game ignores commands until the next reset.
    ``max_steps`` of 0 is no limit. ``expert`` fills ``extra.expert_plan``; ``renumber`` shuffles the numbers of things in each
    game. Raises ``ConfigurationError`` for no games or a batch size below 1.
    """

    def __init__(
        self,
        game_files: Sequence[str],
        batch_size: int,
        *,
        max_steps: int,
        expert: HouseholdExpert | None = None,
        renumber: bool = False,
    ) -> None:
        if not isinstance(cast("object", batch_size), SupportsIndex):
            raise ConfigurationError(f"The batch size is {shown(batch_size)}, which is no whole number.")
        if batch_size < 1:
            raise ConfigurationError(f"A batch of {batch_size} games plays nothing; give at least 1.")
        self.gamefiles = list(game_files)
        self.batch_size = batch_size
        self.max_steps = max_steps
        self._expert = expert
        self._renumber = renumber
        self._load = lru_cache(_GAMES_KEPT)(load_game)
        self._slots: list[_Slot] = []
        self._closed = False
        self.seed(1234)

    def seed(self, seed: SupportsIndex | None = None) -> list[SupportsIndex | None]:
        """Restart the cycle of games, in textworld's order for ``seed`` (0 to 2**32 - 1; None: random)."""
        self._order = shuffled_cycle(self.gamefiles, seed)
        self._chance = random.Random(None if seed is None else int(seed))
        return [seed]

    def skip(self, nb_games: int = 1) -> None:
        """Skip the next games of the cycle."""
        for _ in range(nb_games):
            next(self._order)

    def reset(self) -> tuple[tuple[str, ...], Infos]:
        """Start the next game in every slot: observations and ``infos``. Raises ``GameError`` for a damaged game."""
        if self._closed:
            raise OrderError("This env was closed; make another with init_env.")
        slots: list[_Slot] = []
        for _ in range(self.batch_size):
            file = next(self._order)
            game = self._load(Path(file))
            game = renumbered(game, self._chance) if self._renumber else game
            slots.append(_Slot(game, file, self.max_steps, self._expert))
        self._slots = slots
        return tuple(slot.last.observation.text for slot in self._slots), self._infos()

    def step(self, commands: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...], tuple[bool, ...], Infos]:
        """Execute one command in each slot: observations, scores (1 while won), whether each is over, and ``infos``."""
        if not self._slots:
            raise OrderError("This env is not being played; call reset() first.")
        if isinstance(commands, str) or not isinstance(cast("object", commands), Sequence) or len(commands) != self.batch_size:
            raise WorldError(f"Give a list of {self.batch_size} commands, one for each game, not {shown(commands)}.")
        for slot, command in zip(self._slots, commands, strict=True):
            slot.act(command)
        texts = tuple(slot.last.observation.text for slot in self._slots)
        scores, dones = tuple(int(slot.last.won) for slot in self._slots), tuple(slot.done for slot in self._slots)
        return texts, scores, dones, self._infos()

    def close(self) -> None:
        """Drop the games; it can be called again."""
        self._closed, self._slots = True, []

    def _infos(self) -> Infos:
        infos: Infos = {
            "won": [slot.last.won for slot in self._slots],
            "admissible_commands": [slot.admissible for slot in self._slots],
            "extra.gamefile": [slot.file for slot in self._slots],
        }
        if self._expert is not None:
            infos["extra.expert_plan"] = [slot.plan for slot in self._slots]
        return infos


class _Slot:
    """One game of a batch with its ``last`` answer. As in textworld, only a reset names the file."""

    def __init__(self, game: Game, file: str, limit: int, expert: HouseholdExpert | None) -> None:
        env = NativeEnv(Task(file, "alfworld", FILE, 0, "", game.sentence, source=Path(file)), game)
        self._env = StepLimit(env, limit) if limit > 0 else env
        self._expert = expert
        self.last = self._env.reset()
        self._memory = None if expert is None else expert.begin(game.sentence, self.last.observation)
        self.done = False
        self.file: str | None = file
        self._list()

    def act(self, command: str) -> None:
        if self.done:
            return
        if not isinstance(cast("object", command), str):
            raise WorldError(f"A command is text, not {shown(command)}.")
        self.last = self._env.step(command)
        self.done = self.last.done
        self.file = None
        if self._expert is not None and self._memory is not None:
            self._memory = self._expert.observe(self._memory, command.strip(), self.last.observation)
        self._list()

    def _list(self) -> None:
        """List the admissible commands and the expert's next one among them; its others count as tried and refused."""
        self.admissible = list(self._env.admissible_commands() or ())
        self.plan = ["look"]
        for _ in range(MAX_FAILED):
            if self._expert is None or self._memory is None:
                break
            command, _, self._memory = self._expert.decide(self._memory)
            if command is None or command in self.admissible:
                self.plan = [command or "look"]
                break
            self._memory = self._expert.observe(self._memory, command, Observation(REFUSED, accepted=False))


def _trials(folder: str) -> Iterator[str]:
    """The folders with a trajectory and a game, inner ones first, without those that alfworld leaves out."""

    def refuse(error: OSError) -> None:
        raise WorldError(f"{shown(error.filename, 400)} cannot be listed: {error.strerror}.") from error

    for root, _, files in os.walk(folder, topdown=False, onerror=refuse):
        if TRAJECTORY_FILE in files and GAME_FILE in files and "movable" not in root and "Sliced" not in root:
            yield root


def _searched(path: str, pattern: re.Pattern[bytes]) -> str | None:
    try:
        found = pattern.search(read_file(Path(path)))
    except OSError as error:
        raise GameError(f"{shown(path, 400)} cannot be read: {error.strerror}.") from error
    return found[1].decode("utf-8", "replace") if found else None


# What alfworld leaves to chance is decided here the same way: the order of the games, and which mug is mug 1. textworld
# shuffles its games with NumPy's legacy ``RandomState``: the Mersenne Twister that Python has too, seeded by Knuth's
# recurrence (Matsumoto and Nishimura, 2002), so its order is reproduced without NumPy.

_WORDS = 624
_MASK = 0xFFFF_FFFF


def shuffled_cycle(games: Sequence[str], seed: SupportsIndex | None) -> Iterator[str]:
    """Cycle through the games, shuffled before each round in textworld's order for ``seed`` (None: random).

    Raises ``ConfigurationError`` for no games and for a seed outside 0 to 2**32 - 1.
    """
    if not games:
        raise ConfigurationError("There are no games to play; give a folder, a number and task types that leave some.")
    chance, order = _twister(seed), list(games)

    def rounds() -> Iterator[str]:
        while True:
            for last in range(len(order) - 1, 0, -1):
                # Drawn as NumPy does: masked words, until one is no larger.
                mask = (1 << last.bit_length()) - 1
                while (drawn := chance.getrandbits(32) & mask) > last:
                    pass
                order[last], order[drawn] = order[drawn], order[last]
            yield from order

    return rounds()


def _twister(seed: SupportsIndex | None) -> random.Random:
    chance = random.Random()
    if seed is None:
        return chance
    try:
        word = operator.index(seed)
    except TypeError:
        word = -1
    if not 0 <= word <= _MASK:
        raise ConfigurationError(f"The seed {shown(seed)} is no whole number from 0 to {_MASK}.")
    state: list[int] = []
    for position in range(_WORDS):
        state.append(word)
        word = (1_812_433_253 * (word ^ (word >> 30)) + position + 1) & _MASK
    chance.setstate((3, (*state, _WORDS), None))
    return chance


def renumbered(game: Game, chance: random.Random) -> Game:
    """The same game with the numbers of each kind of thing shuffled ("mug 2" may become "mug 1").

    alfworld calls this domain randomisation: names change, the order of lists does not. The walkthrough, which uses the old
    names, is dropped.
    """
    names = [*game.objects, *game.receptacles]
    kinds: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        kinds.setdefault(name.rpartition(" ")[0], []).append(position)
    dealt = list(names)
    for positions in kinds.values():
        for position, name in zip(positions, chance.sample([names[p] for p in positions], len(positions)), strict=True):
            dealt[position] = name
    objects, receptacles = tuple(dealt[: len(game.objects)]), tuple(dealt[len(game.objects) :])
    always = {
        f"go to {receptacles[action.receptacle]}" if action.verb == "go" else command: action
        for command, action in game.always.items()
    }
    return replace(game, objects=objects, receptacles=receptacles, always=always, walkthrough=None)
