"""Home, used by keyboard and mouse: what is chosen there, and what it says that Enter does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from housequest.agent.config import Settings
from housequest.knowledge.rulebook import Rulebook, save
from housequest.knowledge.rules import Origin, Rule
from housequest.tui import theme
from housequest.tui.app import HousequestApp
from housequest.tui.base_screen import OpenScreen
from housequest.tui.home.catalogue import NEWEST, GameSource, RecentChoices, load_recent, record_files, save_recent
from housequest.tui.home.games import GameBrowser, GameList, PlayerPanel, SourceList
from housequest.tui.home.screen import HomeScreen
from housequest.tui.play.game import ChosenGame, daily_game, daily_record
from housequest.tui.play.ladder import rungs
from housequest.tui.play.plain import play_game
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import make_world
from tests.parts import needs
from tests.tui.screen import OTHERS, USUAL, screen_text, showing, shows, until, write_in


class Chosen(NamedTuple):
    """What a screen of a game is made from."""

    game: ChosenGame
    mode: str
    resume: Path | None


class House(HousequestApp):
    """Home alone; keeps what it is told."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(lambda: HomeScreen(settings, speed=7.0))
        self.chosen: list[Chosen] = []
        self.replays: list[Path] = []
        self.runs = 0

    def on_open_screen(self, message: OpenScreen) -> None:
        message.prevent_default()
        assert isinstance(self.screen, HomeScreen)
        self.screen.awaited = ""
        match message.name:
            case "replay":
                self.replays.append(*message.arguments)
            case "runs":
                self.runs += 1
            case _:
                opened, *how = message.arguments
                assert isinstance(opened, ChosenGame)
                self.chosen.append(Chosen(opened, *how))

    @property
    def last(self) -> Chosen:
        return self.chosen[-1]

    @property
    def games(self) -> GameBrowser:
        return self.screen.query_one(GameBrowser)

    @property
    def listed(self) -> list[str]:
        return [row.key for row in self.screen.query_one(GameList).rows]

    @property
    def offered(self) -> list[GameSource]:
        """The sources that are listed."""
        assert isinstance(self.screen, HomeScreen)
        return self.screen.offered

    @property
    def said(self) -> str:
        """The two lines that say what Enter does, and what is wrong."""
        lines = self.screen.query_one("#enter")
        return "\n".join(lines.render_line(y).text.strip() for y in range(2))


Test = Callable[[House, Pilot[None]], Awaitable[None]]


def at_home(test: Test, size: tuple[int, int] = (80, 24), **settings: Any) -> None:
    async def run() -> None:
        app = House(Settings.model_validate(settings))
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: isinstance(app.screen, HomeScreen) and not app.games.busy)
            await test(app, pilot)

    asyncio.run(run())


async def opened(app: House, pilot: Pilot[None], split: str, world: str = "") -> None:
    """Go to a split by the arrow keys, among all sources if it is none of the first."""
    if split not in {str(place.split) for place in app.offered}:
        await pilot.press("o")
    await pilot.press("left", "home")
    for _ in range(20):
        if app.games.place.split == split and world in ("", app.games.place.world):
            break
        await pilot.press("down")
    await pilot.press("right")
    await until(pilot, lambda: not app.games.busy)
    assert app.games.place.split == split


@pytest.fixture(autouse=True)
def no_games(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "no games"))


def play(task: str = "demo:1", agent: str = "expert", **more: object) -> None:
    world = make_world("scripted" if task.startswith("demo:") else "alfworld")
    play_game(
        ChosenGame(world, world.task(task), agent, Settings.model_validate({"agent": agent, "world": world.name, **more}))
    )


def broken_off(lines: int = 6) -> Path:
    whole = record_files(unfinished=False)[0]
    part = whole.with_name(f"{whole.name}.part")
    part.write_text("".join(whole.read_text("utf-8").splitlines(keepends=True)[:lines]), "utf-8")
    whole.unlink()
    return part


@needs("alfred")
def test_by_a_camera_a_newcomer_watches_and_leaves_by_q_twice() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        assert app.said.startswith("enter expert plays generated:0 and you watch")
        await pilot.press("q")
        await pilot.pause()
        assert app.is_running
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)

    at_home(test, world="alfred")


