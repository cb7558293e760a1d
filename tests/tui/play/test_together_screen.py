"""A person and an agent in one house on the screen: a whole chore, going back, going on, and the other's seat in the replay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot

from housequest.agent.episodes.events import Ended, Event, Said, Started, Stepped, TurnSpent, branch
from housequest.agent.episodes.record import read_episode, whole_of
from housequest.tui.app import HousequestApp
from housequest.tui.episode.chores import chore_rows
from housequest.tui.play.game import ChosenGame
from housequest.tui.play.screen import PlayScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds.alfworld.expert import HouseholdExpert, make_expert
from housequest.worlds.base import Observation
from housequest.worlds.registry import make_world
from housequest.worlds.shared import WAIT
from tests.backends.policy import companion
from tests.backends.server import serve
from tests.parts import needs
from tests.tui.play.test_together import only_seen_by, things_in
from tests.tui.screen import game, press, running_text, screen_text, showing, type_in, until

pytestmark = pytest.mark.anyio
TASK = "chores:60001"


def beside(agent: str = "expert", **settings: Any) -> ChosenGame:
    played = game(TASK, agent, **settings)
    played.beside = True
    return played


def playing(chosen: ChosenGame, resume: Path | None = None) -> HousequestApp:
    return showing(lambda: PlayScreen(chosen, "together", resume))


def on(app: HousequestApp) -> PlayScreen:
    return next(screen for screen in app.screen_stack if isinstance(screen, PlayScreen))


async def my_turn(pilot: Pilot[Any]) -> bool:
    """Wait until the person is asked; False at the end of the game."""
    session = on(pilot.app).session
    await until(pilot, lambda: session.status.waiting in {"turn", "over", "closed"})
    return session.status.waiting == "turn"


async def types(pilot: Pilot[Any], *lines: str) -> None:
    """Type a line in each of the next turns."""
    for line in lines:
        assert await my_turn(pilot)
        turn = on(pilot.app).play_state.state.moment.turn
        await type_in(pilot, line)
        session = on(pilot.app).session
        await until(
            pilot,
            lambda turn=turn, session=session: (
                on(pilot.app).play_state.state.moment.turn > turn or session.status.waiting == "over"
            ),
        )


class Person:
    """Somebody who plays as the world's expert does: by what their seat alone is told."""

    def __init__(self, app: HousequestApp) -> None:
        self.app, self.policy = app, make_expert()
        assert isinstance(self.policy, HouseholdExpert)
        self.memory: Any = None
        self.seen = 0

    def turn(self) -> tuple[str, tuple[str, ...]]:
        """The command of this turn, and what is said before it."""
        moment = on(self.app).play_state.state.moment
        started = moment.started
        assert started is not None
        if self.memory is None:
            assert moment.opening is not None
            self.memory = self.policy.begin(started.goal, Observation(started.opening, belief=moment.opening))
        for entry in moment.story[self.seen :]:
            self.seen += 1
            if entry.command is not None:
                self.memory = self.policy.observe(self.memory, entry.command, entry.observation)
        news = [f'{note.role} says: "{note.text}"' if note.kind == "said" else f"{note.role} {note.text}"
                for note in moment.notes if note.kind in {"said", "news"}]  # fmt: skip
        self.memory = self.policy.hear(self.memory, "Ann", ("Bob",), news)
        command, _, self.memory = self.policy.decide(self.memory)
        return command or WAIT, self.policy.says(self.memory)


def hidden_from_ann(told: list[Event]) -> set[str]:
    return only_seen_by(told, "Bob")


