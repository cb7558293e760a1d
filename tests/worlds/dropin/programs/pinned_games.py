"""Loads one chosen game in each of the ways in which people pin one, also in a batch that was pickled: ``CONFIGURATION``.

Then it reads the logic of the games, and names what agents and wrappers import.
"""

import itertools
import pickle
import sys
from hashlib import sha256

import yaml
from alfworld.agents.environment.alfred_tw_env import AlfredTWEnv
from alfworld.info import ALFRED_PDDL_PATH, ALFRED_TWL2_PATH
from textworld import EnvInfoMissingError
from textworld.gym.core import Agent


def opening(env):
    obs, infos = env.reset()
    return obs, infos["extra.gamefile"]


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        config = yaml.safe_load(file)
    config["general"]["training_method"] = "dqn"
    source = AlfredTWEnv(config, train_eval="train")
    games = sorted(source.game_files)

    env = source.init_env(batch_size=1)
    env._gamefiles_iterator = iter([games[2], games[0]])
    print(opening(env), opening(env))

    env = source.init_env(batch_size=2)
    env._gamefiles_iterator = itertools.cycle([games[1]])
    print(opening(env), opening(env))

    env = source.init_env(batch_size=1)
    env._gamefiles_iterator = itertools.cycle([games[2], games[1]])
    env = pickle.loads(pickle.dumps(env))
    print(opening(env), env.step(["look"])[:3], opening(env))

    env = source.init_env(batch_size=1)
    env.skip(3)
    env.skip(0)
    env.skip(-1)
    print(opening(env))

    env.gamefiles = [games[3]]
    print(env.seed(5), opening(env), opening(env))

    source.game_files = [games[1]]
    source.num_games = 1
    env = source.init_env(batch_size=1)
    print(opening(env), env.step(["look"])[:3], env.step(["nonsense"])[:3])
    env = source.init_env(batch_size=3)
    print(opening(env))

    source.config["logic"] = {"domain": ALFRED_PDDL_PATH, "grammar": ALFRED_TWL2_PATH}
    source.get_game_logic()
    print({name: sha256(text.encode()).hexdigest() for name, text in source.game_logic.items()})
    print(Agent().infos_to_request.basics, issubclass(EnvInfoMissingError, NameError))
