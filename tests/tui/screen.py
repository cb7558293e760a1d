"""What tests of the screen share: games to play on it, waiting for what is to happen, and a look at it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App
from textual.events import Key
from textual.pilot import Pilot
from textual.screen import Screen

from housequest.agent.config import Settings
from housequest.tui.app import HousequestApp
from housequest.tui.play.game import ChosenGame
from housequest.tui.play.screen import PlayScreen
from housequest.worlds.base import World
from housequest.worlds.registry import make_world
from tests.waiting import PATIENCE

EGG = "generated:690"
"""A made-up kitchen in which an egg is heated; the expert takes ten turns."""
COIN = "demo:1"
"""The scripted world's first task."""

_FRAME = re.compile("[\u2500-\u257f]")
_NAMES = {" ": "space", "?": "question_mark", ":": "colon"}

USUAL = (120, 40)
SIZES = ((80, 24), (100, 30), USUAL, (200, 60))
OTHERS = tuple(size for size in SIZES if size != USUAL)
"""Sizes in which what must be seen is looked for, while pictures are kept of the usual one."""


def game(
    task: str = EGG, agent: str = "expert", *, world: World | None = None, record: bool = True, **settings: Any
) -> ChosenGame:
    """A game as quick as it can be watched; ``settings`` are configured ones."""
    world = world or make_world("scripted" if task.startswith("demo:") else "alfworld")
    return ChosenGame(world, world.task(task), agent, Settings(agent=agent, **settings), record, speed=1000.0)


class Remembering(HousequestApp):
    """The app, and what it told in notices."""

    def __init__(self, make: Callable[[], Screen[Any]], home: Callable[[], Screen[Any]] | None = None) -> None:
        super().__init__(make, home)
        self.told: list[str] = []

    def notify(self, message: str, **others: Any) -> None:
        self.told.append(message)
        super().notify(message, **others)


def showing(make: Callable[[], Screen[Any]], home: Callable[[], Screen[Any]] | None = None) -> HousequestApp:
    """The app with the screen that ``make`` makes."""
    return Remembering(make, home)


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Let the app go on until ``condition`` holds; where it never does, show what the screen and the notices say."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await pilot.pause(0.01)
    except TimeoutError:
        told = "\n".join(getattr(pilot.app, "told", ()))
        raise AssertionError(f"waited in vain; notices: {told or 'none'}\n{screen_text(pilot.app)}") from None
    await pilot.pause()


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press ``keys`` one after the other, and let the app catch up."""
    await pilot.press(*keys)
    await pilot.pause()


def _post(pilot: Pilot[Any], text: str) -> None:
    for letter in text:
        pilot.app.post_message(Key(_NAMES.get(letter, letter), letter))


async def write_in(pilot: Pilot[Any], text: str) -> None:
    """Type ``text`` where the focus is, as quickly as anybody can, and let the app catch up."""
    _post(pilot, text)
    await pilot.pause()


async def type_in(pilot: Pilot[Any], text: str) -> None:
    """Type ``text`` where the focus is, as quickly as anybody can, and press enter."""
    _post(pilot, text)
    await press(pilot, "enter")


def screen_text(app: App[Any]) -> str:
    """What stands on the screen, line by line, without colours."""
    screen = app.screen
    return "\n".join(strip.text.rstrip() for strip in screen._compositor.render_strips())


async def shows(app: App[Any], size: tuple[int, int], before: Callable[[Pilot[Any]], Awaitable[None]], *texts: str) -> None:
    """Check that ``app`` shows ``texts`` in this size after ``before``, up to its last line, and that it cuts no frame off."""
    async with app.run_test(size=size) as pilot:
        await before(pilot)
        lines = screen_text(app).splitlines()
        assert len(lines) == size[1] and lines[0] and lines[-1]
        shown = running_text(app)
        missing = [text for text in texts if text not in shown]
        assert not missing, f"{missing} is not in\n{screen_text(app)}"
        corners = [sum(line.count(corner) for line in lines) for corner in "╭╮╰╯"]
        assert len(set(corners)) == 1, f"a frame is cut off in\n{screen_text(app)}"


def running_text(app: App[Any]) -> str:
    """What stands on the screen as one line, without frames: a sentence is found in it wherever a long path made it wrap."""
    return " ".join(_FRAME.sub(" ", screen_text(app)).split())


def notices(app: App[Any]) -> str:
    """The notices that are shown, which may be wrapped over something else."""
    return " ".join(each.message for each in app._notifications)


def notices_so_far(app: HousequestApp) -> str:
    """The notices that were ever shown: on a slow machine one has gone before anybody looks."""
    assert isinstance(app, Remembering)
    return " ".join(app.told)


def waiting(app: App[Any]) -> str:
    """What the game on the screen waits for; nothing on another screen."""
    screen = app.screen
    return screen.play_state.status.waiting if isinstance(screen, PlayScreen) else ""
