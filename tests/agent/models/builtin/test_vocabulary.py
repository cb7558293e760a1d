"""Text becomes tokens and text again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.models.builtin.network import LONGEST_TEXT, SPECIAL, Vocabulary
from tests.agent.models.builtin.tiny import WORDS

KNOWN = Vocabulary(WORDS)


def tokens(text: str) -> list[str]:
    return [KNOWN.tokens[id] for id in KNOWN.encode(text)]


def test_a_name_with_its_number_is_one_token() -> None:
    assert tokens("take mug 2 from cabinet 1") == ["take", "mug 2", "from", "cabinet 1"]


def test_a_number_beyond_those_known_is_spelt_behind_its_kind() -> None:
    assert tokens("mug 17") == ["mug", "<spell>", "#1", "#7"]


def test_an_unknown_word_is_spelt() -> None:
    assert tokens("the Gizmo") == ["the", "<spell>", "#g", "#i", "#z", "#m", "#o"]


def test_an_unknown_word_is_spelt_by_the_longest_known_pieces() -> None:
    known = Vocabulary([*WORDS, "#giz", "#gi", "#mo", "#s"])
    assert [known.tokens[id] for id in known.encode("the gizmos")] == ["the", "<spell>", "#giz", "#mo", "#s"]
    assert known.decode(known.encode("the gizmos giz")) == "the gizmos giz"


def test_a_known_word_is_spelt_on_demand() -> None:
    ids = KNOWN.encode("mug 2 mug", {"mug"})
    assert [KNOWN.tokens[id] for id in ids] == ["mug 2", "<spell>", "#m", "#u", "#g"]
    assert KNOWN.decode(ids) == "mug 2 mug"


@pytest.mark.parametrize(
    "text",
    [
        "Thought: look in the cabinet 3.\nStep: 1\nAction: go to cabinet 3",
        "Plan: it, a mug\nGoal: put the gizmo in the cabinet",
        "Action: take mug 9 from cabinet 2",
    ],
)
def test_canonical_text_comes_back_as_it_was(text: str) -> None:
    assert KNOWN.decode(KNOWN.encode(text)) == text


@given(st.text(max_size=300))
def test_any_text_has_tokens_and_reads_the_same_when_written_again(text: str) -> None:
    ids = KNOWN.encode(text)
    assert all(0 <= id < len(KNOWN) for id in ids)
    written = KNOWN.decode([id for id in ids if KNOWN.tokens[id] != "<unknown>"])
    assert KNOWN.decode(KNOWN.encode(written)) == written


def test_marks_of_a_conversation_cannot_be_written() -> None:
    assert not {KNOWN.id(mark) for mark in SPECIAL if mark not in {"<spell>", "<unknown>"}} & set(
        KNOWN.encode("".join(SPECIAL))
    )


def test_endless_text_is_cut() -> None:
    assert len(KNOWN.encode("a " * LONGEST_TEXT)) == LONGEST_TEXT / 2
