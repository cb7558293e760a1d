"""ReAct's exemplars: a file of somebody's is read or refused, and ours are played episodes with thoughts."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.knowledge.examples import (
    EXEMPLARS_EACH,
    KEYS,
    LONGEST_EXEMPLAR,
    exemplars_of,
    parse_exemplars,
    shipped,
    without_arrival,
    without_thoughts,
    without_welcome,
    written_exemplars,
)
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.errors import KnowledgeError

OWN = exemplars_of(shipped(), HOUSEHOLD)


def file(**changed: object) -> bytes:
    """A file of exemplars with some keys changed; None takes one out."""
    values = {**json.loads(written_exemplars(OWN)), **changed}
    return json.dumps({key: value for key, value in values.items() if value is not None}).encode()


def test_ours_are_episodes_that_somebody_could_have_played() -> None:
    by_opening = {without_welcome(one.opening): one for one in shipped()}
    assert set(OWN) == set(KEYS.values())
    for name, word in KEYS.items():
        assert len(OWN[word]) == len(set(OWN[word])) == EXEMPLARS_EACH
        for text in OWN[word]:
            opening, *lines = text.split("\n> ")
            example = by_opening[opening]
            assert example.type == name
            played = [tuple(line.split("\n", 1)) for line in lines]
            thoughts = [answer for said, answer in played if said.startswith("think:")]
            assert thoughts == ["OK."] * len(thoughts)
            assert len(thoughts) >= 3
            assert [each for each in played if not each[0].startswith("think:")] == [
                (command, without_arrival(answer)) for command, answer in example.steps
            ]


def test_a_file_is_read_as_it_was_written_and_other_keys_are_left_out() -> None:
    assert parse_exemplars(written_exemplars(OWN).encode(), "a file", HOUSEHOLD) == OWN
    assert parse_exemplars(file(act_put_0="> look", react_sing_0="la", note=[1]), "a file", HOUSEHOLD) == OWN


def test_older_games_are_read_as_todays() -> None:
    older = (
        "You are in the middle of a room. Looking quickly around you, you see a desk 1.\nYour task is to: put a pen on desk.\n"
        "> think: a pen, put it on the desk\nOK.\n> go to bed 1\nOn the bed 1, you see a pen 2.\n"
        "> take pen 2 from bed 1\nYou pick up the pen 2 from the bed 1.\n"
        "> put pen 2 in/on desk 1\nYou put the pen 2 in/on the desk 1.\n"
    )
    (text, *_) = parse_exemplars(file(react_put_0=older), "a file", HOUSEHOLD)["put"]
    assert text.endswith("\n> move pen 2 to desk 1\nYou move the pen 2 to the desk 1.")
    assert "> think: a pen, put it on the desk\nOK." in text


def test_without_thoughts_the_commands_are_left() -> None:
    # In some files a thought is not answered.
    text = "A room.\n> think: hm\nOK.\n> look\nOK.\n> think: so\n> go to desk 1\nA desk."
    assert without_thoughts(text) == "A room.\n> look\nOK.\n> go to desk 1\nA desk."


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff{}", "not JSON"),
        (b"{}", "react_put_0"),
        (file(react_heat_1=None), "react_heat_0, react_heat_1"),
        (file(react_heat_1=7), "react_heat_1 is 7"),
        (file(react_heat_1="  \n"), "react_heat_1"),
        (file(react_heat_1="x" * (LONGEST_EXEMPLAR + 1)), "not a text of at most"),
        (file(react_heat_1="A room.\nAction: go to desk 1\nObs: a desk"), "react_heat_1 has no line that begins with '> '"),
    ],
)
def test_a_file_of_another_form_is_refused(content: bytes, told: str) -> None:
    with pytest.raises(KnowledgeError, match=told) as refused:
        parse_exemplars(content, "some file", HOUSEHOLD)
    assert "'some file'" in str(refused.value)
    assert "make_exemplars" in str(refused.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([f"react_{word}_{number}" for word in KEYS.values() for number in range(4)]) | st.text(max_size=9)


@given(st.dictionaries(NAMES, JSON, max_size=6))
def test_whatever_a_file_holds_is_read_in_bounds_or_refused(changed: dict[str, object]) -> None:
    with suppress(KnowledgeError):
        read = parse_exemplars(file(**changed), "a file", HOUSEHOLD)
        assert set(read) == set(KEYS.values())
        for texts in read.values():
            assert 2 <= len(texts) <= 10
            for text in texts:
                assert text
                text.encode()
                assert all(line.isprintable() for line in text.splitlines())


@given(st.binary(max_size=60))
def test_bytes_are_refused_without_a_traceback(content: bytes) -> None:
    with pytest.raises(KnowledgeError):
        parse_exemplars(content, "a file", HOUSEHOLD)


@given(st.text(max_size=200))
def test_any_text_has_an_opening_and_an_answer(text: str) -> None:
    assert without_welcome(text).count("\n\n") == 0 or "\n\n" in text
    assert text.endswith(without_arrival(text))
