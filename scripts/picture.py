"""Draws the pictures in the README and in docs/: `python -m scripts.picture [FOLDER]`.

Some show one moment of a game: as a drawing of the house, and the screen with the View and without it. The game is a made-up
house with the agent `reasoner-actor` and a scripted model, so the pictures are the same everywhere. One shows a robot that
carries out a written plan by its camera. The rest are other screens, the output of `housequest daily`, and films: of a first
game with the model that ships, and of games together. Pictures with times are never quite the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.style import Style

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from textual.app import App
    from textual.pilot import Pilot
    from textual.screen import Screen

    from housequest.tui.browser.guests import RoomServer
    from housequest.tui.episode.state import EpisodeMoment
    from housequest.tui.episode.view import ViewMode
    from housequest.tui.play.screen import PlayScreen
    from scripts.film import Frame, Rows

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SCREENS: dict[str, ViewMode] = {"screen.svg": "off", "view.svg": "house"}
"""What the View shows on each picture of the screen."""
KITCHEN = "kitchen.png"
CAMERA = "camera.svg"
FILM = "tour.svg"
FILM_SIZE = (120, 34)
SIZE = (120, 40)
HOUSE = "generated:690"
TURNS = 5
_PATIENCE = 240.0
_PACE = 1.0
"""Turns a second of a film."""
_SEEN = 14
"""Turns after which the robot is shown."""
_NOISE = "noisy:miss=0.15,confuse=0.15,depth=0.01,seed=2"
_DRAWN = 0.5
"""The seconds until a window has drawn the typed text."""
_SAME = 5
"""Looks at a screen that must be alike before it is drawn."""
_DECIDING = "deciding"
_GAME = "game"
"""Workers of this group are at work as long as their game."""
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
_FONTS = "'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"

_PLAN = """Thought: An egg is wanted hot, so it must be found, heated in the microwave and brought to the table.
Plan:
1. find an egg, in the fridge or else in the cabinets
2. take it
3. heat it with the microwave
4. put it on the diningtable"""
_WAY = (
    ("The table is near and may have one already.", 1, "go to diningtable 1"),
    ("No egg among these. Eggs are kept cold: the fridge.", 1, "go to fridge 1"),
    ("It is closed; I cannot see into it.", 1, "open fridge 1"),
    ("There it is, egg 2. One hand is enough for it.", 2, "take egg 2 from fridge 1"),
    ("I hold the egg; the microwave is next.", 3, "go to microwave 1"),
    ("Here it can be heated, and the door need not be opened for that.", 3, "heat egg 2 with microwave 1"),
)
BRANCHES = "branches.svg"
DAILY = "daily.svg"
_DAY = date(2026, 11, 2)
_DAILY = (
    *("go to countertop 2", "take potato 1 from countertop 2", "heat potato 1 with microwave 1", "go to microwave 1"),
    *("heat potato 1 with microwave 1", "go to garbagecan 1", "move potato 1 to garbagecan 1"),
)
"""A try at the house of that day, with a command that is refused."""
_COLD = ("go to fridge 1", "open fridge 1", "take egg 2 from fridge 1", "go to diningtable 1", "move egg 2 to diningtable 1")
_HOT = ("go to microwave 1", "heat egg 2 with microwave 1", "go to diningtable 1", "move egg 2 to diningtable 1")
"""What a person plays first, and then from the third turn on."""
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
    ("take potato 1 from countertop 2", "He leaves the potato to you, and takes the egg", 1.6),
    ("go to microwave 1", "", 0.8),
    ("heat potato 1 with microwave 1", "The microwave is yours for a moment", 0.8),
    ("go to garbagecan 1", "", 0.8),
    ("move potato 1 to garbagecan 1", "The first goal", 1.0),
    ("I'll do the fork", "", 1.2),
    ("go to diningtable 1", "Meanwhile he brings the egg to the fridge", 0.8),
    ("take fork 2 from diningtable 1", "", 0.8),
    ("go to drawer 1", "He says what is done, and what he takes next", 1.4),
    ("open drawer 1", "", 0.8),
    ("move fork 2 to drawer 1", "", 0.8),
    *(("wait", "Only the mug is left, and he has it", 0.8) for _ in range(4)),
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
_RULES = [
    "Closed things must be opened before one sees what is in them.",
    "A thing is heated while it is held, at a microwave.",
]


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


def main(target: Path) -> None:
    """Draw the pictures into the folder ``target``."""
    target = target.resolve()
    # Whatever terminal they are drawn from.
    os.environ["COLORTERM"] = "truecolor"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOUSEQUEST_HOME"] = folder  # without the records and settings of whoever draws it
        asyncio.run(_draw(Path(folder), target))
        asyncio.run(_watch(target))
        asyncio.run(_tour(target))
        asyncio.run(_together(target, TOGETHER, "expert", None, _SHARED))
        asyncio.run(_together(target, BUILTIN, "reasoner-actor", "builtin", _WITH_MODEL))
        asyncio.run(_two_terminals(target))
        asyncio.run(_two_browsers(target))
        _play_runs(Path(folder))
        # The screens are shown as to somebody who has played nothing: neither the tour's record nor its choices are there.
        os.environ["HOUSEQUEST_HOME"] = str(Path(folder) / "home")
        with contextlib.chdir(folder):  # the screens say where they read
            asyncio.run(_others(Path(folder), target))
            asyncio.run(_branches(target))
            asyncio.run(_daily(target))


async def _draw(folder: Path, target: Path) -> None:
    from housequest.agent.config import Settings
    from housequest.tui.app import HousequestApp
    from housequest.tui.play.game import ChosenGame
    from housequest.tui.play.screen import PlayScreen
    from housequest.worlds.paths import FORMAT
    from housequest.worlds.registry import make_world

    model, rules = folder / "demo.yaml", folder / "rules.yaml"
    actor = [f"Thought: {thought}\nStep: {step}\nAction: {command}" for thought, step, command in _WAY]
    model.write_text(json.dumps({"rules": [{"role": "You plan", "reply": _PLAN}], "replies": actor}), "utf-8")
    rules.write_text(json.dumps({"format": FORMAT, "rules": _RULES}), "utf-8")
    world = make_world("alfworld")
    settings = Settings(agent="reasoner-actor", model=f"scripted:{model}", rules=str(rules), set={"on_subgoal": "off"})
    screen = PlayScreen(ChosenGame(world, world.task(HOUSE), "reasoner-actor", settings, record=False), "step")
    app = HousequestApp(lambda: screen)
    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(_PATIENCE):
        for turn in range(TURNS + 1):
            while screen.play_state.status.waiting != "verdict" or screen.play_state.state.moment.turn < turn:
                await pilot.pause(0.01)
            if turn < TURNS:
                await pilot.press("enter")
        for name, view in SCREENS.items():
            screen.show_view(view)
            await _settle(app, pilot)  # the drawing begins once the pane has its room
            while not screen.view.settled:
                await pilot.pause(0.01)
            await pilot.pause()
            (target / name).write_text(plain(app.export_screenshot(title="housequest play")), "utf-8")
        (target / KITCHEN).write_bytes(_kitchen(screen.play_state.state.moment))


async def _watch(target: Path) -> None:
    from housequest.agent.config import Settings
    from housequest.tui.app import HousequestApp
    from housequest.tui.play.game import ChosenGame
    from housequest.tui.play.screen import PlayScreen
    from housequest.worlds.alfred.world import AlfredWorld
    from housequest.worlds.base import Task
    from housequest.worlds.household.goals import Skill

    class Told(AlfredWorld):
        """A house of which somebody wrote down what is to be done in it."""

        def annotated_plan(self, task: Task) -> tuple[Skill, ...]:
            del task
            return Skill("pick", "egg"), Skill("heat", "egg"), Skill("put", "egg", "diningtable")

    world = Told()
    settings = Settings(agent="opex", grant=("plan",), set={"planner": "oracle", "seeing": _NOISE})
    screen = PlayScreen(ChosenGame(world, world.task("example:1"), "opex", settings, record=False), "step")
    app = HousequestApp(lambda: screen)
    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(_PATIENCE):
        for turn in range(_SEEN + 1):
            while screen.play_state.status.waiting != "verdict" or screen.play_state.state.moment.turn < turn:
                await pilot.pause(0.01)
            if turn < _SEEN:
                await pilot.press("enter")
        while not screen.view.settled:
            await pilot.pause(0.01)
        await pilot.pause()
        (target / CAMERA).write_text(plain(app.export_screenshot(title="housequest play --world alfred")), "utf-8")


async def _tour(target: Path) -> None:
    """The first minute of somebody who reads nothing: Enter at home, then what the guide says, until the game is won."""
    from housequest.agent.config import Settings
    from housequest.tui.app import HousequestApp
    from housequest.tui.commands.play import DEMO_SPEED
    from housequest.tui.episode.view import STRIDE
    from housequest.tui.home.screen import HomeScreen
    from housequest.tui.play.screen import PlayScreen
    from scripts.film import Frame, draw_film

    app = HousequestApp(lambda: HomeScreen(Settings(), speed=_PACE, newcomer=True))
    frames: list[Frame] = []
    caption = "make play opens this. Enter"

    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(_PATIENCE):

        def take(seconds: float) -> None:
            frames.append(Frame(_shown(app), caption, seconds))

        async def walking() -> None:
            await pilot.pause(0.02)  # and not until nothing is computed, since the model thinks on
            take(2 * STRIDE)

        await _settle(app, pilot)
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
            await (pilot.pause() if turn + 1 < len(_TOUR) else _settle(app, pilot))
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
    from scripts.film import Frame, draw_film

    world = make_world("alfworld")
    settings = Settings(agent=agent, model=model)
    game = ChosenGame(world, world.task(_CHORE), agent, settings, record=False, beside=True)
    screen = PlayScreen(game, "together")
    app = HousequestApp(lambda: screen)
    frames: list[Frame] = []
    async with app.run_test(size=FILM_SIZE) as pilot, asyncio.timeout(_PATIENCE):

        async def asked() -> None:
            while screen.play_state.status.waiting not in {"turn", "over"} or not screen.view.settled:
                await pilot.pause(0.01)
            await _settle(app, pilot)

        for said, caption, seconds in lines:
            await asked()
            *typed, enter = _typed(said)
            await pilot.press(*typed)
            await pilot.pause()
            frames.append(Frame(_shown(app), caption, seconds))
            await pilot.press(enter)
            await pilot.pause(0.2)
        await asked()
        rounds = screen.play_state.state.moment.turn
        frames.append(Frame(_shown(app), f"Won together in {rounds} rounds; alone it takes 23", 3))
    title = f"housequest play {_CHORE} --mode together" + (" --agent expert" if model is None else "")
    (target / name).write_text(draw_film(frames, title), "utf-8")


async def play_two(ann: Played, bob: Played, frames: list[Frame] | None = None, *, sent: Sequence[str] = ()) -> None:
    """Play a game to its end at both windows, without lines that are already ``sent``; take ``frames`` of them side by side."""
    from scripts.film import Frame

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
        return _text(self._pilot.app)

    async def until(self, pattern: str) -> None:
        while not re.search(pattern, " ".join(_text(self._pilot.app).split())):
            await self._pilot.pause(0.01)

    async def rows(self) -> Rows:
        await self._pilot.pause()
        return _shown(self._pilot.app)

    async def type(self, text: str) -> None:
        await self._pilot.press(*_typed(text)[:-1])

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
        await asyncio.wait_for(listening.wait(), _PATIENCE)
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
    from scripts.film import draw_film

    frames: list[Frame] = []
    async with contextlib.AsyncExitStack() as seats, asyncio.timeout(_PATIENCE):
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
    from scripts.film import draw_film

    if chromium.PROGRAM is None:
        print(f"{BROWSERS} is not drawn: it needs chromium", file=sys.stderr)
        return
    frames: list[Frame] = []
    async with (
        asyncio.timeout(_PATIENCE),
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


def _play_runs(folder: Path) -> None:
    """The two runs that the evaluator's tutorial compares, and a copy of the rulebook that ships."""
    from housequest.agent.evaluation.library import evaluate
    from housequest.knowledge.rulebook import library

    for name, search in (("likely", "counts"), ("by-name", "name")):
        evaluate(agent="expert", split="generated:0..59", set={"search": search}, out=str(folder / "runs" / name))
    shutil.copy(library().open("learned").path, folder / "learned.yaml")


