"""A record on the screen, gone through by keys and mouse, whole or damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.tui.app import HousequestApp
from housequest.tui.episode.story import Story
from housequest.tui.replay.screen import ReplayScreen, Timeline
from tests.tui.recorded import Said, lines, long, play, rewound, started, write
from tests.tui.screen import SIZES, screen_text, showing, until

pytestmark = pytest.mark.anyio


def replaying(path: Path, speed: float | None = None) -> HousequestApp:
    return showing(lambda: ReplayScreen(path, speed))


def screen(pilot: Pilot[Any]) -> ReplayScreen:
    found = pilot.app.screen
    assert isinstance(found, ReplayScreen)
    return found


async def opened(pilot: Pilot[Any]) -> ReplayScreen:
    await until(pilot, lambda: isinstance(pilot.app.screen, ReplayScreen) and screen(pilot).stops)
    return screen(pilot)


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES)
async def test_keys_go_through_the_turns(size: tuple[int, int], tmp_path: Path) -> None:
    app = replaying(write(tmp_path / "e.jsonl", long(30)))
    async with app.run_test(size=size) as pilot:
        replay = await opened(pilot)
        places = [replay.place]
        keys = ("right", "right", "left", "pagedown", "shift+right", "end", "right", "pageup", "shift+left", "home", "left")
        for key in keys:
            await pilot.press(key)
            places.append(replay.place)
        assert places == [0, 1, 2, 1, 11, 21, 30, 30, 20, 10, 0, 0]
        await pilot.press("right", "right")
        told = screen_text(app)
        assert "look 2" in told
        assert "look 3" not in told
        assert "turn 2 of 30" in told
        assert "REPLAY" in told


async def test_the_house_and_the_mind_are_those_of_the_turn(tmp_path: Path) -> None:
    episodes = sorted((play(tmp_path / "run", limit=1) / "episodes").iterdir())
    async with replaying(episodes[0]).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        opening = screen_text(pilot.app)
        await pilot.press("end")
        end = screen_text(pilot.app)
        assert "not visited" in opening
        assert "✓ Won in" in end
        await pilot.press("home")
        assert screen_text(pilot.app) == opening


@pytest.mark.heavy
async def test_jumps_lead_to_refusals_plans_and_the_turn_of_the_loss(tmp_path: Path) -> None:
    app = replaying(write(tmp_path / "e.jsonl", rewound()))
    async with app.run_test(size=(120, 40)) as pilot:
        replay = await opened(pilot)
        places: list[int] = []
        for key in ("n", "n", "N", "P", "p", "p", "P", "home", "w"):
            await pilot.press(key)
            places.append(replay.place)
        failure = places.pop()
        assert places == [3, 3, 3, 2, 2, 2, 1, 0]
        assert replay.stops[failure].lost
        await pilot.press("N")
        assert "There is no refused command before this." in screen_text(app)


async def test_branches_are_looked_at_from_the_same_turn(tmp_path: Path) -> None:
    app = replaying(write(tmp_path / "e.jsonl", rewound()))
    async with app.run_test(size=(120, 40)) as pilot:
        replay = await opened(pilot)
        await pilot.press("right", "right")
        assert "go to study" in screen_text(app)
        assert "branch 2 of 2" in screen_text(app)
        await pilot.press("b")
        assert replay.place == 2
        assert "go to study" not in screen_text(app)
        assert "turn 2 of 4 · × refused · branch 1 of 2" in screen_text(app)
        await pilot.press("end")
        assert "The record ends here" in screen_text(app)
        await pilot.press("b")
        assert replay.place == 3
        assert "Lost after 3 turns" in screen_text(app)


LEADING = {"n next refused", "p next plan", "w where lost", "b branch"}


@pytest.mark.heavy
@pytest.mark.parametrize(("said", "shown"), [(rewound(), LEADING), (long(3), {"w where lost"})])
async def test_only_keys_that_lead_somewhere_are_shown(said: list[Said], shown: set[str], tmp_path: Path) -> None:
    app = replaying(write(tmp_path / "e.jsonl", said))
    async with app.run_test(size=(200, 60)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "space play" in screen_text(app))
        assert {key for key in LEADING if key in screen_text(app)} == shown


async def test_one_branch_says_so(tmp_path: Path) -> None:
    app = replaying(write(tmp_path / "e.jsonl", long(3)))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("b")
        assert "never rewound" in screen_text(app)


@pytest.mark.heavy
async def test_it_plays_to_the_end_and_again_from_the_beginning(tmp_path: Path) -> None:
    app = replaying(write(tmp_path / "e.jsonl", long(12)), speed=1000.0)
    async with app.run_test(size=(80, 24)) as pilot:
        replay = await opened(pilot)
        await until(pilot, lambda: replay.place == 12)
        assert not replay.playing
        await pilot.press("space")
        assert replay.place < 12 or not replay.playing
        await until(pilot, lambda: replay.place == 12 and not replay.playing)


@pytest.mark.heavy
async def test_it_holds_at_a_key_and_leaves_no_timer(tmp_path: Path) -> None:
    app = replaying(write(tmp_path / "e.jsonl", long(12)))
    async with app.run_test(size=(80, 24)) as pilot:
        replay = await opened(pilot)
        await pilot.press("minus", "minus", "minus", "minus", "minus", "space")
        assert replay.playing
        assert "▶" in screen_text(app)
        assert "0.25/s" in screen_text(app)
        await pilot.press("space")
        assert not replay.playing
        await pilot.press("space", "right")
        assert (replay.playing, replay.place) == (False, 1)
        await pilot.press("space", "plus", "equals_sign")
        assert replay.playing
        assert "1/s" in screen_text(app)
        await pilot.press("b", "N", "space")
        assert not replay.playing


@pytest.mark.heavy
async def test_clicks_on_the_line_and_on_a_turn_go_there(tmp_path: Path) -> None:
    app = replaying(write(tmp_path / "e.jsonl", long(9)))
    async with app.run_test(size=(80, 24)) as pilot:
        replay = await opened(pilot)
        await pilot.press("end")
        await pilot.click(Timeline, offset=(3, 0))
        assert replay.place == 0
        await pilot.press("end")
        story = app.screen.query_one(Story)
        at = next(y for y in range(story.size.height) if "look 8" in story.render_line(y).text)
        await pilot.click(Story, offset=(12, at + 1))
        await pilot.pause()
        assert replay.place == 8


@pytest.mark.heavy
async def test_a_damaged_record_is_shown_up_to_the_damage_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(lines(long(6)[:4]) + b"junk [/b]\n")
    app = replaying(path)
    async with app.run_test(size=(80, 24)) as pilot:
        replay = await opened(pilot)
        assert len(replay.stops) == 4
        assert "not a recorded event" in screen_text(app).replace("\n", " ")
        await pilot.press("end")
        assert "look 3" in screen_text(app)


@pytest.mark.heavy
@pytest.mark.parametrize("content", [b"", b"\x00\xff\n", None])
async def test_what_is_no_record_says_so_and_lets_one_leave(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    if content is not None:
        path.write_bytes(content)
    app = replaying(path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "q leads back." in screen_text(app))
        await pilot.press("right", "n", "p", "b", "w", "space", "end", "plus", "f", "q")
    assert app.return_code == 0


async def test_what_was_said_is_shown_and_never_obeyed(tmp_path: Path) -> None:
    said = [Said(None, started(goal="[bold]x[/bold] \x1b[31m", opening="[link=evil]y[/link]\x1b[2J\u202e"))]
    app = replaying(write(tmp_path / "e.jsonl", said))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        told = screen_text(app)
        assert "[bold]x[/bold]" in told
        assert "\x1b" not in told


async def test_a_record_that_has_grown_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "e.jsonl.part", long(9)[:4])
    app = replaying(path)
    async with app.run_test(size=(80, 24)) as pilot:
        replay = await opened(pilot)
        await pilot.press("right")
        path.write_bytes(lines(long(9)))
        await pilot.press("r")
        await until(pilot, lambda: len(replay.stops) == 10)
        assert replay.place == 1


@pytest.mark.heavy
async def test_regions_are_turned_to_where_one_is_shown_at_a_time(tmp_path: Path) -> None:
    app = replaying(write(tmp_path / "e.jsonl", long(3)))
    async with app.run_test(size=(80, 24)) as pilot:
        replay = await opened(pilot)
        for key, name in (("2", "House"), ("3", "Mind"), ("1", "Story"), ("tab", "House")):
            await pilot.press(key)
            assert f"{name}]" in screen_text(app)
        await pilot.press("right", "f", "q")
        assert replay.place == 1
    assert app.return_code == 0


@pytest.mark.heavy
@pytest.mark.parametrize(("event", "turn"), [(3, "turn 1 of"), (5, "turn 3 of"), (6, "turn 4 of"), (11, "turn 3 of")])
async def test_it_opens_at_the_turn_of_an_event_on_whichever_branch_has_it(event: int, turn: str, tmp_path: Path) -> None:
    path = write(tmp_path / "e.jsonl", rewound())
    async with showing(lambda: ReplayScreen(path, at=event)).run_test(size=(120, 40)) as pilot:
        replay = await opened(pilot)
        assert turn in screen_text(pilot.app)
        assert replay.stops[replay.place].spent == event
        assert f"branch {1 if event in {5, 6} else 2} of 2" in screen_text(pilot.app)


async def test_an_event_that_the_record_does_not_have_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "e.jsonl", rewound())
    async with showing(lambda: ReplayScreen(path, at=99)).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        assert "no turn at event 99" in screen_text(pilot.app)
