"""The films in the README and in docs/: of a first game with the model that ships, and of games together."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rich.style import Style

from scripts.film import Frame, Rows, draw_film
from scripts.window import PATIENCE, SIZE, keys_of, rows_of, settle, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from textual.pilot import Pilot
    from textual.screen import Screen

    from housequest.tui.browser.guests import RoomServer

FILM = "tour.svg"
FILM_SIZE = (120, 34)
_PACE = 1.0
"""Turns a second of a film."""
_DRAWN = 0.5
"""The seconds until a window has drawn the typed text."""
_GUIDED = 5
"""Turns that the guide leads through; before the last of them it says to press ``a``."""
_TOUR = (
    ("The agent proposes a command, and the guide says what to press: space", 2.4),
    ("No egg on the table. space", 1.8),
    ("Nor here. space", 1.4),
    ("Nor in the sink, so it tries the fridge. space", 1.4),
    ("The guide says: press a, and the agent plays on by itself", 2.0),
    ("There is an egg", 1.0),
    ("It has the egg", 0.8),
    ("On to the microwave", 0.8),
    ("The egg is hot", 0.8),
    ("Back to the table", 0.8),
    ("Won. n plays the next game, p shows this one again", 3.0),
)
"""What stands below a first game after so many turns, and for how long."""
_CHORE = "chores:5"
TOGETHER, BUILTIN = "together.svg", "builtin.svg"
TERMINALS, BROWSERS = "terminals.svg", "browsers.svg"
"""Two people in a room; the second picture needs chromium."""
_SHARED = (
    ("go to sinkbasin 1", "You and Bob are in one kitchen, with four goals, one command a round each", 2.2),
    ("take egg 2 from sinkbasin 1", "Bob says what he found, and which goal he takes", 1.8),
    ("go to microwave 1", "You carry an egg, so he leaves the egg to you", 1.4),
    ("heat egg 2 with microwave 1", "The egg is hot", 1.0),
    ("go to fridge 1", "You see both of you walk through the house", 1.0),
    ("open fridge 1", "Only you see what is in it", 1.0),
    ("move egg 2 to fridge 1", "Your first goal is done", 1.2),
    ("I'll do the potato", "Say what you will do, in your own words", 2.0),
    ("go to countertop 2", "Bob leaves it to you, and says where he saw one", 1.6),
    ("take potato 1 from countertop 2", "", 0.7),
    ("go to microwave 1", "", 0.7),
    ("heat potato 1 with microwave 1", "", 0.7),
    ("go to garbagecan 1", "", 0.7),
    ("move potato 1 to garbagecan 1", "The last goal", 0.8),
)
"""A person's lines beside the expert, as in the tutorial, each with the caption before it and its seconds."""
_WITH_MODEL = (
    ("I'll do the potato", "Bob is the built-in model. Say what you will do", 2.0),
    ("go to countertop 2", "", 0.8),
    ("there is an egg on countertop 2", "You see an egg: tell him", 1.8),
    ("take potato 1 from countertop 2", "He has a fork, and then looks for the egg where you said", 1.6),
    ("go to microwave 1", "", 0.8),
    ("heat potato 1 with microwave 1", "", 0.8),
    ("go to garbagecan 1", "He brings the fork to a drawer: the first goal", 1.0),
    ("move potato 1 to garbagecan 1", "And the second", 1.0),
    ("I'll do the mug", "He takes the egg", 1.4),
    ("go to countertop 2", "", 0.8),
    ("take mug 1 from countertop 2", "", 0.8),
    ("go to microwave 1", "", 0.8),
    ("heat mug 1 with microwave 1", "The egg is hot", 0.8),
    ("go to shelf 1", "He brings it to the fridge", 0.8),
    ("move mug 1 to shelf 1", "The last goal", 0.8),
)
"""The same beside the model that ships."""
TWO = (
    (
        "go to sinkbasin 1",
        "go to diningtable 1",
        "Ann and Bob are in one kitchen, with four goals, one command a round each",
        2.2,
    ),
    ("take egg 2 from sinkbasin 1", "take fork 2 from diningtable 1", "Each sees what the other carries", 1.4),
    ("go to microwave 1", "I have a fork, it goes into a drawer", "Words arrive at once, and cost no turn", 2.0),
    ("", "go to drawer 1", "", 0.8),
    ("heat egg 2 with microwave 1", "open drawer 1", "Only Bob sees what is in the drawer", 1.2),
    ("go to fridge 1", "move fork 2 to drawer 1", "The first goal is done", 1.2),
    ("open fridge 1", "go to countertop 2", "", 0.8),
    ("move egg 2 to fridge 1", "take mug 1 from countertop 2", "The second one", 1.0),
    ("I do the potato", "", "They agree on who does what", 1.6),
    ("go to countertop 2", "go to microwave 1", "", 0.8),
    ("take potato 1 from countertop 2", "heat mug 1 with microwave 1", "", 0.8),
    ("go to microwave 1", "go to shelf 1", "", 0.8),
    ("heat potato 1 with microwave 1", "move mug 1 to shelf 1", "The third one", 1.0),
    ("go to garbagecan 1", "wait", "", 0.8),
    ("move potato 1 to garbagecan 1", "wait", "", 0.8),
)
"""Ann's and Bob's lines, with the caption before them and its seconds."""


