"""Annotations read from files, and what becomes of those that are not what they should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from housequest.worlds.alfred.model import Thing, receptacles_of
from housequest.worlds.alfred.tasks import read_demonstration, read_split, score
from housequest.worlds.errors import GameError, TaskNotFound
from tests.irregular import check_irregular
from tests.worlds.alfred.annotations import SEEN, annotated, placing, small_world, write


def test_a_demonstration_has_what_its_file_says(tmp_path: Path) -> None:
    first, second = read_split("valid_seen", small_world(tmp_path))
    assert (first.id, first.type, len(first.plan)) == ("valid_seen/task-1/trial", "pick_and_place_simple", 4)
    assert [one.goal for one in first.instructions] == ["Carry an apple over to the table.", "Have an apple lie on the table."]
    assert first.instructions[1].text(stepwise=True).startswith("Have an apple lie on the table. Step: GotoLocation")
    assert first.scene.things == (Thing("apple", "countertop"),)
    assert first.scene.receptacles == receptacles_of("kitchen")
    assert score(first.plan, first).reaches and score(second.plan, second).reaches


def test_what_is_there_besides_lies_anywhere_and_a_slice_is_what_it_was_cut_from(tmp_path: Path) -> None:
    plan = ["GotoLocation countertop", "PickupObject Knife", "GotoLocation Bread", "SliceObject Bread"]
    goal = {"type": "pick_and_place_simple", "object_target": "Bread", "object_sliced": True, "parent_target": "Fridge"}
    content = annotated(plan, goal, told=["Slice it."], lying=["Bread", "Bread", "Knife", "Chair"])
    content["plan"]["high_pddl"][3]["planner_action"]["objectId"] += "|BreadSliced_1"
    demonstration = read_demonstration(write(tmp_path, "train", [content]) / "traj_data.json")
    assert demonstration.scene.things == (Thing("knife", "countertop"), Thing("bread"), Thing("bread"))
    assert demonstration.goal.sliced and demonstration.goal.total == 2


def test_a_treatment_without_a_name_means_what_was_picked_up(tmp_path: Path) -> None:
    content = placing("Cup", "sinkbasin", "shelf", ["Clean it."])
    content["plan"]["high_pddl"][2] = {
        "discrete_action": {"action": "CleanObject", "args": [""]},
        "planner_action": {"action": "CleanObject"},
    }
    demonstration = read_demonstration(write(tmp_path, "train", [content]) / "traj_data.json")
    assert str(demonstration.plan[2]) == "CleanObject cup"


def test_a_split_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(TaskNotFound, match="has none"):
        read_split("valid_seen", tmp_path)
    with pytest.raises(TaskNotFound, match=r"train, valid_seen\. Did you mean 'valid_seen'"):
        read_split("valid_sen", small_world(tmp_path))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"plan": 3}', b"[" * 200_000, b"\xff\xfe\x00", b"{}"])
def test_a_damaged_file_is_named(content: bytes, tmp_path: Path) -> None:
    file = write(tmp_path, "train", SEEN) / "traj_data.json"
    file.write_bytes(content)
    with pytest.raises(GameError, match=r"traj_data\.json"):
        read_split("train", tmp_path)


PATHS = st.sampled_from(
    [
        ("task_type",),
        ("pddl_params", "object_target"),
        ("pddl_params", "parent_target"),
        ("plan", "high_pddl"),
        ("plan", "high_pddl", 1),
        ("plan", "high_pddl", 1, "discrete_action", "args"),
        ("plan", "high_pddl", 1, "planner_action"),
        ("plan", "high_pddl", 1, "planner_action", "objectId"),
        ("scene", "scene_num"),
        ("scene", "object_poses"),
        ("turk_annotations", "anns"),
        ("turk_annotations", "anns", 0, "task_desc"),
        ("turk_annotations", "anns", 0, "high_descs"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.heavy
@example(("scene", "scene_num"), float("inf"))
@given(PATHS, VALUES)
def test_odd_values_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, path: tuple[Any, ...], value: object) -> None:
    content: Any = json.loads(json.dumps(SEEN[0]))
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    file = write(tmp_path_factory.mktemp("odd"), "train", [content]) / "traj_data.json"
    try:
        demonstration = read_demonstration(file)
    except GameError as error:
        assert str(error).isprintable()
    else:
        assert score(demonstration.plan, demonstration).conditions >= 1


def test_a_demonstration_is_a_regular_file(tmp_path: Path) -> None:
    check_irregular(read_demonstration, tmp_path)
