"""Looking for words in texts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.tui.home.catalogue import GameIndex, GameRow

TEXTS = (
    "train:17 heat some egg and put it in countertop",
    "train:18 put a clean mug in cabinet",
    "train:19 Cool MUG, Countertop",
)


def search(texts: Sequence[str], query: str) -> list[int]:
    """The numbers of the texts that are found."""
    index = GameIndex([GameRow(str(number), "", "", text) for number, text in enumerate(texts)])
    return [int(row.key) for row in index.find(query)]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [0, 1, 2]),
        ("  ", [0, 1, 2]),
        ("mug", [1, 2]),
        ("MUG cool", [2]),
        ("egg mug", []),
        ("18", [1]),
        ("train", [0, 1, 2]),
        ("cntr", [0, 2]),
        ("cntr egg", [0]),
        ("ntr", []),
        ("rtc", []),
        ("ptt", []),
        ("*", []),
    ],
)
def test_words_are_found(query: str, found: list[int]) -> None:
    assert search(TEXTS, query) == found


def test_nothing_is_found_in_nothing() -> None:
    assert search((), "x") == []


@given(st.lists(st.text(max_size=20), max_size=8), st.text(max_size=20))
def test_any_query_finds_some_of_the_texts_in_their_order(texts: list[str], query: str) -> None:
    found = search(texts, query)
    assert found == sorted(set(found))
    assert set(found) <= set(range(len(texts)))


@given(st.lists(st.from_regex(r"[a-z]{1,6}( [a-z]{1,6}){0,3}", fullmatch=True), min_size=1, max_size=6), st.data())
def test_a_text_is_found_by_its_own_words(texts: list[str], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(texts) - 1))
    words = data.draw(st.permutations(texts[number].split()))
    assert number in search(texts, " ".join(words))
