"""What `screen` and `view` run on their terminals: ``bare``, ``home``, ``slow MODEL``, ``typed OUT``, ``replay FILE`` or
``view FILE OUT WAY``."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from housequest.worlds.base import Env, Step, Task, World
from housequest.worlds.env import Wrapper

HOUSE = "generated:690"
WARM = 12
"""Fast turns at the start, so that there is text to scroll."""
STEP = 3.0
"""Seconds that each later step takes."""
READY = "ready"
BEAT = 0.005
"""Seconds between two looks at the clocks of the event loop."""
REPEATS = 3
"""A View costs what the cheapest of so many costs: other programs on the machine are not measured."""


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

    def __init__(self, world: World) -> None:
        self._world, self.info = world, replace(world.info, inline=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def open(self, task: Task) -> Env:
        return _SlowEnv(self._world.open(task))


def bare() -> None:
    """A Textual app with nothing of ours: two lists, three lines to type in and some words, as home has."""
    from textual.app import App, ComposeResult
    from textual.containers import Horizontal, Vertical
    from textual.widgets import Input, OptionList, Static

    class Bare(App[None]):
        CSS = "OptionList { width: 1fr; height: 1fr; } Vertical { height: auto; }"

        def compose(self) -> ComposeResult:
            with Horizontal():
                yield OptionList(*(f"place {number}" for number in range(12)))
                yield OptionList(*(f"game {number}" for number in range(40)))
            with Vertical():
                for field in ("model", "rules", "settings"):
                    yield Input(placeholder=field)
                yield Static("words")
            yield Static(READY)

    Bare().run()


def home() -> None:
    """The whole command, with its configuration."""
    from housequest.tui.cli import main

    main(["play"])


def slow(model: str) -> None:
    """Watch a game of a slow model in a slow world."""
    from housequest.agent.config import Settings
    from housequest.tui.app import HousequestApp
    from housequest.tui.play.game import ChosenGame
    from housequest.tui.play.screen import PlayScreen
    from housequest.worlds.registry import make_world

    world = make_world("alfworld")
    game = ChosenGame(
        cast("World", cast("object", _SlowWorld(world))),
        world.task(HOUSE),
        "react",
        Settings(agent="react", model=model),
        record=False,
        speed=1000.0,
    )
    HousequestApp(lambda: PlayScreen(game, "watch")).run()


def typed(out: str) -> None:
    """A race with the model that ships; writes to ``out`` the longest pause of the event loop so far, by two clocks.

    The processor time of all threads is what a pause takes at most where nothing else runs on the machine.
    """
    import asyncio
    import json

    from housequest.agent.config import Settings
    from housequest.tui.app import HousequestApp
    from housequest.tui.play.game import ChosenGame
    from housequest.tui.race.screen import RaceScreen
    from housequest.worlds.registry import make_world

    async def beat() -> None:
        longest = {"processor": 0.0, "clock": 0.0}
        while True:
            began, used = time.perf_counter(), time.process_time()
            await asyncio.sleep(BEAT)
            pause = {"processor": time.process_time() - used, "clock": time.perf_counter() - began - BEAT}
            if any(pause[each] > longest[each] for each in longest):
                longest = {each: max(pause[each], longest[each]) for each in longest}
                await asyncio.to_thread(Path(out).write_text, json.dumps(longest), "utf-8")

    class Beating(HousequestApp):
        def on_ready(self) -> None:
            self.run_worker(beat())

    world = make_world("alfworld")
    settings = Settings(agent="reasoner-actor", model="builtin")
    game = ChosenGame(world, world.task(HOUSE), "reasoner-actor", settings, record=False, speed=1000.0)
    Beating(lambda: RaceScreen(game)).run()


def replay(record: str) -> None:
    """A recorded episode."""
    from housequest.tui.app import HousequestApp
    from housequest.tui.replay.screen import ReplayScreen

    HousequestApp(lambda: ReplayScreen(Path(record))).run()


def view(record: str, out: str, way: str) -> None:
    """The View alone, at every turn of an episode, in blocks or in pixels as kitty gets them.

    Writes to ``out`` the milliseconds of processor that each turn took, and the milliseconds until the first one was seen, by
    the clock and of processor.
    """
    import asyncio
    import json

    from textual.app import App, ComposeResult
    from textual.widgets import Static

    from housequest.tui.episode.recording import read_recording
    from housequest.tui.episode.state import ViewState
    from housequest.tui.episode.view import ViewPane
    from housequest.tui.theme import register_themes
    from housequest.tui.widgets.pixels import CellSize, Graphics

    recording = read_recording(Path(record))
    pane = ViewPane()

    class Alone(App[None]):
        CSS = "ViewPane { border: none; }"
        graphics = Graphics("kitty", CellSize(9, 18)) if way == "pixels" else None

        def compose(self) -> ComposeResult:
            yield pane

        def on_ready(self) -> None:  # once the pane has its size
            self.run_worker(self.go_on())

        async def show(self, state: ViewState) -> float:
            painted = asyncio.Event()
            began = time.process_time()
            pane.show(state, watched=False)
            await pane.settle()
            pane.call_after_refresh(painted.set)
            await painted.wait()
            return 1000 * (time.process_time() - began)

        async def go_on(self) -> None:
            states = [recording.state.at(stop.id) for stop in recording.branches[-1].stops]
            began = time.perf_counter(), time.process_time()
            pane.choose("house")
            await self.show(states[0])  # imports NumPy and opens the house
            first = [1000 * (clock() - then) for clock, then in zip((time.perf_counter, time.process_time), began, strict=True)]
            taken = [[await self.show(state) for state in states][1:] for _ in range(REPEATS)]
            told = {"size": tuple(pane.content_size), "first": first, "ms": [min(each) for each in zip(*taken, strict=True)]}
            Path(out).write_text(json.dumps(told), "utf-8")  # noqa: ASYNC240 (nothing else runs)
            await self.mount(Static(READY))

    app = Alone()
    register_themes(app)
    app.run()


if __name__ == "__main__":
    {"bare": bare, "home": home, "slow": slow, "typed": typed, "replay": replay, "view": view}[sys.argv[1]](*sys.argv[2:])
