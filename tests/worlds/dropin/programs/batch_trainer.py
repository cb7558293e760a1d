"""Collects groups of episodes, each group from one game, and looks at what a batch shows: ``CONFIGURATION``."""

import random
import sys
from contextlib import redirect_stdout
from io import StringIO

import yaml
from alfworld.agents.environment import get_environment

GROUPS, EACH = 2, 2


def returns(env, chance):
    obs, infos = env.reset()
    kept = [[text] for text in obs]
    total = [0] * len(obs)
    dones = [False] * len(obs)
    while not all(dones):
        commands = [chance.choice(listed) for listed in infos["admissible_commands"]]
        obs, scores, dones, infos = env.step(commands)
        for slot, (text, score) in enumerate(zip(obs, scores)):
            kept[slot].append(text)
            total[slot] += score
    return kept, total


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        config = yaml.safe_load(file)
    config["general"]["training_method"] = "dqn"
    source = get_environment("AlfredTWEnv")(config, train_eval="train")
    chance = random.Random(5)
    groups = [[source.init_env(batch_size=1) for _ in range(EACH)] for _ in range(GROUPS)]
    for number, group in enumerate(groups):
        for env in group:
            env.seed(100 + number)
    for _ in range(2):
        for group in groups:
            played = [returns(env, chance) for env in group]
            assert len({kept[0][0] for kept, _ in played}) == 1
            print(played)
    batch = source.init_env(batch_size=3)
    print(returns(batch, chance))
    batch.reset()
    print(repr(batch.render("text")))
    batch.step(["look", "inventory", "dance"])
    print(repr(batch.render("text")), repr(batch.render("ansi").getvalue()))
    with redirect_stdout(StringIO()) as shown:
        batch.render()
    print(repr(shown.getvalue()))
    batch.close()
