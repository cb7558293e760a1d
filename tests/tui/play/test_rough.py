"""What a screen bears: windows of any size, keys that are held down, pasted books, goals without end, poor terminals."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.events import Key, Paste
from textual.screen import Screen

from housequest.agent.config import Settings
from housequest.tui.home.screen import HomeScreen
from housequest.tui.play.line import LONGEST, CommandLine
from housequest.tui.play.screen import PlayScreen
from housequest.tui.race.screen import RaceScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.runs.screen import RunsScreen
from housequest.worlds.paths import state_folder
from tests.backends.server import serve
from tests.tui.recorded import play, rewound, write
from tests.tui.screen import COIN, game, press, screen_text, showing, until, waiting

pytestmark = [pytest.mark.anyio, pytest.mark.heavy]

SIZES = ((200, 60), (120, 40), (40, 12), (20, 5), (3, 2), (80, 24))
KEYS = (
    *"abcdefghlmnopqrstuwyRNP123 +-:?/=",
    *("escape", "enter", "left", "right", "up", "down", "tab", "home", "end", "pageup", "pagedown", "backspace"),
)

Make = Callable[[], Screen[None]]


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record and two runs."""
    folder = tmp_path_factory.mktemp("disk")
    write(folder / "episode.jsonl", rewound())
    for name in ("one", "two"):
        play(folder / "runs" / name, limit=3, split="demo")
    return folder


@pytest.fixture(params=["home", "watch", "step", "you", "race", "replay", "runs"])
def make(request: pytest.FixtureRequest, disk: Path) -> Make:
    screens: dict[str, Make] = {
        "home": lambda: HomeScreen(Settings()),
        "watch": lambda: PlayScreen(game(), "watch"),
        "step": lambda: PlayScreen(game(), "step"),
        "you": lambda: PlayScreen(game(COIN, "human"), "you"),
        "race": lambda: RaceScreen(game(COIN)),
        "replay": lambda: ReplayScreen(disk / "episode.jsonl"),
        "runs": lambda: RunsScreen(disk / "runs"),
    }
    return screens[request.param]


async def test_a_window_of_any_size(make: Make) -> None:
    app = showing(make)
    async with app.run_test(size=(20, 5)) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            shown = screen_text(app).splitlines()
            assert len(shown) <= size[1]
            assert max((len(line) for line in shown), default=0) <= size[0]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
async def test_keys_without_sense(make: Make, seed: int) -> None:
    """Held down, and quicker than anything can follow."""
    chance = random.Random(seed)
    app = showing(make, lambda: HomeScreen(Settings()))
    async with app.run_test(size=chance.choice(SIZES)) as pilot:
        for _ in range(15):
            if app._exit:
                break
            key = chance.choice(KEYS)
            for _ in range(chance.choice((1, 1, 12))):
                app.post_message(Key(key, key if len(key) == 1 else None))
            if chance.random() < 0.2:
                await pilot.resize_terminal(*chance.choice(SIZES))
            await pilot.pause()
    assert app.return_code in {None, 0}, "left by a key, or still there"


@pytest.mark.parametrize("seconds", [0.0, 0.02])
async def test_a_screen_is_left_while_it_still_reads(make: Make, seconds: float) -> None:
    app = showing(make)
    async with app.run_test(size=(80, 24)):
        await asyncio.sleep(seconds)
        app.exit()
    assert app.return_code == 0


async def test_a_pasted_book_is_cut_to_a_line() -> None:
    app = showing(lambda: PlayScreen(game(COIN, "human"), "you"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "turn")
        app.post_message(Paste("go [red]\x1b[2J \u202e 鸡\n" * 1_000))
        await until(pilot, lambda: app.screen.query_one(CommandLine).value)
        value = app.screen.query_one(CommandLine).value
        assert len(value) <= LONGEST
        assert "\x1b" not in value
        await press(pilot, "enter")
        await until(pilot, lambda: waiting(app) == "turn")
        assert "[red]" in screen_text(app)


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 60)])
async def test_a_goal_without_end_leaves_room_for_the_game(size: tuple[int, int]) -> None:
    plain = game(COIN)
    endless = replace(plain, task=replace(plain.task, goal="bring [b]the[/b] coin \u202e\x1b[2J " * 100))
    app = showing(lambda: PlayScreen(endless, "step"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        shown = screen_text(app)
        assert "accept" in shown
        assert "\x1b" not in shown


@pytest.mark.parametrize("size", [pytest.param((80, 24), marks=pytest.mark.slow), (20, 5)])
async def test_hostile_thoughts_and_commands(size: tuple[int, int]) -> None:
    said = "[/] [bold \x1b]0;x\x07\u202e\u2066 שלום \x00\ud7ff e\u0301\u0301\u0301 👩‍👩‍👧 " * 20
    with serve(lambda messages: f"Thought: {said}\nAction: {said}") as odd:
        app = showing(lambda: PlayScreen(game(agent="react", model=odd.model()), "step"))
        async with app.run_test(size=size) as pilot:
            for turn in range(2):
                await until(
                    pilot, lambda turn=turn: waiting(app) in {"verdict", "failed", "paused"} and len(odd.requests) > turn
                )
                await press(pilot, "f", "enter", "space", "1", "2", "3")
            assert not set(screen_text(app)) & set("\x1b\x07\x00\u202e\u2066")


async def test_without_colours_everything_is_still_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = showing(lambda: PlayScreen(game(), "step"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        await press(pilot, "enter")
        await until(pilot, lambda: waiting(app) == "verdict")
        shown = screen_text(app)
        assert all(word in shown for word in ("proposed", "▸ expert", "*diningtable 1", "+ ", "STEP"))


async def test_a_record_that_is_taken_away_does_not_end_the_app() -> None:
    app = showing(lambda: PlayScreen(game(COIN), "watch"), lambda: HomeScreen(Settings()))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "over")
        shutil.rmtree(state_folder())
        await press(pilot, "q")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