class Played(Protocol):
    """A player's screen, in a browser or at a terminal."""

    async def text(self) -> str:
        """Its text."""
        ...

    async def until(self, pattern: str) -> object:
        """Wait until it shows this, with one space between words."""
        ...

    async def rows(self) -> Rows:
        """The same, cell by cell."""
        ...

    async def type(self, text: str) -> None:
        """Type ``text``."""
        ...

    async def press(self, *keys: str) -> None:
        """Press keys by their names on the web."""
        ...


def draw_films(target: Path) -> None:
    """Draw all films into the folder ``target``."""
    asyncio.run(_tour(target))
    asyncio.run(_together(target, TOGETHER, "expert", None, _SHARED))
    asyncio.run(_together(target, BUILTIN, "reasoner-actor", "builtin", _WITH_MODEL))
    asyncio.run(_two_terminals(target))
    asyncio.run(_two_browsers(target))


async def _tour(target: Path) -> None:
    """The first minute of somebody who reads nothing: Enter at home, then what the guide says, until the game is won."""
    from housequest.agent.config import Settings
    from housequest.tui.app import HousequestApp
    from housequest.tui.commands.play import DEMO_SPEED
    from housequest.tui.episode.view import STRIDE
    from housequest.tui.home.screen import HomeScreen
    from housequest.tui.play.screen import PlayScreen

    app = HousequestApp(lambda: HomeScreen(Settings(), speed=_PACE, newcomer=True))
    frames: list[Frame] = []
    caption = "make play opens this. Enter"

    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(PATIENCE):

        def take(seconds: float) -> None:
            frames.append(Frame(rows_of(app), caption, seconds))

        async def walking() -> None:
            await pilot.pause(0.02)  # and not until nothing is computed, since the model thinks on
            take(2 * STRIDE)

        await settle(app, pilot)
        take(2)
        await pilot.press("enter")
        while not isinstance(app.screen, PlayScreen):
            await pilot.pause(0.01)
        screen = app.screen
        screen.view.filming = DEMO_SPEED, walking
        for turn, (caption, seconds) in enumerate(_TOUR):  # noqa: B007 (those who walk are seen with the one before)
            while screen.play_state.state.moment.turn < turn or not screen.view.settled:
                await pilot.pause(0.01)
            while turn < _GUIDED and screen.play_state.status.waiting != "verdict":
                await pilot.pause(0.01)
            await (pilot.pause() if turn + 1 < len(_TOUR) else settle(app, pilot))
            take(seconds)
            if turn < _GUIDED:
                await pilot.press("space" if turn + 1 < _GUIDED else "a")
    (target / FILM).write_text(draw_film(frames, "housequest play"), "utf-8")


async def _together(target: Path, name: str, agent: str, model: str | None, lines: Sequence[tuple[str, str, float]]) -> None:
    """The tutorial's game of a person and an agent, as the file ``name``."""
    from housequest.agent.config import Settings
    from housequest.tui.app import HousequestApp
    from housequest.tui.play.game import ChosenGame
    from housequest.tui.play.screen import PlayScreen
    from housequest.worlds.registry import make_world

    world = make_world("alfworld")
    settings = Settings(agent=agent, model=model)
    game = ChosenGame(world, world.task(_CHORE), agent, settings, record=False, beside=True)
    screen = PlayScreen(game, "together")
    app = HousequestApp(lambda: screen)
    frames: list[Frame] = []
    async with app.run_test(size=FILM_SIZE) as pilot, asyncio.timeout(PATIENCE):

        async def asked() -> None:
            while screen.play_state.status.waiting not in {"turn", "over"} or not screen.view.settled:
                await pilot.pause(0.01)
            await settle(app, pilot)

        for said, caption, seconds in lines:
            await asked()
            *typed, enter = keys_of(said)
            await pilot.press(*typed)
            await pilot.pause()
            frames.append(Frame(rows_of(app), caption, seconds))
            await pilot.press(enter)
            await pilot.pause(0.2)
        await asked()
        rounds = screen.play_state.state.moment.turn
        frames.append(Frame(rows_of(app), f"Won together in {rounds} rounds; alone it takes 23", 3))
    title = f"housequest play {_CHORE} --mode together" + (" --agent expert" if model is None else "")
    (target / name).write_text(draw_film(frames, title), "utf-8")


