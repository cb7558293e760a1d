"""Rulebooks are found by name, the user's own first, and those that ship are never written."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.knowledge.rulebook import RuleLibrary, library, save
from housequest.worlds.errors import KnowledgeError
from housequest.worlds.paths import data_folder


@pytest.fixture
def shelf(tmp_path: Path) -> RuleLibrary:
    (tmp_path / "ships").mkdir()
    (tmp_path / "ships" / "human.yaml").write_text("# as it ships\nformat: 0.2\nrules:\n- a\n")
    return RuleLibrary(tmp_path / "own", tmp_path / "ships")


def test_a_change_of_a_book_that_ships_goes_to_a_copy(shelf: RuleLibrary) -> None:
    before = (shelf.shipped / "human.yaml").read_bytes()
    book = shelf.editable("human")
    save(book.put([book.rule("rule-1").judged("rejected")]))
    assert (shelf.shipped / "human.yaml").read_bytes() == before
    assert shelf.find("human") == shelf.own / "human.yaml"
    assert shelf.open("human").rules[0].status == "rejected"
    assert shelf.open("human").text.startswith("# as it ships\n")
    assert shelf.names() == ("human",)
    again = shelf.editable("human")
    save(again.put([again.rule("rule-1").judged("accepted")]))
    assert shelf.open("human").rules[0].status == "accepted"


def test_a_copy_made_meanwhile_is_not_overwritten(shelf: RuleLibrary) -> None:
    mine, theirs = shelf.editable("human"), shelf.editable("human")
    save(theirs.put([theirs.rule("rule-1").judged("rejected")]))
    with pytest.raises(KnowledgeError, match="was made since"):
        save(mine.put([mine.rule("rule-1").judged("rejected")]))


def test_a_file_is_a_file(shelf: RuleLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text("format: 0.2\nrules:\n- b\n")
    assert shelf.open(str(tmp_path / "mine.yaml")).rules[0].statement == "b"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare").write_text("format: 0.2\nrules:\n- c\n")
    assert shelf.open("bare").rules[0].statement == "c"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("humam", "Did you mean 'human'"), ("no/where", "cannot be read"), ("a\0", "cannot be read"), ("", "read")],
)
def test_what_is_not_there_is_told(name: str, reason: str, shelf: RuleLibrary) -> None:
    with pytest.raises(KnowledgeError, match=reason):
        shelf.open(name)


def test_the_users_books_are_in_the_data_folder() -> None:
    shelf = library()
    assert shelf.own == data_folder() / "rulebooks"
    assert not shelf.own.exists()
    for name in shelf.names():
        assert shelf.open(name).rules