@pytest.mark.parametrize(
    ("size", "agent"),
    [
        pytest.param((80, 24), "reasoner-actor", marks=pytest.mark.heavy),
        pytest.param((120, 40), "reasoner-actor", marks=pytest.mark.heavy),
        ((200, 60), "expert"),
    ],
)
async def test_a_chore_is_won_by_a_person_and_an_agent(size: tuple[int, int], agent: str) -> None:
    app = playing(beside(agent))
    async with app.run_test(size=size) as pilot:
        person, screen = Person(app), on(app)
        assert await my_turn(pilot)
        assert "To do" in running_text(app)
        said = 0
        while await my_turn(pilot):
            moment = screen.play_state.state.moment
            assert not hidden_from_ann(screen.session.told) & things_in(screen_text(app)) - told_now(screen)
            command, says = person.turn()
            for message in says:
                await type_in(pilot, f"say {message}")
                said += 1
                await until(pilot, lambda said=said: messages(screen) == said)
            turn = moment.turn
            await type_in(pilot, command)
            await until(
                pilot,
                lambda turn=turn: screen.play_state.state.moment.turn > turn or screen.session.status.waiting == "over",
            )
        await until(pilot, lambda: "Knowing the house" in running_text(app))
        text = running_text(app)
        ended = screen.play_state.state.moment.ended
        assert ended is not None
        assert ended.outcome == "won"
        assert not ended.assisted, "who plays beside an agent is a player, and no help"
        assert f"Won in {ended.turns} rounds together." in text
        rows = chore_rows(screen.play_state.state.moment)
        assert all(row.done for row in rows)
        assert said
        record = screen.session.record
    assert record is not None
    told = [event for event in read_episode(whole_of(record)) if isinstance(event, Event)]
    start = told[0].body
    assert isinstance(start, Started)
    assert [(one.name, one.agent) for one in start.players or ()] == [("Ann", "human"), ("Bob", agent)]
    assert isinstance(told[-1].body, Ended)
    deeds = {event.player for event in told if isinstance(event.body, Stepped) and event.body.command != WAIT}
    assert deeds == {"Ann", "Bob"}


def messages(screen: PlayScreen, who: str = "Ann") -> int:
    return sum(event.player == who and isinstance(event.body, Said) for event in screen.session.told)


def told_now(screen: PlayScreen) -> set[str]:
    """The things in the news of the turn under way, which no event has yet."""
    return things_in(" ".join(note.text for note in screen.play_state.state.moment.notes))


@pytest.mark.heavy
@needs("graphs")
async def test_in_an_apartment_a_screen_shows_nothing_that_only_the_other_saw() -> None:
    world, hidden = make_world("household-graph"), set[str]()
    chosen = game("generated:60006", world=world)
    chosen.beside = True
    app = playing(chosen)
    async with app.run_test(size=(200, 60)) as pilot:
        screen = on(app)
        for line in ("walk to bathroom 1", "look", "walk to bedroom 1", "look", "walk to kitchen 1"):
            await types(pilot, line)
            assert await my_turn(pilot)
            secret = hidden_from_ann(screen.session.told)
            assert not secret & things_in(screen_text(app)) - told_now(screen)
            hidden |= secret
        assert hidden


async def test_both_are_seen_where_they_are_known_to_be() -> None:
    app = playing(beside())
    async with app.run_test(size=(120, 40)) as pilot:
        await types(pilot, "look", "wait")
        assert await my_turn(pilot)
        screen = on(app)
        belief = screen.play_state.moment.belief
        assert belief is not None
        (other,) = belief.others
        assert other.at is not None
        assert f"Bob at {other.at}" in running_text(app)
        await press(pilot, "escape", "v")
        await screen.view.settle()
        await until(pilot, lambda: "@ Bob" in screen_text(app))


