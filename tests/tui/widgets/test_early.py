"""What is typed too early is no row of commands, and what would be lost is left only when that is asked for twice.

The keys of a text have times of their own, so that it does not matter how long anything takes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from textual.command import CommandPalette
from textual.events import Key
from textual.pilot import Pilot

from housequest.agent.config import Settings
from housequest.knowledge.rulebook import library, save
from housequest.knowledge.rules import Rule
from housequest.tui.app import HousequestApp
from housequest.tui.base_screen import AppScreen
from housequest.tui.desk.rule_dialog import RuleDialog
from housequest.tui.desk.screen import BooksScreen, DeskScreen
from housequest.tui.desk.state import list_books
from housequest.tui.home.screen import HomeScreen
from housequest.tui.play.line import CommandLine
from housequest.tui.play.screen import PlayScreen
from housequest.tui.race.screen import RaceScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.widgets.keybar import PAUSE
from housequest.worlds.base import Env, Task, World
from housequest.worlds.registry import make_world
from tests.tui.recorded import rewound, write
from tests.tui.screen import (
    COIN,
    game,
    notices,
    notices_so_far,
    press,
    running_text,
    screen_text,
    showing,
    until,
    waiting,
    write_in,
)
from tests.waiting import Gate

pytestmark = pytest.mark.anyio

T = TypeVar("T")

SENTENCE = "quickly, m/ave a look in the fridge? trap\n"
"""Has nearly every letter that is a key somewhere, and a line's end."""
_NAMES = {" ": "space", "?": "question_mark", "/": "slash", ",": "comma", "\n": "enter", ":": "colon"}


class Typist:
    """Presses keys one after the other, each ``apart`` seconds after the one before."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self._pilot = pilot
        self.now = Key("x", "x").time

    async def type(self, text: str, apart: float = 0.2) -> None:
        for letter in text:
            self.now += apart
            key = Key(_NAMES.get(letter, letter), letter)
            key.time = self.now
            self._pilot.app.post_message(key)
        await self._pilot.pause()

    async def after_a_pause(self, letter: str) -> None:
        self.now = max(self.now, Key("x", "x").time)
        await self.type(letter, PAUSE + 0.1)


@World.register
class Closed:
    """A world that opens no task before the gate is opened."""

    def __init__(self, world: World, gate: Gate) -> None:
        self._world, self.info = world, replace(world.info, inline=False)
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def open(self, task: Task) -> Env:
        self._gate.wait()
        return self._world.open(task)


@contextmanager
def closed() -> Generator[tuple[Any, Gate]]:
    """The scripted world, and what opens it, at the latest when the block is left."""
    gate = Gate()
    try:
        yield Closed(make_world("scripted"), gate), gate
    finally:
        gate.open()


class ClosedHome(HomeScreen):
    """A home that loads nothing, and so lists no game, before the gate is opened."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(Settings())
        self._gate = gate

    async def in_thread(self, work: Callable[[], T]) -> T:
        def once_open() -> T:
            self._gate.wait()
            return work()

        return await super().in_thread(once_open)


@contextmanager
def closed_home() -> Generator[tuple[HousequestApp, Gate]]:
    """The app with a home that lists no games yet, and what lets it, at the latest when the block is left."""
    gate = Gate()
    try:
        yield showing(lambda: ClosedHome(gate)), gate
    finally:
        gate.open()


@asynccontextmanager
async def proposing() -> AsyncGenerator[tuple[HousequestApp, Pilot[None], Typist]]:
    """A game in which a command is proposed, and somebody who types from then on."""
    app = showing(lambda: PlayScreen(game(COIN), "step"))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        assert isinstance(app.screen, AppScreen)
        typist = Typist(pilot)
        typist.now = app.screen.ready_since
        yield app, pilot, typist


def mode(app: HousequestApp) -> str:
    screen = app.screen
    assert isinstance(screen, PlayScreen)
    return screen.play_state.status.mode


