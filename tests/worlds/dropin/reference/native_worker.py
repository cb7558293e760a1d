"""A worker as `housequest.worlds.dropin.reference` is one, over the native engine, so that it runs where nothing is
compiled.

It prints, as the packages of the reference do, and there are commands by which it misbehaves. ``$ALIVE`` names a file that it
keeps locked for as long as it lives, ``$UNLIKE`` a word that it says instead of "You".
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, cast

from housequest.worlds.alfworld.engine.game import PLACEHOLDER, GameFile, parse_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.base import Step
from housequest.worlds.dropin.reference import GameOutput, Reference, serve_game
from tests.worlds.alfworld.play import env_of


class NativeGame(Reference):
    """What the reference does, done by the native engine."""

    def __init__(self) -> None:
        print("Initializing ...", flush=True)
        self.env: NativeEnv | None = None

    def load(self, file: GameFile) -> None:
        print("a planner's chatter\n" * 5_000)
        sentence = PLACEHOLDER
        if file.grammar is not None:
            sentence = file.grammar.partition('"Your task is to: ')[2].partition('"')[0]
        self.env = env_of(parse_game(file.problem, sentence, "the worker's game"))

    def reset(self) -> GameOutput:
        assert self.env is not None
        return told(self.env, self.env.reset())

    def step(self, command: str) -> GameOutput:
        assert self.env is not None
        os.write(1, b"below Python's stdout\n")
        if command in MISDEEDS:
            return MISDEEDS[command]()
        return told(self.env, self.env.step(command))


def told(env: NativeEnv, step: Step) -> GameOutput:
    text = step.observation.text.replace("You", os.environ.get("UNLIKE", "You"))
    return GameOutput(text, step.won, env.admissible_commands())


def babble(content: bytes) -> None:
    """Write on the pipe of the answers, the one besides stdout and stderr that can be written to, and nothing more."""
    for number in range(3, 16):
        try:
            while content:
                content = content[os.write(number, content) :]
        except OSError:
            continue
    time.sleep(600)


MISDEEDS: dict[str, Callable[[], Any]] = {
    "die": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "fail": lambda: {}["fell down"],
    "exit": lambda: sys.exit("out of eggs"),
    "hang": lambda: time.sleep(600),
    "babble": lambda: babble(b"\xff\x00 and so on\n"),
    "answer otherwise": lambda: babble(b'{"text": "You win.", "won": true, "commands": ["look", 7]}\n'),
    "answer with a number": lambda: GameOutput("You win.", True, ("look", cast("str", 7))),
    "talk without end": lambda: babble(b"la " * 10_000_000),
}


if __name__ == "__main__":
    if "ALIVE" in os.environ:
        fcntl.flock(os.open(os.environ["ALIVE"], os.O_CREAT | os.O_WRONLY), fcntl.LOCK_EX)
    serve_game(NativeGame)
