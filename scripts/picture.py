"""Draws the pictures in the README and in docs/: `python -m scripts.picture [FOLDER]`.

Some show one moment of a game: as a drawing of the house, and the screen with the View and without it. The game is a made-up
house with the agent `reasoner-actor` and a scripted model, so the pictures are the same everywhere. One shows a robot that
carries out a written plan by its camera. The rest are other screens, the output of `housequest daily`, and the films of
`scripts/films.py`. Pictures with times are never quite the same.
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
from typing import TYPE_CHECKING, Any

from rich.style import Style

from scripts.film import Frame, draw_film
from scripts.films import draw_films
from scripts.window import PATIENCE, SIZE, keys_of, rows_of, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.pilot import Pilot
    from textual.screen import Screen

    from housequest.tui.episode.state import EpisodeMoment
    from housequest.tui.episode.view import ViewMode
    from housequest.tui.play.screen import PlayScreen

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SCREENS: dict[str, ViewMode] = {"screen.svg": "off", "view.svg": "house"}
"""What the View shows on each picture of the screen."""
KITCHEN = "kitchen.png"
CAMERA = "camera.svg"
HOUSE = "generated:690"
TURNS = 5
_SEEN = 14
"""Turns after which the robot is shown."""
_NOISE = "noisy:miss=0.15,confuse=0.15,depth=0.01,seed=2"
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
_RULES = [
    "Closed things must be opened before one sees what is in them.",
    "A thing is heated while it is held, at a microwave.",
]


def main(target: Path) -> None:
    """Draw the pictures into the folder ``target``."""
    target = target.resolve()
    # Whatever terminal they are drawn from.
    os.environ["COLORTERM"] = "truecolor"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOUSEQUEST_HOME"] = folder  # without the records and settings of whoever draws it
        asyncio.run(_draw(Path(folder), target))
        asyncio.run(_watch(target))
        draw_films(target)
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
    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(PATIENCE):
        for turn in range(TURNS + 1):
            while screen.play_state.status.waiting != "verdict" or screen.play_state.state.moment.turn < turn:
                await pilot.pause(0.01)
            if turn < TURNS:
                await pilot.press("enter")
        for name, view in SCREENS.items():
            screen.show_view(view)
            await settle(app, pilot)  # the drawing begins once the pane has its room
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
    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(PATIENCE):
        for turn in range(_SEEN + 1):
            while screen.play_state.status.waiting != "verdict" or screen.play_state.state.moment.turn < turn:
                await pilot.pause(0.01)
            if turn < _SEEN:
                await pilot.press("enter")
        while not screen.view.settled:
            await pilot.pause(0.01)
        await pilot.pause()
        (target / CAMERA).write_text(plain(app.export_screenshot(title="housequest play --world alfred")), "utf-8")


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

    record = next((folder / "runs" / "by-name" / "episodes").glob("*generated-35*"))
    world = make_world("alfworld")
    game = ChosenGame(world, world.task(HOUSE), "expert", Settings(), record=False)
    screens: dict[str, tuple[Callable[[], Screen[Any]], tuple[str, ...]]] = {
        "home.svg": (lambda: HomeScreen(Settings()), ()),
        "race.svg": (lambda: RaceScreen(game), (*keys_of("go to fridge 1"), *keys_of("open fridge 1"))),
        "replay.svg": (lambda: ReplayScreen(record), ("end",)),
        "runs.svg": (lambda: RunsScreen(Path("runs"), poll=None), ("enter",)),
        "compare.svg": (lambda: RunsScreen(Path("runs"), poll=None), ("space", "down", "c")),
        "books.svg": (BooksScreen, ()),
        "desk.svg": (lambda: DeskScreen(library().open("learned.yaml"), Path("runs")), ("k", "k", "k")),
    }
    for name, (make, keys) in screens.items():
        app = HousequestApp(make)
        async with app.run_test(size=SIZE) as pilot, asyncio.timeout(PATIENCE):
            await settle(app, pilot)
            for key in keys:
                await pilot.press(key)
                await settle(app, pilot)
            (target / name).write_text(draw_film([Frame(rows_of(app))], "housequest"), "utf-8")


async def _branches(target: Path) -> None:
    """A game in which a person went back, with both ways side by side."""
    from housequest.agent.config import Settings
    from housequest.tui.app import HousequestApp
    from housequest.tui.play.game import HUMAN, ChosenGame
    from housequest.tui.play.screen import PlayScreen
    from housequest.worlds.registry import make_world

    world = make_world("alfworld")
    screen = PlayScreen(ChosenGame(world, world.task(HOUSE), HUMAN, Settings(agent=HUMAN), record=False), "you")
    app = HousequestApp(lambda: screen)
    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(PATIENCE):
        await _play(screen, pilot, _COLD)
        await settle(app, pilot)
        await pilot.press("escape", "left", "left", "b", "colon")
        await _play(screen, pilot, _HOT, turn=3)
        await pilot.press("escape", "B")
        await settle(app, pilot)
        (target / BRANCHES).write_text(draw_film([Frame(rows_of(app))], "housequest"), "utf-8")


async def _daily(target: Path) -> None:
    """The result of a house of the day, as the command prints it."""
    from housequest.agent.episodes.record import read_sound, whole_of
    from housequest.tui.app import HousequestApp
    from housequest.tui.play.game import DailyTry, daily_game, daily_result
    from housequest.tui.play.screen import PlayScreen

    game = daily_game(_DAY)
    screen = PlayScreen(game, "you")
    app = HousequestApp(lambda: screen)
    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(PATIENCE):
        await _play(screen, pilot, _DAILY)
        await settle(app, pilot)
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
        await pilot.press(*keys_of(command))
    ended = turn + len(commands)
    while screen.play_state.status.waiting not in {"turn", "over"} or screen.play_state.state.moment.turn < ended:
        await pilot.pause(0.01)


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
