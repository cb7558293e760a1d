"""A player's own words mean the same on the screen and in plain text, and nothing costs a turn but a command that is sent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.record import read_episode
from housequest.tui.play.line import CommandLine
from housequest.worlds.registry import make_world
from tests.parts import needs
from tests.tui.play.test_play_screen import on, playing, records
from tests.tui.screen import game, screen_text, type_in, until, waiting

pytestmark = [pytest.mark.anyio, pytest.mark.heavy]

KITCHEN = (
    "where am I?",
    "go to the fridge and open it",
    "what's in the fridge?",
    "opne drawr 3",
    "what am I holding?",
    "grab the mug from the fridge",
    "eat it",
    "thank you",
    "stop",
    "put the mug back in the fridge and shut it",
    "fly me to the moon",
    "open fridge 1",
)
MOVES = {
    "kitchen": [
        "go to fridge 1",
        "open fridge 1",
        "go to drawer 3",
        "open drawer 3",
        "go to fridge 1",
        "take mug 1 from fridge 1",
        "move mug 1 to fridge 1",
        "close fridge 1",
        "open fridge 1",
    ],
    "apartment": ["walk to kitchencounter 1", "grab apple 1", "walk to kitchentable 1", "put apple 1 on kitchentable 1"],
}
APARTMENT = (
    "how many turns are left?",
    "put it on the table",
    "go to the first kitchen counter",
    "fetch an apple",
    "what do i hold?",
    "put it on the kitchen table",
    "dance",
)


async def on_screen(world: str, task: str, said: Sequence[str]) -> tuple[list[str], list[str]]:
    """The commands that were played, and what was said below the line."""
    app = playing(game(task, "human", world=make_world(world)), "you")
    shown = list[str]()
    async with app.run_test(size=(200, 50)) as pilot:
        await until(pilot, lambda: waiting(app) == "turn")
        line = on(app).query_one(CommandLine)
        for one in said:
            line.prefill("")
            await type_in(pilot, one)
            if line.meant is not None:
                shown.append(line.meant.shown)
                assert line.meant.shown in screen_text(app)
                if line.meant.commands:
                    await pilot.press("enter")
            await until(pilot, lambda: waiting(app) == "turn")
        story = on(app).play_state.state.moment.story
    return [entry.command or "" for entry in story], shown


def in_plain_text(world: str, task: str, said: Sequence[str], folder: Path) -> tuple[list[str], str]:
    """The commands that were played, and all that was printed."""
    call = (sys.executable, "-m", "housequest", "play", task, "--world", world, "--agent", "human", "--plain")
    typed, before = "\n".join((*said, ":quit")), set(records())
    done = subprocess.run(call, input=typed, cwd=folder, capture_output=True, text=True, check=True)
    (record,) = set(records()) - before
    steps = [event.body for event in read_episode(record)]
    return [step.command for step in steps if isinstance(step, Stepped)], " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("world", "task", "said", "moves"),
    [
        ("alfworld", "generated:15", KITCHEN, MOVES["kitchen"]),
        pytest.param("household-graph", "generated:1", APARTMENT, MOVES["apartment"], marks=needs("graphs")),
    ],
)
async def test_plain_text_and_the_screen_read_alike(
    world: str, task: str, said: Sequence[str], moves: list[str], tmp_path: Path
) -> None:
    played, shown = await on_screen(world, task, said)
    assert played == moves
    typed, printed = in_plain_text(world, task, said, tmp_path)
    assert typed == played
    assert [line for line in shown if " ".join(line.split()) not in printed] == []
