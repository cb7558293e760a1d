"""A random agent written for alfworld. Only the first import decides whose game it plays; for alfworld's own, write

from alfworld.agents.environment import get_environment
"""

import random
import sys
from typing import Any

from housequest.worlds.dropin import get_environment

config: dict[str, Any] = {
    "env": {
        "type": "AlfredTWEnv",
        "task_types": [1, 2, 3, 4, 5, 6],
        "goal_desc_human_anns_prob": 0.0,
        "domain_randomization": False,
        "expert_type": "handcoded",
    },
    "general": {"training_method": "dagger"},
    "dagger": {"training": {"max_nb_steps_per_episode": 50}},
    "dataset": {"data_path": "$ALFWORLD_DATA/json_2.1.1/train", "num_train_games": 20},
}


def main(episodes: int) -> None:
    random.seed(7)
    env = get_environment(config["env"]["type"])(config, train_eval="train")
    env = env.init_env(batch_size=1)
    for _ in range(episodes):
        obs, info = env.reset()
        print(obs[0])
        dones = (False,)
        while not dones[0]:
            admissible_commands = list(info["admissible_commands"])
            actions = [random.choice(admissible_commands[0])]
            obs, _scores, dones, info = env.step(actions)
            print(f"Action: {actions[0]}, Obs: {obs[0]}")
    env.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
