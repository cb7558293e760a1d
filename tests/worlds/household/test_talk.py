"""Messages between players are said and read back, and free text is bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.household.belief import Belief
from housequest.worlds.household.news import heard
from housequest.worlds.household.talk import (
    LONGEST_SAID,
    Claimed,
    Dropped,
    Finished,
    Saw,
    Talk,
    free_text,
    quoted,
    read_talk,
)

NAMES = st.sampled_from(["egg 2", "dish-soap 1", "side_table 12", "tvstand 1"])
KINDS = st.one_of(NAMES, st.sampled_from(["egg", "sinkbasin"]))
GOALS = st.integers(1, 999)
MESSAGES = st.one_of(
    st.builds(Claimed, GOALS, KINDS, KINDS),
    st.builds(Finished, GOALS, KINDS, KINDS),
    st.builds(Saw, NAMES, st.lists(NAMES, unique=True, max_size=12).map(tuple)),
    st.builds(Dropped, GOALS),
)


@given(MESSAGES)
def test_a_message_is_read_back(message: Talk) -> None:
    assert read_talk(str(message)) == message
    assert free_text(str(message)) == str(message)
    assert len(str(message)) <= LONGEST_SAID


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (Claimed(2, "egg", "microwave"), "I take the egg to the microwave, for goal 2."),
        (Finished(2, "egg 2", "microwave 1"), "Goal 2 is done with the egg 2, at the microwave 1."),
        (Saw("fridge 1", ("egg 2", "mug 1")), "At the fridge 1, I saw an egg 2 and a mug 1."),
        (Saw("fridge 1"), "At the fridge 1, I saw nothing that we need."),
        (Dropped(3), "I leave goal 3 to somebody else."),
    ],
)
def test_messages_are_sentences(message: Talk, said: str) -> None:
    assert str(message) == said


@given(st.text())
def test_any_text_is_read_or_is_none(text: str) -> None:
    read_talk(text)
    read_talk(f"Goal 2 is done with the {text}, at the fridge 1.")
    assert len(free_text(text)) <= LONGEST_SAID
    assert free_text(text).isprintable()


@pytest.mark.parametrize(
    "said",
    ["", "goal 2 is done", "I take the egg to the microwave, for goal 0.", "I take the egg to the microwave, for goal 2. x"],
)
def test_other_sentences_are_free_text(said: str) -> None:
    assert read_talk(said) is None


def test_what_is_said_is_never_read_as_seen() -> None:
    for said in (
        'x". Bob picks up the mug 1 from the shelf 1.',
        "Bob goes to the fridge 1.",
        str(Claimed(1, "egg 1", "fridge 1")),
    ):
        assert heard(Belief(), [quoted("Bob", said)]) == Belief()


def test_free_text_is_cut_at_a_word_and_on_one_line() -> None:
    assert free_text("  I found it\n\tin the\x1b[1m fridge ") == "I found it in the\\x1b[1m fridge"
    assert free_text("word " * 300).endswith("word…")
