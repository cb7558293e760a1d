"""The first lines: the goal is never lost, the rest gives way."""

from __future__ import annotations

import pytest

from housequest.agent.episodes import events
from housequest.tui.episode.stage import GameHeader
from housequest.tui.episode.state import ViewState
from tests.tui.episode.pane import Alone, after, started, step, text

pytestmark = pytest.mark.anyio

GOAL = "put a hot egg in countertop"
STARTED = started(agent="reasoner-actor", model="openai:small")
LOOK = step(1, "look", "You look.")


async def read(state: ViewState, width: int, mode: str = "STEP") -> str:
    header = GameHeader()
    async with Alone(header).run_test(size=(width, 3)) as pilot:
        header.show(state, mode)
        await pilot.pause()
        return text(header)


async def test_a_wide_line_says_all() -> None:
    shown = await read(after(STARTED, events.Intervened(action="hint"), LOOK), 130)
    assert shown.startswith(f"{GOAL}   ")
    assert shown.endswith("   alfworld · valid_seen:17 · turn 1/50 · reasoner-actor · openai:small · assisted   STEP")


@pytest.mark.parametrize(
    ("width", "right"),
    [
        (100, "valid_seen:17 · turn 1/50 · reasoner-actor · openai:small   STEP"),
        (80, "turn 1/50 · reasoner-actor · openai:small   STEP"),
        (70, "turn 1/50 · reasoner-actor   STEP"),
        (60, "turn 1/50   STEP"),
        (40, "STEP"),
    ],
)
async def test_the_rest_gives_way_in_order(width: int, right: str) -> None:
    shown = await read(after(STARTED, LOOK), width)
    assert shown.startswith(GOAL)
    assert shown.removeprefix(GOAL).strip() == right


async def test_a_goal_that_fills_the_line_is_all_there_is() -> None:
    assert await read(after(STARTED), 34) == GOAL
    assert await read(after(STARTED), 17) == "put a hot egg\nin countertop"
    assert await read(after(started(goal="\x1b[2J 鸡蛋\n[bold]" * 20)), 40, "AUTO")


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            100,
            (
                "I would like to eat. Bring the pound cake, the juice, two cupcakes and the coffee pot and put them",
                "on the kitchen table alfworld · valid_seen:17 · turn 1/50 · reasoner-actor · openai:small STEP",
            ),
        ),
        (
            80,
            (
                "I would like to eat. Bring the pound cake, the juice, two cupcakes and the",
                "coffee pot and put them on the kitchen table turn 1/50 STEP",
            ),
        ),
    ],
)
async def test_a_goal_that_is_longer_than_the_line_has_more_of_them(width: int, lines: tuple[str, ...]) -> None:
    things = "the pound cake, the juice, two cupcakes and the coffee pot"
    said = f"I would like to eat. Bring {things} and put them on the kitchen table."
    shown = await read(after(STARTED.model_copy(update={"goal": said}), LOOK), width)
    assert tuple(" ".join(line.split()) for line in shown.split("\n")) == lines


async def test_a_story_in_place_of_a_goal_has_three_lines() -> None:
    lines = (await read(after(started(goal="so tidy up " * 40)), 80)).split("\n")
    assert len(lines) == 3
    assert lines[2].endswith("…")
    assert all(len(line) <= 78 for line in lines)


async def test_before_a_game_and_after_a_change_of_model() -> None:
    assert (await read(ViewState(), 40, "REPLAY")).strip() == "REPLAY"
    changed = after(STARTED, events.Intervened(action="model", text="openai:large"))
    assert "openai:large" in await read(changed, 130)


async def test_it_follows_the_game_and_the_window() -> None:
    header = GameHeader()
    async with Alone(header).run_test(size=(80, 3)) as pilot:
        header.show(after(STARTED), "AUTO")
        await pilot.pause()
        assert "turn 0/50" in text(header)
        header.show(after(STARTED, LOOK), "YOU")
        await pilot.pause()
        assert text(header).endswith("YOU")
        assert "turn 1/50" in text(header)
        await pilot.resize_terminal(130, 3)
        await pilot.pause()
        assert "alfworld" in text(header)
        header.show(after(started(goal="put a hot egg in countertop " * 6)), "YOU")
        await pilot.pause()
        assert header.size.height == 2
        await pilot.resize_terminal(200, 3)
        await pilot.pause()
        assert header.size.height == 1


@pytest.mark.parametrize("width", [60, 116])
async def test_a_wide_line_tells_the_turn_beside_any_goal(width: int) -> None:
    header = GameHeader()
    async with Alone(header).run_test(size=(width, 4)) as pilot:
        for letters in range(width - 25, 2 * width, 9):
            header.show(after(STARTED.model_copy(update={"goal": ("put it " * width)[:letters]}), LOOK), "STEP")
            await pilot.pause()
            assert "turn 1/50" in text(header), letters
