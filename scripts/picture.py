"""Draws the pictures in the README and in docs/: `python -m scripts.picture [FOLDER]`.

Most show one moment of a game: as a drawing of the house, and the screen with the View and without it. The game is a made-up
house with the agent `reasoner-actor` and a scripted model, so the pictures are the same everywhere. One shows a robot, which
does what somebody wrote down, by what it sees.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.episode.state import EpisodeMoment
    from tui.episode.view import ViewMode

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SCREENS: dict[str, ViewMode] = {"screen.svg": "off", "view.svg": "house"}
"""What the View shows on each picture of the screen."""
KITCHEN = "kitchen.png"
CAMERA = "camera.svg"
SIZE = (120, 40)
HOUSE = "generated:690"
TURNS = 5
_PATIENCE = 60.0
_SEEN = 14
"""Turns after which the robot is shown."""
_NOISE = "noisy:miss=0.15,confuse=0.15,depth=0.01,seed=2"
_SUBGOALS = (("PickupObject", "egg"), ("HeatObject", "egg"), ("PutObject", "egg", "diningtable"))
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
_RULES = [
    "Closed things must be opened before one sees what is in them.",
    "A thing is heated while it is held, at a microwave.",
]


def main(target: Path) -> None:
    """Draw the pictures into the folder ``target``."""
    # Whatever terminal they are drawn from.
    os.environ["COLORTERM"] = "truecolor"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOUSEQUEST_HOME"] = folder  # without the records and settings of whoever draws it
        asyncio.run(_draw(Path(folder), target))
        asyncio.run(_watch(target))


async def _draw(folder: Path, target: Path) -> None:
    from agent.config import Settings
    from tui.app import HousequestApp
    from tui.play.game import GameConfig
    from tui.play.screen import PlayScreen
    from worlds.registry import make_world

    model, rules = folder / "demo.yaml", folder / "rules.yaml"
    actor = [f"Thought: {thought}\nStep: {step}\nAction: {command}" for thought, step, command in _WAY]
    model.write_text(json.dumps({"rules": [{"role": "You plan", "reply": _PLAN}], "replies": actor}), "utf-8")
    rules.write_text(json.dumps(_RULES), "utf-8")
    world = make_world("alfworld")
    settings = Settings(agent="reasoner-actor", model=f"scripted:{model}", rules=str(rules), set={"on_subgoal": "off"})
    screen = PlayScreen(GameConfig(world, world.task(HOUSE), "reasoner-actor", settings, record=False), "step")
    app = HousequestApp(lambda: screen)
    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(_PATIENCE):
        for turn in range(TURNS + 1):
            while screen.play_state.status.waiting != "verdict" or screen.play_state.state.moment.turn < turn:
                await pilot.pause(0.01)
            if turn < TURNS:
                await pilot.press("enter")
        for name, view in SCREENS.items():
            screen.show_view(view)
            while not screen.view.settled:
                await pilot.pause(0.01)
            await pilot.pause()
            (target / name).write_text(plain(app.export_screenshot(title="housequest play")), "utf-8")
        (target / KITCHEN).write_bytes(_kitchen(screen.play_state.state.moment))


async def _watch(target: Path) -> None:
    from agent.config import Settings
    from tui.app import HousequestApp
    from tui.play.game import GameConfig
    from tui.play.screen import PlayScreen
    from worlds.alfred.world import AlfredWorld
    from worlds.base import Task

    class Told(AlfredWorld):
        """A house of which somebody wrote down what is to be done in it."""

        def annotated_plan(self, task: Task) -> tuple[tuple[str, ...], ...]:
            del task
            return _SUBGOALS

    world = Told()
    settings = Settings(agent="opex", grant=("plan",), set={"planner": "oracle", "seeing": _NOISE})
    screen = PlayScreen(GameConfig(world, world.task("example:1"), "opex", settings, record=False), "step")
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


def _kitchen(moment: EpisodeMoment) -> bytes:
    from agent.episodes.drawing import draw_episode

    assert moment.started is not None and moment.belief is not None
    frame = draw_episode(moment.started).scene(moment.belief, moment.before).picture("house", (960, 720))
    return frame.part(*frame.extent()).png()


def plain(svg: str) -> str:
    """``svg`` without web fonts, so that showing it needs no network."""
    kept = re.sub(r"\n\s*@font-face \{.*?\n    \}", "", svg, flags=re.DOTALL)
    return kept.replace("Fira Code, monospace", _FONTS)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
