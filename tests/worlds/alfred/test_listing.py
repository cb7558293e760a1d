"""The list of a split's trajectories, and the cache by which files are opened only once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from housequest.worlds.alfred.tasks import listed
from housequest.worlds.alfred.world import AlfredWorld
from housequest.worlds.errors import GameError
from housequest.worlds.paths import cache_folder
from tests.worlds.alfred.annotations import SEEN, placing, small_world, write


def touched(file: Path, content: str) -> None:
    """Other content of the same size at the same time, which only a reader of the file can notice."""
    status = file.stat()
    assert len(content.encode()) == status.st_size
    file.write_text(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_what_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    split = small_world(tmp_path) / "json_2.1.1" / "valid_seen"
    first = listed(split)
    assert first[0].sentences[0] == "Carry an apple over to the table."
    file = split / first[0].trial / "traj_data.json"
    touched(file, file.read_text().replace("Carry", "Bring"))
    assert listed(split) == first
    file.write_text(file.read_text().replace("over to", "to"))
    assert listed(split)[0].sentences[0] == "Bring an apple to the table."


def test_instructions_are_listed_where_they_are_wanted(tmp_path: Path) -> None:
    split = small_world(tmp_path) / "json_2.1.1" / "valid_seen"
    plain, stepwise = listed(split), listed(split, steps=True)
    assert stepwise[0].sentences[0].startswith(f"{plain[0].sentences[0]} Step: GotoLocation")
    assert listed(split) == plain


@pytest.mark.parametrize(
    "kept", ["", "{}", "[" * 100_000, '["1", [["a/b", 1, 1, "x", [3]]]]', '["0", [["a/b", 1, 1, "x", ["y"]]]]', "\udcff"]
)
def test_a_damaged_cache_is_made_again(kept: str, tmp_path: Path) -> None:
    split = small_world(tmp_path) / "json_2.1.1" / "valid_seen"
    first = listed(split)
    (cache,) = (cache_folder() / "alfred").iterdir()
    cache.write_bytes(kept.encode("utf-8", "surrogateescape"))
    assert listed(split) == first
    assert len(json.loads(cache.read_bytes())[1]) == len(first)


def test_what_comes_and_goes_is_noticed(tmp_path: Path) -> None:
    first = write(tmp_path, "train", SEEN)
    split = first.parents[1]
    before = listed(split)
    (first / "traj_data.json").unlink()
    assert listed(split) == before[1:]
    other = split / "task-0" / "trial"
    other.mkdir(parents=True)
    (other / "traj_data.json").write_text(json.dumps(placing("Cup", "shelf", "fridge", ["Take a cup."])))
    assert [one.sentences for one in listed(split)] == [("Take a cup.",), *(one.sentences for one in before[1:])]


def test_a_damaged_file_is_named_and_a_task_is_made_of_each_other(tmp_path: Path) -> None:
    data = small_world(tmp_path)
    assert AlfredWorld(data=data).tasks("valid_seen")[0].goal == "Carry an apple over to the table."
    (data / "json_2.1.1" / "train" / "task-2" / "trial" / "traj_data.json").write_text("{")
    with pytest.raises(GameError, match=r"traj_data\.json"):
        AlfredWorld(data=data).tasks("train")
