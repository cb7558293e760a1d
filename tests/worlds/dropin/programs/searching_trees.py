"""Goes back to earlier moments by playing their commands again, as tree searches do, in processes of its own: ``CONFIGURATION``."""

import json
import multiprocessing
import os
import sys

import alfworld.agents.environment as environment
import yaml
from alfworld.agents.environment.alfred_tw_env import AlfredTWEnv

LIMIT = 7


class OneGame(AlfredTWEnv):
    """Finds its own file, for a split that alfworld does not have."""

    def __init__(self, config, file, train_eval="eval"):
        self.config, self.train_eval, self.file = config, train_eval, file
        self.collect_game_files()

    def collect_game_files(self, verbose=False):
        assert os.path.exists(self.file)
        self.game_files, self.num_games = [self.file], 1


def told(answer):
    """An answer with its infos in one order."""
    return [sorted(part.items()) if isinstance(part, dict) else part for part in answer]


class Node:
    def __init__(self, path, observation, commands, reward, done):
        self.path, self.observation, self.commands, self.reward, self.done = path, observation, commands, reward, done


class Search:
    def __init__(self, env):
        self.env, self.steps = env, 0

    def at(self, path):
        """The node after these commands, from the start."""
        obs, infos = self.env.reset()
        reward, done = 0, False
        for command in path:
            obs, scores, dones, infos = self.env.step([command])
            reward, done = scores[0], dones[0]
            self.steps += 1
        return Node(path, obs[0], infos["admissible_commands"][0], reward, done)

    def widened(self, node, width=2):
        return [self.at([*node.path, command]) for command in node.commands[1 : 1 + width]]


def of_one_game(file, config):
    source = AlfredTWEnv.__new__(AlfredTWEnv)
    source.config, source.train_eval, source.game_files, source.num_games = config, "eval", [file], 1
    return source.init_env(batch_size=1)


def worker(pipe, config, file):
    """Answers commands until it is told to end, as workers of trainers do."""
    env = OneGame(config, file).init_env(batch_size=1)
    env.seed(3)
    while True:
        kind, data = pipe.recv()
        if kind == "reset":
            pipe.send(env.reset())
        elif kind == "step":
            pipe.send(env.step([data]))
        else:
            env.close()
            return


if __name__ == "__main__":
    with open(sys.argv[1]) as reader:
        config = yaml.safe_load(reader)
    config["general"]["training_method"] = "dqn"
    config["dataset"]["num_eval_games"] = int("4")
    files = sorted(environment.get_environment(config["env"]["type"])(config, "eval_in_distribution").game_files)
    print(len(files))

    search = Search(of_one_game(files[0], config))
    root = search.at([])
    leaves = [root]
    for _ in range(2):
        leaves = [child for leaf in leaves[:2] for child in search.widened(leaf)]
    for leaf in leaves:
        print(leaf.path, repr(leaf.observation), leaf.commands, leaf.reward, leaf.done)
    print(search.steps, search.at(root.path).observation == root.observation)

    env = search.env
    obs, infos = env.reset()
    kept = (env.batch_env.last, env.obs, env.last_commands)
    env.step(["look"])
    print(kept, env.batch_env.last[0][:3], env.obs, env.last_commands, env.batch_size, env.gamefiles == files[:1])
    for attempt in range(LIMIT):
        obs, scores, dones, infos = env.step([infos["admissible_commands"][0][-1 - attempt % 2]])
    print(told([obs, scores, dones, infos]), json.dumps([obs, scores, dones]))

    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=worker, args=(there, config, files[1]), daemon=True)
    process.start()
    for request in (("reset", None), ("step", "look"), ("step", "inventory"), ("reset", None)):
        here.send(request)
        print(told(here.recv()))
    here.send(("end", None))
    process.join(30)
    print(process.exitcode)
