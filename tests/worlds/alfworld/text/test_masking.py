"""What is masked leaves lists and commands, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.household.belief import masked, names, possible

ROOM = "Looking quickly around you, you see a bed 1, a drawer 2, a drawer 1, and a safe 1."


@pytest.mark.parametrize(
    ("hidden", "left"),
    [
        ((), "you see a bed 1, a drawer 2, a drawer 1, and a safe 1."),
        (("drawer 1", "pen 1"), "you see a bed 1, a drawer 2, and a safe 1."),
        (("bed 1", "safe 1"), "you see a drawer 2, and a drawer 1."),
        (("bed 1", "safe 1", "drawer 2"), "you see a drawer 1."),
        (("bed 1", "safe 1", "drawer 2", "drawer 1"), "you see nothing."),
    ],
)
def test_a_list_is_shortened_as_the_game_would_have_written_it(hidden: tuple[str, ...], left: str) -> None:
    assert masked(ROOM, hidden) == f"Looking quickly around you, {left}"


def test_what_was_done_stays_and_a_longer_number_is_another_name() -> None:
    text = "You arrive at drawer 1. On the drawer 1, you see a pen 1, and a pen 11."
    assert masked(text, {"drawer 1", "pen 1"}) == "You arrive at drawer 1. On the drawer 1, you see a pen 11."


def test_commands_that_name_something_hidden_are_not_possible() -> None:
    commands = ("look", "go to drawer 1", "go to drawer 11", "take pen 1 from drawer 11")
    assert possible(commands, {"drawer 1", "pen 1"}) == ("look", "go to drawer 11")


@given(st.text(max_size=200), st.sets(st.text(max_size=20), max_size=4))
def test_any_text_is_taken(text: str, hidden: set[str]) -> None:
    noisy = f"{ROOM} {text} you see a {text}."
    assert not set(names(masked(ROOM, hidden))) & hidden
    assert masked(noisy, ()) == noisy
    masked(noisy, hidden)
