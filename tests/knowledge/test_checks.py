"""The language of checks: what it says, what it refuses, and that it decides nothing that belief does not tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.knowledge.checks import LONGEST, Check, CheckVerdict, parse_check
from housequest.knowledge.judging import Moment, examine
from housequest.knowledge.rules import Rule
from housequest.worlds.alfworld.text import HOUSEHOLD, begin, update
from housequest.worlds.base import Observation
from housequest.worlds.errors import KnowledgeError

OPENING = (
    "Looking quickly around you, you see a cabinet 2, a cabinet 1, a desk 1, and a fridge 1.\n\n"
    "Your task is to: put a mug in desk."
)
REFUSAL = "Nothing happens."
DESK = ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1.")
CABINET = ("go to cabinet 1", "You arrive at cabinet 1. The cabinet 1 is closed.")
TAKE = ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.")


def after(*lived: tuple[str, str]) -> Moment:
    """The last of some commands with their answers, as a moment."""
    belief = begin(Observation(OPENING))
    *earlier, (command, text) = lived
    for one, answer in earlier:
        belief = update(belief, one, Observation(answer, answer != REFUSAL))
    answer = Observation(text, text != REFUSAL)
    return Moment("o", "h", belief, command, answer, update(belief, command, answer), HOUSEHOLD.refused(answer))


def judge(check: Check, moment: Moment) -> CheckVerdict:
    evidence = examine([Rule("a", "b", check=check)], [moment])[0].evidence
    return "supports" if evidence.supports else "contradicts" if evidence.contradicts else "undecided"


FAR = after(DESK, CABINET, ("take pen 1 from desk 1", REFUSAL))
TAKEN = after(DESK, TAKE)
HELD = after(DESK, TAKE, ("inventory", "You are carrying: a mug 1."))
UNSEEN = after(DESK, ("take pen 1 from fridge 1", REFUSAL))
SHARED = after(DESK, ("go to cabinet 2", REFUSAL), ("examine cabinet 2", "The cabinet 2 is closed."))


@pytest.mark.parametrize(
    ("check", "moment", "verdict"),
    [
        ("take {o} from {r}; when not at {r}; then refused", FAR, "supports"),
        ("take {o} from {r}; when not at {r}; then accepted", FAR, "contradicts"),
        ("take {o} from {r}; when at {r}; then refused", FAR, "undecided"),
        ("take {o} from {r}; when at a cabinet; then refused", FAR, "supports"),
        ("take {o} from {r}; when not at a fridge; then refused", FAR, "undecided"),
        ("take {o} from {r}; when {o} is in a desk; then refused", FAR, "supports"),
        ("take {o} from {r}; when a mug or cup is in {r}; then refused", FAR, "supports"),
        ("take {o} from {r}; when a cup is in {r}; then refused", FAR, "undecided"),
        ("take {o} from {r}; when not a cup is in {r}; then refused", FAR, "supports"),
        ("take {o} from {r}; when {r} is a receptacle and {o} is an object; then refused", FAR, "supports"),
        ("open {r}; then refused", FAR, "undecided"),
        ("take {o} from {o}; then refused", FAR, "undecided"),
        ("take {o} from {r}; then holding {o} and {o} is not in {r}", TAKEN, "supports"),
        ("take {o} from {r}; then holding something", TAKEN, "supports"),
        ("take {o} from {r}; then holding nothing", TAKEN, "contradicts"),
        ("take {o} from {r}; then holding a mug", TAKEN, "supports"),
        ("take {o} from {r}; then {r} is empty", TAKEN, "contradicts"),
        ("take {o} from {r}; then {o} is clean", TAKEN, "undecided"),
        ("take {o} from {r}; then {o} is clean and refused", TAKEN, "contradicts"),
        ('take {o} from {r}; then says "You pick up the {o} from the {r}."', TAKEN, "supports"),
        ('take {o} from {r}; then says "You ... the {o} ..."', TAKEN, "supports"),
        ('take {o} from {r}; then says "... {r} ... {o} ..."', TAKEN, "contradicts"),
        ('take {o} from {r}; then not says "Nothing happens."', TAKEN, "supports"),
        ("take {o} from desk 1; then holding mug 1", TAKEN, "supports"),
        ("inventory; when holding mug 1; then accepted", HELD, "supports"),
        ("inventory; when at nothing; then accepted", HELD, "undecided"),
        ("take {o} from {r}; when {r} is closed; then refused", UNSEEN, "undecided"),
        ("take {o} from {r}; when {r} is not closed; then refused", UNSEEN, "undecided"),
        ("take {o} from {r}; when {o} is here; then refused", UNSEEN, "supports"),
        ("take {o} from {r}; when not at {r}; then refused", UNSEEN, "undecided"),
        ("examine {r}; when at {r} and at desk 1; then {r} is closed", SHARED, "supports"),
    ],
    ids=range(31),
)
def test_a_check_is_decided_as_far_as_belief_tells(check: str, moment: Moment, verdict: CheckVerdict) -> None:
    assert judge(parse_check(check), moment) == verdict


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "COMMAND; when FACTS; then FACTS"),
        ("look", "for example"),
        ("look; refused", "should begin with `then`"),
        ("look; then refused; when at nothing", "should begin with `when`"),
        ("Look; then refused", "verb, in lower case"),
        ("{verb} it; then refused", "verb"),
        ("take {object; then refused", "neither a word nor a variable"),
        ("take {a} {b} {c} {d} {e}; then refused", "at most 4 variables"),
        ("take {o}; when refused; then accepted", "after `then`"),
        ("take {o}; then {p} is hot", "{p} is not in the command"),
        ("take {object}; then {objec} is hot", "Did you mean 'object'"),
        ("take {o}; then {o} is hott", "Did you mean 'hot'"),
        ("take {o}; then {o} glows", "is not a fact"),
        ("take {o}; then holding the mug", "names no thing"),
        ("take {o}; then says hello", "quotation marks"),
        ('take {o}; then says "{p}"', "not in the command"),
        (f'look; then says "{"..." * 9}"', "gaps"),
        ("look; then " + " and ".join(["refused"] * 9), "at most 8 facts"),
        ("look; then refused" + " " * LONGEST, "at most 600 characters"),
        ("look; then ref\x00used", "printable"),
    ],
    ids=range(20),
)
def test_what_cannot_be_read_is_refused_with_what_could(text: str, reason: str) -> None:
    with pytest.raises(KnowledgeError) as error:
        parse_check(text)
    assert reason in str(error.value)


THINGS = st.sampled_from(["{o}", "{r}", "fridge 1", "a mug", "a mug or cup"])
PLAIN = st.one_of(
    st.sampled_from(["refused", "accepted", "holding nothing", "holding something", "at nothing", 'says "{o} and; ... {r}"']),
    st.builds("holding {}".format, THINGS),
    st.builds("at {}".format, THINGS),
    st.builds("{} is in {}".format, THINGS, THINGS),
    st.builds("{} is {}".format, THINGS, st.sampled_from(["open", "hot", "empty", "known", "here", "a fridge", "an object"])),
)
FACTS = st.lists(st.builds("{}{}".format, st.sampled_from(["", "not "]), PLAIN), min_size=1, max_size=4).map(" and ".join)


@given(FACTS)
def test_what_is_read_is_written_the_same_way(facts: str) -> None:
    check = parse_check(f"take {{o}} from {{r}}; then {facts}")
    assert parse_check(str(check)) == check
    for moment in (FAR, TAKEN, UNSEEN):
        assert judge(check, moment) in {"supports", "contradicts", "undecided"}


@given(
    st.one_of(
        st.text(max_size=80), st.text('take{o};whnisad "...', max_size=80), FACTS.map(lambda facts: f"look; then {facts}")
    )
)
def test_any_text_is_a_check_or_a_knowledge_error(text: str) -> None:
    try:
        check = parse_check(text)
    except KnowledgeError as error:
        assert str(error).isprintable()
    else:
        assert parse_check(str(check)) == check


def test_a_pattern_takes_time_with_the_length_of_the_text_alone() -> None:
    long = after(("look", "a" * 49_000))
    assert judge(parse_check(f'look; then says "{"...".join("aaaaaaaa")}b"'), long) == "contradicts"
