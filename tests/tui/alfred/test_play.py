"""Playing and watching by a camera: claims and map, steps by skill, and keys as in a game, against the real boxes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.agent.config import Settings
from housequest.tui.home.catalogue import load_recent
from housequest.tui.play.game import ChosenGame
from housequest.tui.play.line import CommandLine
from housequest.tui.play.screen import PlayScreen, world_keys
from housequest.tui.play.session import Session
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds.alfred.world import AlfredWorld
from housequest.worlds.base import CommandKey, Task
from housequest.worlds.household.goals import Skill
from tests.tui.screen import press, running_text, screen_text, showing, type_in, until

pytestmark = [pytest.mark.anyio, pytest.mark.heavy]

SUBGOALS = (Skill("pick", "egg", "fridge"), Skill("heat", "egg"), Skill("put", "egg", "diningtable"))
NOISY = "noisy:miss=0.2,confuse=0.3,seed=5"


class Annotated(AlfredWorld):
    """ALFRED's world, whose made-up house has an annotated plan."""

    def annotated_plan(self, task: Task) -> tuple[Skill, ...]:
        return SUBGOALS


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that shows every colour, wherever the tests run."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


def robot(*, record: bool = False, **chosen: str) -> ChosenGame:
    """The annotated plan, carried out by what is seen."""
    world = Annotated()
    settings = Settings(agent="opex", grant=("plan",), set={"planner": "oracle", **chosen})
    return ChosenGame(world, world.task("example:1"), "opex", settings, record, speed=1000.0)


def person() -> ChosenGame:
    world = AlfredWorld()
    return ChosenGame(world, world.task("example:1"), "human", Settings(agent="human"), record=False)


async def waits(pilot: Pilot[Any], screen: PlayScreen, *what: str) -> None:
    """Wait until the game waits for one of these, and the View shows it."""
    await until(pilot, lambda: screen.session.status.waiting in what)
    await until(pilot, lambda: screen.panes.view.settled)


async def played(pilot: Pilot[Any], screen: PlayScreen, key: str) -> None:
    """Press a key that sends a command, and wait for the next turn."""
    before = len(turns(screen))
    await press(pilot, key)
    await until(pilot, lambda: len(turns(screen)) > before and screen.session.status.waiting == "turn")


def turns(screen: PlayScreen) -> list[str]:
    return [entry.command or "" for entry in screen.play_state.state.moment.story]


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)])
async def test_an_agent_by_a_camera_is_watched_with_its_picture_its_claims_and_its_map(size: tuple[int, int]) -> None:
    screen = PlayScreen(robot(seeing=NOISY), "step")
    async with showing(lambda: screen).run_test(size=size) as pilot:
        await waits(pilot, screen, "verdict")
        for _ in range(3):
            await press(pilot, "enter")
            await waits(pilot, screen, "verdict")
        shown = screen_text(pilot.app)
        assert "camera and map" in shown and "▀" in shown
        assert "skill  pick up the egg" in shown and "claims  " in shown and " right" in shown
        assert any(arrow in shown for arrow in "▲▶▼◀")
        assert "≠" in shown or "−" in shown
        await press(pilot, "escape", "v")
        assert screen.panes.view.mode == "house" and load_recent().recent.view == ""
        await until(pilot, lambda: load_recent().recent.camera == "house")


async def test_without_colours_everything_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = PlayScreen(robot(seeing=NOISY), "step")
    async with showing(lambda: screen).run_test(size=(120, 40)) as pilot:
        await waits(pilot, screen, "verdict")
        await press(pilot, "enter")
        await waits(pilot, screen, "verdict")
        shown = screen_text(pilot.app)
        assert "skill  pick up the egg" in shown and "holds  nothing" in shown
        assert "claims  " in shown and "▀" not in shown
        assert "......" in shown and ". floor, # in the way, o its path" in running_text(pilot.app)


async def test_s_plays_a_skill_to_its_end_and_its_record_is_shown_as_far_as_it_can_be() -> None:
    screen = PlayScreen(robot(record=True), "step")
    path: Path | None = None
    async with showing(lambda: screen).run_test(size=(120, 40)) as pilot:
        await waits(pilot, screen, "verdict")
        await press(pilot, "s")
        await until(pilot, lambda: "PickupObject egg 1" in turns(screen) and screen.session.status.waiting == "verdict")
        assert turns(screen)[-1] == "PickupObject egg 1"
        await waits(pilot, screen, "verdict")
        assert "skill  heat the egg" in screen_text(pilot.app) and "holds  egg" in screen_text(pilot.app)
        await press(pilot, "s")
        await until(pilot, lambda: "ToggleObjectOff microwave 1" in turns(screen))
        await waits(pilot, screen, "verdict")
        path = screen.session.record
    assert path is not None
    replay = ReplayScreen(path)
    async with showing(lambda: replay).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: replay.stops)
        # The world of the record has no annotated plan for this house: it says so, and shows the picture all the same.
        await until(pilot, lambda: "view of its pictures cannot be shown" in running_text(pilot.app))
        assert "▀" in screen_text(pilot.app) and "claims  " not in screen_text(pilot.app)
        assert "next skill" not in screen_text(pilot.app)