@pytest.mark.heavy
def test_without_games_enter_shows_the_model_that_ships_at_work() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        assert app.said.startswith("enter reasoner-actor plays generated:690 and you watch: put a hot egg")
        assert "k rules" in screen_text(app), "80 columns have room for the way to the rules"
        await pilot.press("enter")
        await until(pilot, lambda: app.chosen)
        game = app.last.game
        assert (game.task.reference, game.agent, app.last.mode, app.last.resume) == (
            "generated:690",
            "reasoner-actor",
            "watch",
            None,
        )
        assert game.model == "builtin"
        assert (game.record, game.speed) == (True, 7.0)

    at_home(test)


@pytest.mark.heavy
def test_the_splits_that_are_not_here_say_how_to_get_them() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "valid_seen")
        assert "The games of valid_seen are not on this machine" in screen_text(app)
        assert "does nothing" in app.said
        await pilot.press("enter")
        assert app.chosen == []

    at_home(test)


def test_each_mode_has_a_key() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        for key, mode, said in (
            ("s", "step", "expert"),
            ("R", "race", "you and expert"),
            ("y", "you", "you"),
            ("w", "watch", "expert"),
        ):
            await pilot.press(key)
            assert app.said.startswith(f"enter {said} ")
            await pilot.press("enter")
            await until(pilot, lambda: app.chosen)
            assert app.chosen.pop().mode == mode

    at_home(test, world="scripted")


@pytest.mark.heavy
def test_words_and_types_narrow_the_list() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("slash")
        await write_in(pilot, "hot mug")
        assert app.listed
        assert all("mug" in row.text for row in app.screen.query_one(GameList).rows)
        assert app.said.startswith(f"enter reasoner-actor plays {app.listed[0]}")
        await pilot.press("down")
        assert app.said.startswith(f"enter reasoner-actor plays {app.listed[1]}")
        await pilot.press("escape", "escape", "t")
        assert len(app.listed) > 20
        assert {row.kind for row in app.screen.query_one(GameList).rows} == {"place"}
        await pilot.press("slash")
        await write_in(pilot, "xyz")
        assert "No game here fits" in screen_text(app)
        await pilot.press("enter")
        assert app.chosen == []

    at_home(test)


@pytest.mark.heavy
def test_any_made_up_house_is_found_by_its_seed() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("slash")
        await write_in(pilot, "4321")
        await until(pilot, lambda: app.listed == ["generated:4321"])
        await pilot.press("enter")
        await until(pilot, lambda: app.chosen)
        assert app.last.game.task.number == 4321

    at_home(test)


@pytest.mark.heavy
def test_a_seed_that_no_house_has_is_an_error_line() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        app.screen.query_one("#search", Input).value = "9" * 19
        await until(pilot, lambda: "!" in app.said)
        assert "its tasks are generated" in app.said

    at_home(test)


@pytest.mark.heavy
def test_a_random_game() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        before = len(app.listed)
        await pilot.press("slash")
        await write_in(pilot, "egg")
        await pilot.press("escape", "r")
        await until(pilot, lambda: len(app.listed) > before or app.listed[0] != "generated:690")
        assert app.games.row is not None
        assert app.games.row.key == app.listed[0]
        await opened(app, pilot, "demo")
        await pilot.press("r")
        assert app.games.row in app.screen.query_one(GameList).rows

    at_home(test)


@pytest.mark.heavy
def test_an_agent_that_needs_a_model_says_so_and_takes_one() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        agents = app.screen.query_one(PlayerPanel).agents
        assert agents.words == ("expert",), "the others need a model"
        await pilot.press("o")
        await until(pilot, lambda: "react" in agents.words)
        await pilot.press("a")
        assert "react needs a language model: m names one" in app.said
        await pilot.press("enter")
        await until(pilot, lambda: "!" in app.said)
        assert app.chosen == []
        await pilot.press("m")
        await write_in(pilot, "x")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: "no kind of model 'x'" in app.said)
        await pilot.press("m", "ctrl+u")
        await write_in(pilot, "scripted:/no")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: "/no" in app.said)
        await pilot.press("m", "ctrl+u")
        await write_in(pilot, "openai:x")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: "set OPENAI_API_KEY" in app.said)
        await pilot.press("m", "ctrl+u")
        await write_in(pilot, "openai:x@http://127.0.0.1:9/v1")
        await pilot.press("enter", "o")
        await until(pilot, lambda: "react" in agents.words and "opex" not in agents.words)
        assert "m model" in screen_text(app), "a model that is named is not as usual"
        assert app.said.startswith("enter react plays")
        await pilot.press("enter")
        await until(pilot, lambda: app.chosen)
        assert app.last.game.settings.model == "openai:x@http://127.0.0.1:9/v1"
        assert app.last.game.agent == "react"

    at_home(test, world="scripted")


