from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import MAX_FILE
from housequest.worlds.alfworld.games import Entry, Index
from housequest.worlds.errors import WorldError
from housequest.worlds.paths import cache_folder
from tests.worlds.alfworld.samples import HEAT, OLDER, PLACE, encoded, published, put, unpacked


def entry(data: Path, split: str = "train") -> Entry:
    (only,) = Index(data).entries(split)
    return only


def cache_file() -> Path:
    (only,) = (cache_folder() / "alfworld").iterdir()
    return only


def test_no_data_has_no_splits(tmp_path: Path) -> None:
    assert Index(tmp_path / "nothing").splits() == ()


def test_splits_are_the_folders_that_are_there(tmp_path: Path) -> None:
    for split in ("valid_seen", "mine", "train", ".hidden", "example", "file", "a:b", "bell\a"):
        (tmp_path / "json_2.1.1" / split).mkdir(parents=True)
    (tmp_path / "json_2.1.1" / "notes.txt").write_text("no folder")
    assert Index(tmp_path).splits() == ("train", "valid_seen", "mine")


def test_trajectories_without_a_game_are_no_entries(tmp_path: Path) -> None:
    put(tmp_path, "train", PLACE, b"{}", "traj_data.json")
    put(tmp_path, "train", HEAT, encoded(OLDER))
    assert [found.trial for found in Index(tmp_path).entries("train")] == [HEAT]


def test_entries_are_sorted_by_trial(tmp_path: Path) -> None:
    trials = [
        "pick_two_obj_and_place-B/t",
        "pick_and_place_simple-A/t2",
        "pick_and_place_simple-A/t1",
        "pick_and_place_simple-A-1/t",
    ]
    for trial in trials:
        put(tmp_path, "train", trial, b"")
    found = [found.trial for found in Index(tmp_path).entries("train")]
    assert found == sorted(found)
    assert set(found) == set(trials)


@pytest.mark.parametrize(
    ("trial", "reason"),
    [
        ("pick_and_place_with_movable_recep-Egg-Bowl-Fridge-1/t", "movable"),
        ("pick_and_place_simple-AppleSliced-None-Fridge-1/t", "sliced"),
        ("pick_nothing-Egg-None-Fridge-1/t", "six types"),
        ("pick_and_place_simple-Egg-None-Fridge-1/bell\a", "printed"),
        ("pick_and_place_simple-Egg-None-Fridge-1/\udcff", "printed"),
    ],
)
def test_what_alfworld_leaves_out_is_left_out_unread(tmp_path: Path, trial: str, reason: str) -> None:
    put(tmp_path, "train", trial, b"never read")
    found = entry(tmp_path)
    assert (found.status, found.digest) == ("left out", "")
    assert reason in found.reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "pddl_problem"),
        (encoded(OLDER), "older grammar"),
        (encoded(OLDER | {"grammar": '"Your task is to: put a mug in desk."'}), "grammar"),
        (encoded(OLDER | {"grammar": 5}), "grammar"),
        (b"x" * (MAX_FILE + 1), "bytes"),
    ],
)
def test_what_cannot_be_played_is_refused_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    put(tmp_path, "train", PLACE, content)
    found = entry(tmp_path)
    assert (found.status, found.type, found.goal) == ("refused", "pick_and_place_simple", "")
    assert reason in found.reason
    assert PLACE not in found.reason


@given(st.binary() | st.dictionaries(st.sampled_from(list(OLDER)), st.none() | st.text() | st.integers()).map(encoded))
def test_no_content_breaks_the_index(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    data = tmp_path_factory.mktemp("data")
    put(data, "train", PLACE, content)
    assert entry(data).status == "refused"


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    put(tmp_path, "train", PLACE, b"").unlink()
    os.mkfifo(tmp_path / "json_2.1.1" / "train" / PLACE / "game.tw-pddl")
    assert entry(tmp_path).reason == "it is not a plain file"


def test_a_folder_that_goes_away_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"json_2.1.1/train.* cannot be listed"):
        Index(tmp_path).entries("train")


def test_a_data_folder_that_cannot_be_looked_at_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"aaa.* cannot be read: .* set ALFWORLD_DATA"):
        Index(tmp_path / ("a" * 300)).splits()


def test_a_folder_that_is_a_link_to_itself_is_an_error_that_names_it(tmp_path: Path) -> None:
    link = put(tmp_path, "train", PLACE, b"").parents[2] / "a link"
    link.symlink_to(link)
    with pytest.raises(WorldError, match=r"train/a link' cannot be listed"):
        Index(tmp_path).entries("train")