async def test_keys_walk_and_x_acts_on_what_is_in_the_middle() -> None:
    screen = PlayScreen(person(), "you")
    async with showing(lambda: screen).run_test(size=(120, 40)) as pilot:
        await waits(pilot, screen, "turn")
        assert "⇧↑ forward" in running_text(pilot.app)
        await press(pilot, "shift+right")
        await until(pilot, lambda: turns(screen) == ["RotateRight"])
        await press(pilot, "pagedown")
        await until(pilot, lambda: turns(screen)[1:] == ["LookDown"])
        await press(pilot, "pageup")
        await until(pilot, lambda: turns(screen)[2:] == ["LookUp"])
        await waits(pilot, screen, "turn")
        # Turn until something is in reach, then do what is announced.
        view = screen.panes.view
        for _ in range(12):
            await view.settle()
            if view.reach is not None and view.reach.commands:
                break
            await played(pilot, screen, "shift+up" if len(turns(screen)) % 3 else "shift+left")
        assert view.reach is not None and view.reach.commands, turns(screen)
        announced, before = view.reach.commands[0], len(turns(screen))
        assert f"x  {announced}" in screen_text(pilot.app)
        await press(pilot, "x")
        await until(pilot, lambda: len(turns(screen)) > before)
        assert turns(screen)[-1] == announced


async def test_letters_are_typed_and_play_nothing() -> None:
    screen = PlayScreen(person(), "you")
    async with showing(lambda: screen).run_test(size=(120, 40)) as pilot:
        await waits(pilot, screen, "turn")
        await type_in(pilot, "look around")
        await until(pilot, lambda: "There are: LookDown, LookUp, MoveAhead" in running_text(pilot.app))
        assert turns(screen) == []
        screen.query_one(CommandLine).prefill("")
        await type_in(pilot, "look down")
        await until(pilot, lambda: "→ LookDown" in screen_text(pilot.app))
        await press(pilot, "enter")
        await until(pilot, lambda: turns(screen) == ["LookDown"])


async def test_x_says_why_it_does_nothing() -> None:
    screen = PlayScreen(person(), "you")
    async with showing(lambda: screen).run_test(size=(120, 40), notifications=True) as pilot:
        await waits(pilot, screen, "turn")
        reach = screen.panes.view.reach
        assert reach is not None
        await press(pilot, "escape")
        if not reach.commands:
            await press(pilot, "x")
            await until(pilot, lambda: reach.why in running_text(pilot.app))
        while screen.panes.view.mode != "off":
            await press(pilot, "v")
        await press(pilot, "x")
        await until(pilot, lambda: "The View is off: v shows what is in" in running_text(pilot.app))
        assert turns(screen) == []


async def test_a_key_takes_over_from_the_agent_and_t_hands_back() -> None:
    screen = PlayScreen(robot(), "step")
    async with showing(lambda: screen).run_test(size=(120, 40)) as pilot:
        await waits(pilot, screen, "verdict")
        await press(pilot, "shift+left")
        await until(pilot, lambda: turns(screen) == ["RotateLeft"])
        await waits(pilot, screen, "turn")
        assert screen.session.status.mode == "you"
        await press(pilot, "t")
        await waits(pilot, screen, "verdict")
        assert "skill  pick up the egg" in screen_text(pilot.app)
        await press(pilot, "left", "left", "b")
        await until(pilot, lambda: screen.play_state.state.moment.turn == 0)


def test_a_worlds_keys_leave_the_screen_its_own() -> None:
    keys = (CommandKey("shift+down", "MoveBack", "Back"), CommandKey("q", "QuickSave", "Save"))
    assert [(key.key, key.action) for key in world_keys(keys)] == [("shift+down", "command('MoveBack')")]
    assert len(world_keys(AlfredWorld.info.keys)) == len(AlfredWorld.info.keys)


def test_a_session_without_glimpses_plays_no_skills() -> None:
    session = Session(person(), lambda _: None)
    session.play_skill()
    assert session.status.mode == "you"
