"""A text game that is enacted: its moves are drawn one after the other, skipped by a key, told in words, and counted."""

from __future__ import annotations

import re

import pytest

from housequest.agent.config import Settings
from housequest.tui.episode.recording import read_recording
from housequest.tui.home.catalogue import RecentChoices, save_recent
from housequest.tui.play.game import ChosenGame
from housequest.tui.play.plain import play_game
from housequest.tui.play.screen import PlayScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds.registry import make_world
from tests.tui.screen import press, screen_text, showing, until

pytestmark = [pytest.mark.anyio, pytest.mark.heavy]

MOVE = re.compile(r"(\d+) of (\d+): (\w+)")


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that shows every colour, wherever the tests run."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


def enacted(*, speed: float = 1000.0, record: bool = False) -> ChosenGame:
    world = make_world("alfworld", engine="boxes")
    return ChosenGame(world, world.task("example:1"), "expert", Settings(agent="expert"), record, speed=speed)


async def test_a_command_is_shown_as_it_moves_and_space_skips() -> None:
    save_recent(RecentChoices(view="house"))
    screen = PlayScreen(enacted(speed=0.25), "step")
    view = screen.panes.view
    seen: list[str] = []
    async with showing(lambda: screen).run_test(size=(120, 40)) as pilot:

        def moved() -> bool:
            found = MOVE.search(str(view.border_title))
            if found and found[0] not in seen:
                seen.append(found[0])
            return len(seen) > 1

        await until(pilot, lambda: screen.session.status.waiting == "verdict" and view.settled)
        await press(pilot, "enter")
        await until(pilot, moved)
        assert "space skips" in str(view.border_subtitle)
        await press(pilot, "space")
        await until(pilot, lambda: view.settled)
        assert "space skips" not in str(view.border_subtitle) and "enacted: " in str(view.border_title)
        # It skipped, and proposed nothing more.
        assert screen.play_state.state.moment.turn == 1
        # A busy machine may show the second move before anybody has looked at the first.
        assert [int(each.partition(" ")[0]) for each in seen] == sorted({int(each.partition(" ")[0]) for each in seen})
        for _ in range(5):
            if view.mode != "text":
                await press(pilot, "v")
        await until(pilot, lambda: view.settled)
        assert "moves  " in screen_text(pilot.app)


async def test_the_end_says_what_was_enacted_and_a_replay_shows_it_again() -> None:
    save_recent(RecentChoices(view="house"))
    screen = PlayScreen(enacted(record=True), "watch")
    async with showing(lambda: screen).run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: screen.session.status.waiting == "over")
        await until(pilot, lambda: re.search(r"─ \d+ actions, (no|1) divergence ─", screen_text(pilot.app)))
    path = screen.session.record
    assert path is not None
    replay = ReplayScreen(path)
    async with showing(lambda: replay).run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: replay.stops and replay.view.settled)
        await press(pilot, "end")
        await until(pilot, lambda: replay.view.settled and "enacted: " in str(replay.view.border_title))
        await press(pilot, "left")
        await until(pilot, lambda: replay.view.settled)
        await press(pilot, "right")
        await until(pilot, lambda: replay.view.settled)
        assert "enacted: " in str(replay.view.border_title)
    assert read_recording(path).state.moment.ended is not None


def test_plain_text_tells_the_moves_and_counts_them(capsys: pytest.CaptureFixture[str]) -> None:
    play_game(enacted())
    told = capsys.readouterr().out
    assert "moves: " in told and "MoveAhead" in told
    assert re.search(r"It was enacted in \d+ actions, (no|1) divergence", " ".join(told.split()))