@pytest.mark.heavy
def test_rules_and_grants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rules, there = Path("r.yaml"), Path("rules.yaml")
    there.write_text("format: 0.2\nrules:\n- eggs are kept cold\n")

    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("b")
        await write_in(pilot, str(rules))
        await pilot.press("enter", "enter")
        await until(pilot, lambda: "rulebook r.yaml cannot be read" in app.said)
        await asyncio.to_thread(there.rename, rules)
        await pilot.press("g", "right", "space", "right", "space", "left", "space", "enter")
        await until(pilot, lambda: app.chosen)
        assert app.last.game.settings.rules == str(rules)
        assert app.last.game.settings.grant == ("type",)

    at_home(test, world="scripted")


@pytest.mark.heavy
def test_a_setting_that_is_typed_is_told_in_words() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        panel = app.screen.query_one(PlayerPanel)
        about = str(panel.border_subtitle)
        await pilot.press("x")
        await write_in(pilot, "temperature=0.5 stuck")
        await until(pilot, lambda: str(panel.border_subtitle).startswith("stuck_after: review the plan after"))
        await pilot.press("escape")
        await until(pilot, lambda: str(panel.border_subtitle) == about)

    at_home(test, agent="reasoner-actor")


@pytest.mark.heavy
def test_a_setting_that_cannot_be_is_refused_while_it_is_typed() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        panel = app.screen.query_one(PlayerPanel)
        await pilot.press("x")
        await write_in(pilot, "stuck_after=")
        assert panel.refused == ""
        await write_in(pilot, "x")
        await until(pilot, lambda: "stuck_after must be a whole number, not 'x'." in screen_text(app))
        await pilot.press("backspace", "4")
        await until(pilot, lambda: "must be a whole number" not in screen_text(app))
        await write_in(pilot, " foo=1")
        await until(pilot, lambda: "has no setting 'foo'" in screen_text(app))

    at_home(test, agent="reasoner-actor")


@pytest.mark.heavy
def test_home_begins_with_what_somebody_wants_who_wants_a_house() -> None:
    play()
    broken_off()
    play()

    async def test(app: House, pilot: Pilot[None]) -> None:
        first = ["Play now", "Together", "Today's house", "The ladder", "Unfinished games", "Played games"]
        assert [place.title for place in app.offered] == first
        text = screen_text(app)
        for word in ("=", "train", "valid_seen", "not here", "admissible", "diagnosis", "HOST", "b rules", "chores"):
            assert word not in text
        assert app.screen.query_one(PlayerPanel).agents.words == ("expert", "reasoner-actor")
        await pilot.press("o")
        await until(pilot, lambda: len(app.screen.query_one(PlayerPanel).agents.words) > 2)
        text = screen_text(app)
        assert re.search("valid_seen +not here", text) and "possible commands" in text and "nothing changed" in text
        await pilot.press("left", "end", "o")
        assert [place.title for place in app.offered] == [*first, "demo · scripted"]

    at_home(test, size=(100, 50))


@pytest.mark.heavy
def test_together_and_todays_house_have_their_own_mode_and_give_back_the_one_before() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        def mode() -> str:
            return app.screen.query_one(PlayerPanel).mode.name

        await pilot.press("s", "left", "down")
        await until(pilot, lambda: not app.games.busy)
        assert app.said.startswith("enter you and reasoner-actor do chores:0 together")
        await pilot.press("enter")
        await until(pilot, lambda: app.chosen)
        assert app.chosen.pop().game.beside
        await pilot.press("down")
        await until(pilot, lambda: not app.games.busy)
        assert app.said.startswith("enter begins today's house") and mode() == "you"
        await pilot.press("w", "enter")
        await until(pilot, lambda: app.chosen)
        game, how, resume = app.last
        today = daily_game(date.today())
        assert (game.agent, how, game.task) == (today.agent, "together" if today.beside else "you", today.task)
        assert resume is not None and resume == daily_record(date.today())
        await pilot.press("down")
        await until(pilot, lambda: not app.games.busy and app.listed[:1] == [rungs()[0].task])
        assert app.said.startswith("enter plays it for its stars: A kitchen: put some butterknife on sidetable.")
        await pilot.press("right", "end", "enter")
        await until(pilot, lambda: app.chosen)
        assert app.last[0].beside and app.last[0].agent == "expert"
        await pilot.press("left", "up", "up", "up")
        await until(pilot, lambda: not app.games.busy)
        assert mode() == "step"

    at_home(test)


