"""alfworld's own interface over the native engine: training and evaluation code runs on it by changing one import.

``from alfworld.agents.environment import get_environment`` becomes ``from housequest.worlds.dropin import get_environment``;
`housequest.as_alfworld` does without even that. The configuration, the order of the games for a seed, every observation, score
and end, and ``infos`` are those of alfworld 0.4.2 over textworld 1.7.0. The intended differences:

- Nothing is printed, a batch is played in one process, and mistakes raise the errors of `housequest.worlds.errors`.
- ``infos["extra.expert_plan"]`` is the next command of our own expert, whatever ``env.expert_type`` says (alfworld ignores it
  too). It is always admissible and follows from the commands really executed; at a reset it is a first command, not ``look``.
  No plan wins once the agent holds something that no receptacle of the house takes, such as some teddybears.
- ``infos`` has no ``facts``, the hidden state that alfworld's expert leaves there; requested ones raise when looked at.
- ``env.domain_randomization`` uses the env's own seed, not Python's global generator.
- Games of the older grammar (``put X in/on Y``) are refused when they are collected or registered.
"""

from __future__ import annotations

import os
import random
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, cast

from housequest.worlds.alfworld.engine.native import REFUSED
from housequest.worlds.alfworld.expert import HouseholdExpert, HouseholdExpertMemory, make_expert
from housequest.worlds.alfworld.games import GAME_FILE, GET_DATA, LAYOUT, TRAJECTORY_FILE
from housequest.worlds.base import Observation
from housequest.worlds.dropin.config import setting
from housequest.worlds.dropin.core import EnvInfos, GameState, TextworldWrapper, WrongValue
from housequest.worlds.dropin.games import BatchEnv, SingleEnv, game_logic, refuse_older
from housequest.worlds.errors import ConfigurationError, GameError, Unsupported, WorldError, nearest, shown
from housequest.worlds.household.base import MAX_FAILED
from housequest.worlds.household.goals import TASK_TYPES
from housequest.worlds.paths import alfworld_data, read_file

_FOLDERS = {
    "train": "dataset.data_path",
    "eval_in_distribution": "dataset.eval_id_data_path",
    "eval_out_of_distribution": "dataset.eval_ood_data_path",
}
_STEPS = {method: f"{section}.training.max_nb_steps_per_episode" for method, section in (("dqn", "rl"), ("dagger", "dagger"))}
_GOAL = "Your task is to: "
# Searched, not parsed, because there are thousands of files. JSON strings hold no bare quote, so nothing is misread.
_TYPE = re.compile(rb'"task_type"\s*:\s*"([^"\\]*)"')
_SOLVABLE = re.compile(rb'"solvable"\s*:\s*(true|false)\b')
NUMBERED_TYPES = dict(enumerate(TASK_TYPES, start=1))  # What ``env.task_types`` names by number.


class NoEnvironment(Unsupported, NotImplementedError):
    """There is no such environment, here or at all. alfworld raises ``NotImplementedError``."""


def get_environment(env_type: str) -> type[AlfredTWEnv]:
    """The class of that name, as alfworld's own ``get_environment``. Raises ``NoEnvironment`` for the rendered ones."""
    if env_type == "AlfredTWEnv":
        return AlfredTWEnv
    if env_type in ("AlfredThorEnv", "AlfredHybrid"):
        raise NoEnvironment(f"{env_type} needs AI2-THOR, which is not here; set env.type to AlfredTWEnv.")
    raise NoEnvironment(f"There is no environment {shown(env_type)}; known: AlfredTWEnv.")


class AlfredDemangler(TextworldWrapper):
    """Names things as alfworld does ("mug 1"); with ``shuffle``, their numbers are drawn at each load (see `seed`)."""

    def __init__(self, env: Any = None, *, shuffle: bool = False) -> None:
        super().__init__(env)
        self.shuffle = shuffle
        self._chance = random.Random(0)

    def seed(self, seed: int | None = None) -> Any:
        self._chance = random.Random(seed)
        return super().seed(seed)

    def load(self, path: str) -> None:
        super().load(path)
        self.unwrapped.demangle(self._chance if self.shuffle else None)


class AlfredInfos(TextworldWrapper):
    """Adds the path of the game at a reset, as ``extra.gamefile``."""

    _gamefile: str | None = None

    def load(self, path: str) -> None:
        super().load(path)
        self._gamefile = path

    def reset(self) -> GameState:
        state = super().reset()
        state["extra.gamefile"] = self._gamefile
        return state


