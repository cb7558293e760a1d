"""One short sentence tells what a search weighs, from its numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.text import HOUSEHOLD, load_counts
from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.weighing import LONGEST, Odds, Weighed, after_a_look, search_order, told, weigh

HOUSE = HOUSEHOLD.begin(
    Observation(
        "You are in the middle of a room. Looking quickly around you, you see a cabinet 3, a cabinet 2, a cabinet 1, "
        "a countertop 1, a fridge 1, and a sinkbasin 1.\n\nYour task is to: put a egg in countertop."
    )
)
FRIDGE, CABINETS = Odds("fridge 1", 0.44, commands=2), Odds("cabinet 1", 0.0667, alike=3, commands=2)
COUNTER = Odds("countertop 1", 0.2)


SINK, SHELF, LIKELY = Odds("sinkbasin 1", 0.21), Odds("shelf 1", 0.2), Odds("fridge 1", 0.71)
MUG = (Odds("shelf 4", 0.25), Odds("cabinet 1", 0.1, alike=6))
SAID = {
    "for an egg the fridge is likelier than the cabinets, 44 to 20 %": Weighed(("egg",), (FRIDGE, CABINETS)),
    "the fridge is likelier, 44 to 20 %, but the countertop is quicker": Weighed(("egg",), (COUNTER, FRIDGE)),
    "the fridge is likelier, 44 to 20 %, but the countertop is here": Weighed(("egg",), (COUNTER, FRIDGE), here=True),
    "the fridge is likelier, 44 to 20 %, but the shelf needs no opening": Weighed(("egg",), (FRIDGE, SHELF), chosen=1),
    "for an egg the sinkbasin would be likelier than the pan, 21 to 10 %": Weighed(("egg",), (Odds("pan 1", 0.1), SINK)),
    "the countertop or the sinkbasin? it is nearly even, 20 to 21 %": Weighed(("egg",), (COUNTER, SINK)),
    "for a mug the cabinets share 60 %, but shelf 4 alone has 25 %": Weighed(("mug",), MUG),
    "for an egg the fridge is the last place left": Weighed(("egg",), (Odds("fridge 1", 1.0),)),
    "for a mug only the shelves are left, one as good as the other": Weighed(("mug",), (Odds("shelf 1", 0.5, 2),)),
    "no egg at the fridge at 71 %: that is rare; now the shelf, 20 %": Weighed(("egg",), (SHELF,), missed=LIKELY),
    "you ruled out the fridge, 44 %; the countertop has 20 %": Weighed(("egg",), (COUNTER,), barred=FRIDGE),
    "an egg at the garbagecan, where it had 4 %: that is luck": Weighed(("egg",), found=Odds("garbagecan 1", 0.04)),
}


@pytest.mark.parametrize("said", SAID)
def test_each_situation_has_its_own_words(said: str) -> None:
    assert told(SAID[said]) == said


def kitchen(command: str = "go to fridge 1", *barred: str) -> Weighed:
    counts = load_counts(None)
    ordered = search_order(HOUSE, lambda one: counts.chance("egg", one.name, "kitchen"), lambda one: counts.openable(one.kind))
    weighed = weigh(("egg",), ordered, command, HOUSE, barred)
    assert weighed is not None
    return weighed


def test_odds_are_the_chances_of_the_search_over_their_sum() -> None:
    weighed, counts = kitchen(), load_counts(None)
    places = [one.name for one in HOUSE.receptacles]
    chances = {name: counts.chance("egg", name, "kitchen") for name in places}
    for one in weighed.odds:
        assert one.share == pytest.approx(chances[one.place] / sum(chances.values()), abs=0.0001)
    assert sum(one.total for one in weighed.odds) == pytest.approx(1, abs=0.001)
    assert sum(one.alike for one in weighed.odds) == len(places)
    assert weighed.next is not None
    assert weighed.next.place == "fridge 1"
    assert weigh(("egg",), [], "look", HOUSE) is None


def test_the_likeliest_place_that_is_ruled_out_is_told_of() -> None:
    first = max(kitchen().odds, key=lambda one: one.total).place
    other = "sinkbasin 1" if first != "sinkbasin 1" else "countertop 1"
    barred = kitchen(f"go to {other}", f"go to {first}").barred
    assert barred is not None
    assert barred.place == first
    assert kitchen(f"go to {first}", f"go to {other}").barred is None


def looked(text: str) -> Belief:
    return HOUSEHOLD.update(HOUSE, "open fridge 1", Observation(text))


def test_a_look_in_vain_surprises_only_where_it_was_likely() -> None:
    empty = looked("You open the fridge 1. The fridge 1 is open. In it, you see a apple 1.")
    for share, surprised in ((0.9, True), (0.3, False)):
        before, now = Weighed(("egg",), (Odds("fridge 1", share),)), Weighed(("egg",), (COUNTER,))
        after = after_a_look(before, now, empty)
        assert after is not None
        assert (after.missed is not None) == surprised
        assert after_a_look(before, now, HOUSE) is now


def test_a_find_surprises_only_where_it_was_unlikely() -> None:
    found = looked("You open the fridge 1. The fridge 1 is open. In it, you see a egg 1.")
    lucky = after_a_look(Weighed(("egg",), (Odds("fridge 1", 0.03),)), None, found)
    assert lucky is not None
    assert "luck" in told(lucky)
    assert after_a_look(Weighed(("egg",), (Odds("fridge 1", 0.5),)), None, found) is None


NAMES = st.sampled_from(sorted({kind for room in load_counts(None).rooms.values() for kind in room.receptacles}))
ODDS = st.builds(
    Odds, st.builds("{} {}".format, NAMES, st.integers(1, 20)), st.floats(0, 1), st.integers(1, 9), st.integers(1, 2)
)
THINGS = st.sampled_from(load_counts(None).objects())


@given(st.tuples(THINGS), st.lists(ODDS, min_size=1, max_size=6), st.data(), st.booleans(), st.none() | ODDS, st.none() | ODDS)
def test_any_numbers_make_a_short_sentence(
    things: tuple[str], odds: list[Odds], data: st.DataObject, here: bool, missed: Odds | None, barred: Odds | None
) -> None:
    chosen = data.draw(st.integers(0, len(odds) - 1))
    said = told(Weighed(things, tuple(odds), chosen, here, missed=missed, barred=barred))
    assert len(said.split()) <= 20
    assert len(said) <= LONGEST + 20
    assert "\n" not in said
