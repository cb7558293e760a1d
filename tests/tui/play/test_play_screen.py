"""A game on the screen, played by keyboard alone through Textual's pilot, with a real model endpoint and a real house."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest
from textual.pilot import Pilot

from housequest.agent.episodes.events import Ended, Stepped, branch
from housequest.agent.episodes.record import read_episode
from housequest.tui.app import HousequestApp
from housequest.tui.base_screen import PickDialog
from housequest.tui.play.game import ChosenGame
from housequest.tui.play.line import CommandLine
from housequest.tui.play.screen import PlayScreen
from housequest.tui.play.session import PlayMode
from housequest.tui.theme import DARK, LIGHT
from housequest.worlds.base import Env, Step, Task, World
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import Unsupported
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import make_world
from tests.backends.policy import Solver
from tests.backends.server import Behaviour, Policy, Recorded, Response, Server, answer, raw, saying, serve, status
from tests.tui.screen import (
    COIN,
    OTHERS,
    SIZES,
    USUAL,
    game,
    press,
    screen_text,
    showing,
    shows,
    type_in,
    until,
    waiting,
    write_in,
)
from tests.waiting import Gate

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(Solver()) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset()
    return running


def playing(game: ChosenGame, mode: PlayMode = "step", resume: Path | None = None) -> HousequestApp:
    return showing(lambda: PlayScreen(game, mode, resume))


def on(app: HousequestApp) -> PlayScreen:
    return next(screen for screen in app.screen_stack if isinstance(screen, PlayScreen))


def turns(app: HousequestApp) -> list[str]:
    return [entry.command or "" for entry in on(app).play_state.state.moment.story]


async def proposed(pilot: Pilot[Any], turn: int) -> str:
    """The command proposed for ``turn``, once it is."""
    app = pilot.app
    assert isinstance(app, HousequestApp)
    await until(pilot, lambda: waiting(app) == "verdict" and len(turns(app)) == turn - 1)
    return on(app).play_state.state.moment.proposal or ""


def records(pattern: str = "*.jsonl*") -> list[Path]:
    return sorted(path for path in (state_folder() / "episodes").glob(pattern) if "timing" not in path.name)


async def hanging(recorded: Recorded, policy: Any) -> Any:
    await asyncio.sleep(3_600)


@pytest.mark.heavy
async def test_a_whole_game_by_keyboard_alone(server: Server) -> None:
    """Step, accept, edit, hint, another proposal, take over, hand back, rewind, branch, watch to the end."""
    app = playing(game(agent="reasoner-actor", model=server.model()))
    async with app.run_test(size=(120, 40)) as pilot:
        first = await proposed(pilot, 1)
        await press(pilot, "enter")
        await proposed(pilot, 2)
        await press(pilot, "e", "ctrl+u")
        await type_in(pilot, "inventory")
        await proposed(pilot, 3)
        await press(pilot, "question_mark")
        await type_in(pilot, "mind the fridge")
        await until(pilot, lambda: "mind the fridge" in server.requests[-1].text)
        await proposed(pilot, 3)
        asked = len(server.requests)
        await press(pilot, "o")
        await until(pilot, lambda: len(server.requests) > asked)
        await proposed(pilot, 3)
        await press(pilot, "t")
        await until(pilot, lambda: waiting(app) == "turn")
        await type_in(pilot, "look")
        await until(pilot, lambda: waiting(app) == "turn" and len(turns(app)) == 3)
        assert turns(app) == [first, "inventory", "look"]
        await press(pilot, "escape", "t")
        await proposed(pilot, 4)
        await press(pilot, "left", "left")
        assert "turn  1 of 3" in screen_text(app)
        await press(pilot, "b")
        await until(pilot, lambda: waiting(app) == "paused")
        assert turns(app) == [first]
        await press(pilot, "a")
        await until(pilot, lambda: waiting(app) == "over")
        assert "Won" in screen_text(app)
    (record,) = records()
    events = list(read_episode(record))
    ended = events[-1].body
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.assisted) == ("won", True)
    played = [event.body.command for event in branch(events) if isinstance(event.body, Stepped)]
    assert played[0] == first
    assert "look" not in played


@pytest.mark.games
async def test_a_published_game_is_watched_to_its_end(alfworld_games: Path, server: Server) -> None:
    app = playing(game("valid_seen:17", agent="reasoner-actor", model=server.model()), "watch")
    async with app.run_test(size=(200, 60)) as pilot:
        await until(pilot, lambda: waiting(app) == "over")
        assert "✦ Won" in screen_text(app)


@pytest.mark.heavy
async def test_after_a_rewind_the_model_is_asked_the_same_byte_for_byte(server: Server) -> None:
    app = playing(game(agent="react", model=server.model()))
    async with app.run_test(size=(120, 40)) as pilot:
        for turn in range(1, 5):
            await proposed(pilot, turn)
            await press(pilot, "space")
        await proposed(pilot, 5)
        before = [request.raw for request in server.requests]
        await press(pilot, "left", "left", "left", "b")
        await until(pilot, lambda: waiting(app) == "paused")
        await press(pilot, "space")
        await proposed(pilot, 2)
        assert server.requests[-1].raw == before[1]


@pytest.mark.heavy
async def test_quitting_in_the_middle_of_a_call_and_taking_up_the_game_again(server: Server) -> None:
    played = game(agent="react", model=server.model())
    app = playing(played)
    async with app.run_test(size=(80, 24)) as pilot:
        await proposed(pilot, 1)
        await press(pilot, "space")
        await proposed(pilot, 2)
        server.behave(hanging)
        await press(pilot, "space")
        await until(pilot, lambda: len(server.requests) == 3)
        await press(pilot, "q")
        await until(pilot, lambda: not app.is_running)
    (part,) = records()
    assert part.suffix == ".part"
    assert sum(isinstance(event.body, Stepped) for event in read_episode(part)) == 2
    server.reset()
    again = playing(played, resume=part)
    async with again.run_test(size=(80, 24)) as pilot:
        await proposed(pilot, 3)
        assert "3" in screen_text(again)
        await press(pilot, "a")
        await until(pilot, lambda: waiting(again) == "over")
    assert [path.suffix for path in records()] == [".jsonl"]


@pytest.mark.heavy
async def test_a_game_that_was_left_with_a_proposal_still_lists_what_is_possible() -> None:
    app = playing(game())
    async with app.run_test(size=(80, 24)) as pilot:
        await proposed(pilot, 1)
        possible = on(app).session.status.possible
        await press(pilot, "q")
        await until(pilot, lambda: not app.is_running)
    (part,) = records()
    again = playing(game(), resume=part)
    async with again.run_test(size=(80, 24)) as pilot:
        await proposed(pilot, 1)
        assert possible
        assert on(again).session.status.possible == possible


@pytest.mark.heavy
async def test_an_endpoint_that_has_had_enough_says_so_and_is_tried_again(server: Server) -> None:
    server.behave(status(429, retry_after="600"))
    app = playing(game(agent="react", model=server.model()))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: waiting(app) == "failed")
        assert "429" in screen_text(app)
        assert "to wait 600" in screen_text(app)
        await press(pilot, "r")
        await proposed(pilot, 1)


@pytest.mark.heavy
async def test_an_endpoint_that_is_down_is_tried_again_and_then_changed(server: Server) -> None:
    app = playing(game(agent="react", model="openai:gone@http://127.0.0.1:9/v1"))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: waiting(app) == "failed")
        assert "127.0.0.1:9" in screen_text(app)
        await press(pilot, "r")
        await until(pilot, lambda: waiting(app) == "failed")
        assert not on(app).play_state.state.assisted  # to ask again helps nobody
        await press(pilot, "m")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        await type_in(pilot, "nonsense")
        await until(pilot, lambda: "nonsense" in screen_text(app))
        await until(pilot, lambda: waiting(app) == "failed")
        await press(pilot, "m")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        await type_in(pilot, server.model("better"))
        await proposed(pilot, 1)
        assert "better" in screen_text(app)


async def echo(recorded: Recorded, policy: Policy) -> Response:
    return await saying(recorded.messages[-1]["content"])(recorded, policy)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("behaviour", "cause", "way_out", "seconds"),
    [
        (status(401), "refused access with 401", "Name its key by key_env", 20.0),
        (hanging, "did not answer within 1 seconds", "Give it longer with", 1.0),
        (raw(b"<html>", content_type="text/html"), "text/html that are not JSON", "Check that the address", 20.0),
        (echo, "could not be read", "take over", 20.0),
    ],
    ids=["a refused key", "no answer", "a page", "an echo"],
)
async def test_a_failure_names_its_cause_and_the_way_out_and_the_game_goes_on(
    behaviour: Behaviour, cause: str, way_out: str, seconds: float, server: Server
) -> None:
    app = playing(game(agent="react", model=server.model(), timeout=seconds))
    async with app.run_test(size=(80, 24)) as pilot:
        await proposed(pilot, 1)
        server.behave(otherwise=behaviour)
        await press(pilot, "enter")
        await until(pilot, lambda: waiting(app) in {"failed", "paused"})
        text = " ".join(screen_text(app).split())
        assert cause in text
        assert way_out in text
        await press(pilot, "t")
        await until(pilot, lambda: waiting(app) == "turn")
        await type_in(pilot, "inventory")
        await until(pilot, lambda: turns(app)[-1] == "inventory")
        server.reset()
        await press(pilot, "escape", "a")
        await until(pilot, lambda: waiting(app) == "over")


@pytest.mark.heavy
async def test_a_call_that_is_tried_again_says_why_and_can_be_called_off() -> None:
    with ExitStack() as life:
        mortal = life.enter_context(serve(Solver()))
        app = playing(game(agent="react", model=mortal.model()))
        async with app.run_test(size=(120, 40)) as pilot:
            await proposed(pilot, 1)
            await asyncio.to_thread(life.close)
            await press(pilot, "enter")
            await until(pilot, lambda: "react tries again; the model dropped the connection" in screen_text(app))
            await press(pilot, "escape")
            await until(pilot, lambda: waiting(app) == "paused")
            assert "tries again" not in screen_text(app)
            await press(pilot, "q")
            await until(pilot, lambda: not app.is_running)


@pytest.mark.heavy
async def test_escape_calls_off_a_call_and_the_agent_can_be_asked_again(server: Server) -> None:
    server.behave(hanging)
    app = playing(game(agent="react", model=server.model()), "watch")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: server.requests)
        await press(pilot, "escape")
        await until(pilot, lambda: waiting(app) == "paused")
        await press(pilot, "space")
        await proposed(pilot, 1)
        assert server.requests[0].raw == server.requests[1].raw


@pytest.mark.heavy
async def test_taking_over_while_the_agent_decides(server: Server) -> None:
    server.behave(hanging)
    app = playing(game(agent="react", model=server.model()), "watch")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: server.requests)
        await press(pilot, "t")
        await until(pilot, lambda: waiting(app) == "turn")
        await type_in(pilot, "inventory")
        await until(pilot, lambda: turns(app) == ["inventory"])


class Slow(Wrapper):
    """Steps once it is let."""

    def __init__(self, env: Env, happened: list[str], gate: Gate) -> None:
        super().__init__(env)
        self.happened = happened
        self.gate = gate

    def step(self, command: str) -> Step:
        self.happened.append("stepping")
        self.gate.wait()
        self.happened.append("stepped")
        return super().step(command)

    def copy(self) -> Self:
        raise Unsupported("It cannot be copied.")


@World.register
class SlowWorld:
    """A world whose envs take their time, in threads."""

    def __init__(self, world: World, happened: list[str], gate: Gate) -> None:
        self._world, self.info = world, replace(world.info, inline=False)
        self._happened = happened
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def open(self, task: Task) -> Env:
        return Slow(self._world.open(task), self._happened, self._gate)


@pytest.mark.heavy
async def test_keys_are_taken_while_the_model_thinks_and_while_the_world_answers(server: Server) -> None:
    """Told by the order in which things happen, not by a clock."""
    happened: list[str] = []
    thinking, stepping = Gate(), Gate()

    async def held(recorded: Recorded, policy: Any) -> Any:
        happened.append("thinking")
        await asyncio.to_thread(thinking.wait)
        happened.append("thought")
        return await answer(recorded, policy)

    server.behave(held)
    slow: Any = SlowWorld(make_world("alfworld"), happened, stepping)
    app = playing(game(agent="react", model=server.model(), world=slow))
    async with app.run_test(size=(80, 24)) as pilot:

        async def look_about(during: str) -> None:
            await until(pilot, lambda: happened[-1:] == [during])
            for key, pane in (("2", "House"), ("3", "Mind"), ("1", "Story")):
                await press(pilot, key)
                assert f"[{key} {pane}]" in screen_text(app)
                happened.append(f"{pane} during {during}")

        await look_about("thinking")
        thinking.open()
        await proposed(pilot, 1)
        await press(pilot, "enter")
        await look_about("stepping")
        stepping.open()
        await proposed(pilot, 2)
    looked = ("House", "Mind", "Story")
    thought = ["thinking", *(f"{pane} during thinking" for pane in looked), "thought"]
    stepped = ["stepping", *(f"{pane} during stepping" for pane in looked), "stepped"]
    assert happened == [*thought, *stepped]


@pytest.mark.heavy
async def test_a_world_without_copies_is_taken_back_by_playing_again(server: Server) -> None:
    happened: list[str] = []
    slow: Any = SlowWorld(make_world("alfworld"), happened, Gate(opened=True))
    app = playing(game(agent="react", model=server.model(), world=slow))
    async with app.run_test(size=(80, 24)) as pilot:
        for turn in (1, 2, 3):
            await proposed(pilot, turn)
            await press(pilot, "space")
        await proposed(pilot, 4)
        await press(pilot, "left", "b")
        await until(pilot, lambda: waiting(app) == "paused")
        assert len(turns(app)) == 2
        assert happened.count("stepped") == 5


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("agent", "key", "said"),
    [
        ("expert", "m", "has no model"),
        ("expert", "left", "Nothing was played yet"),
        ("expert", "b", "First choose a turn"),
        ("expert", "plus", "The pace is for watching"),
        ("expert", "r", "Nothing failed"),
        ("expert", "p", "The game goes on"),
        ("human", "space", "No agent plays for you"),
        ("human", "t", "No agent plays for you"),
        ("human", "enter", "Nothing is proposed"),
    ],
)
async def test_a_key_that_does_not_hold_says_so(agent: str, key: str, said: str) -> None:
    app = playing(game(agent=agent))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: waiting(app) in {"verdict", "turn"})
        if agent == "human":
            await press(pilot, "escape")
        await press(pilot, key)
        await until(pilot, lambda: said in screen_text(app))


@pytest.mark.heavy
async def test_a_person_alone_wins_by_hand() -> None:
    app = playing(game(COIN, "human"), "you")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "turn")
        commands = ("go to study", "take key", "go to hall", "go to cellar", "unlock box", "take coin")
        for turn, command in enumerate(commands, 1):
            await type_in(pilot, command)
            await until(pilot, lambda turn=turn: len(turns(app)) == turn and waiting(app) in {"turn", "over"})
        assert waiting(app) == "over"
        assert not on(app).play_state.state.assisted
        assert not app.screen.query_one(CommandLine).has_focus_within


@pytest.mark.heavy
async def test_a_word_that_is_typed_when_the_game_ends_stays_a_word() -> None:
    app = playing(game())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        await press(pilot, "colon")
        await write_in(pilot, "o")
        on(app).session.set_mode("watch")
        on(app).session.accept()
        await until(pilot, lambda: waiting(app) == "over")
        await write_in(pilot, "pnq")
        line = on(app).query_one(CommandLine)
        assert isinstance(app.screen, PlayScreen)
        assert line.value == "opnq"
        await press(pilot, "enter")
        assert not line.display
        assert not line.has_focus_within


@pytest.mark.heavy
async def test_what_is_possible_is_listed_and_taken_into_the_line() -> None:
    app = playing(game(COIN, "human"), "you")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "turn")
        await press(pilot, "escape", "g")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        await type_in(pilot, "study")
        assert on(app).query_one(CommandLine).value == "go to study"
        await press(pilot, "enter")
        await until(pilot, lambda: turns(app) == ["go to study"])


@pytest.mark.heavy
async def test_what_cannot_be_opened_is_shown_and_can_be_mended(server: Server) -> None:
    app = playing(game(agent="react", model="scripted:/nowhere/at/all"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: waiting(app) == "closed")
        assert "/nowhere/at/all" in screen_text(app)
        await press(pilot, "r")
        await until(pilot, lambda: waiting(app) == "closed")
        await press(pilot, "m")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        await type_in(pilot, server.model())
        await proposed(pilot, 1)


@pytest.mark.heavy
async def test_at_the_end_one_goes_back_to_what_was_missed(server: Server) -> None:
    app = playing(game(agent="react", model=server.model(), max_steps=3), "watch")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: waiting(app) == "over")
        assert "After 3 turns" in screen_text(app)
        await press(pilot, "left")
        assert "turn  2 of 3" in screen_text(app)
        await press(pilot, "escape", "b", "b")
        await until(pilot, lambda: waiting(app) == "paused")


@pytest.mark.heavy
async def test_the_screen_folds_where_it_is_narrow_and_unfolds_again() -> None:
    app = playing(game())
    async with app.run_test(size=(80, 24)) as pilot:
        await proposed(pilot, 1)
        assert "not visited" not in screen_text(app)
        await press(pilot, "tab")
        assert "not visited" in screen_text(app)
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        shown = screen_text(app)
        assert all(pane in shown for pane in ("House", "Story", "Mind", "not visited"))


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES)
async def test_every_state_says_what_the_next_key_does(size: tuple[int, int]) -> None:
    app = playing(game())
    async with app.run_test(size=size) as pilot:
        await proposed(pilot, 1)
        shown = screen_text(app)
        assert "proposed" in shown
        assert "accept" in shown
        assert shown.splitlines()[-1].endswith("/ palette  q quit")
        assert max(len(line) for line in shown.splitlines()) <= size[0]


@pytest.mark.heavy
async def test_what_a_model_says_is_never_markup(server: Server) -> None:
    said = "[bold red]x[/] \x1b[2J [/nonsense] \u202e"
    with serve(lambda messages: f"Thought: {said}\nAction: look") as odd:
        app = playing(game(agent="react", model=odd.model()))
        async with app.run_test(size=(120, 40)) as pilot:
            await proposed(pilot, 1)
            await press(pilot, "enter")
            await proposed(pilot, 2)
            shown = screen_text(app)
            assert "[bold red]x[/]" in shown
            assert "\x1b" not in shown


@pytest.mark.heavy
async def test_everyday_words_are_shown_as_commands_before_they_act() -> None:
    app = playing(game(agent="human"), "you")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: "your turn" in screen_text(app))
        line = app.screen.query_one(CommandLine)
        await type_in(pilot, "opne teh frdge")
        await until(pilot, lambda: "→ go to fridge 1 · open fridge 1  ⏎" in screen_text(app))
        assert line.value == "opne teh frdge" and "1  go to" not in screen_text(app)
        await press(pilot, "enter")
        # Both commands are sent, each in its turn.
        await until(pilot, lambda: "2  open fridge 1" in screen_text(app) and waiting(app) == "turn")
        assert line.value == "" and "→ go" not in screen_text(app)
        await type_in(pilot, "what am I holding?")
        await until(pilot, lambda: "what am I holding?: You hold nothing." in screen_text(app))
        await type_in(pilot, "eat the fridge")
        await until(pilot, lambda: "You cannot eat here." in screen_text(app))
        line.prefill("")
        # A command as the world writes it is sent as it is, possible or not.
        await type_in(pilot, "open fridge 1")
        await until(pilot, lambda: len(turns(app)) == 3 and waiting(app) == "turn")
        assert turns(app)[-1] == "open fridge 1"


@pytest.mark.heavy
async def test_an_agent_is_steered_in_words() -> None:
    app = playing(game())
    async with app.run_test(size=(120, 40)) as pilot:
        first = await proposed(pilot, 1)
        await press(pilot, "question_mark")
        await type_in(pilot, "no")
        await until(pilot, lambda: waiting(app) == "verdict" and on(app).play_state.state.moment.proposal != first)
        await press(pilot, "question_mark")
        await type_in(pilot, "go to the toaster")
        await until(pilot, lambda: on(app).play_state.state.moment.proposal == "go to toaster 1")
        await press(pilot, "colon")
        await type_in(pilot, "go on")
        await until(pilot, lambda: turns(app) == ["go to toaster 1"] and waiting(app) == "verdict")
        assert "go on: The expert goes on." in screen_text(app)
        # A question, and a word to stop, move nobody.
        await press(pilot, "question_mark")
        await type_in(pilot, "stop")
        await until(pilot, lambda: "stop: It waits" in screen_text(app))
        await press(pilot, "colon")
        await type_in(pilot, "where are you?")
        await until(pilot, lambda: "I am at toaster 1." in screen_text(app))
        assert turns(app) == ["go to toaster 1"]


@pytest.mark.heavy
async def test_a_refusal_that_says_nothing_is_explained_below_the_line_and_not_in_the_answer() -> None:
    app = playing(game(agent="human"), "you")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: waiting(app) == "turn")
        await type_in(pilot, "go to stoveburner 2")
        await until(pilot, lambda: turns(app) == ["go to stoveburner 2"])
        await type_in(pilot, "go to stoveburner 3")
        why = "go to stoveburner 3: You are at the stoveburner 3 already: it is in the same place as the stoveburner 2."
        await until(pilot, lambda: why in screen_text(app))
        screen = app.screen
        assert isinstance(screen, PlayScreen)
        answer = screen.play_state.state.moment.story[-1].observation
        assert (answer.text, answer.explanation) == ("Nothing happens.", None)
        await type_in(pilot, "go to fridge 1")
        await until(pilot, lambda: why not in screen_text(app))


@pytest.mark.heavy
async def test_the_palette_begins_with_what_is_used_most() -> None:
    app = playing(game())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        titles = [command.title for command in app.get_system_commands(app.screen)]
        await press(pilot, "slash")
        await until(pilot, lambda: "Let the agent play on" in screen_text(app))
        told = screen_text(app)
        assert told.index("Play one command") < told.index("Let the agent play on") < told.index("Accept what is proposed")
        # One line for each key: its effect, then the key.
        lines = [line.strip() for line in told.splitlines()]
        first = next(place for place, line in enumerate(lines) if line.startswith("Play one command"))
        assert [line.rpartition("  ")[2] for line in lines[first : first + 2]] == ["space", "a"]
        await write_in(pilot, "house")
        await until(pilot, lambda: "Show the House  2" in screen_text(app))
        groups = ("Play one", "Show the next drawing", "Type a command", "Race", "Show the Story", "Open the rule", "Light")
        places = [next(place for place, title in enumerate(titles) if title.startswith(group)) for group in groups]
        assert places == sorted(places)


@pytest.mark.heavy
async def test_every_key_is_in_the_palette() -> None:
    app = playing(game())
    async with app.run_test(size=(120, 40)) as pilot:
        await proposed(pilot, 1)
        listed = {command.title for command in app.get_system_commands(app.screen)}
        assert {
            "Let the agent play on",
            "Take over, or hand back",
            "Accept what is proposed",
            "Show the House",
            "Choose other colours",
        } <= listed
        assert isinstance(app.screen, PlayScreen)
        app.screen.view.focus()
        await pilot.pause()
        # The same, without the keys by which Textual scrolls.
        assert {command.title for command in app.get_system_commands(app.screen)} <= listed
        theme = app.theme
        await press(pilot, "ctrl+l")
        assert app.theme != theme


@pytest.mark.heavy
@pytest.mark.parametrize("look", [DARK, LIGHT])
def test_the_screen_looks_as_it_did(look: str, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")  # in which the house is drawn

    async def before(pilot: Pilot[Any]) -> None:
        pilot.app.theme = look
        await after_three_turns(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, PlayScreen)
        await until(pilot, lambda: screen.view.settled)

    assert snap_compare(playing(game()), terminal_size=USUAL, run_before=before)


@pytest.mark.heavy
@pytest.mark.parametrize("size", OTHERS)
async def test_the_screen_in_other_sizes(size: tuple[int, int]) -> None:
    seen = ("STEP", "Story", "3 ", "▸ proposed", "enter accept", "/ palette", "q quit")
    await shows(playing(game()), size, after_three_turns, *seen)


async def after_three_turns(pilot: Pilot[Any]) -> None:
    """Plays three turns, and waits for what is proposed then."""
    for turn in (1, 2, 3):
        await proposed(pilot, turn)
        await press(pilot, "space")
    await proposed(pilot, 4)


@pytest.mark.heavy
def test_the_screen_looks_as_it_did_without_colours(monkeypatch: pytest.MonkeyPatch, snap_compare: Callable[..., bool]) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = playing(game())

    async def after_a_turn(pilot: Pilot[Any]) -> None:
        await proposed(pilot, 1)
        await press(pilot, "space")
        await proposed(pilot, 2)

    assert snap_compare(app, terminal_size=USUAL, run_before=after_a_turn)


@pytest.mark.heavy
def test_the_end_looks_as_it_did(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(playing(game(), "watch"), terminal_size=USUAL, run_before=to_the_end)


@pytest.mark.heavy
@pytest.mark.parametrize("size", OTHERS)
async def test_the_end_in_other_sizes(size: tuple[int, int]) -> None:
    seen = ("OVER", "✦ Won", "In 10 turns.", "the shortest", "the game is over: won in 10 turns", "p replay", "q quit")
    await shows(playing(game(), "watch"), size, to_the_end, *seen)


async def to_the_end(pilot: Pilot[Any]) -> None:
    """Waits for the end, and for what the task can be done in, which is found out beside the screen."""
    await until(pilot, lambda: re.search(r"the shortest .* \d", screen_text(pilot.app)))
