"""Plans in text: what is read, what is refused, and that nothing odd does any harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfred.model import (
    ARGUMENTS,
    LONGEST_PLAN,
    LONGEST_TEXT,
    Plan,
    PlanError,
    PlanStep,
    plan_step,
    read_plan,
    skills_of,
)
from housequest.worlds.household.goals import Skill

HEATED = (
    PlanStep("GotoLocation", "fridge"),
    PlanStep("PickupObject", "egg"),
    PlanStep("GotoLocation", "microwave"),
    PlanStep("HeatObject", "egg"),
    PlanStep("PutObject", "egg", "microwave"),
)


@pytest.mark.parametrize(
    "text",
    [
        "GotoLocation fridge\nPickupObject egg\nGotoLocation microwave\nHeatObject egg\nPutObject egg microwave\nNoOp",
        "1. GotoLocation Fridge\n2. PickupObject Egg\n\n3) GotoLocation Microwave\n4: HeatObject Egg\nPutObject Egg Microwave",
    ],
)
def test_a_plan_is_read_as_it_is_meant(text: str) -> None:
    assert read_plan(text) == HEATED


@pytest.mark.parametrize(
    "text",
    [
        "Sure! (GotoLocation, fridge), (PickupObject, egg), (GotoLocation, microwave), (HeatObject, egg), "
        "(PutObject, egg, microwave). Enjoy.",
        "**Plan:** Navigation fridge, Pickup egg, Navigation microwave, heat egg, Put egg microwave",
        "- GotoLocation(fridge)\n- PickupObject(egg)\n- GotoLocation(microwave)\n- heatobject(egg)\nPutObject(egg, microwave)",
        '["GotoLocation fridge", "PickupObject egg", "GotoLocation microwave", "HeatObject egg", "PutObject egg microwave"]',
    ],
)
def test_a_plan_among_other_words_is_found(text: str) -> None:
    assert read_plan(text) == HEATED


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no subgoal"),
        ("NoOp", "no subgoal"),
        ("GotoLocation", "no subgoal"),
        ("PutObject apple", "no subgoal"),
        ("PickupObjects apple", "no subgoal"),
        ("GotoLocation fridge\n" * (LONGEST_PLAN + 1), "does not end"),
        ("GotoLocation fridge\n" * LONGEST_TEXT, "characters are no plan"),
        ("GotoLocation " + "x" * 5_000, "no subgoal"),
        ("\x00\ud800\x1b[31m", "no subgoal"),
    ],
)
def test_what_is_no_plan_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(PlanError, match=why):
        read_plan(text)


@pytest.mark.parametrize(
    ("action", "names", "why"),
    [
        ("GotoLocation", [], "takes 1 name"),
        ("PutObject", ["apple"], "takes 2 name"),
        ("GotoLocation", ["fridge", "freezer"], "takes 1 name"),
        ("PickupObjects", ["apple"], "Did you mean 'PickupObject'"),
    ],
)
def test_what_is_no_step_is_refused_with_a_reason(action: str, names: list[str], why: str) -> None:
    with pytest.raises(PlanError, match=why):
        plan_step(action, names)


@pytest.mark.parametrize(
    "text", ["", "I cannot help.", "Put the apple on the table, then go to bed.", "a" * LONGEST_TEXT, "((((" * 4_000]
)
def test_prose_is_no_plan(text: str) -> None:
    with pytest.raises(PlanError):
        read_plan(text)


def told(plan: str) -> list[str]:
    return [skill.text for skill in skills_of(read_plan(plan))]


def test_the_annotated_plan_becomes_skills() -> None:
    assert told("GotoLocation fridge\nPickupObject egg\nGotoLocation microwave\nHeatObject egg\nPutObject egg sinkbasin") == [
        *("pick up the egg", "heat the egg", "put the egg in the sinkbasin")
    ]
    assert skills_of(read_plan("GotoLocation fridge\nPickupObject egg"))[0] == Skill("pick", "egg", "fridge")
    assert skills_of(read_plan("GotoLocation desklamp\nToggleObject desklamp")) == (Skill("use", "desklamp"),)


def test_what_was_sliced_is_a_slice_from_then_on() -> None:
    plan = "PickupObject knife\nSliceObject egg\nPutObject knife sidetable\nPickupObject egg\nCoolObject egg\nPutObject egg pan"
    assert told(plan) == [
        *("pick up the knife", "slice the egg", "put the knife in the sidetable"),
        *("pick up the eggcracked", "cool the eggcracked", "put the eggcracked in the pan"),
    ]
    assert told("SliceObject apple\nPickupObject apple")[-1] == "pick up the applesliced"


NAMES = st.from_regex(r"[a-z]{1,20}kind", fullmatch=True)
SUBGOALS = st.sampled_from(sorted(ARGUMENTS)).flatmap(
    lambda action: st.builds(PlanStep, st.just(action), NAMES, NAMES if ARGUMENTS[action] == 2 else st.none())
)


@pytest.mark.heavy
@given(st.lists(SUBGOALS, min_size=1, max_size=LONGEST_PLAN).map(tuple))
def test_what_is_written_is_read_again(plan: Plan) -> None:
    assert read_plan("\n".join(map(str, plan))) == plan


PIECES = st.one_of(
    st.text(max_size=30), st.sampled_from(["PutObject ", "GotoLocation", "\n", "(", ", ", "apple", "1. ", "NoOp"])
)


@given(st.lists(PIECES, max_size=60).map("".join))
def test_any_text_is_a_bounded_plan_or_refused(text: str) -> None:
    try:
        plan = read_plan(text)
    except PlanError as error:
        assert str(error).isprintable()
    else:
        assert 1 <= len(plan) <= LONGEST_PLAN
        assert all((subgoal.receptacle is not None) == (subgoal.action == "PutObject") for subgoal in plan)
