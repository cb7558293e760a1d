"""A rule in words: a row says what tells it apart, bars show shares, and its story who found it and what became of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from housequest.knowledge.mining import mine_table, place_rule
from housequest.knowledge.rules import Edit, Evidence, Origin, Rule
from housequest.knowledge.sentences import Location
from housequest.tui.desk.rule_text import Draft, location_of, story_lines
from housequest.tui.desk.rule_view import gauge
from housequest.worlds.alfworld.text import load_counts

ORIGIN = Origin("run", "lived@0123abcd", ("generated:0..99",))
HOME = Rule(
    "where-mug",
    "To find a mug, try drawer 7 first (there on 11 of 18 days), then shelf 2 (4 of 20, 5 in all).",
    "location",
    objects=("mug",),
    scope="household",
    evidence=Evidence(11),
)


@pytest.mark.parametrize("location", mine_table(load_counts()).locations, ids=lambda each: each.thing)
def test_no_bar_of_a_place_is_full_unless_everything_lies_there(location: Location) -> None:
    rule = place_rule(location, ORIGIN)
    first = location.places[0].share
    assert str(gauge(rule, 20)).count("━") == pytest.approx(20 * first, abs=0.61)


def test_a_row_says_where_a_thing_is_and_tells_a_numbered_place_from_its_share() -> None:
    (apple,) = (each for each in mine_table(load_counts()).locations if each.thing == "apple")
    assert apple.short.startswith("apple: countertop 25 · fridge 24")
    read = location_of(HOME)
    assert read is not None
    assert read.short == "mug: drawer 7: 61 · shelf 2: 20"
    assert location_of(replace(HOME, statement="Mugs are in drawer 7.")) is None


def test_a_story_names_who_found_it_in_which_play_and_who_changed_it() -> None:
    rule = replace(HOME, origin=ORIGIN, history=(Edit("accepted", by="evidence"), Edit("edited", "kind", was="strategy")))
    assert list(story_lines(rule)) == [
        "found by counting · lived · in play over generated:0..99",
        "accepted by evidence",
        "edited kind by a person, was strategy",
    ]
    assert list(story_lines(Rule("a", "A."))) == ["written by a person"]
    words = replace(rule, history=(Edit("edited", "statement", was="Mugs are in the fridge."),))
    assert next(story_lines(words)).startswith("in the words of a person, after a rule that was found by counting · lived")
    seen = Evidence(1, witnesses=("lived/0007-generated-7/3",))
    model = replace(rule, origin=Origin("model", "openai:m"), evidence=seen, history=())
    assert list(story_lines(model)) == ["found by a model · openai:m · in play over generated:7..7"]


def test_a_form_changes_the_scope_and_what_evidence_judged_is_judged_again() -> None:
    begun = Draft.of(HOME)
    changed = replace(begun, scope="world").onto(replace(HOME, by="evidence"), begun)
    assert (changed.scope, changed.status) == ("world", "candidate")
    assert [(edit.field, edit.was) for edit in changed.history] == [("scope", "household"), ("status", "accepted by evidence")]
    assert replace(begun, scope="household").onto(HOME, begun) == HOME
