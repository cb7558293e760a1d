"""What a stranger sees first: keys that do what they say, and no pane without anything in it."""

from __future__ import annotations

import pytest

from housequest.tui.base_screen import PickDialog
from housequest.tui.episode.stage import EpisodePanes
from housequest.tui.home.catalogue import RecentChoices, save_recent
from housequest.tui.play.screen import PlayScreen
from tests.tui.screen import COIN, game, press, running_text, screen_text, showing, until, waiting

pytestmark = pytest.mark.anyio


async def test_keys_that_are_letters_are_offered_for_after_the_line_was_left() -> None:
    app = showing(lambda: PlayScreen(game(agent="human"), "you"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "esc then · g possible commands" in screen_text(app))
        assert ": type a command ·" not in screen_text(app)
        await press(pilot, "escape")
        await until(pilot, lambda: ": type a command · g possible commands" in screen_text(app))


@pytest.mark.heavy
async def test_a_proposal_is_decided_on_after_the_line_was_left() -> None:
    app = showing(lambda: PlayScreen(game(COIN), "step"))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        assert "enter accept · e edit · t take over" in screen_text(app)
        await press(pilot, "e")
        await until(pilot, lambda: "esc then · enter accept · t take over" in screen_text(app))
        await press(pilot, "escape")
        await until(pilot, lambda: "enter accept · e edit · t take over" in screen_text(app))


async def test_where_there_are_no_houses_there_is_no_view() -> None:
    save_recent(RecentChoices(view="house"))
    app = showing(lambda: PlayScreen(game(COIN), "step"))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        assert "View" not in screen_text(app) and "v view" not in screen_text(app)
        for key in ("v", "4"):
            app.clear_notifications()
            await press(pilot, key)
            await until(pilot, lambda: "There is no house to draw" in running_text(app))
            assert app.screen.query_one(EpisodePanes).pane != "view"


@pytest.mark.heavy
@pytest.mark.parametrize("view", ["off", "house"])
async def test_who_plays_alone_sees_an_empty_mind_only_when_they_ask_for_it(view: str) -> None:
    save_recent(RecentChoices(view=view))
    app = showing(lambda: PlayScreen(game(agent="human"), "you"))
    async with app.run_test(size=(200, 60)) as pilot:
        assert "─ Mind ─" not in screen_text(app)
        await until(pilot, lambda: waiting(app) == "turn")
        assert "─ Mind ─" not in screen_text(app)
        await press(pilot, "escape")
        assert "f thoughts" not in screen_text(app)
        for key, there in (("3", True), ("1", False), ("tab", False), ("tab", True), ("2", False)):
            await press(pilot, key)
            assert ("─ Mind ─" in screen_text(app)) is there, key


async def test_an_agent_has_its_mind_beside_the_story() -> None:
    app = showing(lambda: PlayScreen(game(COIN), "step"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        assert "─ Mind ─" in screen_text(app) and "f thoughts" in screen_text(app)


@pytest.mark.heavy
async def test_the_list_of_keys_has_those_of_the_screen_and_presses_the_chosen_one() -> None:
    app = showing(lambda: PlayScreen(game(COIN), "step"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        await press(pilot, "slash", *(letter if letter != " " else "space" for letter in "list all"), "enter")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        assert "space  Play one command, or ask for the next" in screen_text(app)
        assert "Scroll" not in screen_text(app)
        await press(pilot, *(letter if letter != " " else "space" for letter in "take over"), "enter")
        await until(pilot, lambda: waiting(app) == "turn")
