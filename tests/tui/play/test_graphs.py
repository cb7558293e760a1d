"""Games of a world of several rooms on the screen: a game taken back and branched, its replay, and a race."""

from __future__ import annotations

import pytest

from housequest.agent.episodes.events import Ended, Stepped, branch
from housequest.agent.episodes.record import read_episode
from housequest.tui.race.screen import RaceScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds.base import World
from housequest.worlds.registry import make_world
from tests.tui.play.test_play_screen import playing, proposed, records, turns
from tests.tui.race.test_race import begun, played
from tests.tui.screen import game, press, screen_text, showing, type_in, until, waiting

pytestmark = [pytest.mark.anyio, pytest.mark.heavy]


@pytest.fixture(scope="module")
def apartments() -> World:
    return make_world("household-graph")


async def test_a_game_is_taken_over_taken_back_branched_won_and_replayed(apartments: World) -> None:
    app = playing(game("example:5", world=apartments))
    async with app.run_test(size=(120, 40)) as pilot:
        first = await proposed(pilot, 1)
        await press(pilot, "enter")
        await proposed(pilot, 2)
        await press(pilot, "t")
        await until(pilot, lambda: waiting(app) == "turn")
        for turn, command in enumerate(("grab sofa 1", "look"), start=2):
            await type_in(pilot, command)
            await until(pilot, lambda turn=turn: waiting(app) == "turn" and len(turns(app)) == turn)
        assert turns(app) == [first, "grab sofa 1", "look"]
        await press(pilot, "escape", "t")
        await proposed(pilot, 4)
        await press(pilot, "left", "left", "b")
        await until(pilot, lambda: waiting(app) == "paused")
        assert turns(app) == [first]
        await press(pilot, "a")
        await until(pilot, lambda: waiting(app) == "over")
        assert "Won" in screen_text(app)
    (record,) = records()
    events = list(read_episode(record))
    ended = events[-1].body
    assert isinstance(ended, Ended) and (ended.outcome, ended.assisted) == ("won", True)
    left = [event.body.command for event in branch(events) if isinstance(event.body, Stepped)]
    assert left[0] == first and "look" not in left
    again = showing(lambda: ReplayScreen(record))
    async with again.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "REPLAY" in screen_text(again))
        await press(pilot, "end", "v")
        await until(pilot, lambda: "· made-up plan" in screen_text(again) and "kitchen 1" in screen_text(again))
        assert "Won" in screen_text(again)


async def test_a_race_against_the_expert(apartments: World) -> None:
    app = showing(lambda: RaceScreen(game("example:5", world=apartments)))
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot)
        await played(pilot, "walk to kitchen 1", 1)
        await played(pilot, "grab kitchen 1", 2)
        await until(pilot, lambda: "You · turn 2 · 1 refused" in screen_text(app))
        await until(pilot, lambda: "the expert · turn 2" in screen_text(app))
        await press(pilot, "escape", "l")
        await until(pilot, lambda: "the expert · ✦ won in" in screen_text(app))
