"""The View: what it draws, what it must not know, and its keys on the screens of play, race and replay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.style import Style
from textual.pilot import Pilot
from textual.screen import Screen

from housequest.tui.episode.state import ViewState
from housequest.tui.episode.view import MODES, ViewPane
from housequest.tui.episode.view_drawing import Drawn, LabelKind, ViewArtist, ViewWish
from housequest.tui.home.catalogue import RecentChoices, load_recent, save_recent
from housequest.tui.play.live_screen import SAVING, ViewScreen
from housequest.tui.play.screen import PlayScreen
from housequest.tui.race.screen import RaceScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.base import Env, Task, World
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.room import Room
from housequest.worlds.rooms.view import Drawing
from tests.agent.episodes.acting import acted, recorded
from tests.tui.episode.pane import after
from tests.tui.screen import COIN, game, press, running_text, screen_text, showing, until
from tests.worlds.rooms.houses import HOUSES, hidden_elsewhere, hidden_things, made, problem

pytestmark = pytest.mark.anyio

EGG = ("go to fridge 1", "open fridge 1", "take egg 2 from fridge 1")
ROOM = (40, 14)


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that shows every colour, wherever the tests run."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


class House(World):
    """A world of one house, with the problem ``text``."""

    name = "alfworld"
    household = HOUSEHOLD

    def __init__(self, text: str) -> None:
        self._game, self._room = made(text)

    def splits(self) -> Sequence[str]:
        return ("one",)

    def tasks(self, split: str) -> Sequence[Task]:
        return (Task("one", self.name, split, 1, "", self._game.sentence),)

    def open(self, task: Task) -> Env:
        return NativeEnv(task, self._game)

    def room(self, task: Task) -> Room:
        del task
        return self._room

    def situation(self, env: Env, room: Room) -> None:
        del env, room


def wish(state: ViewState, drawing: Drawing | None, *, true: bool = False, size: tuple[int, int] = ROOM) -> ViewWish:
    styles: dict[LabelKind, Style] = dict.fromkeys(get_args(LabelKind), Style())
    return ViewWish(drawing, state.moment, true, size, "truecolor", styles, (20, 22, 27))


def words(drawn: Drawn) -> str:
    return "\n".join(line.plain for line in drawn.text)


async def settled(pilot: Pilot[Any]) -> ViewPane:
    """The View of the screen, once it shows what it is to show."""
    screen = pilot.app.screen
    assert isinstance(screen, ViewScreen)
    await until(pilot, lambda: screen.view.settled)
    return screen.view


async def opened(pilot: Pilot[Any]) -> ViewPane:
    await until(pilot, lambda: isinstance(pilot.app.screen, ReplayScreen) and pilot.app.screen.stops)
    return await settled(pilot)


def title(pane: ViewPane) -> str:
    return f"{pane.border_title} | {pane.border_subtitle}"


# What is drawn.


def test_every_drawing_of_every_size_fills_its_cells_and_writes_names() -> None:
    world = make_world("alfworld")
    task = world.task("generated:690")
    artist, state = ViewArtist((world, task)), after(*(event.body for event in acted(world, task, EGG)))
    for drawing in get_args(Drawing):
        for size in ((12, 5), ROOM, (100, 40)):
            drawn = artist.draw(wish(state, drawing, size=size))
            assert [strip.cell_length for strip in drawn.picture] == [size[0]] * size[1] and not drawn.text
        assert "egg" in "".join(strip.text for strip in drawn.picture) or drawing == "eyes"
    for size in ((12, 5), ROOM, (100, 40)):
        drawn = artist.draw(wish(state, None, size=size))
        assert max(line.cell_length for line in drawn.text) <= size[0]
        assert "holding egg 2" in " ".join(words(drawn).split()) and not drawn.picture
    assert "room" in words(artist.draw(wish(state, "house", size=(11, 4))))


@pytest.mark.heavy
@settings(max_examples=6)
@given(st.data())
def test_nothing_that_a_belief_does_not_know_changes_a_cell(data: st.DataObject) -> None:
    """A thing in one closed receptacle, or in another: until somebody looks there, the pane shows the same."""
    text = problem(data.draw(st.sampled_from(HOUSES))).lower()
    thing, holder = data.draw(st.sampled_from(list(hidden_things(text))))
    targets = sorted(set(re.findall(r"\(openable (\S+)\)", text)) - {holder})
    point = data.draw(st.tuples(*[st.integers(-300, 300)] * 3))
    changed = hidden_elsewhere(text, thing, holder, data.draw(st.sampled_from(targets)), point)
    shown: list[list[object]] = []
    for version in (text, changed):
        world = House(version)
        (task,) = world.tasks("one")
        names = re.findall(r"a (\w+ \d+)", world.open(task).reset().observation.text)[:4]
        state = after(*(event.body for event in acted(world, task, [f"go to {name}" for name in names])))
        artist = ViewArtist((world, task))
        pictures = [artist.draw(wish(state, drawing)).picture for drawing in get_args(Drawing)]
        shown.append([[[*strip] for strip in picture] for picture in pictures])
        shown[-1].append(words(artist.draw(wish(state, None, size=(70, 30)))))
    assert shown[0] == shown[1]


def test_the_true_state_shows_what_is_hidden_and_says_so() -> None:
    world = make_world("alfworld")
    task = world.task("generated:690")
    artist, state = ViewArtist((world, task)), after(*(event.body for event in acted(world, task, ())))
    believed = artist.draw(wish(state, None, size=(90, 40)))
    true = artist.draw(wish(state, None, true=True, size=(90, 40)))
    assert not believed.true and "apple 1" not in words(believed) and "egg 2" not in words(believed)
    # The doll's house names what is in something closed, too.
    assert true.true and "apple 1" in words(true) and "egg 2" in words(true)


def test_a_world_without_a_room_says_why_and_a_made_up_plan_says_that_it_is_one() -> None:
    artist = ViewArtist()
    assert "once it is open" in words(artist.draw(wish(ViewState(), "house")))
    scripted = make_world("scripted")
    state = after(*(event.body for event in acted(scripted, scripted.task(COIN), ())))
    assert "is not a household" in words(artist.draw(wish(state, "house"))).replace("\n", " ")
    world = make_world("alfworld")
    task = world.task("example:1")
    state = after(*(event.body for event in acted(world, task, ())))
    drawn = artist.draw(wish(state, "house"))
    assert drawn.picture and drawn.remarks == ()
    elsewhere = after(*(event.body for event in acted(world, task, (), task="valid_seen/gone", split="valid_seen")))
    drawn = artist.draw(wish(elsewhere, "house", true=True))
    assert drawn.picture and not drawn.true
    assert drawn.remarks[0] == "made-up plan" and "is not among those that are here" in drawn.remarks[1]


class Faulty(House):
    """A world of another package whose rooms cannot be made."""

    def room(self, task: Task) -> Room:
        raise KeyError(task.id)


def test_a_fault_in_a_world_is_told_in_the_pane_and_ends_no_game() -> None:
    world = Faulty(problem("kitchen"))
    (task,) = world.tasks("one")
    drawn = ViewArtist((world, task)).draw(wish(after(*(one.body for one in acted(world, task, ()))), "house"))
    assert not drawn.picture and "a fault in the code: KeyError at test_view.py" in words(drawn).replace("\n", " ")


# The keys, on the screens.


@pytest.mark.heavy
async def test_v_goes_round_the_drawings_and_the_last_one_is_kept_from_game_to_game(tmp_path: Path) -> None:
    path = recorded(tmp_path / "e.jsonl", "generated:690", EGG)
    async with showing(lambda: ReplayScreen(path)).run_test(size=(120, 40), notifications=True) as pilot:
        pane = await opened(pilot)
        assert pane.mode == "house", "wherever there is room, nobody need ask for it"
        said = [title(pane)]
        for _ in MODES[1:]:
            await press(pilot, "v")
            said.append(title(await settled(pilot)) if pane.display else "off")
        house, eyes, plan, text, off = said
        assert off == "off"
        assert house.startswith("View · doll's house · made-up plan | v the agent's eyes")
        assert eyes.startswith("View · the agent's eyes · made-up plan | v plan")
        assert plan.startswith("View · plan · made-up plan | v plan in text")
        assert text.startswith("View · plan in text · made-up plan | v off")
        await press(pilot, "v", "v")
        await until(pilot, lambda: load_recent().recent.view == "eyes")
    app = showing(lambda: PlayScreen(game(agent="human"), "you"))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: "your turn" in screen_text(app))
        pane = await settled(pilot)
        assert pane.mode == "eyes" and "▀" in screen_text(app)
        # Who plays is told why the true state is hidden.
        await press(pilot, "escape", "V")
        await until(pilot, lambda: "It would show you what is hidden: it is shown" in running_text(app))
        assert "V " not in title(pane)


@pytest.mark.parametrize("columns", [120, 140, 160, 200])
async def test_view_story_house_and_mind_have_room_at_once(columns: int) -> None:
    screen = PlayScreen(game("generated:35"), "step")
    async with showing(lambda: screen).run_test(size=(columns, 40)) as pilot:
        await until(pilot, lambda: screen.play_state.status.waiting == "verdict")
        screen.show_view("house")
        await settled(pilot)
        panes = screen.panes
        widths = [one.region.width for one in (panes.view, panes.story, panes.house, panes.mind)]
        assert min(widths) >= 40, widths
        assert panes.story.region.height >= 24 and panes.mind.region.height >= 10
        assert "Odds" in screen_text(pilot.app)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("width", "races", "drawn"), [(99, False, False), (100, False, True), (119, True, False), (120, True, True)]
)
async def test_the_house_is_drawn_from_the_beginning_where_there_is_room(width: int, races: bool, drawn: bool) -> None:
    app = showing(lambda: RaceScreen(game()) if races else PlayScreen(game(agent="human"), "you"))
    async with app.run_test(size=(width, 30)) as pilot:
        pane = await settled(pilot)
        assert pane.display == drawn and pane.mode == ("house" if drawn else "off")
        await pilot.resize_terminal(200 if not drawn else 80, 30)
        await until(pilot, lambda: pane.display != drawn)
        assert load_recent().recent.view == "", "it is no choice of anybody's"


@pytest.mark.heavy
async def test_who_switched_the_view_off_sees_none_in_the_next_game() -> None:
    app = showing(lambda: PlayScreen(game(agent="human"), "you"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "your turn" in screen_text(app))
        await press(pilot, "escape", *"vvvv")
        assert (await settled(pilot)).mode == "off"
        await until(pilot, lambda: load_recent().recent.view == "off")
        await pilot.resize_terminal(200, 60)
        assert (await settled(pilot)).mode == "off"
    app = showing(lambda: PlayScreen(game(agent="human"), "you"))
    async with app.run_test(size=(120, 40)) as pilot:
        assert (await settled(pilot)).mode == "off"


async def test_a_drawing_that_was_chosen_is_kept_when_the_screen_is_left_at_once(tmp_path: Path) -> None:
    path = recorded(tmp_path / "e.jsonl", "example:1", EGG)
    app = showing(lambda: ReplayScreen(path), Screen)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        with SAVING:
            await press(pilot, "v", "v", "q")
            await until(pilot, lambda: not isinstance(app.screen, ReplayScreen))
        await until(pilot, lambda: load_recent().recent.view == "eyes")
    assert app.return_code is None


@pytest.mark.heavy
async def test_a_watcher_sees_the_true_state_and_whoever_takes_over_does_not() -> None:
    save_recent(RecentChoices(view="house"))
    app = showing(lambda: PlayScreen(replace(game(), speed=0.01), "watch"))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: "1  go to" in screen_text(app))
        pane = await settled(pilot)
        await press(pilot, "V")
        assert "true state" in title(await settled(pilot)) and "V belief" in title(pane)
        await press(pilot, "t")
        assert "true state" not in title(await settled(pilot))
        await press(pilot, "escape", "V")
        await until(pilot, lambda: "hidden" in running_text(app))


async def test_a_narrow_title_says_first_what_is_not_so_as_it_looks(tmp_path: Path) -> None:
    save_recent(RecentChoices(view="eyes"))
    path = recorded(tmp_path / "e.jsonl", "generated:690", EGG)
    async with showing(lambda: ReplayScreen(path)).run_test(size=(80, 24)) as pilot:
        pane = await opened(pilot)
        assert "the agent's eyes · made-up plan ─" in screen_text(pilot.app) and "View ·" not in title(pane)
        await press(pilot, "V")
        await settled(pilot)
        assert " true state  · made-up plan ─" in screen_text(pilot.app)
        assert "v plan  V belief ─" in screen_text(pilot.app)
        await press(pilot, "4")
        await settled(pilot)
        assert "View · the agent's eyes ·  true state  · made-up plan ─" in screen_text(pilot.app)


@pytest.mark.heavy
async def test_a_terminal_without_colours_gets_the_plan_in_characters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    save_recent(RecentChoices(view="house"))
    path = recorded(tmp_path / "e.jsonl", "example:1", ("go to fridge 1",))
    async with showing(lambda: ReplayScreen(path)).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await press(pilot, "end")
        pane = await settled(pilot)
        assert pane.mode == "text" and "at fridge 1, holding nothing" in screen_text(pilot.app)
        assert "#######" in screen_text(pilot.app) and "▀" not in screen_text(pilot.app)
        await press(pilot, "v")
        assert pane.mode == "off"


@pytest.mark.heavy
async def test_a_race_shows_your_house_or_that_of_the_story_with_the_focus() -> None:
    save_recent(RecentChoices(view="text"))
    app = showing(lambda: RaceScreen(game()))
    async with app.run_test(size=(200, 60), notifications=True) as pilot:
        await until(pilot, lambda: "turn 0 · waiting" in screen_text(app))
        pane = await settled(pilot)
        assert title(pane).startswith("View · you · plan in text")
        await press(pilot, "escape", "tab")
        while not pilot.app.screen.query_one("#theirs").has_focus:
            await press(pilot, "tab")
        assert title(await settled(pilot)).startswith("View · the expert · plan in text")
        await press(pilot, "V")
        await until(pilot, lambda: "It would show you what is hidden" in running_text(app))


@pytest.mark.heavy
async def test_keys_choose_panes_with_the_view_and_without_it(tmp_path: Path) -> None:
    path = recorded(tmp_path / "e.jsonl", "example:1", EGG)
    for size in ((80, 24), (120, 40), (200, 60)):
        save_recent(RecentChoices())
        async with showing(lambda: ReplayScreen(path)).run_test(size=size) as pilot:
            pane = await opened(pilot)
            screen = pilot.app.screen
            assert isinstance(screen, ReplayScreen)
            assert len(screen.panes.panes) == (3 if size[0] < 100 else 4)
            await press(pilot, *["tab"] * len(screen.panes.panes))
            assert screen.panes.pane == "story"
            await press(pilot, "4")
            assert pane.has_focus and (await settled(pilot)).mode == "house"
            seen = {"1": screen.panes.story, "2": screen.panes.house, "3": screen.panes.mind, "4": pane}
            for key, shown in seen.items():
                await press(pilot, key)
                assert shown.has_focus and shown.region.width > 20 and shown.region.height > 4, (size, key)
            await press(pilot, "tab")
            assert screen.panes.pane == "story"
            await press(pilot, "4", *["v"] * (len(MODES) - 1))
            assert not pane.display or not pane.region
            assert screen.panes.pane == "story"


@pytest.mark.heavy
async def test_a_record_of_a_version_without_rooms_is_drawn(tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    opening = (
        "-= Welcome to TextWorld, ALFRED! =-\\n\\nYou are in the middle of a room. Looking quickly around you, you see a "
        "bed 1, a desk 1, a drawer 1, and a sidetable 1.\\n\\nYour task is to: put a mug in desk."
    )
    old.write_text(
        '{"id":0,"body":{"kind":"started","format":"0.2","world":"alfworld","engine":"native 1","task":"gone","split":'
        '"valid_seen","number":3,"type":"pick_and_place_simple","goal":"put a mug in desk.","wording":"template",'
        f'"agent":"react","settings":{{}},"model":"scripted:x","grants":[],"max_turns":50,"seed":0,"opening":"{opening}"}}}}\n'
        '{"id":1,"parent":0,"body":{"kind":"stepped","turn":1,"command":"go to desk 1","by":"agent","observation":'
        '"You arrive at desk 1. On the desk 1, you see a mug 1.","accepted":true,"won":false,"terminated":false,'
        '"truncated":false}}\n',
        "utf-8",
    )
    save_recent(RecentChoices(view="house"))
    async with showing(lambda: ReplayScreen(old)).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await press(pilot, "end")
        pane = await settled(pilot)
        assert "made-up plan" in title(pane) and "mug 1" in screen_text(pilot.app)
        await press(pilot, "V")
        assert "no true state: The game 'gone' is not among" in title(await settled(pilot))


@pytest.mark.heavy
async def test_a_quick_game_is_drawn_at_its_end_and_left_at_any_moment(tmp_path: Path) -> None:
    save_recent(RecentChoices(view="house"))
    app = showing(lambda: PlayScreen(game(), "watch"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "In 10 turns." in running_text(app))
        await press(pilot, "V")
        assert "true state" in title(await settled(pilot)) and "egg" in screen_text(app)
        app.theme = "housequest-light"
        await press(pilot, "v")
        await press(pilot, "q")
    assert app.return_code == 0