class AlfredExpertType:
    HANDCODED = "handcoded"
    PLANNER = "planner"


class ExpertPlan:
    """The next command of our expert in a running game, from the player's texts alone."""

    def __init__(self, expert: HouseholdExpert, opening: str) -> None:
        self._expert = expert
        self._memory: HouseholdExpertMemory = expert.begin(opening.rpartition(_GOAL)[2], Observation(opening))

    def observe(self, command: str, text: str) -> None:
        self._memory = self._expert.observe(self._memory, command.strip(), Observation(text, accepted=text != REFUSED))

    def next(self, admissible: Sequence[str]) -> list[str]:
        """The next command that is admissible; the expert's others count as tried and refused."""
        for _ in range(MAX_FAILED):
            command, _, self._memory = self._expert.decide(self._memory)
            if command is None:
                break
            if command in admissible:
                return [command]
            self.observe(command, REFUSED)
        return ["look"]


class AlfredExpert(TextworldWrapper):
    """Adds ``extra.expert_plan``: the next command of our expert, or with ``planner`` a shortest way to win."""

    def __init__(self, env: Any = None, expert_type: str = AlfredExpertType.HANDCODED) -> None:
        super().__init__(env)
        if expert_type not in (AlfredExpertType.HANDCODED, AlfredExpertType.PLANNER):
            raise WrongValue(f"There is no expert {shown(expert_type)}; known: handcoded, planner.")
        self.expert_type, self.prev_command = expert_type, ""
        self._expert = make_expert()
        self._plan: ExpertPlan | None = None

    def load(self, path: str) -> None:
        if self.expert_type == AlfredExpertType.PLANNER:
            self.request_infos.policy_commands = True
        super().load(path)
        self.gamefile = path

    def reset(self) -> GameState:
        state = super().reset()
        self.prev_command, self._plan = "", ExpertPlan(self._expert, state["feedback"])
        return self._planned(state, self._plan)

    def step(self, command: str) -> tuple[GameState, int, bool]:
        state, score, done = super().step(command)
        self.prev_command = command
        assert self._plan is not None  # or the step would have been refused
        self._plan.observe(command, state["feedback"])
        return self._planned(state, self._plan), score, done

    def _planned(self, state: GameState, plan: ExpertPlan) -> GameState:
        planner = self.expert_type == AlfredExpertType.PLANNER
        state["extra.expert_plan"] = state["policy_commands"] if planner else plan.next(state["admissible_commands"])
        return state


