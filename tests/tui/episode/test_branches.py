"""The branches of a rewound game side by side: where they part, how each went, and the way to a turn of any of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.agent.episodes.events import Event
from housequest.tui.episode.branches_dialog import BranchesDialog
from housequest.tui.episode.recording import game_branches, shared_turns
from housequest.tui.play.screen import PlayScreen
from housequest.tui.replay.screen import ReplayScreen
from tests.tui.conftest import Run
from tests.tui.recorded import Said, long, rewound, rewound_twice, write
from tests.tui.screen import COIN, game, press, screen_text, showing, type_in, until, waiting

pytestmark = pytest.mark.anyio


def events(said: list[Said]) -> list[Event]:
    return [Event(id=number, parent=one.parent, body=one.body) for number, one in enumerate(said)]


def commands(said: list[Said]) -> list[list[str | None]]:
    found = game_branches(events(said))
    return [[turn.command for turn in branch.turns[max(branch.shared, shared_turns(found)) :]] for branch in found]


def test_each_branch_has_its_own_turns_and_says_where_it_parts() -> None:
    found = game_branches(events(rewound_twice()))
    assert commands(rewound_twice()) == [
        ["fly", "wait", "look again"],
        ["go to study", "eat coin"],
        ["take coin from the long shelf of the study 1", "go to hall"],
    ]
    assert shared_turns(found) == 1
    assert [branch.parting for branch in found] == ["the first one", "from 1 after turn 1", "from 2 after turn 2"]
    assert [branch.length for branch in found] == ["4 turns, 1 refused", "3 turns, 1 refused", "4 turns"]
    assert [branch.outcome.partition(":")[0] for branch in found] == [
        "‖ left before its end",
        "○ lost after 3 turns",
        "… not over",
    ]
    assert [branch.current for branch in found] == [False, False, True]


def test_a_game_that_was_never_rewound_is_one_branch_and_one_that_never_began_none() -> None:
    (only,) = game_branches(events(long(3)))
    assert only.current
    assert len(only.turns) == shared_turns((only,)) == 3
    assert game_branches(()) == ()
    assert shared_turns(()) == 0


def test_branches_may_part_at_the_first_turn() -> None:
    said = [*long(2)[:2], Said(0, rewound()[7].body), Said(2, rewound()[9].body)]
    assert commands(said) == [["look 1"], ["go to study"]]


async def opened(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, BranchesDialog))


@pytest.mark.heavy
async def test_a_replay_goes_to_the_turn_that_is_chosen(tmp_path: Path) -> None:
    app = showing(lambda: ReplayScreen(write(tmp_path / "e.jsonl", rewound_twice())))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "REPLAY" in screen_text(app))
        assert "branch 3 of 3 (B: all)" in screen_text(app)
        await press(pilot, "end", "B")
        await opened(pilot)
        told = screen_text(app)
        assert "3 branches of this game" in told
        assert "The first turn is the same." in told
        assert "branch 3, current" in told
        assert "× fly" in told
        assert "» go to hall" in told
        assert "as 2" in told
        # From the last turn of the third branch to the only one that the second has left of it, and one up.
        await press(pilot, "left", "up")
        assert "You go to study." in screen_text(app)
        await press(pilot, "enter")
        assert "turn 2 of 3" in screen_text(app)
        assert "branch 2 of 3" in screen_text(app)
        await press(pilot, "B")
        await opened(pilot)
        await press(pilot, "left", "left", "down", "down", "down", "down")
        assert "You look again." in screen_text(app)
        await press(pilot, "escape")
        assert "branch 2 of 3" in screen_text(app)


async def test_where_not_all_have_room_those_around_the_chosen_one_are_shown(tmp_path: Path) -> None:
    app = showing(lambda: ReplayScreen(write(tmp_path / "e.jsonl", rewound_twice())))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "REPLAY" in screen_text(app))
        await press(pilot, "B")
        await opened(pilot)
        assert "‹ 1 more" in screen_text(app)
        assert "× fly" not in screen_text(app)
        await press(pilot, "left", "left")
        assert "1 more ›" in screen_text(app)
        assert "× fly" in screen_text(app)


@pytest.mark.heavy
async def test_a_click_chooses_and_another_one_goes_there(tmp_path: Path) -> None:
    app = showing(lambda: ReplayScreen(write(tmp_path / "e.jsonl", rewound())))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "REPLAY" in screen_text(app))
        await press(pilot, "B")
        await opened(pilot)
        lines = screen_text(app).split("\n")
        y = next(y for y, line in enumerate(lines) if "wait" in line)
        x = lines[y].index("wait")
        await pilot.click(offset=(x, y))
        assert "You wait." in screen_text(app)
        await pilot.click(offset=(x, y))
        assert "turn 3 of 4" in screen_text(app)


@pytest.mark.heavy
async def test_a_long_branch_is_scrolled_through(tmp_path: Path) -> None:
    said = [*long(60)[:-1], Said(0, rewound()[7].body), Said(61, rewound()[9].body)]
    app = showing(lambda: ReplayScreen(write(tmp_path / "e.jsonl", said)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "REPLAY" in screen_text(app))
        await press(pilot, "B")
        await opened(pilot)
        await press(pilot, "left", *["down"] * 70)
        assert "look 60" in screen_text(app)
        await press(pilot, "enter")
        assert "turn 60 of 60" in screen_text(app)


async def test_one_branch_has_nothing_beside_it(tmp_path: Path) -> None:
    app = showing(lambda: ReplayScreen(write(tmp_path / "e.jsonl", long(3))))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "REPLAY" in screen_text(app))
        await press(pilot, "B")
        await until(pilot, lambda: "never rewound" in screen_text(app))


@pytest.mark.heavy
async def test_in_a_game_one_looks_at_another_branch_and_plays_on_from_there() -> None:
    app = showing(lambda: PlayScreen(game(COIN, "human"), "you"))

    def played() -> list[str | None]:
        play = next(screen for screen in app.screen_stack if isinstance(screen, PlayScreen))
        return [entry.command for entry in play.play_state.state.moment.story]

    async def enter(*typed: str) -> None:
        for turn, command in enumerate(typed, len(played()) + 1):
            await type_in(pilot, command)
            await until(pilot, lambda turn=turn: len(played()) == turn and waiting(app) == "turn")

    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: waiting(app) == "turn")
        await enter("go to study", "take key", "go to hall")
        await press(pilot, "escape", "B")
        await until(pilot, lambda: "never rewound" in screen_text(app))
        await press(pilot, "left", "left", "b")
        await until(pilot, lambda: played() == ["go to study"] and waiting(app) == "turn")
        await press(pilot, "colon")
        await enter("go to hall", "go to cellar")
        await press(pilot, "escape", "B")
        await opened(pilot)
        assert "take key" in screen_text(app)
        await press(pilot, "left", "down", "enter")
        assert "turn  3 of 3 of another branch" in screen_text(app)
        assert "take key" in screen_text(app)
        await press(pilot, "left")
        assert "turn  2 of 3 of another branch" in screen_text(app)
        await press(pilot, "escape")
        assert "take key" not in screen_text(app)
        await press(pilot, "B")
        await opened(pilot)
        await press(pilot, "left", "enter", "b")
        await until(pilot, lambda: played() == ["go to study", "take key"] and waiting(app) == "turn")
        assert ", current" not in screen_text(app)


def test_plain_text_tells_the_branches_too(call: Run, tmp_path: Path) -> None:
    told = call("replay", str(write(tmp_path / "e.jsonl", rewound_twice())), "--plain").stdout
    assert told.endswith(
        """
The game was rewound. It has 3 branches, the last of which is the current one.
Branch 1: 4 turns, 1 refused; left before its end
    2  fly (refused)
    3  wait
    4  look again
Branch 2, from 1 after turn 1: 3 turns, 1 refused; lost after 3 turns: ran out
  of turns on the way
    2  go to study
    3  eat coin (refused)
Branch 3, from 2 after turn 2: 4 turns; not over
    3  take coin from the long shelf of the study 1
    4  go to hall (by a person)
"""
    )
    assert "branches" not in call("replay", str(write(tmp_path / "one.jsonl", long(3))), "--plain").stdout