async def _others(folder: Path, target: Path) -> None:
    """Every other screen: home, a race, a replay, runs, two of them side by side, rulebooks and the desk."""
    from housequest.agent.config import Settings
    from housequest.knowledge.rulebook import library
    from housequest.tui.app import HousequestApp
    from housequest.tui.desk.screen import BooksScreen, DeskScreen
    from housequest.tui.home.screen import HomeScreen
    from housequest.tui.play.game import ChosenGame
    from housequest.tui.race.screen import RaceScreen
    from housequest.tui.replay.screen import ReplayScreen
    from housequest.tui.runs.screen import RunsScreen
    from housequest.worlds.registry import make_world
    from scripts.film import Frame, draw_film

    record = next((folder / "runs" / "by-name" / "episodes").glob("*generated-35*"))
    world = make_world("alfworld")
    game = ChosenGame(world, world.task(HOUSE), "expert", Settings(), record=False)
    screens: dict[str, tuple[Callable[[], Screen[Any]], tuple[str, ...]]] = {
        "home.svg": (lambda: HomeScreen(Settings()), ()),
        "race.svg": (lambda: RaceScreen(game), (*_typed("go to fridge 1"), *_typed("open fridge 1"))),
        "replay.svg": (lambda: ReplayScreen(record), ("end",)),
        "runs.svg": (lambda: RunsScreen(Path("runs"), poll=None), ("enter",)),
        "compare.svg": (lambda: RunsScreen(Path("runs"), poll=None), ("space", "down", "c")),
        "books.svg": (BooksScreen, ()),
        "desk.svg": (lambda: DeskScreen(library().open("learned.yaml"), Path("runs")), ("k", "k", "k")),
    }
    for name, (make, keys) in screens.items():
        app = HousequestApp(make)
        async with app.run_test(size=SIZE) as pilot, asyncio.timeout(_PATIENCE):
            await _settle(app, pilot)
            for key in keys:
                await pilot.press(key)
                await _settle(app, pilot)
            (target / name).write_text(draw_film([Frame(_shown(app))], "housequest"), "utf-8")


