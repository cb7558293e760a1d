"""Texts in messages are cut where a reader would cut them."""

from __future__ import annotations

import pytest

from housequest.worlds.errors import unquoted


@pytest.mark.parametrize(
    ("text", "limit", "said"),
    [
        ("find one first", 14, "find one first"),
        ("no egg was seen; find one first", 30, "no egg was seen; find one…"),
        ("x" * 30, 10, f"{'x' * 9}…"),
        ("a " + "x" * 30, 10, f"a {'x' * 7}…"),
        ("it's a\nline", 40, "it's a\\nline"),
        (7, 40, "7"),
    ],
)
def test_a_text_is_cut_at_a_word(text: object, limit: int, said: str) -> None:
    assert unquoted(text, limit) == said
    assert len(unquoted(text, limit)) <= limit
