"""Plays through the interface that alfworld and the drop-in share, and prints all that it is told, as lines of JSON.

``python dropin_script.py MODULE CONFIGURATION``: whose interface, by the module that has ``get_environment``, and the
configuration as JSON. It commands what the published solution says, in between admissible and refused things, and plays on
after the end. All it chooses is seeded: two implementations that tell it the same make it print the same.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from pathlib import Path
from typing import Any

STRAYS = ("", "  ", "Look", " look ", "go to", "dance", "put mug 1 in/on desk 1", "\N{RED APPLE}")
UNTOLD = ("extra.expert_plan", "facts")
"""What the two tell differently, on purpose; of the first, what it looks like is compared nonetheless."""


def shape(value: object) -> object:
    """The types of a value, as deep as they are the same for each of its parts."""
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *sorted({json.dumps(shape(part)) for part in value})]
    return type(value).__name__


def tell(what: str, infos: dict[str, Any], *values: Any) -> None:
    assert type(infos) is dict
    shapes = {key: shape(value) for key, value in infos.items() if key not in UNTOLD}
    told = {key: value for key, value in infos.items() if key not in UNTOLD}
    plans = infos.get("extra.expert_plan")
    if plans is not None:
        for plan, commands in zip(plans, infos["admissible_commands"], strict=True):
            assert len(plan) == 1 and plan[0] in commands, (plan, commands)
    line = {"what": what, "values": values, "shapes": [shape(value) for value in values], "infos": told, "of": shapes}
    print(json.dumps({**line, "plans": shape(plans)}, sort_keys=True))


def play(make: Any, config: dict[str, Any], train_eval: str, batch_size: int, chance: random.Random) -> None:
    source = make(config, train_eval=train_eval)
    print(json.dumps({"games": source.game_files, "number": source.num_games, "train_eval": source.train_eval}))
    env = source.init_env(batch_size=batch_size)
    tell("first", env.reset()[1])
    for seed in (None, 42):
        if seed is None:
            env.skip(2)
        else:
            print(json.dumps({"seed": env.seed(seed)}))
        obs, infos = env.reset()
        tell("reset", infos, obs)
        solutions = [json.loads(Path(file).read_bytes())["walkthrough"] for file in infos["extra.gamefile"]]
        for _ in range(config["dagger"]["training"]["max_nb_steps_per_episode"] + 3):
            places = zip(solutions, infos["admissible_commands"], strict=True)
            commands = [choose(solution, listed, chance) for solution, listed in places]
            obs, scores, dones, infos = env.step(commands)
            tell("step", infos, obs, scores, dones)
    env.close()
    env.close()


def choose(solution: list[str], admissible: list[str], chance: random.Random) -> str:
    if solution and chance.random() < 0.7:
        return solution.pop(0)
    if chance.random() < 0.4:
        return chance.choice(STRAYS)
    idle = [command for command in admissible if command.startswith(("look", "inventory", "examine", "help"))]
    return chance.choice(idle if solution else admissible)


def main(module: str, config: dict[str, Any]) -> None:
    make = importlib.import_module(module).get_environment(config["env"]["type"])
    for number, (train_eval, batch_size, method) in enumerate(
        (("train", 1, "dagger"), ("train", 2, "dqn"), ("eval_in_distribution", 3, "dagger"))
    ):
        config["general"]["training_method"] = method
        play(make, config, train_eval, batch_size, random.Random(number))


if __name__ == "__main__":  # textworld plays batches in processes of their own
    main(sys.argv[1], json.loads(sys.argv[2]))
