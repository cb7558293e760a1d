"""A rule written in a form: each field that is wrong says so, and what is right comes to the rule that was meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.knowledge.rulebook import Rulebook, parse_book
from housequest.knowledge.rules import KINDS, Evidence, Rule
from housequest.tui.desk.rule_text import NO_KIND, Draft

RULE = Rule(
    "open", "Open it first.", "affordance", ("pick_two_obj_and_place",), ("fridge",), evidence=Evidence(witnesses=("r/t/1",))
)
CHECK = "open {receptacle}; then accepted"

texts = st.text(max_size=40) | st.sampled_from(("mug, cup", CHECK, "[red]", "\x1b[31m", "- a: b", "?", "# no", "\ud800", ","))


@settings(max_examples=100, deadline=None)
@given(st.builds(Draft, texts, st.sampled_from((NO_KIND, *KINDS)), texts, texts, texts))
def test_whatever_is_typed_is_a_rule_that_a_book_holds_or_has_faults(draft: Draft) -> None:
    if faults := list(draft.faults()):
        assert all(fault.reason and fault.field in {"statement", "types", "objects", "check"} for fault in faults)
        return
    rule = draft.new(())
    book = Rulebook(Path("book.yaml")).put([rule])
    assert parse_book(book.path, book.text.encode()).rules == (rule,)
    again = Draft.of(rule)
    assert not list(again.faults())
    assert again.onto(rule) == rule


@pytest.mark.parametrize(
    ("draft", "field", "words"),
    [
        (Draft(" \n "), "statement", "in a sentence"),
        (Draft("x" * 2_001), "statement", "at most 2,000"),
        (Draft("a\x07b"), "statement", "printed"),
        (Draft("a", types="pick_two_obj_and_plac"), "types", "Did you mean 'pick_two_obj_and_place'?"),
        (Draft("a", objects="x" * 301), "objects", "not a word"),
        (Draft("a", check="open {x}; then refuse"), "check", "is not a fact"),
    ],
)
def test_a_fault_names_its_field_and_the_way_out(draft: Draft, field: str, words: str) -> None:
    (fault,) = draft.faults()
    assert fault.field == field
    assert words in fault.reason


def test_only_what_was_changed_is_put_onto_a_rule_that_became_another() -> None:
    began = Draft.of(RULE)
    theirs = replace(RULE, kind="mechanic", statement="Open it before.")
    mine = replace(began, objects="fridge, safe")
    assert mine.onto(theirs, began) == theirs.edited(replace(theirs, objects=("fridge", "safe")))
    assert mine.rebased(began, Draft.of(theirs)) == replace(Draft.of(theirs), objects="fridge, safe")


def test_another_check_keeps_named_witnesses_and_drops_what_was_counted() -> None:
    draft = replace(Draft.of(RULE), check=CHECK)
    assert draft.onto(RULE).evidence == RULE.evidence
    assert draft.onto(replace(RULE, evidence=Evidence(3, 1, ("r/t/1",)))).evidence == Evidence()


def test_ids_come_from_the_words_and_are_new() -> None:
    assert Draft("A mug is often in a cabinet, they say.").new(()).id == "a-mug-is-often-in-a"
    assert Draft("A mug!").new({"a-mug", "a-mug-2"}).id == "a-mug-3"
    assert Draft("!!!").new(()).id == "rule"
