"""The sessions of an environment server, without a protocol: which task is played, what is told of it, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.evaluation.runs.spec import select
from housequest.agent.integrations.games import LONGEST_COMMAND
from housequest.agent.integrations.sessions import EnvSession, ServedTasks, Sessions
from housequest.worlds.errors import ConfigurationError, OrderError, TaskNotFound, Unsupported
from housequest.worlds.registry import make_world
from housequest.worlds.scripted import ScriptedWorld
from housequest.worlds.tasks import TRAINED

T = TypeVar("T")
WORLD = make_world("alfworld")
SCRIPTED = make_world("scripted")
EXAMPLE = ServedTasks(WORLD, "example")
DEMO = ServedTasks(SCRIPTED, "demo", grants=frozenset({"admissible"}))
WAY = ("go to study", "take key", "go to hall", "go to cellar", "unlock box", "take coin")
"""The commands that win demo:1."""


def within(served: ServedTasks, play: Callable[[Sessions], Awaitable[T]]) -> T:
    async def run() -> T:
        async with Sessions(served) as sessions:
            return await play(sessions)

    return asyncio.run(run())


def test_a_range_of_made_up_tasks_is_served() -> None:
    async def play(sessions: Sessions) -> None:
        assert sessions.tasks == "3 tasks"
        assert [sessions.found(None, place, 0).reference for place in range(3)] == [f"generated:{n}" for n in (5, 6, 7)]
        assert {sessions.found(None, None, seed).number for seed in range(20)} == {5, 6, 7}
        assert sessions.found("generated:6", None, 0).number == 6
        with pytest.raises(TaskNotFound, match=r"does not offer that task; it offers: generated:5\.\.7"):
            sessions.found("generated:8", None, 0)
        with pytest.raises(TaskNotFound, match="no split 'example' here"):
            sessions.found("example:1", None, 0)

    within(ServedTasks(WORLD, "generated:5..7"), play)


def test_an_episode_is_won_and_another_is_begun() -> None:
    async def play(sessions: Sessions) -> None:
        session = sessions.begin()
        opening = await session.reset(task="demo:1", episode_id="mine")
        assert (opening.reward, opening.done, opening.turns_left, opening.metadata) == (None, False, 50, {})
        assert opening.text.endswith(opening.goal)
        *before, last = [await session.step(command) for command in WAY]
        assert [told.turns_left for told in before] == [49, 48, 47, 46, 45]
        assert all((told.reward, told.won, told.done) == (0.0, False, False) for told in before)
        assert (last.reward, last.won, last.done) == (1.0, True, True)
        assert session.state.model_dump() == {"episode_id": "mine", "step_count": 6, "task": "demo:1", "seed": None}
        with pytest.raises(OrderError, match="over"):
            await session.step("look")
        await session.reset(seed=3)
        assert (session.state.step_count, session.state.seed) == (0, 3)
        assert session.state.episode_id not in {None, "mine"}

    within(DEMO, play)


def test_turns_run_out_and_a_refused_command_costs_one() -> None:
    async def play(sessions: Sessions) -> None:
        session = sessions.begin()
        await session.reset(task="demo:1")
        refused = await session.step("dance")
        assert (refused.accepted, refused.turns_left, refused.done) == (False, 1, False)
        last = await session.step("look")
        assert (last.turns_left, last.done, last.won, last.reward) == (0, True, False, 0.0)

    within(ServedTasks(SCRIPTED, "demo", max_turns=2), play)


def test_only_what_is_granted_is_told() -> None:
    async def told(sessions: Sessions) -> tuple[object, ...]:
        session = sessions.begin()
        opening = await session.reset(task="example:1")
        refused = await session.step("take apple 9 from fridge 9")
        return (
            opening.type,
            opening.admissible_commands is None,
            refused.admissible_commands is None,
            refused.explanation is None,
        )

    assert within(EXAMPLE, told) == (None, True, True, True)
    granted = ServedTasks(WORLD, "example", grants=frozenset({"admissible", "diagnosis", "type"}))
    type, *withheld = within(granted, told)
    assert (type, withheld) == (WORLD.task("example:1").type, [False, False, False])


@pytest.mark.parametrize("types", [(), ("heat",)])
def test_a_seed_draws_what_an_evaluation_draws(types: tuple[str, ...]) -> None:
    async def drawn(sessions: Sessions) -> list[str | None]:
        session = sessions.begin()
        found: list[str | None] = []
        for seed in (0, 1, 7):
            await session.reset(seed=seed)
            found.append(session.state.task)
        return found

    for split in ("example", "generated"):
        expected = [select(WORLD, split, types, sample=1, seed=seed, usual=TRAINED).tasks[0].reference for seed in (0, 1, 7)]
        assert within(ServedTasks(WORLD, split, types), drawn) == expected


def test_what_one_session_does_changes_nothing_of_another() -> None:
    async def alone(sessions: Sessions) -> list[str]:
        return [told.text for told in await played(sessions.begin())]

    async def played(session: EnvSession) -> list[object]:
        return [await session.reset(seed=1), *[await session.step(command) for command in WAY]]

    async def beside_others(sessions: Sessions) -> list[list[str]]:
        every = await asyncio.gather(*(played(sessions.begin()) for _ in range(8)))
        return [[told.text for told in one] for one in every]  # type: ignore[attr-defined]

    assert within(DEMO, beside_others) == [within(DEMO, alone)] * 8  # type: ignore[arg-type]


def test_a_server_with_a_seed_draws_the_same_again_and_one_without_does_not() -> None:
    async def drawn(sessions: Sessions) -> list[int | None]:
        seeds: list[int | None] = []
        for session in (sessions.begin(), sessions.begin()):
            for _ in range(2):
                await session.reset()
                seeds.append(session.state.seed)
        return seeds

    seeded = ServedTasks(SCRIPTED, "demo", seed=4)
    assert within(seeded, drawn) == within(seeded, drawn)
    assert len(set(within(seeded, drawn))) == 4
    assert within(DEMO, drawn) != within(DEMO, drawn)


def test_mistakes_are_told_in_words_and_change_nothing() -> None:
    async def play(sessions: Sessions) -> None:
        session = sessions.begin()
        with pytest.raises(OrderError, match="reset it first"):
            await session.step("look")
        await session.reset(task="example:1", episode_id="kept")
        await session.step("look")
        for task in (
            "example:0",
            "example:10000",
            "train:1",
            "example",
            "example:-1",
            WORLD.task("example:1").id,
            "",
            ":",
            "\ud800",
        ):
            with pytest.raises(TaskNotFound):
                await session.reset(task=task)
        with pytest.raises(TaskNotFound, match="There is no task 10000 here; there are 0 to"):
            await session.reset(place=10_000)
        with pytest.raises(ConfigurationError, match="leave out task or seed"):
            await session.reset(task="example:1", seed=1)
        with pytest.raises(ConfigurationError, match="at most 2,000 characters, not 2,001"):
            await session.step("x" * (LONGEST_COMMAND + 1))
        assert (session.state.episode_id, session.state.step_count) == ("kept", 1)

    within(EXAMPLE, play)
    with pytest.raises(Unsupported, match="plays by texts"):
        ServedTasks(WORLD, "example", grants=frozenset({"view"}))
    with pytest.raises(ConfigurationError, match="not a task type"):
        Sessions(ServedTasks(WORLD, "example", ("swim",)))


def test_tasks_of_another_type_are_not_offered() -> None:
    async def play(sessions: Sessions) -> None:
        session = sessions.begin()
        await session.reset(place=0)
        assert session.state.task is not None
        assert WORLD.task(session.state.task).type == "pick_heat_then_place_in_recep"
        other = next(task for task in WORLD.tasks(sessions.served.split) if task.type != "pick_heat_then_place_in_recep")
        with pytest.raises(TaskNotFound, match="of a type that this server does not offer"):
            await session.reset(task=other.reference)

    for split in ("example", "generated"):
        within(ServedTasks(WORLD, split, ("heat",)), play)


def test_there_is_room_again_once_a_session_has_ended() -> None:
    async def play(sessions: Sessions) -> None:
        one, _ = sessions.begin(), sessions.begin()
        with pytest.raises(ConfigurationError, match="2 sessions are open, which is the limit"):
            sessions.begin()
        await one.reset()
        await sessions.end(one.id)
        await sessions.end(one.id)
        assert one.state.episode_id is None
        assert sessions.begin().id != one.id

    within(ServedTasks(SCRIPTED, "demo", sessions=2), play)


def test_a_kept_session_that_nobody_uses_ends() -> None:
    async def play(sessions: Sessions) -> None:
        kept, held = sessions.begin(), sessions.begin()
        sessions.keep(kept)
        assert sessions.used(kept.id) is kept
        with pytest.raises(ConfigurationError, match=f"no session {held.id} here"):
            sessions.used(held.id)
        async with asyncio.timeout(60):
            while len(sessions) == 2:  # noqa: ASYNC110 (nobody tells a test that a session has ended)
                await asyncio.sleep(0)
        with pytest.raises(ConfigurationError, match="nobody used it"):
            sessions.used(kept.id)

    within(ServedTasks(SCRIPTED, "demo", idle=0.001), play)


@settings(max_examples=30)
@given(st.lists(st.text(max_size=40), max_size=12))
def test_any_text_is_a_command(commands: list[str]) -> None:
    async def play(sessions: Sessions) -> None:
        session = sessions.begin()
        await session.reset(task="demo:1")
        for command in commands:
            told = await session.step(command)
            told.model_dump_json()

    within(DEMO, play)


def test_calls_at_once_are_carried_out_one_after_the_other() -> None:
    async def play(sessions: Sessions) -> None:
        session = sessions.begin()
        await session.reset(task="demo:1")
        told = await asyncio.gather(*(session.step("look") for _ in range(20)), session.reset(task="demo:2"))
        assert [one.turns_left for one in told] == [*range(49, 29, -1), 50]
        assert session.state.task == "demo:2"

    within(DEMO, play)


class Slow(ScriptedWorld):
    """Steps run in a thread."""

    info = replace(ScriptedWorld.info, inline=False)


def test_a_client_that_leaves_in_a_slow_world_leaves_nothing_half_done() -> None:
    async def play(sessions: Sessions) -> None:
        session = sessions.begin()
        await session.reset(task="demo:1")
        for left in range(48, 30, -2):
            step = asyncio.create_task(session.step("look"))
            await asyncio.sleep(0)
            step.cancel()
            assert (await session.step("look")).turns_left == left
        leaving = asyncio.create_task(session.reset(task="demo:2"))
        await asyncio.sleep(0)
        leaving.cancel()
        await sessions.end(session.id)
        with pytest.raises(ConfigurationError, match="This session has ended"):
            await session.reset()
        assert session.state.episode_id is None

    within(ServedTasks(Slow(), "demo"), play)