@pytest.mark.heavy
async def test_questions_and_help_cost_no_turn_and_refusals_are_explained() -> None:
    app = playing(beside())
    async with app.run_test(size=(80, 24)) as pilot:
        await types(pilot, "look")
        for question in ("what are you doing?", "where is the book?"):
            assert await my_turn(pilot)
            before = messages(on(app), "Bob")
            await type_in(pilot, question)
            await until(pilot, lambda before=before: messages(on(app), "Bob") > before)
        below = re.compile(r"you: what are you doing\? “ Bob: I .* “ you: where is the book\? “ Bob: I ")
        await until(pilot, lambda: below.search(running_text(app)))
        await types(pilot, "go to drawer 1")
        await types(pilot, "give book 1 to cleo")
        assert "give book 1 to cleo: Nobody else called cleo is here, only Bob." in screen_text(app)
        assert await my_turn(pilot)
        turn = on(app).play_state.state.moment.turn
        await type_in(pilot, "help")
        await until(pilot, lambda: "give OBJECT to NAME" in screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: "› give" in screen_text(app))
        assert on(app).play_state.state.moment.turn == turn


async def test_going_back_restores_both_and_words_reach_the_other() -> None:
    app = playing(beside())
    async with app.run_test(size=(120, 40)) as pilot:
        await types(pilot, "look")
        assert await my_turn(pilot)
        await type_in(pilot, "you take the drawers")
        screen = on(app)
        await until(pilot, lambda: messages(screen))
        assert "you: you take the drawers" in running_text(app)
        assert screen.session.status.waiting == "turn", "words do not take the turn"
        await types(pilot, "go to sofa 1", "wait", "wait")
        assert await my_turn(pilot)
        before = list(screen.session.told)
        await press(pilot, "escape", "left", "left", "b")
        await until(pilot, lambda: len(screen.session.told) > len(before))
        assert await my_turn(pilot)
        assert [entry.command for entry in screen.play_state.state.moment.story] == ["look", "go to sofa 1"]
        await press(pilot, "colon")
        await types(pilot, "wait", "wait")
        assert await my_turn(pilot)
        told = screen.session.told

        def deeds(events: Any) -> list[tuple[str | None, int, str]]:
            return [(one.player, one.body.turn, one.body.command) for one in events if isinstance(one.body, Stepped)]

        again = deeds(branch(told))
        assert again[: len(deeds(before))] == deeds(before)[: len(again)], "the other does again what it did"
        rewinds = [event for event in told if event.body.kind == "intervened"]
        assert {event.player for event in rewinds} == {"Ann"}
        assert screen.play_state.rewound


@pytest.mark.heavy
async def test_a_game_that_was_left_goes_on_and_its_replay_has_both_seats() -> None:
    app = playing(beside())
    async with app.run_test(size=(120, 40)) as pilot:
        await types(pilot, "look", "go to sofa 1")
        assert await my_turn(pilot)
        await type_in(pilot, "hello there")
        await until(pilot, lambda: messages(on(app)))
        record = on(app).session.record
        told = len(on(app).session.told)
    assert record is not None
    app = playing(beside(), record)
    async with app.run_test(size=(120, 40)) as pilot:
        assert await my_turn(pilot)
        screen = on(app)
        assert len(screen.session.told) == told
        assert [entry.command for entry in screen.play_state.state.moment.story] == ["look", "go to sofa 1"]
        assert "you: hello there" in running_text(app)
        await types(pilot, "wait")
    app = showing(lambda: ReplayScreen(record))
    async with app.run_test(size=(120, 40)) as pilot:
        replay = app.screen
        assert isinstance(replay, ReplayScreen)
        await until(pilot, lambda: replay.stops)
        await press(pilot, "end")
        assert "you: hello there" in running_text(app)
        assert "go to sofa 1" in running_text(app)
        await press(pilot, "o")
        await until(pilot, lambda: "seat of Bob" in running_text(app))
        text = running_text(app)
        assert "Ann: hello there" in text
        assert "you: hello there" not in text


@pytest.mark.heavy
async def test_a_round_goes_on_without_who_thinks_too_long_but_not_while_they_type() -> None:
    chosen = beside()
    chosen.patience = 1.0
    app = playing(chosen)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = on(app)
        await until(pilot, lambda: screen.play_state.state.moment.turn >= 3)
        assert "the round went on without you" in running_text(app)
        await press(pilot, "w", "a")
        await until(pilot, lambda: screen.session.status.waiting == "turn")
        turn = screen.play_state.state.moment.turn
        for _ in range(20):
            await pilot.pause(0.1)
        assert screen.play_state.state.moment.turn == turn
        await press(pilot, "i", "t", "enter")
        await press(pilot, "escape", "l")
        assert screen.session.status.patience is None
        assert any(isinstance(event.body, TurnSpent) for event in screen.session.told)


