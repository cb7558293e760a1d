"""An environment manager over groups of games, with the interface of verl-agent's: prompts go out, a model's replies come in.

verl-agent's own managers take `AlfworldEnvs` as well; this one is for trainers that do not have them. Prompts are ours.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from housequest.worlds.dropin.groups import AlfworldEnvs
from housequest.worlds.errors import ConfigurationError, GameError, OrderError, shown

Projection = Callable[[list[str], list[list[str]]], tuple[list[str], Sequence[int]]]
"""Takes replies and the commands possible in each game; returns the replies' commands, and for each whether it has the asked
form."""
_GOAL = "Your task is to: "
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_COMMAND = re.compile(r"<action>(.*?)</action>", re.DOTALL)
_TYPES = (
    *("pick_and_place", "pick_two_obj_and_place", "look_at_obj_in_light"),
    *(f"pick_{treatment}_then_place_in_recep" for treatment in ("heat", "cool", "clean")),
)
"""The task types in the names of game files, in verl-agent's words for its figures."""
_PROMPTS: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))


def alfworld_projection(actions: list[str], action_pools: Sequence[Sequence[str]]) -> tuple[list[str], list[int]]:
    """The command in each reply, and 1 if the reply has a thought before it, as asked, else 0. A reply without ``<action>``
    gives an empty command, which the game refuses. ``action_pools`` is ignored, as in verl-agent."""
    del action_pools
    found = [(reply, _COMMAND.search(reply)) for reply in actions]
    commands = ["" if one is None else one[1].strip().lower() for _, one in found]
    return commands, [int(one is not None and _THOUGHT.search(reply, 0, one.start()) is not None) for reply, one in found]


class AlfWorldEnvironmentManager:
    """Plays groups of games by a model's replies. Each prompt has the last steps, as many as ``config.env.history_length``.
    ``memory`` has the steps of each game: the observation (``text_obs``) and the command given then (``action``)."""

    def __init__(self, envs: AlfworldEnvs, projection_f: Projection, config: Any) -> None:
        length = getattr(getattr(config, "env", None), "history_length", None)
        if not isinstance(length, int) or isinstance(length, bool) or length < 0:
            raise ConfigurationError(f"config.env.history_length is {shown(length)}; give a number of steps, from 0.")
        self.envs, self.projection_f, self.config = envs, projection_f, config
        self.memory: list[list[dict[str, str]]] = []
        self.tasks: list[str] = []
        self.gamefile: list[str | None] = []
        self._history = length
        self._seen: list[str] = []

    def reset(
        self, kwargs: Iterable[Mapping[str, Any] | None] | None = None
    ) -> tuple[dict[str, list[str] | None], list[dict[str, Any]]]:
        """Start the next games, or those that ``kwargs`` names (see `AlfworldEnvs.reset`): observations and infos. Observations
        are ``text``, the prompts; ``anchor``, the games' texts; and ``image``, None."""
        texts, images, infos = self.envs.reset(kwargs)
        self.memory = [[] for _ in texts]
        self.tasks = [text.rpartition(_GOAL)[2].strip() for text in texts]
        self.gamefile = [info["extra.gamefile"] for info in infos]
        self._seen = texts
        return {"text": self.build_text_obs(texts, self._possible(), init=True), "image": images, "anchor": texts}, infos

    def step(
        self, text_actions: Sequence[str]
    ) -> tuple[dict[str, list[str] | None], npt.NDArray[np.float64], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the command in each reply: observations, rewards, whether each game is over, and infos. Each info also has
        ``extra.gamefile`` and ``is_action_valid``: whether the reply was written as asked."""
        if not self.memory:
            raise OrderError("These games are not being played; call reset() first.")
        commands, valid = self.projection_f(list(text_actions), self._possible())
        texts, images, rewards, dones, infos = self.envs.step(commands)
        for steps, seen, command in zip(self.memory, self._seen, commands, strict=True):
            steps.append({"text_obs": seen, "action": command})
        self._seen = texts
        for info, file, as_asked in zip(infos, self.gamefile, valid, strict=True):
            info["extra.gamefile"] = file
            info["is_action_valid"] = np.array(as_asked)
        observations = {"text": self.build_text_obs(texts, self._possible()), "image": images, "anchor": texts}
        return observations, np.array(rewards), np.array(dones), infos

    def build_text_obs(
        self, text_obs: Sequence[str], admissible_actions: Sequence[Sequence[str]], init: bool = False
    ) -> list[str]:
        """The prompt of each game; ``init`` at a reset, when there are no steps to tell of."""
        prompt = _PROMPTS["first" if init or not self._history else "next"]
        listed = ("\n".join(command for command in possible if command != "help") for possible in admissible_actions)
        return [
            prompt.format(task=task, taken=len(steps), history=self._told(steps), observation=seen, commands=commands)
            for task, steps, seen, commands in zip(self.tasks, self.memory, text_obs, listed, strict=True)
        ]

    def success_evaluator(
        self,
        *,
        total_infos: Sequence[Sequence[Mapping[str, Any]]],
        total_batch_list: Sequence[Sequence[Mapping[str, Any]]],
        **_: object,
    ) -> dict[str, npt.NDArray[np.float64]]:
        """``success_rate``, 1 for each game that was won at its last step, and the same for the games of each task type. For
        each game and step, ``total_infos`` has the info and ``total_batch_list`` whether it counts (``active_masks``)."""
        success: defaultdict[str, list[float]] = defaultdict(list)
        for number, (infos, steps) in enumerate(zip(total_infos, total_batch_list, strict=True)):
            played = [info for info, step in zip(infos, steps, strict=True) if step["active_masks"]]
            if not played:
                raise GameError(f"Game {number} was never played: none of its steps has active_masks.")
            won = float(played[-1]["won"])
            success["success_rate"].append(won)
            file = played[-1].get("extra.gamefile") or ""
            for kind in [kind for kind in _TYPES if kind in file][:1]:
                success[f"{kind}_success_rate"].append(won)
        return {name: np.array(won) for name, won in success.items()}

    def close(self) -> None:
        """Drop the games; it can be called again."""
        self.envs.close()
        self.memory = []

    def _possible(self) -> list[list[str]]:
        return [list(commands or ()) for commands in self.envs.get_admissible_commands]

    def _told(self, steps: Sequence[Mapping[str, str]]) -> str:
        last = list(enumerate(steps, 1))[-self._history :]
        lines = [f"{number}. You saw: {step['text_obs']}\n   You did: {step['action']}" for number, step in last]
        return "\n".join([f" The last {len(last)}, each after what you saw then:" if lines else "", *lines])
