"""Plays trials with the modules loaded again before each, as agents that reflect on lost games do: ``CONFIGURATION``."""

import importlib
import importlib.util
import sys

import alfworld
import alfworld.agents.environment
import yaml

CONFIG = sys.argv[1]  # now: alfworld's planner writes its own arguments there


def trial(number):
    importlib.reload(alfworld)
    importlib.reload(alfworld.agents.environment)
    with open(CONFIG) as reader:
        config = yaml.safe_load(reader)
    source = getattr(alfworld.agents.environment, "get_environment")(config["env"]["type"])
    source = source(config, train_eval="eval_in_distribution")
    source.game_files = sorted(source.game_files)
    env = source.init_env(batch_size=1)
    for _ in range(2):
        ob, info = env.reset()
        name = "/".join(info["extra.gamefile"][0].split("/")[-3:-1])
        print(number, name, "\n".join(ob[0].split("\n\n")[1:]).replace("\n", " "))
        for action in ("look", info["admissible_commands"][0][0], "put mug 1 in/on desk 1"):
            observation, _, done, info = env.step([action])
            print(action, observation, done, info["won"])


if __name__ == "__main__":
    for name in ("alfworld", "alfworld.agents.environment", "textworld", "textworld.gym", "alfworld.nothing"):
        spec = importlib.util.find_spec(name)
        print(name, spec and (spec.name, spec.submodule_search_locations is not None or "a module"))
    for number in range(2):
        trial(number)
