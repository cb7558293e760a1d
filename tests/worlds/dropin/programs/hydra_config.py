"""Takes its configuration from Hydra, as trainers do: ``CONFIGURATION``."""

import sys
from pathlib import Path

from alfworld.agents.environment import get_environment
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

if __name__ == "__main__":
    file = Path(sys.argv[1]).resolve()
    with initialize_config_dir(version_base=None, config_dir=str(file.parent)):
        config = compose(
            config_name=file.stem,
            overrides=["env.task_types=[1,3,9]", "dataset.num_train_games=${dataset.few}", "+dataset.few=2"],
        )
    assert OmegaConf.is_config(config)
    source = get_environment(config.env.type)(config, train_eval="train")
    print(source.game_files, source.num_games, source.config.env.type)
    env = source.init_env(batch_size=config["dataset"]["num_train_games"])
    print(env.reset()[0], env.step(["look", "inventory"])[:3])