async def _branches(target: Path) -> None:
    """A game in which a person went back, with both ways side by side."""
    from housequest.agent.config import Settings
    from housequest.tui.app import HousequestApp
    from housequest.tui.play.game import HUMAN, ChosenGame
    from housequest.tui.play.screen import PlayScreen
    from housequest.worlds.registry import make_world
    from scripts.film import Frame, draw_film

    world = make_world("alfworld")
    screen = PlayScreen(ChosenGame(world, world.task(HOUSE), HUMAN, Settings(agent=HUMAN), record=False), "you")
    app = HousequestApp(lambda: screen)
    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(_PATIENCE):
        await _play(screen, pilot, _COLD)
        await _settle(app, pilot)
        await pilot.press("escape", "left", "left", "b", "colon")
        await _play(screen, pilot, _HOT, turn=3)
        await pilot.press("escape", "B")
        await _settle(app, pilot)
        (target / BRANCHES).write_text(draw_film([Frame(_shown(app))], "housequest"), "utf-8")


async def _daily(target: Path) -> None:
    """The result of a house of the day, as the command prints it."""
    from housequest.agent.episodes.record import read_sound, whole_of
    from housequest.tui.app import HousequestApp
    from housequest.tui.play.game import DailyTry, daily_game, daily_result
    from housequest.tui.play.screen import PlayScreen
    from scripts.film import Frame, draw_film

    game = daily_game(_DAY)
    screen = PlayScreen(game, "you")
    app = HousequestApp(lambda: screen)
    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(_PATIENCE):
        await _play(screen, pilot, _DAILY)
        await _settle(app, pilot)
        (record,) = app.recorded()
        tried = DailyTry(whole_of(record), *read_sound(record))
        said = ("$ housequest daily", *daily_result(_DAY, tried)[0])
    rows = [[(character, Style()) for character in f" {line:<79}"] for line in said]
    (target / DAILY).write_text(draw_film([Frame(rows)], "housequest"), "utf-8")


