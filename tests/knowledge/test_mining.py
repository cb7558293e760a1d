"""Counting alone: what commands need is found and never contradicted, and places are not those where one happened to look."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from housequest.knowledge.judging import Moment, examine
from housequest.knowledge.mining import mine, mine_table, place_rule
from housequest.knowledge.rules import WITNESSES, Origin
from housequest.knowledge.sentences import Location, read_sentence
from housequest.worlds.alfworld.text import HOUSEHOLD, load_counts
from housequest.worlds.base import Observation, Transition
from housequest.worlds.household.belief import kind
from scripts.walks import Trajectory, moments_of, walk


def walked(first: int, last: int) -> list[Moment]:
    return [moment for seed in range(first, last) for moment in moments_of(walk(seed, 250), HOUSEHOLD, f"walks/{seed}")]


@pytest.mark.heavy
def test_what_commands_need_is_found_and_holds_elsewhere() -> None:
    found = mine(walked(0, 60), HOUSEHOLD.commands).rules("walks")
    needs = {str(rule.check) for rule in found}
    assert "take {object} from {receptacle}; when holding something; then refused" in needs
    assert "take {object} from {receptacle}; when not at {receptacle}; then refused" in needs
    assert "take {object} from {receptacle}; when {receptacle} is closed; then refused" in needs
    assert "heat {object} with {receptacle}; when not holding {object}; then refused" in needs
    assert "go to {receptacle}; when at {receptacle}; then refused" in needs
    checked = [rule for rule in found if rule.check]
    assert all(rule.status == "candidate" and rule.evidence.contradicts == 0 for rule in checked)
    general = [rule for rule in checked if " is not a" not in str(rule.check) and "is a" not in str(rule.check)]
    assert all(each.standing != "contradicted" for each in examine(general, walked(60, 90)))


def test_nothing_is_mined_from_nothing() -> None:
    assert mine([], HOUSEHOLD.commands).rules("nothing") == ()


def test_the_table_that_ships_gives_the_share_of_all_objects() -> None:
    mined = mine_table(load_counts())
    (mug,) = (each for each in mined.locations if each.thing == "mug")
    assert sum(place.share for place in mug.places) == pytest.approx(1)
    assert mug.number == sum(place.seen for place in mug.places)
    top = mug.places[0]
    assert top.share == top.seen / mug.number
    assert top.interval.low < top.share < top.interval.high
    (rule,) = (rule for rule in mined.rules("train") if rule.id == "where-mug")
    assert rule.statement.startswith(f"To find a mug, try a {top.receptacle} first ({top.share * 100:.0f} % are there), then ")
    assert rule.statement.endswith(f"; {mug.number:,} were counted.")


@pytest.mark.parametrize("location", mine_table(load_counts()).locations, ids=lambda each: each.thing)
def test_what_a_rule_says_of_places_is_read_back(location: Location) -> None:
    read = read_sentence(location.sentence)
    assert read is not None
    assert (read.thing, read.number) == (location.thing, location.number)
    assert len(location.sentence) < 160
    for told, place in zip(read.places, location.likeliest, strict=True):
        assert told.receptacle == place.receptacle
        assert told.share == pytest.approx(place.share, abs=0.0051)
        assert told.interval.low == pytest.approx(place.interval.low, abs=0.012)
        assert told.interval.high == pytest.approx(place.interval.high, abs=0.012)


@pytest.mark.parametrize(
    "statement",
    [
        "A mug is most often in cabinet 24 % (23-25), n=99.",
        "To find a mug, try a cabinet first.",
        "To find a mug, try a cabinet first (24 % are there); 0 were counted.",
        "To find a mug, try a cabinet first (240 % are there); 10 were counted.",
        f"To find a mug, try a cabinet first (24 % are there); {'9' * 500} were counted.",
        "To find a mug, try a cabinet first (24 % are there), then the desk; 10 were counted.",
    ],
)
def test_other_statements_are_not_read_as_counts(statement: str) -> None:
    assert read_sentence(statement) is None


def house(seen: str) -> Trajectory:
    """A house with one desk and four drawers, of which the desk and the first drawer are looked into."""
    opening = Observation("Looking quickly around you, you see a desk 1, a drawer 1, a drawer 2, a drawer 3, and a drawer 4.")
    answers = [
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a pen 1."),
        ("go to drawer 1", "You arrive at drawer 1. The drawer 1 is closed."),
        ("open drawer 1", f"You open the drawer 1. The drawer 1 is open. In it, you see {seen}."),
        ("take pen 2 from drawer 1", "You pick up the pen 2 from the drawer 1."),
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a pen 1."),
        ("move pen 2 to desk 1", "You move the pen 2 to the desk 1."),
        ("examine desk 1", "On the desk 1, you see a pen 2, and a pen 1."),
    ]
    return Trajectory("", opening, tuple(Transition(command, Observation(text)) for command, text in answers))


def sights(moments: Iterable[Moment]) -> tuple[Location, ...]:
    return mine(moments, HOUSEHOLD.commands).locations


def test_what_was_looked_into_is_weighed_against_what_there_is() -> None:
    (pen,) = sights(moments_of(house("a pen 2"), HOUSEHOLD, "a"))
    assert (pen.thing, pen.number) == ("pen", 2)
    assert [(place.receptacle, place.seen, place.share) for place in pen.places] == [("drawer", 1, 0.8), ("desk", 1, 0.2)]


def test_a_house_seen_again_counts_once() -> None:
    once = sights(moments_of(house("a pen 2"), HOUSEHOLD, "a", "the house"))
    twice = [
        *moments_of(house("a pen 2"), HOUSEHOLD, "a", "the house"),
        *moments_of(house("a pen 2"), HOUSEHOLD, "b", "the house"),
    ]
    assert sights(twice) == once
    (pen,) = sights([*moments_of(house("a pen 2"), HOUSEHOLD, "a"), *moments_of(house("a pen 2"), HOUSEHOLD, "b")])
    assert pen.number == 4


def test_what_the_player_put_there_is_not_where_it_lay() -> None:
    (pen,) = sights(moments_of(house("a pen 2"), HOUSEHOLD, "a"))
    assert {place.receptacle: place.seen for place in pen.places}["desk"] == 1


@pytest.mark.heavy
def test_a_location_names_steps_that_showed_the_thing_in_its_first_place_and_in_the_next() -> None:
    counted = mine(walked(0, 30), HOUSEHOLD.commands)
    rules = {rule.objects: rule for rule in counted.rules("walks") if rule.kind == "location"}
    shown = {moment.origin: moment for moment in walked(0, 30)}
    assert len(rules) > 10
    for location in counted.locations:
        if (location.thing,) not in rules:
            continue
        evidence = rules[location.thing,].evidence
        for place, witnesses in zip(location.places[:2], (evidence.witnesses, evidence.against), strict=False):
            assert 0 < len(witnesses) == len(set(witnesses)) <= WITNESSES
            for origin in witnesses:
                after = shown[origin].after
                lying = [one.kind for one in after.here() if any(kind(name) == location.thing for name in after.inside(one))]
                assert place.receptacle in lying, (origin, location.thing)


def test_what_lies_in_the_next_place_counts_against_the_one_to_try_first() -> None:
    moments = moments_of(house("a pen 2"), HOUSEHOLD, "a", "one"), moments_of(house("a pen 2"), HOUSEHOLD, "b", "two")
    (pen,) = sights([each for one in moments for each in one])
    evidence = place_rule(pen, Origin("run", "seen")).evidence
    assert (evidence.supports, evidence.contradicts) == (3, 1)
    assert (evidence.witnesses, evidence.against) == (("a/3", "b/3"), ("a/1", "b/1"))
    assert not pen.leads
    (rule,) = (rule for rule in mine_table(load_counts()).rules("train") if rule.id == "where-apple")
    # As many lie in the fridge as on countertops.
    assert rule.standing == "undecided"


@pytest.mark.heavy
def test_the_table_has_witnesses_only_from_records() -> None:
    table, lived = mine_table(load_counts()), mine(walked(0, 30), HOUSEHOLD.commands)
    assert not any(place.witnesses for one in table.locations for place in one.places)
    shown = {one.thing: one for one in table.shown_by(lived).locations}
    assert [replace(one, places=()) for one in shown.values()] == [replace(one, places=()) for one in table.locations]
    (mug,) = (one for one in lived.locations if one.thing == "mug")
    steps = {place.receptacle: place.witnesses for place in mug.places}
    assert all(place.witnesses == steps.get(place.receptacle, ()) for place in shown["mug"].places)
