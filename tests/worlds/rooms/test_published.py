"""Rooms of the published games: that ALFRED's walks can be walked, and that what stands at a place is seen from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from housequest.worlds.alfworld.world import situation
from housequest.worlds.rooms.room import AHEAD, Pose, read_place
from housequest.worlds.rooms.view import draw, gaze
from scripts.bench.rooms import LEAST, SIZE, opened, read, walked

pytestmark = pytest.mark.games


def games(root: Path, split: str) -> list[Path]:
    return sorted((root / "json_2.1.1" / split).glob("*/*/game.tw-pddl"))


def arrivals(path: Path) -> list[bool]:
    """For each annotated walk to a place, whether it ends at the pose that the plan names."""
    trial = json.loads(path.with_name("traj_data.json").read_bytes())
    first, plan = trial["scene"]["init_action"], trial["plan"]
    x, z = Pose(first["x"], first["z"]).cell
    quarter = round(first["rotation"] / 90)
    found: list[bool] = []
    for low, after in zip(plan["low_actions"], [*plan["low_actions"][1:], {"high_idx": -1}], strict=True):
        action = low["api_action"]["action"]
        if action == "MoveAhead":
            x, z = x + AHEAD[quarter][0], z + AHEAD[quarter][1]
        quarter = (quarter + {"RotateLeft": -1, "RotateRight": 1}.get(action, 0)) % 4
        high = plan["high_pddl"][low["high_idx"]]["planner_action"]
        if after["high_idx"] != low["high_idx"] and high["action"] == "GotoLocation":
            place = read_place(
                "loc" + "".join(f"_bar_{part.replace('-', '_minus_')}" for part in high["location"].split("|")[1:])
            )
            found.append(place is not None and (place.cell, place.quarter) == ((x, z), quarter))
    return found


def test_places_are_the_poses_at_which_annotated_walks_end(alfworld_games: Path) -> None:
    ends = [end for path in games(alfworld_games, "valid_seen") for end in arrivals(path)]
    assert len(ends) == 396 and sum(ends) >= 395


def test_the_floor_lets_annotated_walks_through(alfworld_games: Path) -> None:
    counted = walked(games(alfworld_games, "valid_seen"))
    assert counted.refused <= 0.03 * counted.moves
    assert counted.whole >= 0.8 * counted.walks


def test_what_is_at_a_place_is_seen_from_it(alfworld_games: Path) -> None:
    receptacles: list[bool] = []
    things: list[bool] = []
    for path in games(alfworld_games, "valid_seen")[::14]:
        game, room = read(path)
        assert not room.made_up and tuple(one.name for one in room.fixtures) == game.receptacles
        full = situation(game, game.start, room)
        for one, holder in zip(room.fixtures, full.holders, strict=True):
            now = opened(full, one.name)
            frame = draw(room, now, gaze(room, replace(now, at=one.name)), SIZE)
            receptacles.append(frame.pixels(one.name) >= LEAST)
            things += [frame.pixels(thing) >= LEAST for thing in holder.contents]
    assert sum(receptacles) >= 0.94 * len(receptacles)
    assert sum(things) >= 0.82 * len(things)