@pytest.mark.heavy
async def test_a_sentence_typed_while_a_game_is_opened_does_nothing_then_nor_afterwards() -> None:
    with closed() as (world, gate):
        app = showing(lambda: PlayScreen(game(COIN, world=world), "step"))
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            typist = Typist(pilot)
            await typist.type(SENTENCE)
            await until(pilot, lambda: "What you type now is dropped" in notices_so_far(app))
            gate.open()
            await until(pilot, lambda: waiting(app) == "verdict")
            await typist.type(SENTENCE)
            assert (waiting(app), mode(app)) == ("verdict", "step"), "neither accepted, edited nor taken over"
            await until(pilot, lambda: "After a pause of a second, keys count" in notices_so_far(app))
            await typist.after_a_pause("t")
            await until(pilot, lambda: waiting(app) == "turn")


@pytest.mark.heavy
async def test_a_key_that_was_pressed_before_is_dropped_however_late_it_comes() -> None:
    async with proposing() as (app, _, typist):
        typist.now -= 0.3
        await typist.type("t")
        assert mode(app) == "step"
        await typist.after_a_pause("t")
        assert mode(app) == "you"


async def test_the_first_key_after_a_game_was_opened_is_heard_at_once() -> None:
    async with proposing() as (app, _, typist):
        await typist.type("t", apart=0.0)
        assert mode(app) == "you"


@pytest.mark.heavy
async def test_a_text_that_comes_in_one_piece_with_the_key_of_its_line_is_all_in_the_line() -> None:
    async with proposing() as (app, pilot, typist):
        await typist.type(":trap, quickly", apart=0.0)
        await until(pilot, lambda: app.screen.query_one(CommandLine).value == "trap, quickly")
        assert (waiting(app), mode(app)) == ("verdict", "step")


@pytest.mark.heavy
async def test_a_hint_to_an_agent_that_hears_none_is_no_row_of_commands() -> None:
    async with proposing() as (app, pilot, typist):
        await typist.type("?take a trap")
        assert (waiting(app), mode(app)) == ("verdict", "step")
        await until(
            pilot, lambda: "hears no hints" in notices_so_far(app) and "What you type now is dropped" in notices_so_far(app)
        )
        await typist.after_a_pause("t")
        assert mode(app) == "you"


@pytest.mark.heavy
async def test_a_sentence_typed_at_home_before_games_are_listed_and_from_the_start_of_a_game_on() -> None:
    with closed_home() as (app, gate):
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            typist = Typist(pilot)
            await typist.type(SENTENCE)
            await until(pilot, lambda: "The games are being listed. What you type now is dropped." in notices_so_far(app))
            gate.open()
            await until(pilot, lambda: "reasoner-actor plays generated:690 and you watch" in running_text(app))
            await typist.type(SENTENCE)
            await typist.after_a_pause("s")
            await until(pilot, lambda: "and you decide on each command" in running_text(app))
            await typist.type(f"\n{SENTENCE}")
            await until(pilot, lambda: waiting(app) == "verdict")
            await typist.type(SENTENCE)
            assert (waiting(app), mode(app)) == ("verdict", "step")
            await typist.after_a_pause("q")
            await until(pilot, lambda: isinstance(app.screen, HomeScreen))
            assert "and you decide on each command" in running_text(app), "neither the agent nor the mode was changed"
            await typist.after_a_pause("y")
            await until(pilot, lambda: "you play" in running_text(app))


@pytest.mark.heavy
async def test_enter_before_games_are_listed_starts_the_first_and_what_is_typed_then_does_nothing() -> None:
    with closed_home() as (app, gate):
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            typist = Typist(pilot)
            await typist.type("\n")
            await until(pilot, lambda: "The game starts once it is listed." in notices_so_far(app))
            await typist.type(SENTENCE)
            await until(
                pilot, lambda: "The game starts once it is listed. What you type now is dropped." in notices_so_far(app)
            )
            gate.open()
            await until(pilot, lambda: isinstance(app.screen, PlayScreen))
            assert mode(app) == "watch"
            assert "The game starts once it is listed." not in notices(app)


