"""Keys that do nothing now: no screen shows them, and pressing one says why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.binding import Binding
from textual.pilot import Pilot

from housequest.agent.config import Settings
from housequest.knowledge.rulebook import Rulebook, save
from housequest.knowledge.rules import Rule
from housequest.tui.app import HousequestApp
from housequest.tui.base_screen import AppScreen
from housequest.tui.desk.screen import BooksScreen, DeskScreen
from housequest.tui.home.screen import HomeScreen
from housequest.tui.play.screen import PlayScreen
from housequest.tui.race.screen import RaceScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.runs.screen import RunsScreen
from tests.tui.recorded import long, play, write
from tests.tui.screen import COIN, game, notices, press, running_text, showing, until

pytestmark = pytest.mark.anyio

FLY = Rule("fly", "You can fly.", "mechanic")


def at(name: str, folder: Path) -> HousequestApp:
    """The app on the screen of this name, where there is as little as can be."""

    def make() -> AppScreen:
        match name:
            case "home":
                return HomeScreen(Settings(world="scripted"))
            case "books":
                return BooksScreen(tuple)
            case "desk":
                return DeskScreen(save(Rulebook(folder / "book.yaml").put([FLY])), folder)
            case "runs":
                return RunsScreen(play(folder / "runs" / "one", limit=1).parent, poll=None)
            case "replay":
                return ReplayScreen(write(folder / "e.jsonl", long(3)))
            case "race":
                return RaceScreen(game(COIN, record=False))
            case _:
                return PlayScreen(game(COIN, record=False), "step")

    return showing(make)


def here(pilot: Pilot[Any]) -> AppScreen:
    assert isinstance(pilot.app.screen, AppScreen)
    return pilot.app.screen


async def ready(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, AppScreen) and not here(pilot).awaited)
    await until(pilot, lambda: "reading" not in running_text(pilot.app))


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["home", "books", "desk", "runs", "replay", "race", "play"])
async def test_each_need_is_of_an_action_there_is_and_of_a_fact_that_the_screen_knows(name: str, tmp_path: Path) -> None:
    async with at(name, tmp_path).run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        screen = here(pilot)
        assert {need for need, *_ in screen.NEEDS} <= screen.facts().keys()
        actions = {action for _, named, _ in screen.NEEDS for action in named}
        assert [action for action in actions if not hasattr(screen, f"action_{action.partition('(')[0]}")] == []
        bound = {key.action.replace(", ", ",") for key in Binding.make_bindings(screen.BINDINGS)}
        assert {action for action in actions if "(" in action} <= bound


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "key", "why"),
    [
        ("home", "c", "no game broke off"),
        ("home", "p", "you have finished no game yet"),
        ("home", "escape", "q quits"),
        ("books", "enter", "There is no book yet; n begins one."),
        ("desk", "u", "there is nothing to undo"),
        ("desk", "p", "No rule contradicts this one; mark two with space"),
        ("desk", "w", "First put two rules side by side, with p."),
        ("desk", "m", "Mark two rules or more with space"),
        ("desk", "v", "None of these rules has a check"),
        ("desk", "V", "There are no other counts for it"),
        ("runs", "c", "Mark two runs with space, then press c."),
        ("runs", "f", "enter opens the highlighted one"),
        ("runs", "1", "mark both with space, then press c"),
        ("replay", "b", "The episode was never rewound"),
        ("replay", "n", "There is no refused command further on."),
        ("replay", "s", "Only an agent with a camera shows its skills."),
        ("replay", "k", "No command was played yet"),
        ("race", "+", "plays turn for turn"),
        ("play", "right", "This is the present"),
        ("play", "?", "hears no hints"),
        ("play", "i", "There is no guide here"),
        ("play", "v", "There is no house to draw"),
        ("play", "4", "There is no house to draw"),
        ("play", "p", "The game goes on"),
    ],
)
async def test_a_key_that_does_nothing_is_not_shown_and_says_why(name: str, key: str, why: str, tmp_path: Path) -> None:
    app = at(name, tmp_path)
    async with app.run_test(size=(200, 60)) as pilot:
        await ready(pilot)
        if name == "race":
            await press(pilot, "escape")  # out of the line
        screen = here(pilot)
        long_name = {"?": "question_mark", "+": "plus"}.get(key, key)
        bound = screen.active_bindings.get(long_name)
        assert bound is None or bound.node is not screen
        await press(pilot, key)
        await until(pilot, lambda: why in running_text(app) or why in " ".join(re.split(r"\s+", notices(app))))
        assert here(pilot) is screen