@pytest.mark.heavy
async def test_what_is_for_an_agent_that_one_watches_says_so() -> None:
    app = playing(beside())
    async with app.run_test(size=(120, 40)) as pilot:
        assert await my_turn(pilot)
        screen = on(app)
        for action in ("step", "auto", "take_over", "hint", "play_as", "true_state"):
            assert screen.refusal(action), action
        assert screen.refusal("patience") is None
        assert "has no model to change" in (screen.refusal("model") or "")


@pytest.mark.heavy
async def test_the_partner_gets_another_model_in_the_midst_of_a_game_that_goes_on() -> None:
    with serve(companion) as server:
        chosen = beside("react", model=server.model("first"), set={"form": "free"})
        app = playing(chosen)
        async with app.run_test(size=(120, 40)) as pilot:
            await types(pilot, "look")
            assert await my_turn(pilot)
            await press(pilot, "escape", "m", *"openai:second@", *server.url, "enter")
            await until(pilot, lambda: "second" in (on(app).session.status.model or ""))
            await press(pilot, "colon")
            await types(pilot, "wait", "wait")
            assert await my_turn(pilot)
            record = on(app).session.record
        asked = [request.body["model"] for request in server.requests]
        assert asked[0] == "first"
        assert asked[-1] == "second"
        assert record is not None
        app = playing(beside("react", model=server.model("first"), set={"form": "free"}), record)
        async with app.run_test(size=(120, 40)) as pilot:
            assert await my_turn(pilot)
            assert [entry.command for entry in on(app).play_state.state.moment.story] == ["look", "wait", "wait"]


@pytest.mark.heavy
async def test_a_key_begins_the_chore_anew_beside_another_agent() -> None:
    app = playing(beside())
    async with app.run_test(size=(120, 40)) as pilot:
        await types(pilot, "look")
        assert await my_turn(pilot)
        await press(pilot, "escape", "A", *"reasoner", "enter")
        await until(pilot, lambda: on(app).session.game.agent == "reasoner-actor")
        assert await my_turn(pilot)
        assert on(app).session.partners == "Bob"
        assert "Bob (reasoner-actor)" in running_text(app)
        assert not on(app).play_state.state.moment.story


async def test_what_is_pasted_in_several_lines_is_said_as_one() -> None:
    app = playing(beside())
    async with app.run_test(size=(80, 24)) as pilot:
        assert await my_turn(pilot)
        app.post_message(Paste("I take the\nfridge,\r\n\nyou the drawers\n"))
        await until(pilot, on(app).session.typing)
        await press(pilot, "enter")
        await until(pilot, lambda: messages(on(app)))
        said = [event.body.text for event in on(app).session.told if isinstance(event.body, Said) and event.player == "Ann"]
        assert said == ["I take the fridge, you the drawers"]


@pytest.mark.heavy
async def test_one_goes_back_from_the_round_in_which_the_game_was_won() -> None:
    app = playing(beside())
    async with app.run_test(size=(200, 60)) as pilot:
        person, screen = Person(app), on(app)
        while await my_turn(pilot):
            await types(pilot, person.turn()[0])
        moment = screen.play_state.state.moment
        assert moment.ended is not None
        assert moment.ended.outcome == "won"
        last = screen.play_state.events[-1].id
        turns = moment.turn
        await press(pilot, "escape", "left", "b")
        await until(pilot, lambda: screen.session.status.waiting == "turn")
        assert screen.play_state.rewound
        assert screen.play_state.state.moment.turn < turns
        assert last < screen.play_state.events[-1].id
