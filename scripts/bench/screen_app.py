"""What `screen` runs on its terminals: ``bare``, ``home``, ``slow MODEL`` or ``replay FILE``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, cast

from worlds.base import Env, Step, Task, World
from worlds.wrappers import Wrapper

HOUSE = "generated:690"
WARM = 12
"""Fast turns at the start, so that there is text to scroll."""
STEP = 3.0
"""Seconds that each later step takes."""
READY = "ready"


class _SlowEnv(Wrapper):
    """An env with slow steps."""

    steps = 0

    def step(self, command: str) -> Step:
        self.steps += 1
        if self.steps > WARM:
            time.sleep(STEP)
        return super().step(command)


class _SlowWorld:
    """A world that must not be stepped in the event loop."""

    inline = False

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def open(self, task: Task, *, diagnosis: bool = False) -> Env:
        return _SlowEnv(self._world.open(task, diagnosis=diagnosis))


def bare() -> None:
    """A Textual app with nothing in it."""
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    class Bare(App[None]):
        def compose(self) -> ComposeResult:
            yield Static(READY)

    Bare().run()


def home() -> None:
    """The whole command, with its configuration."""
    from tui.cli import main

    main(["play"])


def slow(model: str) -> None:
    """Watch a game of a slow model in a slow world."""
    from agent.config import Settings
    from tui.app import HousequestApp
    from tui.play.game import GameConfig
    from tui.play.screen import PlayScreen
    from worlds.registry import make_world

    world = make_world("alfworld")
    game = GameConfig(
        cast("World", cast("object", _SlowWorld(world))),
        world.task(HOUSE),
        "react",
        Settings(agent="react", model=model),
        record=False,
        speed=1000.0,
    )
    HousequestApp(lambda: PlayScreen(game, "watch")).run()


def replay(record: str) -> None:
    """A recorded episode."""
    from tui.app import HousequestApp
    from tui.replay.screen import ReplayScreen

    HousequestApp(lambda: ReplayScreen(Path(record))).run()


if __name__ == "__main__":
    {"bare": bare, "home": home, "slow": slow, "replay": replay}[sys.argv[1]](*sys.argv[2:])
