"""Goal sentences: every published wording is read, and nothing else is read silently."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.text import guess_goal, read_goal
from housequest.worlds.household.goals import TASK_TYPES, Goal
from tests.worlds.alfworld.play import loaded, published

OBJECTS = ("alarmclock", "book", "butterknife", "cellphone", "egg", "knife", "mug", "sink", "tissuebox")
RECEPTACLES = ("bed", "coffeetable", "countertop", "desk", "drawer", "fridge", "garbagecan", "microwave", "sinkbasin", "sofa")
WORDINGS = [
    ("put a alarmclock in desk.", Goal("pick_and_place_simple", "alarmclock", "desk")),
    ("put some alarmclock on desk.", Goal("pick_and_place_simple", "alarmclock", "desk")),
    ("look at cd under the desklamp.", Goal("look_at_obj_in_light", "cd", lamp="desklamp")),
    ("examine the cd with the desklamp.", Goal("look_at_obj_in_light", "cd", lamp="desklamp")),
    ("clean some apple and put it in sinkbasin.", Goal("pick_clean_then_place_in_recep", "apple", "sinkbasin")),
    ("put a clean apple in diningtable.", Goal("pick_clean_then_place_in_recep", "apple", "diningtable")),
    ("heat some egg and put it in fridge.", Goal("pick_heat_then_place_in_recep", "egg", "fridge")),
    ("put a hot egg in fridge.", Goal("pick_heat_then_place_in_recep", "egg", "fridge")),
    ("cool some pan and put it in stoveburner.", Goal("pick_cool_then_place_in_recep", "pan", "stoveburner")),
    ("put a cool pan in stoveburner.", Goal("pick_cool_then_place_in_recep", "pan", "stoveburner")),
    ("find two cd and put them in safe.", Goal("pick_two_obj_and_place", "cd", "safe", count=2)),
    ("put two cd in safe.", Goal("pick_two_obj_and_place", "cd", "safe", count=2)),
]


@pytest.mark.parametrize(("sentence", "goal"), WORDINGS)
def test_every_wording_is_read(sentence: str, goal: Goal) -> None:
    assert read_goal(sentence) == goal
    assert read_goal(f"Your task is to: {sentence}\n") == goal
    assert read_goal(sentence.removesuffix(".")) == goal


def test_all_types_have_two_wordings() -> None:
    assert sorted(goal.type for _, goal in WORDINGS) == sorted([*TASK_TYPES, *TASK_TYPES])


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "put a clean hot apple in fridge.",
        "put a mug in desk. put a mug in bed.",
        "Put a mug on the desk.",
        "put a mug in desk 1.",
        "put two mugs in desk and bed.",
        "look at the mug under the desklamp.",
    ],
)
def test_other_wordings_are_not(sentence: str) -> None:
    assert read_goal(sentence) is None


@pytest.mark.games
@pytest.mark.parametrize("split", ["train", "valid_seen"])
def test_published_goals_are_read_as_the_game_judges_them(split: str, alfworld_games: Path) -> None:
    for path in published(alfworld_games, split, 140):
        game = loaded(path)
        goal = read_goal(game.sentence)
        assert goal is not None, game.sentence
        assert goal.type == path.parent.parent.name.partition("-")[0]
        objects = {game.objects[number].rpartition(" ")[0] for number in game.goal.objects}
        receptacles = {game.receptacles[number].rpartition(" ")[0] for number in game.goal.receptacles}
        assert objects == {goal.object}
        assert receptacles == ({goal.receptacle} if goal.receptacle else set())


@pytest.mark.parametrize(
    ("sentence", "goal"),
    [
        ("Put an egg in the refrigerator", "put some egg in the fridge"),
        ("Move the alarm clock from the desk to the bed.", "put some alarmclock in the bed"),
        ("Place two cell phones on a couch", "put two cellphone in the sofa"),
        ("put the books on the table", "put two book in the coffeetable"),
        ("Wash the mug in the sink, then leave it on the counter.", "put some clean mug in the countertop"),
        ("Place a microwaved egg in the trash can", "put some hot egg in the garbagecan"),
        ("Examine a tissue box by the light of a lamp", "look at the tissuebox under the desklamp"),
        ("Put a chilled butter knife in the drawer.", "put some cool butterknife in the drawer"),
        ("Move the egg from the back of the fridge to the top of the desk", "put some egg in the desk"),
        ("Put the mug on the table left of the fridge", "put some mug in the coffeetable"),
    ],
)
def test_plain_words_are_guessed(sentence: str, goal: str) -> None:
    assert str(guess_goal(sentence, objects=OBJECTS, receptacles=RECEPTACLES)) == goal


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "tidy up",
        "put the mug away",
        "put the mug and the book on the desk",
        "put the mug on the desk or the bed",
        "put a hot and clean mug on the desk",
        "put two hot eggs on the desk",
        "put the mug on the ottoman",
        "place a mug, heated, under the lamp",
    ],
)
def test_what_could_mean_two_things_is_not_guessed(sentence: str) -> None:
    assert guess_goal(sentence, objects=OBJECTS, receptacles=RECEPTACLES) is None


@given(st.text(st.characters(), max_size=300), st.sampled_from([sentence for sentence, _ in WORDINGS]), st.integers(0, 300))
def test_any_sentence_is_read_or_not(text: str, sentence: str, cut: int) -> None:
    for odd in (text, sentence[:cut] + text, sentence[:cut] + text + sentence[cut:], text * 1_000):
        read = read_goal(odd)
        assert read is None or (read.object and bool(read.receptacle) != bool(read.lamp))
        guessed = guess_goal(odd, objects=OBJECTS, receptacles=RECEPTACLES)
        assert guessed is None or guessed.object in OBJECTS
