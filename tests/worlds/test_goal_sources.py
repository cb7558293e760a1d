"""Whose sentence a goal is, and how people's are made plain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.errors import ConfigurationError
from housequest.worlds.tasks import GoalSource, parse_goal_source, plain_sentence

SENTENCES = ("Put a cup away.", "", "move the cup", "tidy the cup")


@pytest.mark.parametrize(
    ("setting", "goals"),
    [
        ("template", GoalSource()),
        ("human", GoalSource(human=True)),
        ("human:2", GoalSource(human=True, number=2)),
        ("human:seed=7", GoalSource(human=True, seed=7)),
        ("human:seed=-7", GoalSource(human=True, seed=-7)),
        ("human+steps", GoalSource(human=True, steps=True)),
        ("human+steps:2", GoalSource(human=True, number=2, steps=True)),
        ("human+steps:seed=7", GoalSource(human=True, seed=7, steps=True)),
    ],
)
def test_the_settings_are_read(setting: str, goals: GoalSource) -> None:
    assert parse_goal_source(setting) == goals


@given(
    st.text()
    | st.sampled_from(
        ["human:0", "human+steps:0", "human+", "human:", "human:seed=", "humans", "human:1\n", "human:seed=" + "9" * 5000]
    )
)
def test_other_settings_are_refused_with_the_known_ones(setting: str) -> None:
    with pytest.raises(ConfigurationError, match="human:seed=N"):
        parse_goal_source(setting)


def test_the_template_chooses_nobody() -> None:
    assert GoalSource().choose("train/a/b", SENTENCES) is None


def test_an_annotator_is_chosen_by_number_from_one() -> None:
    assert GoalSource(human=True, number=3).choose("train/a/b", SENTENCES) == (3, "move the cup")
    assert GoalSource(human=True, number=2).choose("train/a/b", SENTENCES) is None
    assert GoalSource(human=True, number=9).choose("train/a/b", SENTENCES) is None


def test_a_seeded_choice_is_the_same_everywhere_and_differs_between_tasks_and_seeds() -> None:
    tasks = [f"train/task/trial_{number}" for number in range(12)]

    def choices(seed: int) -> list[int]:
        wordings = [GoalSource(human=True, seed=seed).choose(task, SENTENCES) for task in tasks]
        return [wording[0] for wording in wordings if wording]

    assert choices(0) == [1, 3, 3, 4, 3, 3, 1, 1, 4, 4, 4, 3]
    assert choices(1) == [1, 4, 4, 3, 1, 3, 4, 3, 4, 1, 4, 1]


def test_nothing_is_chosen_where_nothing_was_written() -> None:
    assert GoalSource(human=True).choose("train/a/b", ()) is None
    assert GoalSource(human=True).choose("train/a/b", ("", "")) is None


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        ("Put a cup away. ", "Put a cup away."),
        ("  Put\ta\n\ncup\u2028away ", "Put a cup away"),
        ("wipe\x00 \x1b[31mred\x7f", "wipe [31mred"),
        ("right\u202e to\u200b left\ufeff", "right to left"),
        ("half a \ud83d pair", "half a pair"),
        ("x" * 1000, "x" * 400),
    ],
)
def test_a_sentence_becomes_one_plain_line(sentence: str, line: str) -> None:
    assert plain_sentence(sentence) == line


@given(st.text(st.characters(exclude_categories=())))
def test_every_line_is_printable_short_and_stays_as_it_is(sentence: str) -> None:
    line = plain_sentence(sentence)
    assert line.isprintable()
    assert len(line) <= 400
    assert line == line.strip() == plain_sentence(line)