@pytest.mark.heavy
async def test_enter_that_was_pressed_before_games_were_listed_starts_one_however_late_it_comes() -> None:
    app = showing(lambda: HomeScreen(Settings()))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "reasoner-actor plays generated:690 and you watch" in running_text(app))
        assert isinstance(app.screen, AppScreen)
        typist = Typist(pilot)
        typist.now = app.screen.ready_since - 0.3
        await typist.type(f"\n{SENTENCE}", apart=0.0)
        await until(pilot, lambda: isinstance(app.screen, PlayScreen))
        assert mode(app) == "watch"


@pytest.mark.heavy
async def test_before_games_are_listed_the_palette_is_there_and_q_twice_leaves() -> None:
    with closed_home() as (app, _):
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            await until(pilot, lambda: isinstance(app.screen, HomeScreen))
            await press(pilot, "ctrl+p")
            await until(pilot, lambda: isinstance(app.screen, CommandPalette))
            await press(pilot, "escape")
            await until(pilot, lambda: isinstance(app.screen, HomeScreen))
            typist = Typist(pilot)
            await typist.type("q")
            await until(pilot, lambda: "The games are being listed. The same key once more leaves." in notices_so_far(app))
            await typist.type("q")
            await until(pilot, lambda: not app.is_running)


async def test_who_plays_may_type_while_the_world_is_opened() -> None:
    with closed() as (world, gate):
        app = showing(lambda: PlayScreen(game(COIN, "human", world=world), "you"))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(
                pilot, lambda: isinstance(app.screen, PlayScreen) and app.screen.query_one(CommandLine).has_focus_within
            )
            typist = Typist(pilot)
            await typist.type("go quick\n")
            gate.open()
            await until(pilot, lambda: waiting(app) == "turn")
            assert isinstance(app.screen, AppScreen)
            typist.now = app.screen.ready_since - 0.3
            await typist.type("ly")
            assert app.screen.query_one(CommandLine).value == "go quickly"


@pytest.mark.heavy
async def test_while_a_game_is_opened_it_can_be_left_by_the_same_key_twice() -> None:
    with closed() as (world, _):
        app = showing(lambda: PlayScreen(game(COIN, world=world), "watch"), lambda: HomeScreen(Settings()))
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            await until(pilot, lambda: isinstance(app.screen, PlayScreen))
            typist = Typist(pilot)
            for asked in (1, 2):
                await typist.after_a_pause("q")
                await until(pilot, lambda asked=asked: notices_so_far(app).count("The same key once more leaves") == asked)
                await press(pilot, "left")
                assert "once more leaves" not in notices(app), "another key takes the question back"
            await typist.type("uqq")
            assert "once more leaves" not in notices(app), "within a text, q is a letter"
            await typist.after_a_pause("q")
            assert isinstance(app.screen, PlayScreen)
            await typist.type("q")
            await until(pilot, lambda: isinstance(app.screen, HomeScreen))


@pytest.mark.heavy
async def test_while_a_game_is_opened_the_palette_and_the_panes_are_there() -> None:
    with closed() as (world, _):
        app = showing(lambda: PlayScreen(game(COIN, world=world), "watch"))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: isinstance(app.screen, PlayScreen))
            typist = Typist(pilot)
            await typist.after_a_pause("2")
            assert "[2 House]" in screen_text(app)
            await typist.type("/1")
            assert "[2 House]" in screen_text(app), "typed on without a pause"
            assert isinstance(app.screen, PlayScreen)
            for key in ("ctrl+p", "slash"):
                await typist.after_a_pause("z")
                typist.now += PAUSE
                press_it = Key(key, "/" if key == "slash" else None)
                press_it.time = typist.now
                app.post_message(press_it)
                await until(pilot, lambda: isinstance(app.screen, CommandPalette))
                await write_in(pilot, "leave")
                await until(pilot, lambda: "Leave the game" in screen_text(app))
                await press(pilot, "escape")
                await until(pilot, lambda: isinstance(app.screen, PlayScreen))


