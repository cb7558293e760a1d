"""Serves single games by a subclass that reads the game's logic first, with names of its own making: ``CONFIGURATION``."""

import json
import os
import random

import alfworld.agents.modules.generic as generic
import textworld
import textworld.agents
import textworld.gym
from alfworld.agents.environment.alfred_tw_env import AlfredTWEnv
from alfworld.agents.expert import HandCodedAgentTimeout, HandCodedTWAgent
from alfworld.agents.utils.misc import Demangler, add_task_to_grammar, get_templated_task_desc
from alfworld.info import ALFRED_PDDL_PATH, ALFRED_TWL2_PATH


class Named(textworld.core.Wrapper):
    """alfworld's names, by its own demangler."""

    def __init__(self, *args, shuffle=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.shuffle = shuffle

    def load(self, *args, **kwargs):
        super().load(*args, **kwargs)
        names = Demangler(game_infos=self._entity_infos, shuffle=self.shuffle)
        for info in self._entity_infos.values():
            info.name = names.demangle_alfred_name(info.id)


class Spelled(textworld.core.Wrapper):
    """Names with numbers that count up, by no demangler of alfworld's."""

    def load(self, *args, **kwargs):
        super().load(*args, **kwargs)
        counts = {}
        for one in sorted({info.id for info in self._entity_infos.values()}):
            stem, bar, _ = one.partition("_bar_")
            if bar:
                counts[stem] = counts.get(stem, 0) + 1
                self._entity_infos[one].name = f"{stem}-{counts[stem]}"


class OneGame(AlfredTWEnv):
    def __init__(self, config, train_eval="eval_in_distribution"):
        self.config = config
        self.train_eval = train_eval
        self.get_game_logic()
        self.game_files = []
        self.num_games = 0


def play(env, commands=6):
    obs, infos = env.reset()
    print(obs, sorted(infos))
    chance = random.Random(3)
    for _ in range(commands):
        single = isinstance(infos["admissible_commands"][0], str)
        listed = infos["admissible_commands"] if single else infos["admissible_commands"][0]
        command = chance.choice(listed)
        obs, score, done, infos = env.step(command if single else [command])
        print(command, obs, score, done, listed)
    env.close()


if __name__ == "__main__":
    config = generic.load_config()
    config["logic"] = {"domain": ALFRED_PDDL_PATH, "grammar": ALFRED_TWL2_PATH}
    files = sorted(AlfredTWEnv(config, train_eval="eval_in_distribution").game_files)
    single = OneGame(config)
    print(sorted(single.game_logic), single.game_logic["grammar"].count("UNKNOWN GOAL"))
    with open(ALFRED_TWL2_PATH) as grammar:
        print(single.game_logic["pddl_domain"].count("(:action"), len(grammar.read()) > 1000)
    for file in files[:2]:
        single.game_files = [file]
        play(single.init_env(batch_size=1))
        with open(os.path.join(os.path.dirname(file), "traj_data.json")) as reader:
            trajectory = json.load(reader)
        random.seed(5)
        print([get_templated_task_desc(trajectory) for _ in range(4)])
        goal = add_task_to_grammar("Your task is to: UNKNOWN GOAL.", trajectory, goal_desc_human_anns_prob=0.5)
        print(goal, random.random())
    infos = textworld.EnvInfos(won=True, admissible_commands=True, score=True, max_score=True)
    for wrapper in (Named(), Spelled(), Named):
        random.seed(7)
        play(textworld.gym.make(textworld.gym.register_game(files[0], infos, max_episode_steps=9, wrappers=[wrapper])))
    infos = textworld.EnvInfos(won=True, admissible_commands=True)
    env = textworld.start(files[0], infos, [lambda env: Named(env, shuffle=False)])
    agent = textworld.agents.RandomCommandAgent(seed=3)
    agent.reset(env)
    state = env.reset()
    for _ in range(5):
        command = agent.act(state, 0, False)
        state, _, done = env.step(command)
        print(command, state.feedback, done)
    agent = textworld.agents.WalkthroughAgent([" look", "inventory\n"])
    agent.reset(env)
    print([agent.act(state, 0, False) for _ in range(2)], issubclass(HandCodedAgentTimeout, NameError))
    try:
        agent.act(state, 0, False)
    except textworld.agents.WalkthroughDone:
        print("done", sorted(dict(env._entity_infos))[:3], {type(info.name) for info in env._entity_infos.values()})
    expert = HandCodedTWAgent(max_steps=50)
    state = env.reset()
    expert.reset(game=files[0])
    expert.observe(state.feedback)
    print(callable(expert.act))
