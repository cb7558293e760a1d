"""Builds environments of textworld itself, with wrappers of alfworld and of its own, and gives them odd input: ``CONFIGURATION``."""

import os
import sys
from contextlib import redirect_stdout
from io import StringIO

import textworld
import textworld.gym
import yaml
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredExpert, AlfredExpertType, AlfredInfos
from alfworld.info import ALFWORLD_DATA
from textworld.core import Wrapper


class Counted(Wrapper):
    """Tells how many steps were made."""

    def reset(self):
        state = super().reset()
        self.steps = 0
        state["extra.steps"] = 0
        return state

    def step(self, command):
        state, score, done = super().step(command)
        self.steps += 1
        state["extra.steps"] = self.steps
        return state, score, done


def caught(call, *arguments):
    """The plain type of what a call raises."""
    try:
        return "answered", call(*arguments)
    except Exception as error:
        kinds = (AssertionError, ValueError, NotImplementedError, OSError)
        return "raised", next((kind.__name__ for kind in kinds if isinstance(error, kind)), "another")


def told(answer):
    """An answer with its infos in one order."""
    return [sorted(part.items()) if isinstance(part, dict) else part for part in answer]


def games():
    with open(sys.argv[1]) as file:
        folder = os.path.expandvars(yaml.safe_load(file)["dataset"]["data_path"])
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name == "game.tw-pddl")


def single(files):
    infos = textworld.EnvInfos(
        won=True,
        lost=True,
        score=True,
        feedback=True,
        moves=True,
        admissible_commands=True,
        last_command=True,
        description=True,
        inventory=True,
        extras=["gamefile", "walkthrough", "steps", "nothing"],
    )
    id = textworld.gym.register_games(
        files, infos, max_episode_steps=6, wrappers=[AlfredDemangler(shuffle=False), AlfredInfos, Counted]
    )
    env = textworld.gym.make(id)
    for _ in range(2):
        obs, infos = env.reset()
        print(id, told((obs, infos)))
        walkthrough = list(infos["extra.walkthrough"])
        done = False
        while not done:
            command = f" {walkthrough.pop(0)} " if walkthrough else "help"
            obs, score, done, infos = env.step(command)
            print(told((obs, score, done, infos)))
        print(told(env.step("look")))
    env.close()


def batch(files):
    infos = textworld.EnvInfos(won=True, extras=["gamefile"])
    id = textworld.gym.register_games(
        files,
        infos,
        batch_size=2,
        auto_reset=True,
        max_episode_steps=3,
        asynchronous=False,
        name="two",
        wrappers=[AlfredDemangler, AlfredInfos],
    )
    print(id, textworld.gym.register_game(files[0], infos, batch_size=1, name="two"), ALFWORLD_DATA)
    env = textworld.gym.make(id)
    for answer in (env.reset(), *(env.step(["look", "help"]) for _ in range(5))):
        print(told(answer))
    env = textworld.gym.make(textworld.gym.register_game(files[0], infos, batch_size=1, wrappers=[AlfredDemangler()]))
    print(told(env.reset()))
    for commands in (["look"], ("inventory",), [""], ["LOOK"], ["\n"], ["go to nowhere 1"]):
        print(commands, told(env.step(commands)))
    for commands in ("look", None, [], ["look", "look"]):
        print(commands, caught(env.step, commands))
    for call, arguments in (
        (textworld.gym.make, ["tw-none-v0"]),
        (textworld.EnvInfos, []),
        (lambda: textworld.EnvInfos(colour=True), []),
        (textworld.start, ["/nowhere/game.tw-pddl"]),
        (lambda: AlfredExpert(expert_type="oracle"), []),
    ):
        kind, value = caught(call, *arguments)
        print(kind, value if isinstance(value, str) else type(value).__name__)


def alone(file):
    env = textworld.start(file, textworld.EnvInfos(won=True, admissible_commands=True), [AlfredDemangler(), AlfredInfos])
    state = env.reset()
    print(state.feedback, state.won, state["extra.gamefile"], state.score, state.moves, state["admissible_commands"])
    state, score, done = env.step("inventory")
    print(state.feedback, state.last_command, score, done, state.missing)
    with redirect_stdout(StringIO()) as shown:
        env.render()
    print(repr(shown.getvalue()), env.render("text"))
    plain = textworld.start(file, textworld.EnvInfos(admissible_commands=True))
    state = plain.reset()
    print(state.feedback, state.admissible_commands)
    for command in state.admissible_commands[:8]:
        state, score, done = plain.step(command)
        print(command, state.feedback, score, done, state.admissible_commands)


def planned(file):
    env = textworld.start(
        file,
        textworld.EnvInfos(won=True, admissible_commands=True),
        [AlfredDemangler(), lambda env: AlfredExpert(env, AlfredExpertType.PLANNER)],
    )
    state = env.reset()
    for _ in range(60):
        state, score, done = env.step(state["extra.expert_plan"][0])
        if done:
            break
    print(score, done)


if __name__ == "__main__":
    files = games()
    single(files)
    batch(files)
    alone(files[0])
    planned(files[0])
