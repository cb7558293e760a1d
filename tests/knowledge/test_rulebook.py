"""A rulebook is read as rules, or refused with its file and item."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.rulebook import LARGEST_FILE, load_rules
from knowledge.rules import Rule
from worlds.errors import KnowledgeError


def book(folder: Path, text: str) -> Path:
    path = folder / "book.yaml"
    path.write_text(text, "utf-8")
    return path


def test_statements_and_named_rules_are_read(tmp_path: Path) -> None:
    path = book(tmp_path, "# ours\n- mugs lie\n  in cabinets\n- {id: cold, statement: a fridge cools}\n")
    assert load_rules(path) == (Rule("rule-1", "mugs lie in cabinets"), Rule("cold", "a fridge cools"))


def test_an_empty_book_has_no_rules(tmp_path: Path) -> None:
    assert load_rules(book(tmp_path, "# nothing yet\n")) == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rules: x", "must be a list"),
        ("- 3", "rule 1"),
        ("- a\n- {statment: b}", "rule 2.*'statment'"),
        ("- {id: x}", "no statement"),
        ("- {id: x, statement: a}\n- {id: x, statement: b}", "two rules"),
        ("- [", "not valid YAML"),
        ("- &a x\n- *a", "anchors"),
        ("- !!python/object:os.system x", "book.yaml"),
        (f"- {'x' * 3000}", "at most"),
        ("#" * (LARGEST_FILE + 1), "bytes"),
        ("[" * 20_000, "not valid YAML"),
    ],
    ids=range(11),
)
def test_a_wrong_book_is_refused_with_its_reason(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(KnowledgeError, match=reason):
        load_rules(book(tmp_path, text))


def test_a_missing_book_is_named(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="nowhere"):
        load_rules(tmp_path / "nowhere.yaml")


@given(st.one_of(st.binary(max_size=300), st.text("-[]{}&*!|>#:?%@`'\" \n\tab1.", max_size=120).map(str.encode)))
def test_any_bytes_are_rules_or_a_knowledge_error(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "book.yaml"
        path.write_bytes(content)
        try:
            rules = load_rules(path)
        except KnowledgeError as error:
            assert "book.yaml" in str(error)
        else:
            assert all(rule.statement for rule in rules)
