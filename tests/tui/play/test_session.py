"""A live game without a screen: what it tells, what it waits for, and what a person's wishes do to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.episodes.events import CallTiming, Ended, Event, Intervened, Stepped, branch
from housequest.agent.episodes.record import read_episode
from housequest.tui.episode.state import ViewState, replayed
from housequest.tui.play.game import ChosenGame
from housequest.tui.play.session import Session, SessionUpdate, Waiting
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import state_folder
from tests.backends.policy import Solver
from tests.backends.server import Server, answer, saying, seeing, serve, status
from tests.parts import needs
from tests.tui.screen import COIN, game
from tests.waiting import PATIENCE, Gate


class Table:
    """A session that runs, and all that it told."""

    def __init__(self, game: ChosenGame, **options: Any) -> None:
        self.told: list[SessionUpdate] = []
        self.session = Session(game, self.told.append, **options)

    @property
    def events(self) -> list[Event]:
        return [told for told in self.told if isinstance(told, Event)]

    @property
    def state(self) -> ViewState:
        return replayed(told for told in self.told if isinstance(told, Event | CallTiming))

    def did(self) -> list[str]:
        """What the person did, in order."""
        return [f"{one.body.action} {one.body.text}".strip() for one in self.events if isinstance(one.body, Intervened)]

    def commands(self) -> list[str]:
        """What was executed on the branch that is played."""
        return [entry.command or "" for entry in self.state.moment.story]

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110 (what is waited for happens at other places than the session too)
                await asyncio.sleep(0.002)

    async def waits(self, waiting: Waiting) -> None:
        """Until the game waits for this."""
        await self.until(lambda: self.session.status.waiting == waiting)

    async def proposed(self, turn: int) -> str:
        """The command proposed for ``turn``, once it is up to the person."""
        await self.until(lambda: self.session.status.waiting == "verdict" and self.state.moment.turn == turn - 1)
        return self.state.moment.proposal or ""


@asynccontextmanager
async def sitting(game: ChosenGame, **options: Any) -> AsyncIterator[Table]:
    """Play ``game`` for as long as the block takes."""
    table = Table(game, **options)
    running = asyncio.create_task(table.session.run())
    try:
        yield table
    finally:
        await table.session.close()
        assert running.done()


def at_a_table(test: Callable[[Table], Awaitable[None]], game: ChosenGame, **options: Any) -> None:
    async def play() -> None:
        async with sitting(game, **options) as table:
            await test(table)

    asyncio.run(play())


def records() -> list[Path]:
    return sorted((state_folder() / "episodes").glob("*.jsonl*"))


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(Solver()) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset()
    return running


def test_watching_to_the_end(server: Server) -> None:
    async def test(table: Table) -> None:
        await table.waits("over")
        assert table.state.moment.ended is not None
        assert table.state.moment.ended.outcome == "won"
        assert not table.state.assisted

    at_a_table(test, game(agent="reasoner-actor", model=server.model()))
    (record, clocks) = records()
    assert record.suffix == ".jsonl"
    assert clocks.name == f"{record.stem}.timing.jsonl"
    assert isinstance(list(read_episode(record))[-1].body, Ended)


def test_a_step_is_proposed_and_accepted_edited_or_asked_for_again(server: Server) -> None:
    async def test(table: Table) -> None:
        session = table.session
        first = await table.proposed(1)
        session.accept()
        await table.proposed(2)
        session.play("inventory")
        await table.proposed(3)
        session.ask_for_another()
        await table.until(lambda: table.did()[-1] == "another")
        await table.proposed(3)
        assert session.status.repeated
        assert "wants another command now" in server.requests[-1].text
        session.hint("look into the fridge")
        await table.until(lambda: table.did()[-1] == "again look into the fridge")
        await table.proposed(3)
        assert table.commands() == [first, "inventory"]
        assert table.did() == ["replace inventory", "another", "again look into the fridge"]
        assert "look into the fridge" in server.requests[-1].text

    at_a_table(test, game(agent="react", model=server.model()), mode="step")


def test_a_person_takes_over_and_hands_back() -> None:
    async def test(table: Table) -> None:
        session = table.session
        await table.proposed(1)
        session.set_mode("you")
        await table.waits("turn")
        assert session.status.possible is not None
        session.play("inventory")
        await table.until(lambda: table.state.moment.turn == 1)
        await table.waits("turn")
        session.play("look")
        await table.until(lambda: table.state.moment.turn == 2)
        session.set_mode("step")
        await table.proposed(3)
        assert table.commands() == ["inventory", "look"]
        session.set_mode("watch")
        await table.waits("over")
        assert table.state.assisted

    at_a_table(test, game(), mode="step")


def test_taking_over_calls_off_what_the_agent_is_deciding(server: Server) -> None:
    async def test(table: Table) -> None:
        await table.until(lambda: server.requests)
        table.session.set_mode("you")
        await table.waits("turn")
        table.session.play("look")
        await table.until(lambda: table.state.moment.turn == 1)
        assert table.did() == ["interrupt", "play look"]

    server.behave(hanging)
    at_a_table(test, game(agent="react", model=server.model()))


def test_escape_calls_off_and_waits_and_the_prompt_is_then_the_same(server: Server) -> None:
    async def test(table: Table) -> None:
        await table.proposed(1)
        table.session.accept()
        server.behave(hanging)
        await table.until(lambda: len(server.requests) == 2)
        table.session.interrupt()
        await table.waits("paused")
        assert table.session.status.mode == "step"
        table.session.proceed()
        await table.proposed(2)
        assert server.requests[1].raw == server.requests[2].raw
        assert table.did() == ["interrupt"]
        assert not table.state.assisted, "who only stops the agent tells it nothing"

    at_a_table(test, game(agent="react", model=server.model()), mode="step")


async def hanging(recorded: object, policy: object) -> Any:
    """No answer, ever."""
    await asyncio.sleep(3_600)


def test_after_a_rewind_the_same_is_asked_byte_for_byte(server: Server) -> None:
    async def test(table: Table) -> None:
        session = table.session
        for turn in range(1, 5):
            await table.proposed(turn)
            session.accept()
        await table.proposed(5)
        stops = [entry.id for entry in table.state.moment.story]
        asked = [request.raw for request in server.requests]
        session.rewind(stops[1])
        await table.waits("paused")
        assert table.state.moment.turn == 2
        session.proceed()
        await table.proposed(3)
        again = [request.raw for request in server.requests[len(asked) :]]
        first = asked.index(again[0])
        assert first > 1
        assert asked[first : first + len(again)] == again

    at_a_table(test, game(agent="reasoner-actor", model=server.model()), mode="step")


def test_from_the_end_one_goes_back_and_the_branch_played_on_is_the_episode() -> None:
    async def test(table: Table) -> None:
        await table.waits("over")
        story = table.state.moment.story
        table.session.rewind(story[3].id)
        await table.waits("paused")
        assert table.state.moment.ended is None
        table.session.set_mode("you")
        await table.waits("turn")
        table.session.play("inventory")
        await table.until(lambda: table.state.moment.turn == 5)
        table.session.set_mode("watch")
        await table.waits("over")
        assert sum(did.startswith("rewind") for did in table.did()) == 1

    at_a_table(test, game())
    (record,) = records()
    played = branch(list(read_episode(record)))
    commands = [event.body.command for event in played if isinstance(event.body, Stepped)]
    assert commands[4] == "inventory"
    ended = played[-1].body
    assert isinstance(ended, Ended)
    assert ended.assisted


def test_a_failed_model_is_tried_again_or_changed(server: Server) -> None:
    async def test(table: Table) -> None:
        session = table.session
        server.behave(status(413), status(413))
        await table.waits("failed")
        assert "413" in (session.status.failure or "")
        session.proceed()
        await table.until(lambda: table.did() == ["retry"])
        await table.waits("failed")
        await session.change_model(server.model("another"))
        await table.proposed(1)
        assert table.did() == ["retry", "model openai:another"]
        assert session.status.model == "openai:another"
        assert server.requests[-1].body["model"] == "another"

    at_a_table(test, game(agent="react", model=server.model()), mode="step")


def test_where_prompts_go_is_known_on_the_screen(server: Server) -> None:
    async def test(table: Table) -> None:
        await table.proposed(1)
        assert table.session.status.destinations == ()
        await table.session.change_model("openai:x@https://models.example.org/v1")
        assert table.session.status.destinations == ("Prompts go to https://models.example.org without a key.",)

    at_a_table(test, game(agent="react", model=server.model()), mode="step")


def test_a_hint_given_while_the_agent_decides_goes_with_its_next_turn(server: Server) -> None:
    async def test(table: Table) -> None:
        await table.until(lambda: server.requests)
        table.session.hint("mind the fridge")
        assert table.session.status.hints == ("mind the fridge",)
        gate.open()
        await table.proposed(1)
        table.session.accept()
        await table.proposed(2)
        assert "mind the fridge" not in server.requests[0].text
        assert "mind the fridge" in server.requests[1].text

    gate = Gate()

    async def held(recorded: Any, policy: Any) -> Any:
        await asyncio.to_thread(gate.wait)
        return await answer(recorded, policy)

    server.behave(held)
    at_a_table(test, game(agent="react", model=server.model()), mode="step")


@pytest.mark.parametrize("ticks", range(5))
def test_who_leaves_just_after_a_key_is_let_go(ticks: int) -> None:
    async def test(table: Table) -> None:
        table.session.set_pace(0.1)
        await table.waits("pace")
        table.session.set_pace(0.2)
        for _ in range(ticks):
            await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE):
            await table.session.close()
        assert table.state.moment.ended is None

    at_a_table(test, game())


def test_leaving_in_the_middle_of_a_call_keeps_a_record_that_is_taken_up_again(server: Server) -> None:
    async def begin(table: Table) -> None:
        for turn in (1, 2, 3):
            await table.proposed(turn)
            table.session.accept()
        server.behave(hanging)
        asked = len(server.requests)
        await table.until(lambda: len(server.requests) > asked)

    played = game(agent="reasoner-actor", model=server.model())
    at_a_table(begin, played, mode="step")
    part = next(record for record in records() if record.name.endswith(".jsonl.part"))
    left = replayed(read_episode(part))
    assert left.moment.turn >= 3
    server.reset()

    async def go_on(table: Table) -> None:
        await table.waits("verdict")
        assert table.state.moment.story[:3] == left.moment.story[:3]
        table.session.set_mode("watch")
        await table.waits("over")
        assert table.state.moment.ended is not None
        assert table.state.moment.ended.outcome == "won"

    at_a_table(go_on, played, mode="step", resume=part)
    assert not part.exists()
    assert isinstance(list(read_episode(part.with_name(part.name.removesuffix(".part"))))[-1].body, Ended)


def test_a_person_alone_plays_goes_back_and_leaves() -> None:
    async def test(table: Table) -> None:
        session = table.session
        for turn, command in enumerate(("go to study", "take key", "fly"), 1):
            await table.waits("turn")
            session.play(command)
            await table.until(lambda turn=turn: table.state.moment.turn == turn)
        await table.waits("turn")
        session.rewind(table.state.moment.story[1].id)
        await table.until(lambda: table.state.moment.turn == 2 and session.status.waiting == "turn")
        session.play("look")
        await table.until(lambda: table.state.moment.turn == 3)
        assert table.commands() == ["go to study", "take key", "look"]

    at_a_table(test, game(COIN, "human"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": "openai:x@nowhere"}, "openai"),
        ({"model": "scripted:/there/is/no/such/file"}, "no/such/file"),
        ({}, "needs a language model"),
    ],
)
def test_what_cannot_be_opened_is_told(settings: dict[str, str], said: str) -> None:
    async def test(table: Table) -> None:
        await table.waits("closed")
        assert said in (table.session.status.trouble or "")
        table.session.play("look")
        table.session.rewind(0)
        table.session.hint("x")
        assert table.events == []

    at_a_table(test, game(agent="react", **settings))
    assert records() == []


def test_a_record_that_cannot_be_written_is_told_and_the_game_goes_on(tmp_path: Path) -> None:
    (state_folder()).mkdir(parents=True)
    (state_folder() / "episodes").write_text("in the way")

    async def test(table: Table) -> None:
        await table.waits("over")
        assert "No record is kept" in (table.session.status.trouble or "")
        assert table.session.record is None

    at_a_table(test, game(COIN))


@needs("llama")
def test_a_game_that_is_seen_goes_on_with_models_that_see(server: Server) -> None:
    server.probing = seeing

    async def begin(table: Table) -> None:
        await table.proposed(1)
        table.session.accept()
        await table.proposed(2)
        with pytest.raises(ConfigurationError, match="takes no images"):
            await table.session.change_model("llama:/nowhere.gguf")
        server.probing = saying("ready")
        with pytest.raises(ConfigurationError, match=r"openai:blind.* takes no images; name a vision model"):
            await table.session.change_model(server.model("blind"))
        assert table.session.status.model == "openai:tester"
        server.probing = seeing
        await table.session.change_model(server.model("another"))
        table.session.accept()
        await table.proposed(3)

    played = game(agent="react", model=server.model(), grant=("view",))
    at_a_table(begin, played, mode="step")
    part = next(record for record in records() if record.name.endswith(".jsonl.part"))
    assert replayed(read_episode(part)).totals.images >= 3

    async def go_on(table: Table) -> None:
        await table.proposed(3)
        table.session.set_mode("watch")
        await table.waits("over")
        assert table.state.moment.ended is not None
        assert table.state.moment.ended.outcome == "won"

    at_a_table(go_on, played, mode="step", resume=part)


def test_a_game_whose_model_sees_nothing_does_not_begin(server: Server) -> None:
    async def test(table: Table) -> None:
        await table.waits("closed")
        assert "takes no images; name a vision model, or leave out --grant view." in table.session.status.trouble

    at_a_table(test, game(agent="react", model=server.model(), grant=("view",)))
    assert not server.requests
    assert not records()
