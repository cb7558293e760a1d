from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.games import GAME_FILE, game_at, in_order, type_of_trial
from housequest.worlds.household.goals import TASK_TYPES


def test_splits_come_in_their_own_order_and_others_by_name() -> None:
    assert in_order(["zoo", "valid_unseen", "attic", "train", "valid_seen", "valid_train"]) == (
        "train",
        "valid_train",
        "valid_seen",
        "valid_unseen",
        "attic",
        "zoo",
    )


@pytest.mark.parametrize(
    ("trial", "kind"),
    [
        ("pick_two_obj_and_place-KeyChain-None-Sofa-202/trial_T1", "pick_two_obj_and_place"),
        ("pick_and_place_with_movable_recep-Egg-Bowl-Fridge-1/trial_T1", "pick_and_place_with_movable_recep"),
        ("", ""),
        ("trial-without-a-task", "trial"),
    ],
)
def test_the_type_is_what_a_task_folder_starts_with(trial: str, kind: str) -> None:
    assert type_of_trial(trial) == kind


def test_the_types_are_six_and_distinct() -> None:
    assert len(set(TASK_TYPES)) == 6


@given(st.text())
def test_any_reference_can_be_looked_up_as_a_path(reference: str) -> None:
    assert game_at(f"/nowhere/{reference}") is None


def test_a_game_is_found_by_its_file_and_by_its_folder(tmp_path: Path) -> None:
    game = tmp_path / GAME_FILE
    game.write_bytes(b"{}")
    assert game_at(str(game)) == game_at(str(tmp_path)) == game


@pytest.mark.parametrize("reference", ["", "/nowhere", "~nobody-of-that-name/x", "x" * 10_000, "a\0b", "\ud800"])
def test_what_is_no_file_is_no_game(reference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert game_at(reference) is None
