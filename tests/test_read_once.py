"""Each answer of a world is read into a belief once: by the loop in live play, and once for each recorded answer after it.

An opening is an answer, too, so an episode of four commands has five.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from housequest.agent.episodes.drawing import scenes
from housequest.agent.episodes.events import Started, Stepped, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.setup import set_up
from housequest.tui.play.game import ChosenGame
from housequest.tui.play.screen import PlayScreen
from housequest.tui.race.screen import RaceScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds import registry
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import make_world
from tests.counted import COUNTING
from tests.tui.screen import USUAL, game, press, showing, type_in, until, waiting

pytestmark = pytest.mark.anyio
COMMANDS = ["go to countertop 1", "look", "go to fridge 1", "open fridge 1"]
PLAYED = ["", *COMMANDS]
SCRIPT = (
    "replies:\n" + "".join(f'  - "Thought: on with it.\\nAction: {one}"\n' for one in COMMANDS) + "default: 'Action: look'\n"
)
BOOK = "format: 0.2\nworld: counted\nrules:\n- id: r1\n  statement: Eggs are often in the fridge.\n  status: accepted\n"


@pytest.fixture(autouse=True)
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The commands whose answers were read so far in the installed world ``counted``."""
    site = tmp_path / "site" / "counted-1.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: counted\nVersion: 1.0\n")
    (site / "entry_points.txt").write_text("[housequest.worlds]\ncounted = tests.counted:CountedWorld\n")
    monkeypatch.syspath_prepend(str(site.parent))
    caches = registry.plugins, registry._declared  # pyright: ignore[reportPrivateUsage]
    for cached in caches:
        cached.cache_clear()
    COUNTING.read.clear()
    yield COUNTING.read
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


@pytest.fixture
def played(tmp_path: Path) -> ChosenGame:
    """A game of react with rules, whose model gives four commands."""
    (tmp_path / "script.yaml").write_text(SCRIPT)
    (tmp_path / "book.yaml").write_text(BOOK)
    given: dict[str, Any] = {"world": make_world("counted"), "rules": str(tmp_path / "book.yaml"), "max_steps": 4}
    return game("example:1", "react", model=f"scripted:{tmp_path / 'script.yaml'}", **given)


async def drawn(pilot: Pilot[Any], screen: Screen[Any]) -> None:
    """Show the house in the View, as it is believed and as it is, and wait for the drawings."""
    assert isinstance(screen, PlayScreen | ReplayScreen | RaceScreen)
    for key in ("v", "V"):
        await press(pilot, key)
        await screen.view.settle()
    assert screen.view.mode != "off"


@pytest.mark.heavy
async def test_four_commands_on_the_screen_are_four_readings(played: ChosenGame, read: list[str]) -> None:
    app = showing(lambda: PlayScreen(played, "watch"))
    async with app.run_test(size=USUAL) as pilot:
        await until(pilot, lambda: waiting(app) == "over")
        assert isinstance(app.screen, PlayScreen)
        assert [entry.command for entry in app.screen.play_state.state.moment.story] == COMMANDS
        await drawn(pilot, app.screen)
    assert read == PLAYED


@pytest.mark.heavy
async def test_a_rewind_reads_nothing_again(played: ChosenGame, read: list[str]) -> None:
    app = showing(lambda: PlayScreen(played, "watch"))
    async with app.run_test(size=USUAL) as pilot:
        await until(pilot, lambda: waiting(app) == "over")
        assert isinstance(app.screen, PlayScreen)
        app.screen.session.rewind(0)
        await until(pilot, lambda: waiting(app) != "over" and not app.screen.play_state.state.moment.story)
        assert read == PLAYED
        app.screen.session.play("inventory")
        await until(pilot, lambda: len(app.screen.play_state.state.moment.story) == 1)
    assert read == [*PLAYED, "inventory"]


@pytest.mark.heavy
async def test_a_replay_reads_a_recorded_answer_once(played: ChosenGame, read: list[str]) -> None:
    record = await recorded(played)
    read.clear()
    app = showing(lambda: ReplayScreen(record))
    async with app.run_test(size=USUAL) as pilot:
        assert isinstance(app.screen, ReplayScreen)
        await until(pilot, lambda: app.screen.stops)
        await drawn(pilot, app.screen)
        for _ in PLAYED:
            await press(pilot, "right")
            await app.screen.view.settle()
    assert read == PLAYED
    assert len(list(scenes(branch(list(read_episode(record)))))) == len(PLAYED)
    assert read == [*PLAYED, *PLAYED]


@pytest.mark.heavy
async def test_a_resumed_game_reads_a_recorded_answer_once(played: ChosenGame, read: list[str]) -> None:
    app = showing(lambda: PlayScreen(played, "step"))
    async with app.run_test(size=USUAL) as pilot:
        for turn in range(2):
            await until(pilot, lambda turn=turn: proposed(app.screen, turn))
            await press(pilot, "enter")
        await until(pilot, lambda: proposed(app.screen, 2))
        await press(pilot, "q")
        await until(pilot, lambda: not app.is_running)
    assert read == PLAYED[:3]
    read.clear()
    (part,) = state_folder().glob("episodes/*.part")
    again = showing(lambda: PlayScreen(played, "step", part))
    async with again.run_test(size=USUAL) as pilot:
        await until(pilot, lambda: proposed(again.screen, 2))
        assert read == PLAYED[:3]
        await press(pilot, "enter")
        await until(pilot, lambda: proposed(again.screen, 3))
    assert read == PLAYED[:4]


@pytest.mark.heavy
async def test_a_race_reads_the_answers_of_each_game_once(played: ChosenGame, read: list[str]) -> None:
    app = showing(lambda: RaceScreen(played))
    async with app.run_test(size=USUAL) as pilot:
        assert isinstance(app.screen, RaceScreen)
        await until(pilot, lambda: app.screen.session.status.waiting == "turn")
        for turn, command in enumerate(COMMANDS, 1):
            await type_in(pilot, command)
            await until(pilot, lambda turn=turn: all(one.state.moment.turn == turn for one in app.screen.games))
    assert sorted(read) == sorted([*PLAYED, *PLAYED])


@pytest.mark.heavy
@pytest.mark.parametrize("left", [0, 2, 4])
async def test_an_interrupted_episode_of_a_run_is_read_once(played: ChosenGame, read: list[str], left: int) -> None:
    record = list(read_episode(await recorded(played)))
    read.clear()
    setup = set_up(played.settings, played.world, played.agent)
    ends = [at for at, event in enumerate(record) if isinstance(event.body, Started | Stepped)]
    env, model = setup.open(played.task), setup.make_model()
    ended = await resume_episode(env, setup.make_agent, setup, record[: ends[left] + 1], lambda _: None, model=model)
    assert ended.steps == 4
    assert read == PLAYED


async def recorded(played: ChosenGame) -> Path:
    """The record of the game, played to its end."""
    app = showing(lambda: PlayScreen(played, "watch"))
    async with app.run_test(size=USUAL) as pilot:
        await until(pilot, lambda: waiting(app) == "over")
        await press(pilot, "q")
        await until(pilot, lambda: not app.is_running)
    return next(file for file in state_folder().glob("episodes/*.jsonl") if ".timing" not in file.name)


def proposed(screen: Screen[Any], turns: int) -> bool:
    """Whether a command is proposed after so many turns."""
    assert isinstance(screen, PlayScreen)
    return screen.session.status.waiting == "verdict" and screen.play_state.state.moment.turn == turns
