"""News are read into a belief: who is where with what, what it did, and where it has looked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.household import news
from housequest.worlds.household.belief import Belief, Item, Other, Receptacle
from housequest.worlds.household.news import heard

BEFORE = Belief(
    receptacles=(
        Receptacle("fridge 1", place="fridge 1", openness="closed", contents=("egg 1", "egg 2")),
        Receptacle("shelf 1", place="shelf 1", openness="surface", contents=("mug 1",)),
        Receptacle("drawer 1", place="drawer 1"),
    ),
    items=(Item("egg 1", "fridge 1"), Item("egg 2", "fridge 1"), Item("mug 1", "shelf 1")),
)


def other(belief: Belief, name: str = "Bob") -> Other:
    return next(one for one in belief.others if one.name == name)


def test_who_carries_something_has_it_from_where_it_was() -> None:
    after = heard(BEFORE, ["Bob stands at the drawer 1 and carries an egg 1."])
    assert other(after) == Other("Bob", at="drawer 1", carried=("egg 1",))
    assert after.places["fridge 1"].contents == ("egg 2",)
    assert after.things["egg 1"].where is None
    assert after.places["shelf 1"] == BEFORE.places["shelf 1"]


def test_deeds_are_read() -> None:
    deeds = (
        "Bob opens the fridge 1.",
        "Bob picks up the egg 1 from the fridge 1.",
        "Bob heats the egg 1 using the microwave 1.",
        "Bob moves the egg 1 to the shelf 1.",
        "Cleo grabs the egg 2.",
        "Cleo puts the egg 2 in the drawer 1.",
        "Cleo slices the mug 1 with the knife 1.",
        "Cleo turns on the desklamp 1.",
    )
    after = heard(BEFORE, deeds)
    assert after.places["fridge 1"] == Receptacle("fridge 1", "fridge 1", openness="open", contents=())
    assert after.places["shelf 1"].contents == ("mug 1", "egg 1")
    assert after.places["drawer 1"].contents is None, "nobody said what else is in it"
    assert (after.things["egg 1"].heat, after.things["egg 1"].where) == ("hot", "shelf 1")
    assert after.things["egg 2"].where == "drawer 1"
    assert after.things["mug 1"].sliced
    assert after.things["desklamp 1"].lit
    assert [one.carried for one in after.others] == [(), ()]


def test_a_gift_changes_hands() -> None:
    told = ["Bob stands at the shelf 1 and carries a mug 1.", "Bob gives the mug 1 to you."]
    after = heard(BEFORE, told)
    assert (after.carried, other(after).carried) == (("mug 1",), ())
    assert after.places["shelf 1"].contents == ()
    passed = heard(after, ["Bob stands at the shelf 1 and carries an egg 1.", "Bob gives the egg 1 to Cleo."])
    assert (other(passed).carried, other(passed, "Cleo").carried) == ((), ("egg 1",))


def test_standing_at_a_closed_door_is_not_having_looked() -> None:
    there = heard(BEFORE, ["Bob goes to the fridge 1."])
    assert other(there).looked == ()
    gone = heard(there, ["Bob goes to the shelf 1."])
    assert other(gone).looked == ("shelf 1",), "a surface hides nothing"
    waited = heard(heard(there, []), ["Bob goes to the drawer 1."])
    assert other(waited).looked == ("fridge 1",), "there was time to open it"
    assert other(heard(there, ["Bob opens the fridge 1."])).looked == ("fridge 1",), "it was seen to do so"
    assert other(heard(waited, ["Bob goes out of sight."])).at is None


def test_a_place_is_occupied_while_somebody_stands_there() -> None:
    there = heard(BEFORE, ["Bob goes to the fridge 1."])
    assert [there.is_occupied(one.name) for one in there.receptacles] == [True, False, False]
    assert not heard(there, ["Bob goes out of sight."]).is_occupied("fridge 1")


def test_who_is_alone_hears_nothing() -> None:
    assert heard(BEFORE, []) is BEFORE


@pytest.mark.parametrize(
    "forged",
    [
        'Bob says: "x". Cleo picks up the mug 1 from the shelf 1.',
        "Cleo picks up the mug 1 from the shelf 1.\nBob goes to the shelf 1.",
        'Cleo picks up the mug 1 from the shelf 1."',
        "You pick up the mug 1 from the shelf 1.",
        "The fridge 1 is open. In it, you see nothing.",
    ],
)
def test_only_whole_sentences_are_read(forged: str) -> None:
    assert heard(BEFORE, [forged]) == BEFORE


@given(
    st.lists(
        st.one_of(
            st.text(),
            st.from_regex(
                r"\A(Bob|Ann) (stands (at|in) the|goes to the|moves the|opens the|gives the) (fridge|egg) [0-9]{1,9}"
                r"( and carries (a|an) egg 1| to the shelf 1| to you)?\.\Z"
            ),
        ),
        max_size=6,
    )
)
def test_any_text_gives_a_belief(sentences: list[str]) -> None:
    after = heard(heard(BEFORE, sentences), sentences)
    assert after.receptacles[1].name == "shelf 1"
    assert len(after.carried) <= 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("You open the fridge 1. The fridge 1 is open. In it, you see a egg 1.", "Bob opens the fridge 1."),
        ("You open the fridge 1. In the fridge 1, you see an egg 1.", "Bob opens the fridge 1."),
        ("You close the fridge 1.", "Bob closes the fridge 1."),
        ("You pick up the mug 1 from the shelf 1.", "Bob picks up the mug 1 from the shelf 1."),
        ("You grab the mug 1.", "Bob grabs the mug 1."),
        ("You move the mug 1 to the shelf 1.", "Bob moves the mug 1 to the shelf 1."),
        ("You put the mug 1 on the shelf 1.", "Bob puts the mug 1 on the shelf 1."),
        ("You clean the mug 1 using the sinkbasin 1.", "Bob cleans the mug 1 using the sinkbasin 1."),
        ("You sliced the apple 1 with the knife 1.", "Bob slices the apple 1 with the knife 1."),
        ("You turn on the desklamp 1.", "Bob turns on the desklamp 1."),
        ("You switch off the tv 1.", "Bob switches off the tv 1."),
        ("You arrive at shelf 1. On the shelf 1, you see a mug 1.", ""),
        ("You walk to the shelf 1. On the shelf 1, you see a mug 1.", ""),
        ("You are carrying: a mug 1.", ""),
        ("On the shelf 1, you see a mug 1.", ""),
        ("This is a hot egg 1.", ""),
        ("You wait.", ""),
    ],
)
def test_a_deed_is_told_without_what_it_showed(answer: str, told: str) -> None:
    assert news.deed("Bob", answer) == told


def test_a_command_to_give_is_read_back() -> None:
    assert news.read_gift(news.gift("mug 1", "Zoë")) == ("mug 1", "Zoë")
    for text in (
        "give mug 1 to",
        "give mug to Bob",
        "give mug 1 to Bob and Ann",
        "gives mug 1 to Bob",
        "give mug 1 to Bob\n",
        "",
    ):
        assert news.read_gift(text) is None
