"""Says odd commands to a batch that is larger than its games, and calls it in odd orders: ``CONFIGURATION``."""

import sys

import yaml
from alfworld.agents.environment import get_environment

ODD = (
    ("look",) * 3,
    ["look\n", "look\0", "x" * 5000],
    ["LOOK", "Go to Desk 1", "  look  "],
    ["", " ", "\t"],
    ["examine", "help me", "look around"],
    ["go  to  desk 1", "goto desk 1", "go to desk"],
    ["inventory.", "inventory;look", "look, inventory"],
)


def refused(call, *arguments):
    """Whether a call raises a ``ValueError``."""
    try:
        call(*arguments)
    except ValueError:
        return True
    return False


def told(answer):
    """An answer with its infos in one order."""
    return [sorted(part.items()) if isinstance(part, dict) else part for part in answer]


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        config = yaml.safe_load(file)
    config["general"]["training_method"] = "dqn"
    source = get_environment("AlfredTWEnv")(config, train_eval="train")
    source.game_files = sorted(source.game_files)[:2]

    env = source.init_env(batch_size=3)
    print(told(env.reset()), told(env.reset()))
    for commands in ODD:
        print(told(env.step(commands)), env.last_commands)
    print(env.render("text"))
    for _ in range(3):
        print(told(env.step(["look", "inventory", "help"])))
    print(env.seed(5), env.seed(5), env.reset()[1]["extra.gamefile"], env.reset()[1]["extra.gamefile"])
    print(refused(env.seed, -1), refused(env.seed, 2**32), env.seed(True), env.reset()[1]["extra.gamefile"])
    env.close()
    env.close()
    print(env.seed(3), env.skip())

    env = source.init_env(batch_size=None)
    print(told(env.reset()), told(env.step(" look ")), told(env.step("")), env.last_commands)
    print(env.render("text"), env.seed(7), told(env.reset()))
    env.close()
