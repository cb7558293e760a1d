"""Which screen follows which message."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.agent.config import Settings
from housequest.tui import theme
from housequest.tui.base_screen import OpenScreen
from housequest.tui.desk.screen import BooksScreen
from housequest.tui.home.screen import HomeScreen
from housequest.tui.play.screen import PlayScreen
from housequest.tui.race.screen import RaceScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.runs.screen import RunsScreen
from tests.tui.recorded import play
from tests.tui.screen import game, press, screen_text, showing, until, waiting

pytestmark = pytest.mark.anyio


def home() -> HomeScreen:
    return HomeScreen(Settings())


@pytest.mark.heavy
async def test_from_a_game_to_its_replay_to_the_next_and_home() -> None:
    app = showing(lambda: PlayScreen(game(), "watch"), home)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: waiting(app) == "over")
        await press(pilot, "p")
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen))
        await press(pilot, "q")
        await until(pilot, lambda: waiting(app) == "over")
        await press(pilot, "n")
        await until(pilot, lambda: isinstance(app.screen, PlayScreen) and app.screen.play_state.session.game.task.number != 690)
        assert isinstance(app.screen, PlayScreen)
        assert app.screen.play_state.session.game.task.type == game().task.type
        await press(pilot, "q")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))


@pytest.mark.heavy
async def test_from_home_to_a_game_and_back() -> None:
    app = showing(home)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.screen.post_message(OpenScreen("play", (game(), "step")))
        await until(pilot, lambda: waiting(app) == "verdict")
        await press(pilot, "q")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        app.screen.post_message(OpenScreen("runs"))
        await until(pilot, lambda: isinstance(app.screen, RunsScreen))
        await press(pilot, "q")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))


@pytest.mark.heavy
async def test_a_race_takes_the_place_of_a_game() -> None:
    app = showing(lambda: PlayScreen(game(), "step"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        await press(pilot, "R")
        await until(pilot, lambda: isinstance(app.screen, RaceScreen))


async def test_leaving_the_first_screen_without_a_home_ends_the_app() -> None:
    app = showing(lambda: PlayScreen(game(), "step"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        await press(pilot, "q")
        await until(pilot, lambda: not app.is_running)
    assert app.return_code == 0


@pytest.mark.heavy
async def test_the_key_that_leaves_says_where_it_leads(tmp_path: Path) -> None:
    def last_key() -> str:
        return screen_text(app).splitlines()[-1].rpartition("  ")[2].strip()

    app = showing(lambda: PlayScreen(game(), "step"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        assert last_key() == "q quit"
        await press(pilot, "a")
        await until(pilot, lambda: waiting(app) == "over")
        await press(pilot, "p")
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and last_key() == "q back")
    app = showing(lambda: PlayScreen(game(), "step"), home)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        assert last_key() == "q home"
        await press(pilot, "q")
        await until(pilot, lambda: last_key() == "q quit")
    for name in ("one", "two"):
        play(tmp_path / name)
    app = showing(lambda: RunsScreen(tmp_path, poll=None))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "no run" not in screen_text(app) and "space mark" in screen_text(app))
        assert last_key() == "q quit"
        await press(pilot, "enter")
        assert last_key() == "q back"
        assert "next not won" not in screen_text(app)
        await press(pilot, "k")
        await until(pilot, lambda: isinstance(app.screen, BooksScreen) and last_key() == "q back")
        await press(pilot, "q", "q", "space", "down", "c")
        await until(pilot, lambda: "0 tasks flipped" in screen_text(app))
        assert "enter replay" not in screen_text(app)
        assert "in the first" not in screen_text(app)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("colours", "expected"), [("15;0", theme.DARK), ("0;15", theme.LIGHT), ("", theme.DARK), ("x;y", theme.DARK)]
)
async def test_the_terminals_own_colours_choose_the_theme(colours: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORFGBG", colours)
    app = showing(lambda: PlayScreen(game(), "step"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        assert app.theme == expected
        assert "proposed" in screen_text(app)