async def _play(screen: PlayScreen, pilot: Pilot[None], commands: Sequence[str], turn: int = 0) -> None:
    """Type ``commands``, the first of them after ``turn`` turns, each once the one before was answered."""
    for done, command in enumerate(commands, turn):
        while screen.play_state.status.waiting != "turn" or screen.play_state.state.moment.turn != done:
            await pilot.pause(0.01)
        await pilot.press(*_typed(command))
    ended = turn + len(commands)
    while screen.play_state.status.waiting not in {"turn", "over"} or screen.play_state.state.moment.turn < ended:
        await pilot.pause(0.01)


def _typed(command: str) -> tuple[str, ...]:
    return (*({" ": "space", "'": "apostrophe"}.get(character, character) for character in command), "enter")


async def _settle(app: App[None], pilot: Pilot[None]) -> None:
    """Wait until nothing is read or drawn any more, nor does an agent decide."""
    shown, same = "", 0
    while same < _SAME:
        await pilot.pause(0.1)
        before, shown = shown, _text(app)
        busy = _DECIDING in shown or any(not worker.is_finished and worker.group != _GAME for worker in app.workers)
        same = 0 if busy or shown != before else same + 1


def _shown(app: App[None]) -> Rows:
    """What stands on the screen, cell by cell."""
    from scripts.film import cells

    return [cells(strip) for strip in app.screen._compositor.render_strips()]  # pyright: ignore[reportPrivateUsage]


def _text(app: App[None]) -> str:
    return "\n".join("".join(text for text, _ in row) for row in _shown(app))


def _kitchen(moment: EpisodeMoment) -> bytes:
    from housequest.agent.episodes.drawing import draw_episode

    assert moment.started is not None and moment.belief is not None
    frame = draw_episode(moment.started, moment.opening).scene(moment.belief, moment.before).picture("house", (960, 720))
    return frame.part(*frame.extent()).png()


def plain(svg: str) -> str:
    """``svg`` without web fonts, so that showing it needs no network."""
    kept = re.sub(r"\n\s*@font-face \{.*?\n    \}", "", svg, flags=re.DOTALL)
    return kept.replace("Fira Code, monospace", _FONTS)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
