"""What is set up is made once: a plugin world, agent and model count what is made of them, on the screen and in a run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[1]
PLUGINS = '''
"""A world, an agent and a kind of model that write down what is made of them."""

import os
from dataclasses import replace

from housequest.agent.agents.react import react
from housequest.agent.models.scripted import ScriptedProvider
from housequest.worlds.scripted import ScriptedWorld


def count(what):
    with open(os.environ["COUNTED"], "a") as file:
        print(what, file=file)


class CountedWorld(ScriptedWorld):
    name = "counted"

    def open(self, task):
        count("env")
        return super().open(task)


class CountedProvider(ScriptedProvider):
    forms = ("counted:FILE",)

    def make(self, *, name, options):
        count("model")
        return super().make(name=name, options=options)


def made(parts):
    count("agent")
    return react.make(parts)


agent = replace(react, name="counted", make=made)
'''
POINTS = """
[housequest.worlds]
counted = counted:CountedWorld

[housequest.agents]
counted = counted:agent

[housequest.models]
counted = counted:CountedProvider
"""
SCREEN = """
import asyncio

from housequest.agent.config import configure
from housequest.tui.app import HousequestApp
from housequest.tui.home.screen import HomeScreen
from tests.tui.screen import until, waiting


async def main():
    home = HomeScreen(configure(), speed=1000.0)
    app = HousequestApp(lambda: home)
    async with app.run_test() as pilot:
        await until(pilot, lambda: home._games.row is not None and not home._games.busy and home._who.ready)
        await pilot.press("s", "enter")
        await until(pilot, lambda: waiting(app) == "verdict")


asyncio.run(main())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which the plugins are installed by hand, and a model's script."""
    (tmp_path / "counted.py").write_text(PLUGINS)
    metadata = tmp_path / "counted-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: counted\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(POINTS)
    (tmp_path / "script.yaml").write_text('default: "Thought: on\\nAction: look"\n')
    return tmp_path


def counts(folder: Path, *arguments: str) -> Counter[str]:
    """How many of each were made by a program in ``folder``."""
    path = os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
    chosen = {"WORLD": "counted", "AGENT": "counted", "MODEL": f"counted:{folder / 'script.yaml'}", "MAX_STEPS": "3"}
    settings = {f"HOUSEQUEST_{name}": value for name, value in chosen.items()}
    counted = folder / "counted.txt"
    environment = {**os.environ, **settings, "PYTHONPATH": path, "COUNTED": str(counted)}
    done = subprocess.run(
        [sys.executable, *arguments], check=False, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return Counter(counted.read_text().split())


def test_a_game_on_the_screen_is_the_one_that_was_opened_when_it_was_chosen(folder: Path) -> None:
    assert counts(folder, "-c", SCREEN) == {"agent": 1, "model": 1, "env": 1}


def test_a_run_makes_one_agent_and_one_model_for_all_its_episodes(folder: Path) -> None:
    made = counts(folder, "-m", "housequest", "eval", "--out", "run")
    assert (made["agent"], made["model"]) == (1, 1)
    assert len(list((folder / "run" / "episodes").iterdir())) == 3


def test_a_game_in_plain_text_is_opened_once(folder: Path) -> None:
    assert counts(folder, "-m", "housequest", "play", "--plain", "demo:1") == {"agent": 1, "model": 1, "env": 1}
