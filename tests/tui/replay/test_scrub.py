"""The line to scrub along: what stands where, and where a click leads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from housequest.tui.episode.recording import ReplayStop
from housequest.tui.replay.screen import Timeline
from housequest.tui.theme import register_themes

pytestmark = pytest.mark.anyio

STOPS = tuple(ReplayStop(place, refused=place in {3, 5}, replanned=place in {1, 5}, lost=place == 8) for place in range(11))


class Alone(App[None]):
    """A line and nothing else, which goes where it is told to."""

    def __init__(self) -> None:
        super().__init__()
        register_themes(self)
        self.places: list[int] = []

    def compose(self) -> ComposeResult:
        yield Timeline()

    def on_timeline_went(self, message: Timeline.Went) -> None:
        self.places.append(message.place)
        self.query_one(Timeline).show(STOPS, message.place, 2.0)


async def shown(pilot: Pilot[None], place: int, playing: bool = False, branch: str = "") -> str:
    scrub = pilot.app.query_one(Timeline)
    scrub.show(STOPS, place, 2.0, playing=playing, branch=branch)
    await pilot.pause()
    return scrub.render().plain


async def test_turns_are_told_by_character() -> None:
    async with Alone().run_test(size=(100, 3)) as pilot:
        line = await shown(pilot, 0)
        track = line[2:].split("  ")[0]
        assert [mark for mark in track if mark in "●◆×!"] == ["●", "◆", "×", "◆", "!"]
        assert line.startswith("‖ ●")
        assert "opening of 10 turns · 2/s" in line
        assert "turn 3 of 10 · × refused" in await shown(pilot, 3)
        assert "turn 5 of 10 · × refused · ◆ plan · branch 1 of 2" in await shown(pilot, 5, branch="branch 1 of 2")
        assert "turn 8 of 10 · ! lost here" in await shown(pilot, 8)
        assert (await shown(pilot, 10, playing=True)).startswith("▶ ━")


async def test_a_click_goes_there_and_the_pointer_is_followed() -> None:
    app = Alone()
    async with app.run_test(size=(100, 3)) as pilot:
        line = await shown(pilot, 0)
        await pilot.click(Timeline, offset=(3 + line[2:].index("!"), 0))
        assert app.places == [8]
        await pilot.mouse_down(Timeline, offset=(3, 0))
        await pilot.hover(Timeline, offset=(3 + line[2:].index("×"), 0))
        await pilot.mouse_up(Timeline, offset=(3, 0))
        assert app.places[:3] == [8, 0, 3]
        count = len(app.places)
        await pilot.hover(Timeline, offset=(30, 0))
        assert len(app.places) == count


async def test_nothing_to_scrub_through() -> None:
    async with Alone().run_test(size=(60, 3)) as pilot:
        scrub = pilot.app.query_one(Timeline)
        assert scrub.render().plain == ""
        await pilot.click(Timeline, offset=(10, 0))
        scrub.show((ReplayStop(0),), 0, 0.5)
        await pilot.click(Timeline, offset=(10, 0))
        assert "opening of 0 turns · 0.5/s" in scrub.render().plain


@pytest.mark.heavy
@settings(max_examples=25)
@given(turns=st.integers(0, 400), width=st.integers(20, 200), data=st.data())
async def test_it_fits_whatever_the_episode(turns: int, width: int, data: st.DataObject) -> None:
    stops = tuple(ReplayStop(place, refused=place % 7 == 3, replanned=place % 9 == 1) for place in range(turns + 1))
    place = data.draw(st.integers(0, turns))
    async with Alone().run_test(size=(width, 2)) as pilot:
        scrub = pilot.app.query_one(Timeline)
        scrub.show(stops, place, 2.0)
        await pilot.pause()
        assert scrub.render().plain.count("●") == 1
