from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.alfworld.data.annotations import GoalSource, parse_goal_source, plain_sentence, sentences_of
from worlds.errors import ConfigurationError

SENTENCES = ("Put a cup away.", "", "move the cup", "tidy the cup")


def trajectory(folder: Path, content: Any) -> Path:
    file = folder / "traj_data.json"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return file


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


def test_sentences_keep_their_annotators_numbers(tmp_path: Path) -> None:
    annotations = [{"task_desc": " Put it  away. "}, {"task_desc": 5}, "nothing", {}, {"task_desc": "tidy"}]
    file = trajectory(tmp_path, {"turk_annotations": {"anns": annotations}})
    assert sentences_of(file) == ("Put it away.", "", "", "", "tidy")


def test_instructions_follow_the_goal_where_they_are_asked_for(tmp_path: Path) -> None:
    annotations = [
        {"task_desc": "Put it away", "high_descs": ["Turn\x07  left,", 5, "", "Walk\non. "]},
        {"task_desc": "tidy", "high_descs": "no list"},
        {"high_descs": ["Nobody knows", "what for."]},
        {"task_desc": "much", "high_descs": ["and more"] * 900},
    ]
    file = trajectory(tmp_path, {"turk_annotations": {"anns": annotations}})
    told = sentences_of(file, steps=True)
    assert told[:3] == ("Put it away. Turn left. Walk on.", "tidy", "")
    assert told[3].count("and more") == 60
    assert sentences_of(file) == ("Put it away", "tidy", "", "much")
    wording = GoalSource(human=True, number=1, steps=True).wording(1)
    assert parse_goal_source(wording) == GoalSource(human=True, number=1, steps=True)


@given(
    st.binary()
    | st.recursive(st.none() | st.text(), lambda x: st.dictionaries(st.text(), x)).map(lambda x: json.dumps(x).encode())
)
def test_odd_files_have_no_sentences(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    assert sentences_of(trajectory(tmp_path_factory.mktemp("odd"), content)) == ()


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000,
        b'{"turk_annotations": []}',
        b'{"turk_annotations": {"anns": 5}}',
        b'{"turk_annotations": {"anns": {"task_desc": "x"}}}',
        b"1" * 10_000,
    ],
)
def test_damaged_files_have_no_sentences(tmp_path: Path, content: bytes) -> None:
    assert sentences_of(trajectory(tmp_path, content)) == ()


def test_what_is_no_file_has_no_sentences(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert sentences_of(tmp_path / "pipe") == sentences_of(tmp_path) == sentences_of(tmp_path / "nothing") == ()


@pytest.mark.games
def test_every_published_game_was_worded_by_three_people_or_more(alfworld_games: Path) -> None:
    files = [
        file.with_name("traj_data.json") for file in (alfworld_games / "json_2.1.1" / "valid_seen").glob("*/*/game.tw-pddl")
    ]
    counts = [sum(map(bool, sentences_of(file))) for file in files]
    assert len(counts) == 140
    assert min(counts) >= 3