def test_a_link_that_leads_to_itself_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = put(tmp_path, "train", PLACE, b"")
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(WorldError, match=rf"{PLACE}/game\.tw-pddl.* cannot be read"):
        Index(tmp_path).entries("train")


def test_an_unchanged_game_is_not_opened_again(tmp_path: Path) -> None:
    path = put(tmp_path, "train", PLACE, encoded(OLDER))
    before = entry(tmp_path)
    status = path.stat()
    path.write_bytes(b"#" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert entry(tmp_path) == before
    assert Index(tmp_path, cached=False).entries("train") != (before,)


def test_added_removed_and_changed_games_are_noticed(tmp_path: Path) -> None:
    path = put(tmp_path, "train", PLACE, encoded(OLDER))
    first = entry(tmp_path)
    put(tmp_path, "train", HEAT, encoded(OLDER))
    assert [found.trial for found in Index(tmp_path).entries("train")] == [PLACE, HEAT]
    shutil.rmtree(tmp_path / "json_2.1.1" / "train" / HEAT)
    path.write_bytes(b"{}")
    second = entry(tmp_path)
    assert second.digest != first.digest
    os.utime(path, ns=(0, 0))
    assert entry(tmp_path).changed == 0


def test_an_index_stays_as_it_was_first_read(tmp_path: Path) -> None:
    put(tmp_path, "train", PLACE, b"{}")
    index = Index(tmp_path)
    before = index.entries("train")
    put(tmp_path, "train", HEAT, b"{}")
    assert index.entries("train") is before


def test_two_data_folders_do_not_share_a_cache(tmp_path: Path) -> None:
    for name in ("one", "two"):
        put(tmp_path / name, "train", PLACE, name.encode())
    assert entry(tmp_path / "one") != entry(tmp_path / "two")
    assert len(list((cache_folder() / "alfworld").iterdir())) == 2


@settings(max_examples=30)
@given(
    st.binary()
    | st.just(b"[" * 100_000)
    | st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(
        lambda entries: json.dumps(["?", entries]).encode()
    )
)
def test_a_damaged_cache_is_made_again(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    data = tmp_path_factory.mktemp("data")
    put(data, "train", PLACE, encoded(OLDER))
    before = entry(data)
    for file in (cache_folder() / "alfworld").iterdir():
        made = json.loads(file.read_bytes())
        file.write_bytes(content.replace(b'"?"', json.dumps(made[0]).encode()))
        assert entry(data) == before
        assert json.loads(file.read_bytes()) == made
        file.unlink()


@pytest.mark.parametrize("column", range(8))
def test_a_cache_row_of_another_shape_is_not_believed(tmp_path: Path, column: int) -> None:
    put(tmp_path, "train", PLACE, encoded(OLDER))
    before = entry(tmp_path)
    made = json.loads(cache_file().read_bytes())
    made[1][0][column] = None
    cache_file().write_text(json.dumps(made))
    assert entry(tmp_path) == before


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a file").write_text("where the folder should be")
    monkeypatch.setenv("HOUSEQUEST_HOME", str(tmp_path / "a file"))
    put(tmp_path, "train", PLACE, encoded(OLDER))
    assert entry(tmp_path).status == "refused"


@pytest.mark.games
def test_published_games_are_playable_and_tell_their_goals(alfworld_games: Path) -> None:
    entries = Index(alfworld_games).entries("valid_seen")
    assert len(entries) == 140
    assert {found.status for found in entries} == {"playable"}
    assert all(found.goal.isprintable() and found.goal.endswith(".") for found in entries)


@pytest.mark.games
def test_a_game_without_a_known_solution_is_left_out(alfworld_games: Path, tmp_path: Path) -> None:
    members = published(alfworld_games, 3)
    games = [name for name in members if name.endswith("game.tw-pddl")]
    for name, solvable in zip(games, (True, False, None), strict=True):
        members[name] = encoded(json.loads(members[name]) | {"solvable": solvable})
    entries = Index(unpacked(members, tmp_path)).entries("valid_seen")
    assert [found.status for found in entries] == ["playable", "left out", "left out"]
    assert entries[1].reason == "no solution of it is known"


@pytest.mark.games
@pytest.mark.parametrize("key", ["pddl_domain", "grammar"])
def test_a_game_with_another_domain_or_grammar_is_refused(alfworld_games: Path, tmp_path: Path, key: str) -> None:
    members = published(alfworld_games, 1)
    name = next(iter(members))
    game = json.loads(members[name])
    members[name] = encoded(game | {key: game[key] + " "})
    (found,) = Index(unpacked(members, tmp_path)).entries("valid_seen")
    assert found.status == "refused"
    assert key.removeprefix("pddl_") in found.reason
