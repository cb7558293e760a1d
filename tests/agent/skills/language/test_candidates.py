"""The line of a world whose commands are movements and actions is read like any other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.skills.language.answers import Mind
from housequest.agent.skills.language.candidates import read_candidate
from housequest.agent.skills.language.playing import PlayersLine
from housequest.worlds.alfred.env import MANUAL

MOVES = ("LookDown", "LookUp", "MoveAhead", "RotateLeft", "RotateRight")
NEAR = ("CloseObject cabinet 2", "OpenObject fridge 1", "PickupObject egg 1", "PickupObject mug 1", "PickupObject mug 2")
POSSIBLE = (*MOVES, *NEAR, "ToggleObjectOn desklamp 1")


def read(said: str, possible: tuple[str, ...] = POSSIBLE) -> PlayersLine:
    return read_candidate(said, possible, MANUAL, "heat an egg.", Mind(turns=9), last="You stand at x 0, z 0.")


@pytest.mark.parametrize(
    ("said", "command"),
    [
        ("turn left", "RotateLeft"),
        ("look to the right", "RotateRight"),
        ("trun left please", "RotateLeft"),
        ("walk", "MoveAhead"),
        ("one step forward", "MoveAhead"),
        ("go straight", "MoveAhead"),
        ("look up", "LookUp"),
        ("moveahead", "MoveAhead"),
        ("pick up the egg", "PickupObject egg 1"),
        ("pick the egg up", "PickupObject egg 1"),
        ("take mug 2", "PickupObject mug 2"),
        ("open it", "OpenObject fridge 1"),
        ("shut the cabinet", "CloseObject cabinet 2"),
        ("turn the lamp on", "ToggleObjectOn desklamp 1"),
        ("PutObject table 1", "PutObject table 1"),
    ],
)
def test_words_are_read_as_the_command_that_they_mean(said: str, command: str) -> None:
    assert read(said).commands == (command,)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("look around", "You stand at x 0, z 0. There are: LookDown, LookUp, MoveAhead, RotateLeft, RotateRight."),
        ("where am i?", "You stand at x 0, z 0."),
        ("where is the egg?", "egg 1 is in reach."),
        ("where is the potato?", "No potato is in reach. You stand at x 0, z 0."),
        ("what is my task?", "The task: heat an egg."),
        ("how many turns are left?", "There are 9 turns left."),
        ("how do i turn left?", "The commands are: MoveAhead; RotateLeft;"),
        ("should i look up?", "The commands are: MoveAhead; RotateLeft;"),
        ("stop", "Nothing more is sent."),
        ("no", "Nothing is sent. What instead?"),
        ("don't look up", "Nothing is sent."),
        ("hello", "All right."),
        ("take the potato", "No potato is in reach for that."),
        ("put it down", "That is not possible from here."),
        ("grab a mug", "Which one? 1 PickupObject mug 1 · 2 PickupObject mug 2"),
        ("turn around", "Which one? 1 RotateLeft · 2 RotateRight"),
        ("go to the fridge", "That is not possible from here."),
    ],
)
def test_all_else_is_answered_and_sends_nothing(said: str, answer: str) -> None:
    line = read(said)
    assert line.commands == ()
    assert line.shown.startswith(answer)


@pytest.mark.parametrize("said", ["turn left and go forward", "turn left, then open the fridge", "turn left twice"])
def test_of_several_orders_the_first_is_read_and_that_is_said(said: str) -> None:
    assert read(said).shown == "→ RotateLeft  One command at a time."


def test_skills_are_read_too() -> None:
    skills = ("find a mug", "find an egg", "pick up the egg", "open the fridge")
    for said, command in (("go to the mug", "find a mug"), ("find egg", "find an egg"), ("grab the egg", "pick up the egg")):
        assert command in (*read(said, skills).commands, *read(said, skills).choices)


@given(st.text(max_size=100))
def test_any_line_is_read(said: str) -> None:
    assert set(read(said).commands) <= {*POSSIBLE, said}
