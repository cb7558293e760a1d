"""The games behind a door, without a protocol: who may play what, what is told of it, and what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.episodes.events import Ended, Started, Stepped
from housequest.agent.episodes.record import read_episode
from housequest.agent.integrations.games import MOST_EACH, MOST_LISTED, GameHost, GameOpening, GameRequest, HostOptions
from housequest.worlds.errors import ConfigurationError, GameError, TaskNotFound
from housequest.worlds.household.goals import TASK_TYPES
from housequest.worlds.registry import make_world

T = TypeVar("T")
WORLD = make_world("alfworld")
SCRIPTED = make_world("scripted")
WAY = ("go to study", "take key", "go to hall", "go to cellar", "unlock box", "take coin")
"""The commands that win demo:1."""


def within(offer: HostOptions, play: Callable[[GameHost], Awaitable[T]], **limits: float) -> T:
    async def run() -> T:
        async with GameHost(offer, **limits) as games:  # type: ignore[arg-type]
            return await play(games)

    return asyncio.run(run())


def test_a_game_is_won_and_its_record_is_an_episode(tmp_path: Path) -> None:
    async def play(games: GameHost) -> None:
        game = (await games.new(GameRequest("demo:1"))).game
        *before, last = [await games.act(game, command) for command in WAY]
        assert all((answer.over, answer.outcome, answer.reason) == (False, None, None) for answer in before)
        assert [answer.turns_left for answer in before] == [49, 48, 47, 46, 45]
        assert (last.over, last.outcome, last.reason, last.turns_left) == (True, "won", "won in 6 turns", 0)
        with pytest.raises(ConfigurationError, match="over: won in 6 turns"):
            await games.act(game, "look")

    within(HostOptions(SCRIPTED, records=tmp_path), play)
    (record,) = tmp_path.iterdir()
    bodies = [event.body for event in read_episode(record)]
    assert isinstance(bodies[0], Started)
    assert (bodies[0].agent, bodies[0].task, bodies[0].grants) == ("mcp", "demo/find", ())
    assert [body.command for body in bodies if isinstance(body, Stepped)] == list(WAY)
    assert isinstance(bodies[-1], Ended)
    assert bodies[-1].outcome == "won"


def test_turns_run_out_and_giving_up_loses() -> None:
    async def play(games: GameHost) -> None:
        game = (await games.new(GameRequest("demo:1"))).game
        assert not (await games.act(game, "look")).over
        last = await games.act(game, "dance")
        assert (last.accepted, last.over, last.outcome, last.reason) == (False, True, "lost", "out of turns (2)")
        other = (await games.new(GameRequest("demo:2"))).game
        assert (await games.give_up(other)).outcome == "lost"

    within(HostOptions(SCRIPTED, max_turns=2), play)


def test_what_is_open_when_the_door_closes_is_stopped(tmp_path: Path) -> None:
    async def play(games: GameHost) -> None:
        await games.act((await games.new(GameRequest("demo:1"))).game, "look")

    within(HostOptions(SCRIPTED, records=tmp_path), play)
    (record,) = tmp_path.iterdir()
    last = list(read_episode(record))[-1].body
    assert isinstance(last, Ended)
    assert (last.outcome, last.reason, last.turns) == ("stopped", "the server was closed", 1)


def test_many_games_at_once_and_calls_at_once() -> None:
    async def play(games: GameHost) -> None:
        opened = [await games.new(GameRequest("demo:1")) for _ in range(16)]
        assert len({one.game for one in opened}) == 16
        await asyncio.gather(*(games.act(one.game, WAY[0]) for one in opened))
        answers = await asyncio.gather(*(games.act(opened[0].game, command) for command in WAY[1:]))
        assert [answer.over for answer in answers] == [False, False, False, False, True]
        with pytest.raises(ConfigurationError, match="is over"):
            await games.act(opened[0].game, "look")
        await games.new(GameRequest("demo:2"))
        with pytest.raises(ConfigurationError, match="16 games are in play"):
            await games.new(GameRequest("demo:2"))

    within(HostOptions(SCRIPTED), play)


def test_a_game_left_idle_makes_room() -> None:
    async def play(games: GameHost) -> None:
        first = (await games.new(GameRequest("demo:1"))).game
        second = (await games.new(GameRequest("demo:1"))).game
        with pytest.raises(ConfigurationError, match="nobody played on"):
            await games.act(first, "look")
        assert (await games.act(second, "look")).accepted

    within(HostOptions(SCRIPTED), play, most=1, idle=0.0)


def test_a_game_that_nobody_plays_makes_room_before_one_that_is_played() -> None:
    async def play(games: GameHost) -> None:
        played = (await games.new(GameRequest("demo:1"))).game
        await games.act(played, "look")
        unplayed = (await games.new(GameRequest("demo:1"))).game
        await games.new(GameRequest("demo:1"))
        with pytest.raises(ConfigurationError, match="nobody played on"):
            await games.act(unplayed, "look")
        assert (await games.act(played, "look")).accepted

    within(HostOptions(SCRIPTED), play, most=2, unplayed=0.0)


def test_one_client_of_several_has_a_share_of_the_games() -> None:
    async def play(games: GameHost) -> None:
        opened = [(await games.new(GameRequest("demo:1"), "greedy")).game for _ in range(MOST_EACH)]
        with pytest.raises(ConfigurationError, match=f"your limit.* give up one first: {', '.join(opened)}"):
            await games.new(GameRequest("demo:1"), "greedy")
        other = (await games.new(GameRequest("demo:1"), "modest")).game
        assert (await games.act(other, "look")).accepted
        await games.give_up(opened[0])
        await games.new(GameRequest("demo:1"), "greedy")

    within(HostOptions(SCRIPTED), play)


def test_a_call_that_is_cancelled_leaves_a_game_that_plays_on() -> None:
    async def play(games: GameHost) -> None:
        game = (await games.new(GameRequest("demo:1"))).game
        call = asyncio.create_task(games.act(game, WAY[0]))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert (await games.act(game, WAY[1])).observation == "You take the key."

    within(HostOptions(SCRIPTED), play)


def test_a_client_is_shown_no_pictures() -> None:
    with pytest.raises(ConfigurationError, match=r"A client plays by texts.*; leave out --grant view\."):
        HostOptions(SCRIPTED, grants=frozenset({"view"}))


def test_grants_are_what_is_offered_or_less() -> None:
    async def play(games: GameHost) -> None:
        every = await games.new(GameRequest("generated:690"))
        assert every.grants == ("admissible", "type")
        assert every.type in TASK_TYPES
        assert "go to fridge 1" in (await games.commands(every.game)).commands
        bare = await games.new(GameRequest("generated:690", grants=()))
        assert (bare.grants, bare.type) == ((), None)
        with pytest.raises(ConfigurationError, match="does not grant 'admissible'"):
            await games.commands(bare.game)
        with pytest.raises(ConfigurationError, match=r"does not grant 'diagnosis'; it grants: admissible, type\."):
            await games.new(GameRequest("generated:690", grants=("diagnosis",)))
        heated = await games.new(GameRequest(type="heat", seed=3))
        assert heated.type == "pick_heat_then_place_in_recep"
        with pytest.raises(ConfigurationError, match="A type cannot be chosen here"):
            await games.new(GameRequest(type="heat", grants=()))

    within(HostOptions(WORLD, grants=frozenset({"admissible", "type"})), play)


def test_the_diagnosis_explains_only_where_it_is_granted() -> None:
    async def explained(games: GameHost) -> str | None:
        return (await games.act((await games.new(GameRequest("generated:690"))).game, "open drawer 99")).explanation

    assert within(HostOptions(WORLD), explained) is None
    assert within(HostOptions(WORLD, grants=frozenset({"diagnosis"})), explained)


def test_a_drawn_game_is_the_same_for_a_seed() -> None:
    async def two(games: GameHost) -> list[str]:
        return [(await games.new(GameRequest())).observation for _ in range(3)]

    async def one(games: GameHost) -> str:
        return (await games.new(GameRequest(seed=7))).observation

    assert within(HostOptions(WORLD, seed=5), two) == within(HostOptions(WORLD, seed=5), two)
    assert within(HostOptions(WORLD, seed=5), one) == within(HostOptions(WORLD), one)


def test_lists_go_on_where_they_end() -> None:
    async def play(games: GameHost) -> None:
        first = await games.tasks("generated", 1, 3)
        then = await games.tasks("generated", first.next or 0, 10_000)
        assert [task.task for task in first.tasks] == ["generated:0", "generated:1", "generated:2"]
        assert then.tasks[0].task == "generated:3"
        assert len(then.tasks) == MOST_LISTED
        houses = await games.tasks("example", 1, 50)
        assert (len(houses.tasks), houses.next) == (3, None)
        assert not (await games.tasks("example", 1 << 62, 50)).tasks
        assert all(task.type is None for task in (*first.tasks, *houses.tasks))

    within(HostOptions(WORLD), play)


def test_a_range_of_made_up_tasks_is_offered() -> None:
    async def play(games: GameHost) -> None:
        listed = await games.tasks(None, 1, 50)
        assert ([task.task for task in listed.tasks], listed.next) == (["generated:5", "generated:6", "generated:7"], None)
        assert await games.new(GameRequest()) and await games.new(GameRequest("generated:7"))
        with pytest.raises(TaskNotFound, match="does not offer that task"):
            await games.new(GameRequest("generated:8"))

    within(HostOptions(WORLD, split="generated:5..7"), play)


def test_only_what_is_offered_is_listed_drawn_and_played() -> None:
    async def play(games: GameHost) -> None:
        listed = await games.tasks(None, 1, 5)
        assert listed.splits == ("generated",)
        assert all(task.goal.startswith(("put two", "find two")) for task in listed.tasks)
        assert (await games.new(GameRequest())).goal.startswith(("put two", "find two"))
        with pytest.raises(TaskNotFound, match="of a type that this server does not offer"):
            await games.new(GameRequest("generated:690"))
        with pytest.raises(TaskNotFound, match="no split 'example' here; there is: generated"):
            await games.new(GameRequest("example:1"))

    within(HostOptions(WORLD, split="generated", types=("two",)), play)


ODD_NAMES = (
    *("", ":", "example", "example:", "example:0", "example:99", "example:-1", "example:١", "example:1" + "0" * 30),
    *("example/kitchen", "/etc/passwd", "../..", "file:1", "worlds/alfworld/houses/kitchen.json", "generated:x"),
    *("a\x00b", "\ud800:1"),
)


@pytest.mark.parametrize("name", ODD_NAMES, ids=range(len(ODD_NAMES)))
def test_tasks_are_named_by_split_and_number_alone(name: str) -> None:
    async def play(games: GameHost) -> None:
        with pytest.raises(ConfigurationError):
            await games.new(GameRequest(name))

    within(HostOptions(WORLD), play)


def test_a_game_that_cannot_be_played_is_no_game(tmp_path: Path) -> None:
    house = tmp_path / "json_2.1.1" / "train" / "pick_and_place_simple-Mug-None-Desk-301" / "trial_T1"
    house.mkdir(parents=True)
    for name in ("game.tw-pddl", "traj_data.json"):
        (house / name).write_text('{"solvable": true, "grammar": "", "pddl_domain": "", "pddl_problem": ""}')

    async def play(games: GameHost) -> None:
        with pytest.raises(GameError):
            await games.new(GameRequest("train:1"))
        assert (await games.new(GameRequest("example:1"))).turns_left == 50

    within(HostOptions(make_world("alfworld", data=tmp_path)), play)


def test_what_a_client_is_told_is_the_text_of_the_game_and_no_more() -> None:
    async def play(games: GameHost) -> None:
        for reference in ("generated:690", "example:1", "example:2"):
            task = WORLD.task(reference)
            env = WORLD.open(task)
            opening = await games.new(GameRequest(reference))
            assert opening == GameOpening(
                game=opening.game, goal=task.goal, observation=env.reset().observation.text, turns_left=50, grants=()
            )
            for turn, command in enumerate(("look", "go to cabinet 1", "open cabinet 1", "no such thing", "inventory"), 1):
                step = env.step(command)
                answer = await games.act(opening.game, command)
                assert answer.model_dump() == {
                    "observation": step.observation.text,
                    "accepted": step.observation.accepted,
                    "explanation": None,
                    "turns_left": 50 - turn,
                    "over": False,
                    "outcome": None,
                    "reason": None,
                }

    within(HostOptions(WORLD), play)


@settings(max_examples=40)
@given(st.lists(st.text(max_size=200) | st.sampled_from(["\ud800", "\x00", "look\nlook", "go to fridge 1\x1b[2J"]), max_size=4))
def test_any_text_is_a_command(commands: list[str]) -> None:
    async def play(games: GameHost) -> None:
        game = (await games.new(GameRequest("generated:690"))).game
        for command in commands:
            assert (await games.act(game, command)).observation

    within(HostOptions(WORLD), play)


def test_a_command_too_long_spends_nothing() -> None:
    async def play(games: GameHost) -> None:
        game = (await games.new(GameRequest("demo:1"))).game
        with pytest.raises(ConfigurationError, match="at most 2000 characters"):
            await games.act(game, "x" * 2_001)
        assert (await games.act(game, "look")).turns_left == 49
        for unknown in ("", "x" * 10_000, "\ud800", "0"):
            with pytest.raises(ConfigurationError, match="There is no game"):
                await games.act(unknown, "look")

    within(HostOptions(SCRIPTED), play)


def test_a_record_that_cannot_be_written_is_no_game(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")

    async def play(games: GameHost) -> None:
        with pytest.raises(Exception, match="the game broke"):
            await games.new(GameRequest("demo:1"))

    within(HostOptions(SCRIPTED, records=blocked), play)