@pytest.mark.heavy
def test_older_unfinished_games_are_behind_one_row() -> None:
    play()
    part = broken_off()
    for number in range(20):
        (part.parent / f"20200101-0000{number:02}-old.jsonl.part").write_bytes(part.read_bytes())

    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("c")
        await until(pilot, lambda: app.games.place.kind == "unfinished" and not app.games.busy)
        assert app.listed[0] == part.name and len(app.listed) == NEWEST + 1
        assert f"{21 - NEWEST} older games" in screen_text(app)
        assert not re.search(r"Unfinished games +\d", screen_text(app))
        await pilot.press("end")
        assert app.said.startswith("enter lists the older games")
        await pilot.press("enter")
        assert len(app.listed) == 21 and app.games.row is not None and app.games.row.record is not None
        assert app.games.row.key == "20200101-000015-old.jsonl.part"

    at_home(test, world="scripted")


@pytest.mark.heavy
def test_a_household_that_was_learned_goes_on_after_the_days_that_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_book(Path("runs/life/household-7/counts"), "household:7", days=12)
    write_book(Path("runs/other/household-7/counts"), "household:7", days=3)
    (tmp_path / "runs" / "life" / "book.yaml").write_text("scope: household\n[no book")

    async def test(app: House, pilot: Pilot[None]) -> None:
        assert re.search("Household 7 +12 days", screen_text(app))
        await pilot.press("left", "end")
        await until(pilot, lambda: app.games.place.kind == "household" and not app.games.busy)
        assert app.listed == [f"household:7:{day}" for day in range(13, 20)]
        assert "knows what was learned here in 12 days" in app.said
        await pilot.press("enter")
        await until(pilot, lambda: app.chosen)
        assert app.last.game.settings.rules == str(Path("runs/life/household-7/counts/day-012/book.yaml"))
        assert load_recent().recent.rules == ""

    at_home(test)


def write_book(folder: Path, home: str, days: int) -> None:
    """The books of some days of a life."""
    for day in range(1, days + 1):
        book = folder / f"day-{day:03}" / "book.yaml"
        book.parent.mkdir(parents=True)
        origin = Origin("run", "life", (f"{home}:1..{day}",))
        said = "To find an egg, try cabinet 3 first (there on 1 of 1 days)."
        rule = Rule("where-egg", said, "location", objects=("egg",), status="accepted", origin=origin, scope="household")
        save(Rulebook(book).put([rule]))


@pytest.mark.heavy
def test_where_the_model_that_ships_cannot_play_another_agent_is_offered() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        assert app.said.startswith("enter reasoner-actor plays")
        await opened(app, pilot, "example", "household-graph")
        assert app.said.startswith("enter expert plays example:1 and you watch")
        await pilot.press("o")
        await until(pilot, lambda: app.screen.query_one(PlayerPanel).agents.words == ("expert",))
        await pilot.press("left", "home", "right")
        await until(pilot, lambda: not app.games.busy)
        assert app.said.startswith("enter reasoner-actor plays")

    at_home(test)


@pytest.mark.heavy
@pytest.mark.parametrize("grants", [("view",), ("diagnosis",)])
def test_no_fault_at_home_names_an_option_of_a_command(grants: tuple[str, ...]) -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("T", "enter")
        await until(pilot, lambda: "! " in app.said)
        assert "--" not in app.said and "the key g" in app.said

    at_home(test, (200, 60), grant=grants)


@pytest.mark.heavy
def test_letters_typed_into_a_line_do_nothing_else() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"qwsyRtrcpu/")
        assert app.screen.query_one("#search", Input).value == "qwsyRtrcpu/"
        assert app.screen.query_one(PlayerPanel).mode.name == "watch"
        assert app.runs == 0
        await pilot.press("escape", "u")
        assert app.runs == 1

    at_home(test, world="scripted")