class AlfredTWEnv:
    """The games of one split under alfworld's configuration, and batches of them to play. ``train_eval`` is ``train``,
    ``eval_in_distribution`` or ``eval_out_of_distribution``. ``game_files`` may be cut or sorted before `init_env`, and
    ``config`` changed. Raises ``ConfigurationError`` naming the key that is missing or wrong."""

    def __init__(self, config: Mapping[str, Any], train_eval: str = "train") -> None:
        if train_eval not in _FOLDERS:
            hint = nearest(str(train_eval), tuple(_FOLDERS))
            raise ConfigurationError(f"There is no train_eval {shown(train_eval)}; known: {', '.join(_FOLDERS)}.{hint}")
        self.config, self.train_eval = config, train_eval
        self.game_files: list[str] = []
        self.num_games = 0
        self.game_logic: dict[str, str] = {}
        if setting(config, "env.goal_desc_human_anns_prob", float, 0.0) > 0:
            ignored = "env.goal_desc_human_anns_prob is ignored, as in alfworld: games are played as they are."
            warnings.warn(ignored, stacklevel=2)
        self.collect_game_files()

    def collect_game_files(self, verbose: bool = False) -> None:
        """Fill ``game_files`` and ``num_games`` in alfworld's order, which is that of the file system. ``verbose`` changes
        nothing: nothing is printed. A warning names games without a field ``solvable``."""
        del verbose

        def refuse(error: OSError) -> None:
            raise WorldError(f"{shown(error.filename, 400)} cannot be listed: {error.strerror}.") from error

        numbers = cast("Sequence[Any]", setting(self.config, "env.task_types", Sequence))
        if not numbers:
            raise ConfigurationError(f"env.task_types is {shown(numbers)}; give a list of numbers from 1 to {len(TASK_TYPES)}.")
        if unknown := [number for number in numbers if number not in NUMBERED_TYPES]:
            ignored = f"env.task_types has {shown(unknown[0])}, which is ignored, as in alfworld"
            warnings.warn(f"{ignored}: types go from 1 to {len(TASK_TYPES)}.", stacklevel=2)
        types = [NUMBERED_TYPES[number] for number in numbers if number in NUMBERED_TYPES]
        key = _FOLDERS[self.train_eval]
        limit = setting(self.config, f"dataset.num_{'train' if self.train_eval == 'train' else 'eval'}_games", int, -1)
        folder = self._path(key)
        if "\0" in folder or not Path(folder).is_dir():
            raise ConfigurationError(f"{key} is {shown(folder, 400)}, which is not a folder. {GET_DATA}")
        files: list[str] = []
        for root, _, names in os.walk(folder, topdown=False, onerror=refuse):
            there = {TRAJECTORY_FILE, GAME_FILE} <= set(names) and "movable" not in root and "Sliced" not in root
            if there and _searched(f"{root}/{TRAJECTORY_FILE}", _TYPE) in types:
                files.append(os.path.join(root, GAME_FILE))  # noqa: PTH118 (they are strings in alfworld's infos)
        solvable = {file: _searched(file, _SOLVABLE) for file in files}
        if unsaid := [file for file in files if solvable[file] is None]:
            several = f"{len(unsaid)} games are left out, for they do not say whether they can be solved"
            warnings.warn(f"{several}, such as {shown(unsaid[0], 400)}.", stacklevel=2)
        found = [file for file in files if solvable[file] == "true"]
        refuse_older(found)
        self.game_files = found[:limit] if limit > 0 else found
        self.num_games = len(self.game_files)

    def init_env(self, batch_size: int | None) -> BatchEnv:
        """A batch of ``batch_size`` games over ``game_files``, with the step limit of ``general.training_method``. With None it
        is one game, whose values are plain."""
        training = self.train_eval == "train"
        shuffle = training and setting(self.config, "env.domain_randomization", bool, False)
        wrappers: list[Any] = [AlfredDemangler(shuffle=shuffle), AlfredInfos]
        infos, limit = EnvInfos(won=True, admissible_commands=True, extras=["gamefile"]), step_limit(self.config)
        if training and setting(self.config, "general.training_method", str) == "dagger":
            wrappers.append(AlfredExpert())
            infos.extras.append("expert_plan")
        kind = SingleEnv if batch_size is None else BatchEnv
        return kind(self.game_files, infos, 1 if batch_size is None else batch_size, max_episode_steps=limit, wrappers=wrappers)

    def get_game_logic(self) -> None:
        """Read the domain and the grammar into ``game_logic``: the files ``logic.domain`` and ``logic.grammar``, or without
        them what the games hold."""
        texts: dict[str, str] = {}
        for name, key in (("pddl_domain", "logic.domain"), ("grammar", "logic.grammar")):
            path = self._path(key)
            try:
                texts[name] = read_file(Path(path)).decode()
            except FileNotFoundError as error:
                texts = game_logic(self._games_there()) or {}
                if not texts:
                    raise ConfigurationError(
                        f"{key} is {shown(path, 400)}, which is not there, and no game is. {GET_DATA}"
                    ) from error
                break
            except (OSError, ValueError) as error:
                raise ConfigurationError(f"{key} is {shown(path, 400)}, which cannot be read: {error}.") from error
        self.game_logic = texts

    def _games_there(self) -> Iterator[str]:
        """Games, from the split's folder on; subclasses ask for the logic before they have any."""
        yield from vars(self).get("game_files", ())
        for folder in (Path(self._path(_FOLDERS[self.train_eval])), alfworld_data() / LAYOUT):
            yield from map(str, folder.glob(f"**/{GAME_FILE}"))

    def _path(self, key: str) -> str:
        # alfworld sets this variable if it is unset; here the environment stays as it is.
        return os.path.expandvars(Template(setting(self.config, key, str)).safe_substitute(ALFWORLD_DATA=alfworld_data()))


def step_limit(config: Mapping[str, Any]) -> int:
    """The steps of an episode under ``general.training_method``; 0 for no limit. Raises ``ConfigurationError``."""
    method = setting(config, "general.training_method", str)
    if method not in _STEPS:
        hint = nearest(method, tuple(_STEPS))
        raise NoEnvironment(f"general.training_method is {shown(method)}; known: {', '.join(_STEPS)}.{hint}")
    return setting(config, _STEPS[method], int)


def _searched(path: str, pattern: re.Pattern[bytes]) -> str | None:
    try:
        found = pattern.search(read_file(Path(path)))
    except OSError as error:
        raise GameError(f"{shown(path, 400)} cannot be read: {error.strerror}.") from error
    return found[1].decode("utf-8", "replace") if found else None
