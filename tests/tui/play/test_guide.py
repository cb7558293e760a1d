"""The guide through a first game: it follows the turns, can be left, and is never shown twice."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.agent.config import Settings
from housequest.tui.app import HousequestApp
from housequest.tui.home.catalogue import is_newcomer, remember_guided
from housequest.tui.home.screen import HomeScreen
from housequest.tui.keymap import TEACHING
from housequest.tui.play.screen import PlayScreen
from tests.tui.screen import EGG, game, press, running_text, showing, until, waiting

pytestmark = pytest.mark.anyio


def told(pilot: Pilot[Any], text: str) -> bool:
    return text in running_text(pilot.app)


@pytest.mark.heavy
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_it_goes_from_turn_to_turn_and_then_away(size: tuple[int, int]) -> None:
    app = showing(lambda: PlayScreen(game(), "watch", guided=True))
    async with app.run_test(size=size) as pilot:
        for step in TEACHING["guide"]:
            await until(pilot, lambda step=step: waiting(app) == "verdict" and told(pilot, step))
            await press(pilot, "space")
        await until(pilot, lambda: not told(pilot, "Your first game"))
        await press(pilot, "a")
        await until(pilot, lambda: told(pilot, "Won"))


async def test_it_can_be_left_and_does_not_come_again() -> None:
    assert is_newcomer()
    app = showing(lambda: PlayScreen(game(), "watch", guided=True))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict" and told(pilot, "i ends this guide"))
        await until(pilot, lambda: not is_newcomer())
        await press(pilot, "i")
        assert not told(pilot, "Your first game")
        await press(pilot, "i")
        await until(pilot, lambda: any("no guide here" in each.message for each in app._notifications))


@pytest.mark.heavy
async def test_the_first_game_that_a_newcomer_watches_is_guided_and_no_other() -> None:
    app = HousequestApp(lambda: HomeScreen(Settings(), speed=1000.0, newcomer=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: told(pilot, f"plays {EGG} and you watch"))
        for guided in (True, False):
            await press(pilot, "enter")
            await until(pilot, lambda: waiting(app) not in {"", "opening"})
            assert told(pilot, "Your first game") == guided
            await press(pilot, "q")
            await until(pilot, lambda: isinstance(app.screen, HomeScreen))


def test_who_has_played_is_no_newcomer() -> None:
    assert remember_guided() == ""
    assert not is_newcomer()
