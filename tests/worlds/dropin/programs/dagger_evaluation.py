"""Evaluates over batches as alfworld's own DAgger evaluation does, with every command that texts suggest: ``CONFIGURATION``."""

import copy
import json
import random
import sys

import numpy as np
import yaml
from alfworld.agents.environment import get_environment
from alfworld.agents.utils.misc import NumpyArrayEncoder, extract_admissible_commands, parse_objects


def evaluate(env, games, steps):
    env.seed(42)
    chance = random.Random(2)
    points = []
    while len(points) < games:
        obs, infos = env.reset()
        names = infos["extra.gamefile"]
        sights = [text.split("\n\nYour task is to: ")[0].lower() for text in obs]
        first = copy.deepcopy(sights)
        before, running, won = [0.0] * len(obs), [], []
        for _ in range(steps):
            candidates = [extract_admissible_commands(intro, text) for intro, text in zip(first, sights)]
            print([len(one) for one in candidates], candidates[0][:3], candidates[-1][-3:])
            actions = [chance.choice(one) for one in candidates]
            obs, _, dones, infos = env.step(actions)
            sights = [text.lower() for text in obs]
            print(actions, obs)
            running.append([1.0 - done for done in before])
            before = [float(done) for done in dones]
            won.append([float(one) for one in infos["won"]])
            if np.sum(running[-1]) == 0:
                break
        spent = np.sum(np.array(running), 0).tolist()
        points += np.max(np.array(won), 0).tolist()
        print(["/".join(name.split("/")[-3:-1]) for name in names], spent, points)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        config = yaml.safe_load(file)
    source = get_environment(config["env"]["type"])(config, train_eval="eval_in_distribution")
    source.game_files = sorted(source.game_files)
    evaluate(source.init_env(batch_size=2), 4, 6)
    texts = (
        "You see a sofa 1, a Desk-Lamp 2 and a candle 3.",
        "nothing",
        "You see nothing. Your task is to: see a mug and a pan.",
        "",
    )
    print([parse_objects(text) for text in texts], json.dumps({"n": np.arange(3)}, cls=NumpyArrayEncoder))
    print(
        extract_admissible_commands("you see a sinkbasin 1, a fridge 1 and a knife 1.", "you see a desklamp 1 and a sofa 2"),
    )
    print(extract_admissible_commands("you see a bathtub 1.", None))
