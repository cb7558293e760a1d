"""Writes games of its own from the domain, the grammar and a goal in words, and plays them in the terminal: ``CONFIGURATION``."""

import glob
import io
import json
import os
import random
import shutil
import sys
from os.path import join as pjoin

import alfworld.info as info
import textworld
import textworld.gym
from alfworld.agents.environment.alfred_tw_env import TASK_TYPES, AlfredDemangler, AlfredInfos
from alfworld.agents.utils.misc import add_task_to_grammar, get_human_anns_task_desc
from textworld.agents import HumanAgent, NaiveAgent, RandomCommandAgent, WalkthroughAgent


def write(source, folder, goal):
    """A game at the same problem, with another sentence for its goal."""
    os.makedirs(folder, exist_ok=True)
    for path in (info.ALFRED_PDDL_PATH, info.ALFRED_TWL2_PATH):
        shutil.copy(path, folder)
    with open(pjoin(os.path.dirname(source), "traj_data.json")) as reader:
        trajectory = json.load(reader)
    with open(source) as reader:
        problem = json.load(reader)["pddl_problem"]
    logic = {"pddl_domain": open(pjoin(folder, "alfred.pddl")).read(), "grammar": open(pjoin(folder, "alfred.twl2")).read()}
    if goal is None:
        logic["grammar"] = add_task_to_grammar(logic["grammar"], trajectory)
    else:
        logic["grammar"] = logic["grammar"].replace("UNKNOWN GOAL", goal)
    written = pjoin(folder, "game.tw-pddl")
    with open(written, "w") as writer:
        json.dump(dict(**logic, pddl_problem=problem), writer)
    print(trajectory["task_type"] in TASK_TYPES.values(), get_human_anns_task_desc(trajectory, random.Random(1)))
    return written


def in_the_terminal(game):
    """A person's game, as textworld's own command plays it."""
    sys.stdin = io.StringIO("look\ngo to nowhere 1\ninventory\n help \n")
    textworld.play(game, HumanAgent(autocompletion=False), max_nb_steps=4, wrappers=[AlfredDemangler()])
    print()
    for agent in (RandomCommandAgent(seed=4), WalkthroughAgent(["look", "inventory"] * 2), NaiveAgent(seed=2)):
        textworld.play(game, agent, max_nb_steps=4, wrappers=[AlfredDemangler(shuffle=False)])
    print("silent:", textworld.play(game, NaiveAgent(), max_nb_steps=2, silent=True))


if __name__ == "__main__":
    random.seed(11)
    games = sorted(glob.glob(pjoin(info.ALFWORLD_DATA, "json_2.1.1", "**", "game.tw-pddl"), recursive=True))
    for number, goal in enumerate([None, "tidy up the room, please"]):
        game = write(games[3 * number], f"written/{number}", goal)
        infos = textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
        env = textworld.gym.make(
            textworld.gym.register_game(game, infos, max_episode_steps=1000000, wrappers=[AlfredDemangler, AlfredInfos])
        )
        obs, told = env.reset()
        print(obs, sorted(told.items()))
        for command in (told["admissible_commands"][-1], "put mug 1 in/on desk 1"):
            obs, score, done, told = env.step(command)
            print(obs, score, done, sorted(told.items()))
        env.close()
    in_the_terminal(games[0])
    agent, env = HumanAgent(autocompletion=True, oracle=False), textworld.start(games[0], wrappers=[AlfredDemangler()])
    agent.reset(env)
    sys.stdin = io.StringIO("examine me\n")
    print(repr(agent.act(env.reset(), 0, False)))
