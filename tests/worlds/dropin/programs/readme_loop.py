"""A loop over episodes with random commands, as alfworld's own page shows it: ``CONFIGURATION``."""

import random

from alfworld.agents.environment import get_environment
from alfworld.agents.modules import generic

if __name__ == "__main__":
    random.seed(3)
    config = generic.load_config()
    env = get_environment(config["env"]["type"])(config, train_eval="train")
    env = env.init_env(batch_size=2)
    for _ in range(2):
        obs, info = env.reset()
        print(obs, info["won"], info["extra.gamefile"])
        dones = [False, False]
        while not all(dones):
            commands = [random.choice(listed) for listed in info["admissible_commands"]]
            obs, scores, dones, info = env.step(commands)
            print(commands, obs, scores, dones, info["won"], info["extra.gamefile"])
    env.close()
