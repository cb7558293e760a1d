"""A random agent in many games at once over textworld's interface, timed: ``FOLDER GAMES EPISODES STEPS``. See `doors`.

It runs on alfworld as it is, and through `housequest.as_alfworld` on ours. Its last line is JSON: steps a second of
processor with admissible commands and without, and the kB that the process grew by for each game.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

from scripts.bench.doors_agent import without_jericho
from scripts.memory import peak

LIMIT = 50


def main(folder: str, games: int, episodes: int, steps: int) -> None:
    files = sorted(map(str, Path(folder).glob("*/*/game.tw-pddl")))
    _played(files[-1:], 1, [[["look"]]], admissible=False)  # loads what all games share
    before = peak()
    drawn: list[list[list[str]]] = [[[]] * steps] * episodes
    rate, commands = _played(files, games, drawn, admissible=True)
    memory = (peak() - before) / games
    told = {"with": rate, "without": _played(files, games, commands, admissible=False)[0], "memory": memory}
    print(json.dumps(told))


def _played(
    files: Sequence[str], games: int, episodes: Sequence[Sequence[Sequence[str]]], *, admissible: bool
) -> tuple[float, list[list[list[str]]]]:
    """Steps a second, and the commands of each step of each episode: those of ``episodes``, or where a step has none, drawn."""
    textworld: Any = importlib.import_module("textworld")
    gym: Any = importlib.import_module("textworld.gym")
    alfred: Any = importlib.import_module("alfworld.agents.environment.alfred_tw_env")
    asked = textworld.EnvInfos(won=True, admissible_commands=admissible, extras=["gamefile"])
    env = gym.make(
        gym.register_games(
            files,
            asked,
            batch_size=games,
            asynchronous=False,
            max_episode_steps=LIMIT,
            wrappers=[alfred.AlfredDemangler(), alfred.AlfredInfos],
        )
    )
    chance, spent, number, said = random.Random(1), 0.0, 0, list[list[list[str]]]()
    for episode in episodes:
        _, infos = env.reset()
        dones: Sequence[bool] = [False] * games
        said.append([])
        for given in episode:
            commands = list(given) or [chance.choice(possible) for possible in infos["admissible_commands"]]
            number += games - sum(dones)  # one that is over takes no step
            began = process_time()
            _, _, dones, infos = env.step(commands)
            spent += process_time() - began
            said[-1].append(commands)
    env.close()
    return number / spent, said


if __name__ == "__main__":
    without_jericho()
    main(sys.argv[1], *map(int, sys.argv[2:5]))
