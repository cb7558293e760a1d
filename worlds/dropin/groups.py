"""Groups of games for trainers, with the interface of verl-agent and its forks: thousands in one process, with no Ray actors.

``build_alfworld_envs`` has the arguments and results of theirs, so their environment managers work on it unchanged. `manager`
has one for trainers without them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from housequest.worlds.alfworld.expert import HouseholdExpert, make_expert
from housequest.worlds.dropin.config import read_config, setting
from housequest.worlds.dropin.core import CommandError
from housequest.worlds.dropin.env import ExpertPlan, get_environment, step_limit
from housequest.worlds.dropin.games import ShuffledCycle, loaded, place_of, renumbered
from housequest.worlds.dropin.playing import OLDER, Place, RunningGame, UncollectedStep
from housequest.worlds.errors import ConfigurationError, OrderError, nearest, shown

WON = 10.0  # The reward of every step after which a game is won, as verl-agent has it; all others have 0.
_KWARGS = ("eval_dataset", "expert_plan")


def build_alfworld_envs(
    alf_config_path: str,
    seed: int,
    env_num: int,
    group_n: int,
    resources_per_worker: Mapping[str, Any] | None = None,
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
) -> AlfworldEnvs:
    """``env_num`` groups of ``group_n`` games each; a group plays one game at a time, the one of its own seed. ``env_kwargs``
    may have ``eval_dataset``, the split to play if not ``is_train``, and ``expert_plan``, to fill ``extra.expert_plan``, which
    takes ten times as long as a step. ``resources_per_worker`` is ignored. Raises ``ConfigurationError``."""
    del resources_per_worker
    kwargs = dict(env_kwargs or {})
    if unknown := [key for key in kwargs if key not in _KWARGS]:
        hint = nearest(str(unknown[0]), _KWARGS)
        raise ConfigurationError(f"env_kwargs has {shown(unknown[0])}; known: {', '.join(_KWARGS)}.{hint}")
    config = read_config(Path(alf_config_path))
    split = "train" if is_train else str(kwargs.get("eval_dataset", "eval_in_distribution"))
    source = get_environment(setting(config, "env.type", str))(config, train_eval=split)
    return AlfworldEnvs(
        source.game_files,
        seed,
        env_num,
        group_n,
        limit=step_limit(config),
        expert=make_expert() if kwargs.get("expert_plan") else None,
        renumber=is_train and setting(config, "env.domain_randomization", bool, False),
    )


class AlfworldEnvs:
    """Games in groups: `reset` starts the next game of each group, `step` plays a command in each game. Texts, rewards, ends
    and infos are lists with an entry for each game, group by group; there are no pictures. A game that is over stays as it is
    until the reset."""

    multi_modal = False

    def __init__(
        self,
        game_files: Sequence[str],
        seed: int,
        env_num: int,
        group_n: int,
        *,
        limit: int = 50,
        expert: HouseholdExpert | None = None,
        renumber: bool = False,
    ) -> None:
        if env_num < 1 or group_n < 1:
            raise ConfigurationError(f"{env_num} groups of {group_n} games play nothing; give at least 1 of each.")
        self.num_processes = env_num * group_n
        self.group_n = group_n
        files = tuple(game_files)
        seeds = range(seed, seed + env_num)
        # The games that each group plays, in textworld's order for its seed.
        self._groups = [(ShuffledCycle(files, one), random.Random(one) if renumber else None) for one in seeds]
        self._limit, self._expert = limit, expert
        self._slots: list[_Slot] = []

    @property
    def get_admissible_commands(self) -> list[list[str] | None]:
        """The commands possible now in each game; None before the first reset."""
        if not self._slots:
            return [None] * self.num_processes
        return [list(slot.listed) for slot in self._slots]

    def reset(self, kwargs: Iterable[Mapping[str, Any] | None] | None = None) -> tuple[list[str], None, list[dict[str, Any]]]:
        """Start the next game of each group; a member for which ``kwargs`` has a ``gamefile`` starts that."""
        given = [] if kwargs is None else list(kwargs)  # an array of objects has no truth value
        if len(given) not in (0, self.num_processes) or not all(one is None or hasattr(one, "get") for one in given):
            raise CommandError(f"Give {self.num_processes} mappings, one for each game, or none, not {shown(given)}.")
        named = [None if one is None else one.get("gamefile") for one in given or [None] * self.num_processes]
        with UncollectedStep():
            self._slots = [
                _Slot(place, self._limit, self._expert)
                for number, group in enumerate(self._groups)
                for place in _places(*group, named[number * self.group_n : (number + 1) * self.group_n])
            ]
            return [slot.text for slot in self._slots], None, [slot.info(slot.place.file) for slot in self._slots]

    def step(self, actions: Sequence[str]) -> tuple[list[str], None, list[float], list[bool], list[dict[str, Any]]]:
        """Play a command in each game: texts, None, rewards, whether each is over, and infos."""
        if not self._slots:
            raise OrderError("These games are not being played; call reset() first.")
        if isinstance(actions, str) or len(actions) != self.num_processes:
            raise CommandError(f"Give {self.num_processes} commands, one for each game, not {shown(actions)}.")
        slots = self._slots
        with UncollectedStep():
            for slot, action in zip(slots, actions, strict=True):
                if not slot.done:
                    slot.act(action)
            rewards = [WON if slot.won else 0.0 for slot in slots]
            return [slot.text for slot in slots], None, rewards, [slot.done for slot in slots], [slot.info() for slot in slots]

    def getobs(self) -> None:
        """None: text games have no pictures."""

    def close(self) -> None:
        """Drop the games; it can be called again."""
        self._slots = []


def _places(order: ShuffledCycle, chance: random.Random | None, named: Sequence[str | None]) -> list[Place]:
    """The game of each member of a group: the one named for it, or the group's next, which the others share."""
    if None not in named:
        return [place_of(file) for file in named if file is not None]
    file = next(order)
    shared = place_of(file, len(named)) if chance is None else Place(renumbered(loaded(file), chance), file, len(named))
    return [shared if file is None else place_of(file) for file in named]


class _Slot(RunningGame):
    """The game of one member of a group, with its limit and its expert's plan."""

    __slots__ = ("_plan", "_turns", "done")

    def __init__(self, place: Place, limit: int, expert: HouseholdExpert | None) -> None:
        super().__init__(place)
        self.done = self.won
        self._turns = limit or -1
        self._plan = None if expert is None else ExpertPlan(expert, self.text)

    def act(self, command: object) -> None:
        super().act(command)
        self._turns -= 1
        self.done = self.won or not self._turns
        if self._plan is not None:
            self._plan.observe(str(command), self.text)

    def info(self, file: str | None = None) -> dict[str, Any]:
        """As in textworld, only a reset names the file."""
        info = {
            "won": self.won,
            "admissible_commands": list(self.listed),
            "extra.gamefile": file,
            "observation_text": self.text,
        }
        if OLDER.accepted:
            info["extra.read_as"] = self.read_as
        if self._plan is not None:
            info["extra.expert_plan"] = self._plan.next(self.listed)
        return info