async def play_two(ann: Played, bob: Played, frames: list[Frame] | None = None, *, sent: Sequence[str] = ()) -> None:
    """Play a game to its end at both windows, without lines that are already ``sent``; take ``frames`` of them side by side."""

    async def take(caption: str, seconds: float) -> None:
        if frames is not None:
            await asyncio.sleep(_DRAWN)
            edge = [(" ", Style())]
            frames.append(
                Frame(
                    [[*hers, *edge, *his] for hers, his in zip(await ann.rows(), await bob.rows(), strict=True)],
                    caption,
                    seconds,
                )
            )

    turns = {ann: 1, bob: 1}
    for hers, his, caption, seconds in TWO:
        lines = {window: line for window, line in ((ann, hers), (bob, his)) if line}
        for window, line in (*lines.items(),):
            if line in sent:
                del lines[window]
                turns[window] += 1
        while lines:
            for window, line in (*lines.items(),):
                shown = " ".join((await window.text()).split())
                words = line.startswith("I ")
                if "Won in" in shown:
                    lines.clear()
                elif words or f"your turn {turns[window]} of" in shown:
                    del lines[window]
                    turns[window] += not words
                    await window.type(line)
                    if not lines:
                        await take(caption, seconds)
                    await window.press("Enter")
            await asyncio.sleep(0.05)
    for window in turns:
        await window.until("Knowing the house")
    await take("Won together in 13 rounds; alone it takes 23", 3)


class _Terminal:
    """A player's terminal."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self._pilot = pilot

    async def text(self) -> str:
        return text_of(self._pilot.app)

    async def until(self, pattern: str) -> None:
        while not re.search(pattern, " ".join(text_of(self._pilot.app).split())):
            await self._pilot.pause(0.01)

    async def rows(self) -> Rows:
        await self._pilot.pause()
        return rows_of(self._pilot.app)

    async def type(self, text: str) -> None:
        await self._pilot.press(*keys_of(text)[:-1])

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*map(str.lower, keys))


@contextlib.asynccontextmanager
async def _room() -> AsyncGenerator[RoomServer]:
    """A room served here."""
    import socket

    from housequest.agent.config import Settings
    from housequest.agent.integrations.names import OwnNames
    from housequest.tui.browser.guests import RoomServer
    from housequest.tui.browser.serve import open_room

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = OwnNames("127.0.0.1")
    command = [sys.executable, "-c", "from housequest.tui.cli import main; main()", "join", names.address(port)]
    room, _ = open_room(_CHORE, Settings(), {"record": False})
    server = RoomServer(room, command, names, port, most=2)
    listening, over = asyncio.Event(), asyncio.Event()
    game, serving = asyncio.ensure_future(room.run()), asyncio.ensure_future(server.serve(listening.set, over))
    try:
        await asyncio.wait_for(listening.wait(), PATIENCE)
        yield server
    finally:
        over.set()
        await serving
        await game


async def _two_terminals(target: Path) -> None:
    """A game of two people, each at a terminal."""
    from housequest.tui.app import HousequestApp
    from housequest.tui.browser.guest_screen import GuestScreen
    from housequest.tui.browser.seat import Invitation, game_of

    frames: list[Frame] = []
    async with contextlib.AsyncExitStack() as seats, asyncio.timeout(PATIENCE):
        server, played = await seats.enter_async_context(_room()), list[_Terminal]()
        for name, address in server.addresses.items():
            invitation = Invitation.read(address)
            screen = GuestScreen(game_of(await invitation.accept()), invitation, name)
            app = HousequestApp(_always(screen))
            played.append(_Terminal(await seats.enter_async_context(app.run_test(size=(80, 24)))))
        her, him = played
        await play_two(her, him, frames)
    (target / TERMINALS).write_text(draw_film(frames, "housequest join, at two terminals"), "utf-8")


def _always(screen: Screen[None]) -> Callable[[], Screen[None]]:
    return lambda: screen


async def _two_browsers(target: Path) -> None:
    """The same in two browsers, if there is one."""
    from scripts import chromium

    if chromium.PROGRAM is None:
        print(f"{BROWSERS} is not drawn: it needs chromium", file=sys.stderr)
        return
    frames: list[Frame] = []
    async with (
        asyncio.timeout(PATIENCE),
        _room() as server,
        chromium.chromium() as browser,
        browser.person() as her,
        browser.person() as him,
    ):
        addresses = server.addresses.values()
        windows = [await browser.open(url, who, (720, 530)) for who, url in zip((her, him), addresses, strict=True)]
        for window in windows:
            await window.until("invited")
            await window.click("button")
        first, second = windows
        await play_two(first, second, frames)
        for window in windows:
            await window.close()
    (target / BROWSERS).write_text(draw_film(frames, "housequest serve --together, in two browsers"), "utf-8")