LOCAL = "openai:y@http://127.0.0.1:9/v1"
"""A model that needs no key."""


@pytest.mark.heavy
def test_choices_are_kept_and_preselected() -> None:
    async def choose(app: House, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "demo")
        await until(pilot, lambda: "react" in app.screen.query_one(PlayerPanel).agents.words)
        await pilot.press("down", "s", "a", "m")
        await write_in(pilot, LOCAL)
        await pilot.press("enter", "enter")
        await until(pilot, lambda: app.chosen)

    async def see(app: House, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.games.row)
        assert app.said.startswith("enter react plays demo:2 and you decide on each command")
        await pilot.press("m")
        assert app.screen.query_one("#model", Input).value == LOCAL

    at_home(choose)
    assert load_recent().recent == RecentChoices("scripted", "demo", "demo:2", "react", "step", models=(LOCAL,))
    at_home(see)


def test_what_is_configured_goes_before_what_was_chosen() -> None:
    save_recent(RecentChoices("alfworld", "generated", "generated:7", "react", "race", models=("openai:y",)))

    async def test(app: House, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.games.row)
        assert app.said.startswith("enter you and reasoner-actor race at demo:1")
        await pilot.press("m")
        assert app.screen.query_one("#model", Input).value == "openai:z"
        await pilot.press("down")
        assert app.screen.query_one("#model", Input).value == "openai:y"

    at_home(test, model="openai:z", world="scripted")


@pytest.mark.heavy
def test_a_made_up_house_that_was_chosen_is_preselected() -> None:
    save_recent(RecentChoices("alfworld", "generated", "generated:4711"))

    async def test(app: House, pilot: Pilot[None]) -> None:
        assert "generated:4711" in app.said
        assert len(app.listed) > 100

    at_home(test)


@pytest.mark.heavy
def test_choices_of_another_time_do_no_harm() -> None:
    save_recent(RecentChoices("moon", "dark", "dark:1", "nobody", "sleep", "/nowhere", ("all",), ("x",)))

    async def test(app: House, pilot: Pilot[None]) -> None:
        assert app.said.startswith("enter reasoner-actor plays generated:690 and you watch")

    at_home(test)


@pytest.mark.heavy
def test_a_damaged_file_of_choices_is_told() -> None:
    state_folder().mkdir(parents=True)
    (state_folder() / "recent.json").write_text("junk")

    async def test(app: House, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "! " in app.said)
        assert "generated:690" in app.said

    at_home(test, size=(200, 60))


@pytest.mark.heavy
def test_a_game_that_broke_off_goes_on() -> None:
    play()
    part = broken_off()
    play("generated:690", max_steps=2)
    folder = state_folder() / "episodes"
    (folder / "20200101-000000-old.jsonl.part").write_text("\x1b[31mjunk [bold]\n")

    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("c")
        await until(pilot, lambda: app.games.place.kind == "unfinished" and not app.games.busy)
        assert "Unfinished games" in screen_text(app)
        assert app.listed == [part.name, "20200101-000000-old.jsonl.part"]
        assert app.said.startswith("enter goes on with it: take the coin")
        await pilot.press("R", "enter")
        await until(pilot, lambda: app.chosen)
        assert (app.last.resume, app.last.game.task.reference, app.last.mode) == (part, "demo:1", "watch")
        await pilot.press("down")
        assert "damaged" in app.said
        await pilot.press("enter")
        await until(pilot, lambda: "! " in app.said)
        assert len(app.chosen) == 1

    at_home(test, world="scripted")


def test_a_played_game_is_seen_again() -> None:
    play()

    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await until(pilot, lambda: app.games.place.kind == "played" and not app.games.busy)
        assert "won 6" in screen_text(app)
        assert app.said.startswith("enter shows it again: take the coin")
        await pilot.press("enter")
        await until(pilot, lambda: app.replays)
        assert app.replays == record_files(unfinished=False)
        await pilot.press("c")
        await until(pilot, lambda: "!" in app.said)
        assert "no game broke off" in app.said

    at_home(test, world="scripted")