async def test_a_race_takes_no_letters_outside_the_line_while_it_is_opened() -> None:
    with closed() as (world, gate):
        app = showing(lambda: RaceScreen(game(COIN, world=world)))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: isinstance(app.screen, RaceScreen))
            await press(pilot, "escape")
            typist = Typist(pilot)
            await typist.type("ql")
            gate.open()
            await until(pilot, lambda: "turn 1" in screen_text(app) and "let the expert run" in screen_text(app))
            await typist.type("lqgp")
            assert isinstance(app.screen, RaceScreen)
            assert "let the expert run" in screen_text(app)


@pytest.mark.heavy
async def test_a_replay_is_not_left_by_what_is_typed_while_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "e.jsonl", rewound())
    app = showing(lambda: HomeScreen(Settings()))
    async with app.run_test(size=(100, 30)) as pilot:
        replay = ReplayScreen(path)
        app.push_screen(replay)
        typist = Typist(pilot)
        await typist.type(SENTENCE)
        await until(pilot, lambda: replay.stops)
        await typist.type(SENTENCE)
        assert (app.screen, replay.place, replay.playing) == (replay, 0, False)
        await typist.after_a_pause("n")
        assert replay.place > 0


@pytest.mark.heavy
async def test_no_rule_is_judged_by_what_is_typed_while_its_book_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save(library().writable("mine").put([Rule("walk", "You can walk.", status="candidate")]))
    app = showing(lambda: BooksScreen(lambda: [book for book in list_books() if not book.shipped]))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "mine" in screen_text(app))
        typist = Typist(pilot)
        await typist.type(f"\n{SENTENCE}")
        await until(pilot, lambda: isinstance(app.screen, DeskScreen) and "You can walk." in screen_text(app))
        await typist.type("axe\n")
        desk = app.screen
        assert isinstance(desk, DeskScreen)
        assert [rule.status for rule in desk.desk.book.rules] == ["candidate"]
        await typist.after_a_pause("a")
        await until(pilot, lambda: [rule.status for rule in desk.desk.book.rules] == ["accepted"])


@pytest.mark.heavy
async def test_ctrl_q_asks_where_a_game_goes_on_or_a_line_is_not_sent() -> None:
    app = showing(lambda: PlayScreen(game(COIN), "step"))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        await press(pilot, "ctrl+q")
        await until(pilot, lambda: "The game is not over. The same key once more leaves housequest." in notices_so_far(app))
        await press(pilot, "colon", "g", "ctrl+q")
        await until(pilot, lambda: "What you typed is not sent yet." in notices_so_far(app))
        await press(pilot, "o", "ctrl+q")
        assert app.is_running
        await press(pilot, "ctrl+q")
        await until(pilot, lambda: not app.is_running)


@pytest.mark.heavy
async def test_ctrl_q_asks_where_a_rule_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = showing(lambda: DeskScreen(library().writable("mine"), tmp_path))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await press(pilot, "n")
        await until(pilot, lambda: isinstance(app.screen, RuleDialog))
        await write_in(pilot, "One walks.")
        await press(pilot, "ctrl+q")
        await until(pilot, lambda: "This rule is not saved." in notices_so_far(app))
        await press(pilot, "ctrl+q")
        await until(pilot, lambda: not app.is_running)
    assert app.return_code == 0


@pytest.mark.heavy
async def test_ctrl_q_leaves_at_once_where_nothing_is_lost() -> None:
    app = showing(lambda: PlayScreen(game(COIN), "watch"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "over")
        await press(pilot, "ctrl+q")
        await until(pilot, lambda: not app.is_running)
