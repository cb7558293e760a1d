"""Who begins to type words beside an agent lands in the line; keys keep their meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.tui.app import HousequestApp
from housequest.tui.play.line import CommandLine
from housequest.tui.play.screen import PlayScreen
from tests.tui.screen import game, press, running_text, showing, type_in, until, waiting

pytestmark = [pytest.mark.anyio, pytest.mark.heavy]


def typed(app: HousequestApp) -> str:
    return app.screen.query_one(CommandLine).value


async def ready(pilot: Pilot[Any]) -> HousequestApp:
    app = pilot.app
    assert isinstance(app, HousequestApp)
    await until(pilot, lambda: waiting(app) == "verdict")
    return app


@pytest.mark.parametrize("word", ["stop", "no", "wait", "why?", "hold on", "never mind", "don't open it"])
async def test_words_that_begin_with_no_key_land_in_the_line(word: str) -> None:
    screen = PlayScreen(game("generated:7", agent="expert"), "step")
    async with showing(lambda: screen).run_test(size=(100, 30)) as pilot:
        app = await ready(pilot)
        await pilot.press(
            *("space" if one == " " else "apostrophe" if one == "'" else "question_mark" if one == "?" else one for one in word)
        )
        await until(pilot, lambda: typed(app) == word)


async def test_stop_stops_an_agent_that_plays_on() -> None:
    screen = PlayScreen(replace(game("generated:7", agent="expert"), speed=1.0), "watch")
    async with showing(lambda: screen).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: waiting(screen.app) == "pace")
        await type_in(pilot, "stop")
        await until(pilot, lambda: "It waits" in running_text(pilot.app))


async def test_a_key_is_a_key_and_a_word_behind_it_is_whole() -> None:
    screen = PlayScreen(game("generated:7", agent="expert"), "step")
    async with showing(lambda: screen).run_test(size=(100, 30)) as pilot:
        app = await ready(pilot)
        await press(pilot, "f")
        await press(pilot, "f")
        assert typed(app) == ""
        await press(pilot, "n")
        await press(pilot, "escape")
        await press(pilot, "o")
        await until(pilot, lambda: waiting(app) == "verdict")
        assert typed(app) == ""
