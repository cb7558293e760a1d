"""Two windows over one folder of games: one plays, others watch, and a record is only ever added to."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.agent.config import Settings
from housequest.agent.episodes.events import Event, Stepped
from housequest.agent.episodes.record import EpisodeRecorder, is_played, part_of, playing, read_episode, read_sound, whole_of
from housequest.tui.home.catalogue import LIVE, recorded_games
from housequest.tui.home.games import GameBrowser
from housequest.tui.home.screen import HomeScreen
from housequest.tui.play.game import daily_game, daily_record, first_try
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import state_folder
from tests.tui.commands.test_daily import copy_to, won_by_expert
from tests.tui.conftest import Run
from tests.tui.play.test_session import Table, sitting
from tests.tui.recorded import Said, lines, long, step
from tests.tui.screen import COIN, game, running_text, showing, until


def records() -> list[Path]:
    """The records of games, finished or not."""
    return sorted(file for file in (state_folder() / "episodes").glob("*.jsonl*") if file.suffix in {".jsonl", ".part"})


async def played(table: Table, *commands: str) -> None:
    for command in commands:
        await table.waits("turn")
        turns = len(table.commands())
        table.session.play(command)
        await table.until(lambda turns=turns: len(table.commands()) == turns + 1)
    await table.waits("turn")


def left_after(*commands: str) -> Path:
    """The record of a game that a person left after these commands."""

    async def play() -> None:
        async with sitting(game(COIN, "human")) as table:
            await played(table, *commands)

    asyncio.run(play())
    (part,) = records()
    assert part.suffix == ".part"
    return part


def test_a_game_that_is_played_is_not_opened_again_and_goes_on_when_it_was_left() -> None:
    async def play() -> None:
        async with sitting(game(COIN, "human")) as first:
            await played(first, "go to study", "look")
            (part,) = records()
            assert is_played(part)
            async with sitting(game(COIN, "human"), resume=part) as second:
                await second.waits("closed")
                assert "is being played in another window" in (second.session.status.trouble or "")
                assert second.events == []
            await played(first, "go to hall")
        assert not is_played(part)
        async with sitting(game(COIN, "human"), resume=part) as third:
            await third.waits("turn")
            assert third.commands() == ["go to study", "look", "go to hall"]
            await played(third, "look")
        commands = [event.body.command for event in read_sound(part).events if isinstance(event.body, Stepped)]
        assert commands == ["go to study", "look", "go to hall", "look"]

    asyncio.run(play())


def test_games_begun_in_the_same_second_have_a_record_each() -> None:
    async def play() -> None:
        async with sitting(game(COIN, "human")) as one, sitting(game(COIN, "human")) as other:
            await played(one, "look")
            await played(other, "go to study", "look")
        assert [read_sound(record).fault for record in records()] == ["", ""]
        turns = Counter(sum(isinstance(event.body, Stepped) for event in read_episode(record)) for record in records())
        assert turns == {1: 1, 2: 1}

    asyncio.run(play())


def test_a_day_has_one_record_and_the_second_window_only_watches() -> None:
    day = date.today()

    async def play() -> None:
        record = daily_record(day)
        async with sitting(daily_game(day), resume=record) as first, sitting(daily_game(day), resume=record) as second:
            await second.waits("closed")
            assert "is being played in another window" in (second.session.status.trouble or "")
            await played(first, "look")
        assert records() == [part_of(record)]

    asyncio.run(play())
    tried = first_try(day)
    assert tried is not None
    assert tried.unfinished
    assert daily_record(day) == tried.record


def test_an_unfinished_record_is_never_begun_again(tmp_path: Path) -> None:
    record = tmp_path / "a.jsonl"
    part_of(record).write_bytes(lines(long(3)[:2]))
    with pytest.raises(ConfigurationError, match="is an unfinished record"), EpisodeRecorder(record):
        pass
    assert part_of(record).read_bytes() == lines(long(3)[:2])


def torn(content: bytes) -> bytes:
    """What two windows made of a record: the last line torn by another, whose events follow."""
    whole = content.splitlines(keepends=True)
    return b"".join([*whole[:-1], whole[-1][: len(whole[-1]) // 2], whole[-1], whole[-1]])


def doubled(content: bytes) -> bytes:
    whole = content.splitlines(keepends=True)
    return b"".join([*whole[:-1], whole[-2], whole[-1]])


@pytest.mark.parametrize("damage", [torn, doubled])
def test_a_game_goes_on_from_the_last_event_that_fits_and_says_what_it_left_out(damage: Any) -> None:
    part = left_after("go to study", "look")
    content = part.read_bytes()
    part.write_bytes(damage(content))
    (record,) = recorded_games(unfinished=True)
    assert record.started is not None
    assert part.name in record.fault

    async def go_on() -> None:
        async with sitting(game(COIN, "human"), resume=part) as table:
            await table.waits("turn")
            trouble = table.session.status.trouble or ""
            assert "The game goes on from the event before it; what followed is kept in" in trouble
            await played(table, "look")

    asyncio.run(go_on())
    sound = read_sound(part)
    assert sound.fault == ""
    (aside,) = part.parent.glob("*.unfit-1")
    assert part.read_bytes().startswith(content[: len(damage(content)) - aside.stat().st_size])


def test_an_event_that_the_house_contradicts_is_left_out_too() -> None:
    part = left_after("go to study", "look")
    events = list(read_episode(part))
    last = max(number for number, event in enumerate(events) if isinstance(event.body, Stepped))
    forged = events[last].model_copy(update={"body": events[last].body.model_copy(update={"observation": "You fly."})})
    kept = b"".join(part.read_bytes().splitlines(keepends=True)[:last])
    part.write_bytes(kept + f"{forged.model_dump_json(exclude_none=True)}\n".encode())

    async def go_on() -> None:
        async with sitting(game(COIN, "human"), resume=part) as table:
            await table.waits("closed")
            assert "r goes on from the event before it" in (table.session.status.trouble or "")
        assert part.read_bytes() == kept
        async with sitting(game(COIN, "human"), resume=part) as table:
            await table.waits("turn")
            assert table.commands() == ["go to study", "look"], "the command that was recorded is answered by the house"

    asyncio.run(go_on())


async def _home(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, HomeScreen) and not pilot.app.screen.query_one(GameBrowser).busy)


@pytest.mark.heavy
def test_home_marks_a_game_that_is_played_elsewhere_and_opens_it_to_watch() -> None:
    part = left_after("go to study")

    async def watch() -> None:
        app = showing(lambda: HomeScreen(Settings(world="scripted")))
        async with app.run_test(size=(120, 40)) as pilot, sitting(game(COIN, "human"), resume=part) as table:
            await table.waits("turn")
            await _home(pilot)
            await pilot.press("c")
            await until(pilot, lambda: f"watches it, for it is {LIVE}" in running_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and app.screen.stops)
            assert "LIVE" in running_text(app)
            replay = app.screen
            assert isinstance(replay, ReplayScreen)
            assert replay.place == 1
            await played(table, "look")
            await until(pilot, lambda: replay.place == 2)
            assert "you watch it as it goes on" in running_text(app)
            await table.session.close()
            await until(pilot, lambda: "REPLAY" in running_text(app))
            assert "was interrupted" in running_text(app)

    asyncio.run(watch())
    assert [event.id for event in read_episode(part)] == list(range(len(list(read_episode(part)))))


@pytest.mark.heavy
@pytest.mark.anyio
async def test_a_record_is_followed_to_its_end_under_its_whole_name(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    said = long(3)
    app = showing(lambda: ReplayScreen(part_of(path)))
    with playing(path):
        async with app.run_test(size=(120, 40)) as pilot:
            replay = app.screen
            assert isinstance(replay, ReplayScreen)
            await until(pilot, lambda: "is being opened in another window" in running_text(app))
            with EpisodeRecorder(path) as recorder:
                for number, one in enumerate(said[:3]):
                    recorder(Event(id=number, parent=one.parent, body=one.body))
                await until(pilot, lambda: replay.place == 2)
                await pilot.press("left")
                for number, one in enumerate(said[3:], 3):
                    recorder(Event(id=number, parent=one.parent, body=one.body))
            await until(pilot, lambda: len(replay.stops) == 4)
            assert replay.place == 1, "who looks back is not moved"
            await pilot.press("end")
            await until(pilot, lambda: "Lost after 3 turns" in running_text(app))
    assert whole_of(path).exists()


def test_a_damaged_day_counts_as_not_won_and_today_is_shown(call: Run) -> None:
    day = date.today()
    call("daily", input="\n".join(won_by_expert(call, day)) + "\n")
    tried = first_try(day)
    assert tried is not None
    for before in (1, 2):
        copy_to(tried.record, day - timedelta(days=before))
    assert "3 days in a row" in call("daily").stdout
    yesterday = first_try(day - timedelta(days=1))
    assert yesterday is not None
    yesterday.record.write_bytes(b"\x00junk\n" + yesterday.record.read_bytes())
    done = call("daily")
    assert done.returncode == 0
    assert "won in" in done.stdout
    assert "in a row" not in done.stdout
    assert f"{day - timedelta(days=1):%Y-%m-%d} counts as not won: " in done.stderr
    tried.record.write_bytes(torn(tried.record.read_bytes()))
    done = call("daily")
    assert done.returncode == 0
    assert "not won, " in done.stdout
    assert f"{day:%Y-%m-%d} counts as not won: " in done.stderr


def test_a_damaged_record_is_replayed_as_far_as_it_fits(call: Run, tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(lines([*long(3)[:3], Said(0, step(2, "fly"))]) + b"junk\n" + lines(long(3)))
    done = call("replay", str(path))
    assert done.returncode == 1
    assert done.stdout.count(" > ") == 3
    assert "Shown as far as the event before it." in done.stderr
