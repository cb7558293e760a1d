"""Reading the goals that ALFRED's annotators wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.games import sentences_of
from housequest.worlds.tasks import GoalSource, parse_goal_source


def trajectory(folder: Path, content: Any) -> Path:
    file = folder / "traj_data.json"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return file


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
