from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from housequest.worlds.alfworld.exchange import import_games
from housequest.worlds.alfworld.games import check_data
from tests.worlds.alfworld.samples import HEAT, OLDER, encoded, published, put, unpacked


def test_a_check_names_what_is_wrong_and_what_is_missing(tmp_path: Path) -> None:
    sliced = "pick_and_place_simple-AppleSliced-None-Fridge-1/trial"
    put(tmp_path, "train", HEAT, encoded(OLDER))
    put(tmp_path, "train", sliced, b"")
    (report,) = check_data(tmp_path)
    assert (report.split, report.games, report.published, report.sound) == ("train", 1, 3553, False)
    assert [found.trial for found in report.left_out] == [sliced]
    assert [found.trial for found in report.refused] == [HEAT]
    assert report.without_human_goal == (f"train/{HEAT}",)


def test_a_check_of_nothing_reports_nothing(tmp_path: Path) -> None:
    assert check_data(tmp_path / "nothing") == ()


@pytest.mark.games
def test_a_sound_split_of_ones_own_is_sound(alfworld_games: Path, tmp_path: Path) -> None:
    members = {name.replace("valid_seen", "mine"): content for name, content in published(alfworld_games, 3).items()}
    del members[next(name for name in members if name.endswith("traj_data.json"))]
    (report,) = check_data(unpacked(members, tmp_path))
    assert (report.games, report.published, report.sound, len(report.without_human_goal)) == (3, None, True, 1)


@pytest.mark.games
@pytest.mark.parametrize("key", ["pddl_problem", "grammar"])
def test_a_game_that_would_not_open_is_found_by_check_and_import(alfworld_games: Path, tmp_path: Path, key: str) -> None:
    (name, content), *_ = published(alfworld_games, 1).items()
    game = json.loads(content)
    goal = re.compile('(?<=Your task is to: )[^"]*')
    damaged = game[key][:5000] if key == "pddl_problem" else goal.sub("  ", game[key])
    data = unpacked({name: encoded({**game, key: damaged})}, tmp_path / "source")
    (report,) = check_data(data)
    assert (report.sound, len(report.refused)) == (False, 1)
    assert [refused for refused, _ in import_games(data, tmp_path / "data").refused] == [name]


@pytest.mark.games
def test_the_published_data_is_sound(alfworld_games: Path, tmp_path: Path) -> None:
    (tmp_path / "json_2.1.1").mkdir()
    (tmp_path / "json_2.1.1" / "valid_seen").symlink_to(alfworld_games / "json_2.1.1" / "valid_seen")
    (report,) = check_data(tmp_path)
    assert (report.sound, report.games, report.left_out, report.without_human_goal) == (True, 140, (), ())
    assert dict(report.types) == {
        "pick_and_place_simple": 35,
        "look_at_obj_in_light": 13,
        "pick_clean_then_place_in_recep": 27,
        "pick_heat_then_place_in_recep": 16,
        "pick_cool_then_place_in_recep": 25,
        "pick_two_obj_and_place": 24,
    }