@pytest.mark.heavy
def test_the_mouse_chooses_too() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.click(GameList, offset=(10, 2))
        assert app.said.startswith(f"enter reasoner-actor plays {app.listed[2]}")
        await pilot.click("#modes", offset=(20, 0))
        assert app.screen.query_one(PlayerPanel).mode.name == "step"
        await pilot.click("#types", offset=(8, 0))
        assert {row.kind for row in app.screen.query_one(GameList).rows} == {"place"}
        await pilot.press("o")
        await until(pilot, lambda: any(place.split == "example" for place in app.offered))
        await pilot.click(SourceList, offset=(6, 7))
        await until(pilot, lambda: app.games.place.split == "example")
        await until(pilot, lambda: not app.games.busy)
        assert app.chosen == []
        await pilot.click(GameList, offset=(10, 1), times=2)
        await until(pilot, lambda: app.chosen)
        assert app.last.game.task.reference == "example:2"

    at_home(test)


@pytest.mark.heavy
def test_the_list_follows_the_cursor() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("end")
        assert f" {app.listed[-1].partition(':')[2]} " in screen_text(app)
        await pilot.press("pageup", "up", "home", "pagedown", "down")
        assert app.games.row is not None
        assert f" {app.games.row.number} " in screen_text(app)

    at_home(test)


@pytest.mark.games
def test_thousands_of_games_are_listed_beside_the_typing(alfworld_games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_games))

    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("o", "left")
        for _ in range(20):
            if app.games.place.split != "train":
                await pilot.press("down")
        assert app.games.place.split == "train"
        await pilot.press("slash")
        await write_in(pilot, "cl mug")
        assert app.screen.query_one("#search", Input).value == "cl mug"
        await until(pilot, lambda: not app.games.busy)
        assert "3,553" in screen_text(app)
        assert 10 < len(app.listed) < 1000
        assert all("mug" in row.text for row in app.screen.query_one(GameList).rows)

    at_home(test, size=(120, 40))


@pytest.mark.heavy
def test_no_window_is_too_small() -> None:
    async def test(app: House, pilot: Pilot[None]) -> None:
        for size in ((200, 60), (40, 12), (20, 6), (3, 2)):
            await pilot.resize_terminal(*size)
            await pilot.press("down", "tab")
            assert screen_text(app).count("\n") == size[1] - 1

    at_home(test)


def test_what_a_game_says_is_no_markup_and_steers_no_terminal() -> None:
    play()
    (record,) = record_files(unfinished=False)
    spoilt = record.read_text("utf-8").replace("take the coin out of the box.", "[red]take[/] \\u001b[2J \\u202e 家家 it")
    record.write_text(spoilt, "utf-8")

    async def test(app: House, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await until(pilot, lambda: app.games.place.kind == "played" and not app.games.busy)
        text = screen_text(app)
        assert "[red]take[/]" in text
        assert "\x1b" not in text
        assert "\u202e" not in text

    at_home(test, world="scripted")


async def _settled(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, HomeScreen) and not pilot.app.screen.query_one(GameBrowser).busy)


@pytest.mark.heavy
@pytest.mark.parametrize("look", [theme.DARK, theme.LIGHT])
def test_home_looks_as_it_did(look: str, snap_compare: Callable[..., bool]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await _settled(pilot)
        pilot.app.theme = look

    assert snap_compare(showing(lambda: HomeScreen(Settings())), terminal_size=USUAL, run_before=before)


@pytest.mark.anyio
@pytest.mark.heavy
@pytest.mark.parametrize("size", OTHERS)
async def test_home_in_other_sizes(size: tuple[int, int]) -> None:
    seen = ("Play now", "Today's house", "101 games", "Who plays", "● reasoner-actor", "● watch", "and you watch:", "q quit")
    await shows(showing(lambda: HomeScreen(Settings())), size, _settled, *seen)


@pytest.mark.heavy
def test_a_whole_app_goes_from_home_into_a_game_and_back() -> None:
    async def run() -> None:
        app = showing(lambda: HomeScreen(Settings(), speed=1000.0))
        async with app.run_test(size=(120, 40)) as pilot:
            await _settled(pilot)
            await pilot.press("enter")
            await until(pilot, lambda: not isinstance(app.screen, HomeScreen))
            await until(pilot, lambda: "Won" in screen_text(app) or "won" in screen_text(app))
            await pilot.press("q")
            await until(pilot, lambda: isinstance(app.screen, HomeScreen))
            await until(pilot, lambda: "Played games" in screen_text(app))

    asyncio.run(run())
