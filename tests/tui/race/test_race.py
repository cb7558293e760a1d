"""Races: against the expert by keyboard alone, turn for turn or let run, with two records that tell of one game each."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from housequest.agent.episodes.events import Ended, Intervened, Started
from housequest.agent.episodes.record import read_episode
from housequest.tui.episode.house import HousePane
from housequest.tui.play.game import HUMAN
from housequest.tui.play.line import CommandLine
from housequest.tui.race.screen import RaceScreen
from housequest.worlds.base import World
from housequest.worlds.registry import make_world
from tests.backends.server import serve, streamed
from tests.tui.screen import COIN, EGG, SIZES, game, press, screen_text, showing, until, write_in

pytestmark = pytest.mark.anyio

WAY = ("go to study", "take key", "go to hall", "go to cellar", "unlock box", "take coin")
"""How the coin is taken."""
STUBBORN = "default: 'I would rather not say.'"


@pytest.fixture(scope="module")
def houses() -> World:
    return make_world("alfworld")


def race(pilot: Pilot[Any]) -> RaceScreen:
    screen = pilot.app.screen
    assert isinstance(screen, RaceScreen)
    return screen


async def begun(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, RaceScreen) and "turn 1" in screen_text(pilot.app))
    await until(pilot, lambda: "· waiting" in screen_text(pilot.app))


async def typed(pilot: Pilot[Any], command: str) -> None:
    await write_in(pilot, command)
    await pilot.press("enter")


async def played(pilot: Pilot[Any], command: str, turn: int) -> None:
    await typed(pilot, command)
    await until(pilot, lambda: f"You · turn {turn}" in screen_text(pilot.app) or "You · ✦" in screen_text(pilot.app))


@pytest.mark.heavy
async def test_a_race_to_the_end_by_keyboard_alone_leaves_two_records_in_which_nobody_was_helped() -> None:
    app = showing(lambda: RaceScreen(game(COIN)))
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot)
        for turn, command in enumerate(("look", *WAY[:-1]), start=1):
            await played(pilot, command, turn)
            await until(
                pilot, lambda turn=turn: f"the expert · turn {turn}" in screen_text(app) or "expert · ✦" in screen_text(app)
            )
        await until(pilot, lambda: "the expert · ✦ won in 6" in screen_text(app))
        assert "the expert is done; play on" in screen_text(app)
        await typed(pilot, WAY[-1])
        await until(pilot, lambda: "The expert won in 6 turns, 1 fewer than you." in screen_text(app))
        await until(pilot, lambda: "the shortest  ━" in screen_text(app))
        shown = screen_text(app)
        assert "You · ✦ won in 7" in shown
        assert "The expert was quicker" in shown
        screen = race(pilot)
        await pilot.press("P")
        await until(pilot, lambda: not isinstance(app.screen, RaceScreen))
        assert "REPLAY" in screen_text(app)
    records = screen.games[0].session.record, screen.games[1].session.record
    told = [list(read_episode(path)) for path in records if path is not None]
    starts = [events[0].body for events in told]
    ends = [events[-1].body for events in told]
    assert [start.agent for start in starts if isinstance(start, Started)] == [HUMAN, "expert"]
    assert [(end.outcome, end.turns, end.assisted) for end in ends if isinstance(end, Ended)] == [
        ("won", 7, False),
        ("won", 6, False),
    ]
    assert not any(isinstance(event.body, Intervened) for events in told for event in events)


@pytest.mark.heavy
async def test_turn_for_turn_the_other_waits_and_let_run_it_does_not(houses: World) -> None:
    app = showing(lambda: RaceScreen(game(EGG, world=houses)))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await begun(pilot)
        assert "the expert · turn 0" in screen_text(app)
        await played(pilot, "look", 1)
        await until(pilot, lambda: "· waiting" in screen_text(app))
        assert "the expert · turn 1" in screen_text(app)
        await played(pilot, "open fridge 1", 2)
        await until(pilot, lambda: "the expert · turn 2" in screen_text(app))
        assert "You · turn 2 · 1 refused" in screen_text(app)
        await pilot.press("escape", "l")
        await until(pilot, lambda: "the expert · ✦ won in" in screen_text(app))
        assert "You · turn 2 · 1 refused" in screen_text(app)
        await pilot.press("l")
        await until(pilot, lambda: "The game of the expert is over." in screen_text(app))


@pytest.mark.heavy
async def test_who_is_done_first_is_not_told_that_the_race_is_paused(houses: World) -> None:
    more = threading.Event()
    with serve() as server:
        server.behave(otherwise=streamed("Thought: eggs are kept cold\nAction: look", more))
        app = showing(lambda: RaceScreen(game(EGG, "react", world=houses, model=server.model(), max_steps=1)))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "You · turn 0" in screen_text(app) and race(pilot).games[1].session.reply.heard)
            await typed(pilot, "look")
            await until(pilot, lambda: "you are done; react plays on" in screen_text(app))
            assert "paused" not in screen_text(app)
            more.set()
            await until(pilot, lambda: "The race is over" in screen_text(app))


@pytest.mark.heavy
async def test_what_it_thinks_ahead_is_not_seen_before_its_turn(houses: World) -> None:
    app = showing(lambda: RaceScreen(game(EGG, world=houses)))
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot)
        assert "likelier" not in screen_text(app)
        await played(pilot, "look", 1)
        await until(pilot, lambda: "the expert · turn 1" in screen_text(app))
        assert screen_text(app).count("likelier") == 1


@pytest.mark.heavy
async def test_what_a_model_says_is_shown_as_it_comes_where_it_is_let_run(houses: World) -> None:
    reply, more = "Thought: eggs are kept cold\nAction: look", threading.Event()
    with serve() as server:
        server.behave(otherwise=streamed(reply, more))
        app = showing(lambda: RaceScreen(game(EGG, "react", world=houses, model=server.model())))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "You · turn 0" in screen_text(app) and race(pilot).games[1].session.reply.heard)
            assert "Thought: eggs" not in screen_text(app), "turn for turn its thoughts come with its turn"
            await pilot.press("escape", "l")
            await until(pilot, lambda: "react · turn 0 · Thought: eggs" in screen_text(app))
            assert "kept cold" not in screen_text(app)
            more.set()
            await until(pilot, lambda: "eggs are kept cold" in screen_text(app))


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES)
async def test_the_house_is_there_at_every_size(size: tuple[int, int], houses: World) -> None:
    app = showing(lambda: RaceScreen(game(EGG, world=houses)))
    async with app.run_test(size=size, notifications=True) as pilot:
        await begun(pilot)
        house = race(pilot).query_one(HousePane)
        wide = size[0] >= 160
        assert house.display == wide
        await pilot.press("escape", "h")
        await until(pilot, lambda: house.display)
        assert race(pilot).query_one("#theirs").display == (size[0] >= 120)
        assert ("beside both stories already" in screen_text(app)) == wide
        await pilot.press("h", "tab", "colon")
        await until(pilot, lambda: race(pilot).query_one(CommandLine).has_focus_within)
        assert house.display == wide


@pytest.mark.heavy
async def test_the_view_leaves_the_other_its_place_at_a_hundred_columns() -> None:
    app = showing(lambda: RaceScreen(game()))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "turn 0 · waiting" in screen_text(app))
        screen = app.screen
        await press(pilot, "escape", "v")
        shown = {pane: screen.query_one(pane).display for pane in ("ViewPane", "#yours", "#theirs", "HousePane")}
        assert shown == {"ViewPane": True, "#yours": True, "#theirs": True, "HousePane": False}
        await press(pilot, "h")
        assert screen.query_one("HousePane").display
        assert screen.query_one("#theirs").display


@pytest.mark.heavy
async def test_what_is_possible_is_listed_and_taken_into_the_line() -> None:
    app = showing(lambda: RaceScreen(game(COIN)))
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot)
        await pilot.press("escape", "g")
        await until(pilot, lambda: "What is possible now" in screen_text(app))
        await write_in(pilot, "study")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query_one(CommandLine).query_one(Input).value == "go to study")
        await pilot.press("enter")
        await until(pilot, lambda: "You · turn 1" in screen_text(app))


@pytest.mark.heavy
async def test_nobody_is_helped_and_a_key_that_does_not_hold_says_why() -> None:
    app = showing(lambda: RaceScreen(game(COIN)))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await begun(pilot)
        assert "for a hint" not in screen_text(app)
        await typed(pilot, "?where is it")
        await until(pilot, lambda: "In a race nobody is helped" in screen_text(app))
        for key, words in (("p", "The race is still on"), ("r", "Nothing failed"), ("plus", "l lets it run")):
            await pilot.press("escape", key)
            await until(pilot, lambda words=words: words in screen_text(app))


@pytest.mark.heavy
async def test_who_plays_alone_races_the_expert_and_what_was_set_is_the_agents(tmp_path: Path) -> None:
    app = showing(lambda: RaceScreen(game(COIN, HUMAN)))
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot)
        assert "the expert · turn 0" in screen_text(app)
    script = tmp_path / "model.yaml"
    script.write_text(STUBBORN)
    rival = game(COIN, "react", model=f"scripted:{script}", set={"max_tokens": 64})
    app = showing(lambda: RaceScreen(rival))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "your turn" in screen_text(app))
        await played(pilot, "look", 1)


@pytest.mark.heavy
async def test_a_model_that_fails_is_told_and_does_not_keep_the_person_from_playing(tmp_path: Path) -> None:
    script = tmp_path / "model.yaml"
    script.write_text('replies: ["Thought: look first.\\nAction: look"]')
    app = showing(lambda: RaceScreen(game(COIN, "react", model=f"scripted:{script}")))
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot)
        await played(pilot, "look", 1)
        await until(pilot, lambda: "its model failed" in screen_text(app))
        assert "try again" in screen_text(app)
        await played(pilot, "inventory", 2)
        assert "react · turn 1" in screen_text(app)
        await pilot.press("escape", "r")
        await until(pilot, lambda: "its model failed" in screen_text(app))


@pytest.mark.heavy
async def test_an_agent_whose_replies_cannot_be_read_keeps_step_too(tmp_path: Path) -> None:
    script = tmp_path / "model.yaml"
    script.write_text("default: I would rather not.")
    app = showing(lambda: RaceScreen(game(COIN, "react", model=f"scripted:{script}")))
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot)
        for turn in (1, 2, 3):
            await played(pilot, "look", turn)
            await until(pilot, lambda turn=turn: race(pilot).games[1].state.moment.turn == turn)


@pytest.mark.heavy
async def test_when_the_person_is_done_the_other_runs_to_its_end() -> None:
    app = showing(lambda: RaceScreen(game(COIN, max_steps=2)))
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot)
        await played(pilot, "look", 1)
        await typed(pilot, "look")
        await until(pilot, lambda: "Neither of you won this one." in screen_text(app))
        shown = screen_text(app)
        assert "You: " in shown
        assert "The expert: " in shown
        assert not race(pilot).query_one(CommandLine).display


@pytest.mark.heavy
async def test_leaving_in_the_midst_leaves_two_records() -> None:
    app = showing(lambda: RaceScreen(game(COIN)))
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot)
        await played(pilot, "look", 1)
        screen = race(pilot)
        await pilot.press("escape", "q")
        await pilot.pause()
    records = screen.games[0].session.record, screen.games[1].session.record
    assert all(path is not None and path.exists() for path in records)
