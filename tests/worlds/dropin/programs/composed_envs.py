"""Puts environments together by hand, asks for all information, and looks behind the wrappers: ``CONFIGURATION``."""

import copy
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import RLock

import numpy as np
import textworld
import textworld.envs.batch
import textworld.envs.pddl.textgen as textgen
import textworld.gym.envs.textworld_batch as batches
import yaml
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos, AlfredTWEnv
from textworld.envs.pddl import logic
from textworld.envs.wrappers.filter import Filter
from textworld.envs.wrappers.generic import GenericEnvironment
from textworld.envs.wrappers.limit import Limit
from textworld.gym.envs.utils import shuffled_cycle

LOCK, PLAIN = RLock(), (bool, int, float, str, list, type(None))
HIDDEN = {"facts", "win_facts", "fail_facts", "game", "command_templates", "policy_commands"}


def patch():
    """The patches by which programs run textworld with newer Pythons and in threads."""
    if not getattr(textgen.EvalSymbol, "_patched", False):
        before = textgen.EvalSymbol.derive

        def derive(self, context=None):
            context = context or self.context
            return [textgen.TerminalSymbol(eval(self.expression, {}, dict(context["variables"])))]

        textgen.EvalSymbol.derive, textgen.EvalSymbol._patched = derive, True
        print(callable(before))
    for module in (textgen, logic):
        parse = module._parse_and_convert

        def locked(*args, parse=parse, **kwargs):
            with LOCK:
                return parse(*args, **kwargs)

        module._parse_and_convert = locked


class Noting(textworld.core.Wrapper):
    """Changes the state that is passed on: notes, another text, and fewer commands."""

    def reset(self):
        self.state, self.notes = super().reset(), []
        self.state["feedback"] += "\n\nNotes: none."
        return self.state

    def step(self, command):
        self.state, score, done = super().step(command.replace("put ", "move ").replace(" in/on ", " to "))
        self.notes.append(self.state.last_command)
        self.state.feedback = f"[{len(self.notes)}] {self.state.feedback}"
        self.state["admissible_commands"] = [one for one in self.state["admissible_commands"] if "examine" not in one]
        self.state["extra.notes"] = list(self.notes)
        return self.state, score, done


def told(answer):
    """An answer with its infos in one order."""
    return [sorted(part.items()) if isinstance(part, dict) else part for part in answer]


def composed(infos, wrappers=()):
    env = Limit(GenericEnvironment(infos), max_episode_steps=5)
    for wrapper in (AlfredDemangler, AlfredInfos, *wrappers):
        env = wrapper(env)
    return Filter(env)


def played(file):
    """A whole game, in a thread with others beside it."""
    env = composed(textworld.EnvInfos(won=True, admissible_commands=True))
    with LOCK:
        env.load(file)
        obs, infos = env.reset()
    said = [obs]
    for number in range(4):
        with LOCK:
            obs, score, done, infos = env.step(infos["admissible_commands"][number])
        said.append((obs, score, done))
    return said


if __name__ == "__main__":
    patch()
    with open(sys.argv[1]) as file:
        config = yaml.safe_load(file)
    files = sorted(AlfredTWEnv(config, train_eval="eval_in_distribution").game_files)
    with open(files[0]) as file:
        solution = json.load(file)["walkthrough"]
    every = textworld.EnvInfos(
        **{name: True for name in textworld.EnvInfos.__slots__ if name not in HIDDEN | {"extras"}},
        extras=["gamefile", "notes", "nothing", "walkthrough"],
    )
    print(sorted(every.basics), len(every), every == every.copy())
    env = composed(every, [Noting])
    env.load(files[0])
    obs, infos = env.reset()
    for command in ["look", *solution[:2], "put book 1 in/on desk 1", "inventory", "look"]:
        assert all(isinstance(value, PLAIN) for value in infos.values()), infos
        print(repr(obs), json.dumps(infos, sort_keys=True))
        obs, score, done, infos = env.step(command)
        print(type(score).__name__, score, done)
    print(env.render("text"), type(env.unwrapped).__name__, env.max_episode_steps, env.nb_steps, env.notes)
    env.display_command_during_render = True
    print(env.render("text"), env.request_infos is every, env.seed(4))
    state = env.state
    print(state.won, state.nothing, "won" in state, state.copy() == state, copy.deepcopy(dict(state)) == dict(state))
    env.load(files[1])
    print(env.reset()[0])
    try:
        env.nonsense
    except AttributeError:
        print("no such attribute")

    with ThreadPoolExecutor(3) as pool:
        print(list(pool.map(played, files[:3])))

    order = shuffled_cycle(files[:3], rng=np.random.RandomState(7), nb_loops=1)
    print([files.index(file) for file in order])
    env = batches.TextworldBatchGymEnv(
        files[:2],
        textworld.EnvInfos(won=True, moves=True),
        2,
        asynchronous=False,
        max_episode_steps=2,
        wrappers=[AlfredDemangler],
    )
    print(sorted(env.reset()[1].items()))
    print(list(map(int, env.batch_env.seed(3))), env.batch_env.seed([4, 5]), env.batch_env.batch_size, env.batch_env.auto_reset)
    print(told(env.step(("look", "inventory"))), list(map(told, env.batch_env.last)))
    for slot in env.batch_env.envs:
        inner = slot
        while hasattr(inner, "_wrapped_env"):
            inner = inner._wrapped_env
        print(type(inner).__name__, inner._game_file, inner.state.feedback, getattr(slot, "gamefile", None), slot.nb_steps)
    env.close()
    batch = textworld.envs.batch.make(files[:2], asynchronous=False, wrappers=[AlfredDemangler, Filter])
    print(told(batch.reset()), told(batch.step(["look", "help"])), batch.render("text"))
