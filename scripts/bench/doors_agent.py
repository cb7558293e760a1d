"""A random agent over alfworld's interface, timed: ``MODULE FOLDER EPISODES STEPS``. Its last line is JSON. See `doors`."""

from __future__ import annotations

import hashlib
import importlib
import json
import random
import sys
import types
from time import perf_counter
from typing import Any


def main(module: str, folder: str, episodes: int, steps: int) -> None:
    make: Any = importlib.import_module(module).get_environment("AlfredTWEnv")
    config = {
        "env": {
            "goal_desc_human_anns_prob": 0.0,
            "task_types": [1, 2, 3, 4, 5, 6],
            "domain_randomization": False,
            "expert_type": "handcoded",
        },
        "general": {"training_method": "dqn"},  # which asks no expert
        "rl": {"training": {"max_nb_steps_per_episode": steps}},
        "dataset": {"data_path": folder, "num_train_games": -1},
    }
    began = perf_counter()
    env = make(config, train_eval="train").init_env(batch_size=1)
    setup = perf_counter() - began
    chance, told, seconds = random.Random(1), hashlib.sha256(), list[float]()
    for _ in range(episodes):
        began = perf_counter()
        obs, infos = env.reset()
        dones: Any = (False,)
        while not dones[0]:
            told.update(obs[0].encode())
            obs, _, dones, infos = env.step([chance.choice(infos["admissible_commands"][0])])
        seconds.append(perf_counter() - began)
        told.update(obs[0].encode())
    print(json.dumps({"setup": setup, "episodes": seconds, "digest": told.hexdigest()}))


def without_jericho() -> None:
    """Stand in for the package that textworld imports for another kind of game, where it is not installed."""
    try:
        importlib.import_module("jericho")
    except ImportError:
        jericho = types.ModuleType("jericho")
        vars(jericho).update(UnsupportedGameWarning=UserWarning, TruncatedInputActionWarning=UserWarning)
        sys.modules["jericho"] = jericho


if __name__ == "__main__":
    without_jericho()
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
