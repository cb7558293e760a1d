"""One game at a time with a transcript that grows, as those who prompt language models play: ``CONFIGURATION``."""

import json
import sys

import alfworld
import alfworld.agents.environment
import yaml

with open(sys.argv[1]) as file:
    config = yaml.safe_load(file)


def shortened(text):
    return text[text.find(". ") + 2 :] if text.startswith("You arrive at loc ") else text


def play(env, transcript):
    obs, info = env.reset()
    first = "\n".join(obs[0].split("\n\n")[1:])
    name = "/".join(info["extra.gamefile"][0].split("/")[-3:-1])
    transcript += f"{name}\n{first}\n>"
    with open(info["extra.gamefile"][0]) as file:
        thoughts = json.load(file)["walkthrough"]
    for command in ["think: I should look around.", "look ", *thoughts, "inventory"]:
        obs, reward, done, info = env.step([command])
        answer, reward, done = shortened(obs[0]), info["won"][0], done[0]
        if command.startswith("think:"):
            answer = "OK."
        transcript += f" {command}\n{answer}\n>"
        if done:
            return transcript, reward
    return transcript, 0


if __name__ == "__main__":
    source = alfworld.agents.environment.get_environment(config["env"]["type"])
    env = source(config, train_eval="eval_in_distribution").init_env(batch_size=1)
    won = []
    for _ in range(3):
        transcript, reward = play(env, "Interact with a household.\n")
        won.append(reward)
        print(repr(transcript))
    print(won, sum(won) / len(won))
