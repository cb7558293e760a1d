"""Completion: which commands a few letters mean, best first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.tui.play.line import CommandCompleter

COMMANDS = (
    "examine fridge 1",
    "go to cabinet 10",
    "go to cabinet 2",
    "go to fridge 1",
    "heat egg 1 with microwave 1",
    "inventory",
    "look",
    "take egg 1 from countertop 1",
    "take egg 1 from fridge 1",
    "take fork 1 from fridge 1",
)


def ranked(typed: str) -> list[str]:
    return [match.command for match in CommandCompleter(COMMANDS).ranked(typed)]


@pytest.mark.parametrize(
    ("typed", "best"),
    [
        ("go", "go to cabinet 2"),
        ("TAKE  egg", "take egg 1 from countertop 1"),
        ("t egg fr", "take egg 1 from fridge 1"),
        ("egg mic", "heat egg 1 with microwave 1"),
        ("g f", "go to fridge 1"),
        ("inv", "inventory"),
        ("gofrdg", "go to fridge 1"),
        ("tkfrk", "take fork 1 from fridge 1"),
    ],
)
def test_the_command_that_is_meant_comes_first(typed: str, best: str) -> None:
    assert ranked(typed)[0] == best


def test_a_beginning_comes_before_words_and_words_before_letters() -> None:
    completer = CommandCompleter(("eat tea", "tea eat", "steal a lot"))
    assert [match.command for match in completer.ranked("tea")] == ["tea eat", "eat tea", "steal a lot"]


def test_part_of_a_small_word_means_it_last() -> None:
    assert ranked("t egg fr") == ["take egg 1 from fridge 1", "take egg 1 from countertop 1"]


def test_nothing_typed_is_every_command_once_with_numbers_in_their_order() -> None:
    shuffled = CommandCompleter((*reversed(COMMANDS), "look"))
    assert list(shuffled.commands) == ranked("")
    assert shuffled.commands.index("go to cabinet 2") < shuffled.commands.index("go to cabinet 10")


def test_letters_that_are_nowhere_mean_nothing() -> None:
    assert ranked("xyzzy") == []


def test_a_command_is_known_whatever_its_spaces_and_capitals() -> None:
    completer = CommandCompleter(COMMANDS)
    assert completer.exact("  Go TO  fridge 1 ") == "go to fridge 1"
    assert completer.exact("go to fridge") is None


@given(commands=st.lists(st.text(max_size=30), max_size=8), typed=st.text(max_size=20))
def test_any_text_is_ranked_the_same_way_twice_and_marks_lie_in_the_command(commands: list[str], typed: str) -> None:
    matches = CommandCompleter(commands).ranked(typed)
    assert matches == CommandCompleter(reversed(commands)).ranked(typed)
    assert {match.command for match in matches} <= set(commands)
    assert all(0 <= mark < len(match.command) for match in matches for mark in match.marks)


@given(st.data())
def test_every_beginning_of_a_command_finds_it(data: st.DataObject) -> None:
    command = data.draw(st.sampled_from(COMMANDS))
    typed = command[: data.draw(st.integers(1, len(command)))]
    begin = [one for one in COMMANDS if one.startswith(typed.rstrip())]
    assert set(ranked(typed)[: len(begin)]) == set(begin)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("opne fridge 1", "open fridge 1"),
        ("take mug 2 form shelf 1", "take mug 2 from shelf 1"),
        ("take cup 2 from shelf 1", None),
        ("open fridge 1", None),
        ("", None),
    ],
)
def test_a_slip_is_told_from_another_command(typed: str, meant: str | None) -> None:
    assert CommandCompleter(["open fridge 1", "take mug 2 from shelf 1"]).near(typed) == meant
