"""Made-up plans: every place can be reached, nothing stands in anything else, and a house has one plan."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.houses.house import make_house
from housequest.worlds.alfworld.world import room_of, situation
from housequest.worlds.rooms.furnish import MAX_FIXTURES
from housequest.worlds.rooms.plans import make_up
from housequest.worlds.rooms.room import Room, Situation, reached, uncovered
from housequest.worlds.rooms.view import draw, gaze, picture
from tests.worlds.rooms.houses import calls

KINDS = ("fridge", "cabinet", "drawer", "countertop", "sinkbasin", "stoveburner", "microwave", "diningtable", "bed", "shelf")
OTHERS = ("toilet", "towelholder", "garbagecan", "gizmo", "sofa", "desk", "bathtubbasin", "coffeetable", "sidetable")


def sound(room: Room) -> None:
    """Raise where a place cannot be reached, or two things on the floor stand in one another."""
    assert room.made_up and room.homes == {}
    places = {one.place.cell for one in room.fixtures if one.place}
    free = uncovered(room.walls, (*room.fixtures, *room.scenery))
    assert room.start.cell in free and places <= reached(free, room.start.cell) and places <= room.floor
    for one in room.fixtures:
        assert room.walls.x0 <= one.box.x0 and one.box.x1 <= room.walls.x1
        assert room.walls.z0 <= one.box.z0 and one.box.z1 <= room.walls.z1
    standing = [one.box.grown(-0.001) for one in room.fixtures if one.kind.stands == "floor"]
    assert not any(one.meets(other) for index, one in enumerate(standing) for other in standing[index + 1 :])


@pytest.mark.parametrize("seed", range(0, 40))
def test_a_made_up_house_has_a_plan_in_which_every_place_is_reached(seed: int) -> None:
    house = make_house(seed)
    room = room_of(house.problem, house.game)
    assert {one.name for one in room.fixtures} == set(house.game.receptacles)
    assert all(one.place for one in room.fixtures)
    sound(room)


@given(st.lists(st.tuples(st.sampled_from(KINDS + OTHERS), st.integers(-1, 12)), max_size=40))
def test_any_receptacles_get_a_plan(drawn: list[tuple[str, int]]) -> None:
    names = [f"{kind} {number}" for number, (kind, _) in enumerate(drawn)]
    room = make_up(names, [place for _, place in drawn])
    assert {one.name for one in room.fixtures} == set(names)
    sound(room)
    assert room == make_up(names, [place for _, place in drawn])


def test_receptacles_that_share_a_place_are_reached_from_one_cell_and_those_without_have_none() -> None:
    room = make_up(["sinkbasin 1", "countertop 1", "fridge 1", "shelf 1"], [3, 3, 4, -1])
    first, second = room.fixture("sinkbasin 1"), room.fixture("countertop 1")
    assert first and second and first.place and second.place and first.place.cell == second.place.cell
    shelf = room.fixture("shelf 1")
    assert shelf is not None and shelf.place is None


def test_thousands_of_receptacles_are_planned_up_to_a_bound() -> None:
    names = [f"cabinet {number}" for number in range(3_000)]
    room = make_up(names, list(range(3_000)))
    assert len(room.fixtures) == MAX_FIXTURES
    assert room.pose("cabinet 2999") == room.start


@pytest.mark.heavy
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("kind", ["bed", "cabinet", "diningtable", "sinkbasin", "gizmo"])
def test_hundreds_of_a_kind_cost_no_more_than_a_bound_and_as_many_as_fit_are_there(kind: str, together: bool) -> None:
    names = [f"{kind} {number}" for number in range(MAX_FIXTURES)]
    rooms: list[Room] = []
    assert (
        calls(lambda: rooms.append(make_up(names, [0 if together else number for number in range(MAX_FIXTURES)]))) < 3_000_000
    )
    assert len(rooms[0].fixtures) >= 50 and [one.name for one in rooms[0].fixtures if one.name not in names] == []
    sound(rooms[0])


def test_no_receptacle_can_be_lost_to_its_name() -> None:
    """Names of other worlds need no number, and may be those of the worktops that a plan puts up."""
    names = ["countertop", "drawer", "", " ", "Kühlschrank", "cabinet 1", "countertop 1", "\ud800"]
    room = make_up(names, range(len(names)))
    assert sorted(one.name for one in room.fixtures) == sorted(names) and all(one.place for one in room.fixtures)
    assert dict.fromkeys(one.name for one in room.fixtures).keys() == set(names)
    frame = picture("house", room, Situation(room.start), (80, 48))
    assert set(frame.names) - set(names) == {"you"}
    sound(room)


def test_of_equal_names_the_first_counts() -> None:
    assert make_up(["fridge 1", "bed 1", "fridge 1"], [1, 2, 3]) == make_up(["fridge 1", "bed 1"], [1, 2])


def test_what_is_in_a_made_up_house_can_be_seen_from_its_place() -> None:
    house = make_house(690)
    room = room_of(house.problem, house.game)
    now = situation(house.game, house.game.start, room)
    seen = [draw(room, now, gaze(room, replace(now, at=one.name)), (100, 100)).pixels(one.name) > 0 for one in room.fixtures]
    assert sum(seen) >= 0.9 * len(seen)
    assert picture("house", room, now, (80, 48)).pixels("you") > 0


@pytest.mark.heavy
def test_a_plan_is_the_same_in_every_process() -> None:
    code = "from tests.worlds.rooms.test_plans import told; print(told())"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {told()}


def told() -> str:
    """What stands where in a few houses."""
    houses = (make_house(seed) for seed in (0, 1, 690))
    rooms = (room_of(house.problem, house.game) for house in houses)
    return repr([(room.walls, room.fixtures, room.start, sorted(room.floor)) for room in rooms])
