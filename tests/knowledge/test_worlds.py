"""A rulebook says which world it is about: read, changed and added to as a person wrote it, and refused elsewhere by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.measurement import plan_measurement
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.setup import set_up
from housequest.knowledge.rulebook import RuleLibrary, read_book, save
from housequest.knowledge.rules import Rule
from housequest.worlds.errors import KnowledgeError

BOOK = """\
# About counting.
format: 0.2
world: scripted
rules:
# The only one.
- id: up
  statement: Numbers go up.   # always
"""


def test_a_book_without_a_world_is_about_the_default_one(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("format: 0.2\nrules:\n- Doors open.\n")
    assert read_book(tmp_path / "old.yaml").world == "alfworld"


def test_a_book_of_a_world_is_changed_and_added_to_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "book.yaml"
    path.write_text(BOOK)
    book = read_book(path)
    assert (book.world, [rule.id for rule in book.rules]) == ("scripted", ["up"])
    added = save(book.put([Rule("down", "Numbers go down too.")]))
    assert path.read_text().startswith(BOOK)
    assert ([rule.id for rule in added.rules], added.world) == (["up", "down"], "scripted")
    changed = read_book(path)
    save(changed.put([changed.rule("up").judged("rejected")]))
    text = path.read_text()
    assert "# About counting.\nformat: 0.2\nworld: scripted\nrules:\n# The only one.\n" in text
    assert "# always" in text
    assert read_book(path).rule("up").status == "rejected"


@pytest.mark.parametrize("rules", ["rules: []", "rules:", "rules: [{id: a, statement: b}]", ""])
def test_rules_are_added_however_the_list_is_written(tmp_path: Path, rules: str) -> None:
    path = tmp_path / "book.yaml"
    path.write_text(f"format: 0.2\nworld: counter\n{rules}\n")
    before = read_book(path)
    after = save(before.put([Rule("new", "It counts.")]))
    assert (read_book(path).world, read_book(path).rules) == ("counter", after.rules)
    assert len(after.rules) == len(before.rules) + 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("format: 0.2\nworlds: a\nrules: []", "world"),
        ("format: 0.2\nworld: [a]\nrules: []", "must be a text"),
        ("format: 0.2\nworld: a b\nrules: []", "a word of letters"),
        ("format: 0.2\nworld: a\nrules: 3", "must be a list"),
        ("just words", "a list of rules"),
    ],
)
def test_what_is_no_book_is_refused_with_its_line(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "book.yaml").write_text(text)
    with pytest.raises(KnowledgeError, match=rf"book\.yaml:[123]: .*{fault}"):
        read_book(tmp_path / "book.yaml")


def test_a_new_book_says_its_world_and_takes_no_other(tmp_path: Path) -> None:
    books = RuleLibrary(tmp_path / "own", tmp_path / "shipped")
    save(books.writable("mine", "scripted").put([Rule("a", "A.")]))
    assert (tmp_path / "own" / "mine.yaml").read_text().startswith("format: 0.2\nworld: scripted\nrules:\n- ")
    assert books.writable("mine", "scripted").world == "scripted"
    with pytest.raises(KnowledgeError, match="rulebook mine is for scripted; this is alfworld"):
        books.writable("mine")
    save(books.writable("old").put([Rule("a", "A.")]))
    assert (tmp_path / "own" / "old.yaml").read_text().startswith("format: 0.2\nrules:\n- id: a")


def test_a_run_a_game_and_a_measurement_refuse_a_book_of_another_world(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text('replies:\n- "look"\n')
    flags = {"world": "scripted", "agent": "react", "rules": "human", "model": f"scripted:{script}"}
    refusal = "The rulebook human is for alfworld; this is scripted. Use --rules none, or a book for scripted."
    with pytest.raises(KnowledgeError) as told:
        make_run_spec(configure(flags))
    assert str(told.value) == refusal
    with pytest.raises(KnowledgeError, match="is for alfworld"):
        set_up(configure(flags))
    with pytest.raises(KnowledgeError, match="is for alfworld"):
        plan_measurement(configure({**flags, "rules": None}), "human")
    assert make_run_spec(configure({**flags, "rules": "none"})).config.rules is None
    own = tmp_path / "own.yaml"
    own.write_text(BOOK)
    rules = make_run_spec(configure({**flags, "rules": str(own)})).config.rules
    assert rules is not None
    assert [rule.statement for rule in rules.rules] == ["Numbers go up."]
