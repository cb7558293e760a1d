"""Rooms of games: what is read off their ids, what is drawn of what is known, and that nothing else is."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import numbered, parse_problem
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.alfworld.world import situation
from housequest.worlds.base import Drawable
from housequest.worlds.env import StepLimit
from housequest.worlds.household.belief import Belief
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.furnish import MAX_FIXTURES, Located, furnish
from housequest.worlds.rooms.room import (
    AHEAD,
    GRID,
    Box,
    Holder,
    Point,
    Pose,
    Room,
    Situation,
    believed,
    kind_of,
    read_place,
    read_point,
    strides,
    way,
    with_way,
)
from housequest.worlds.rooms.stage import MAX_BOXES, furniture
from housequest.worlds.rooms.view import draw, gaze, picture, text_plan
from tests.worlds.rooms.houses import (
    HOUSES,
    calls,
    hidden_elsewhere,
    hidden_things,
    house,
    made,
    played,
    problem,
    unknown_otherwise,
)

SIZE = (32, 24)


@pytest.mark.parametrize(
    ("id", "point"),
    [
        ("fridge_bar__minus_02_dot_48_bar__plus_00_dot_00_bar__minus_00_dot_78", Point(-2.48, 0.0, -0.78)),
        ("garbagecan_bar__minus_00_dot_95_bar_00_dot_00_bar__plus_01_dot_05", Point(-0.95, 0.0, 1.05)),
        ("sink_bar__plus_01_dot_00_bar__plus_00_dot_90_bar__minus_02_dot_10_bar_sinkbasin", Point(1.0, 0.9, -2.1)),
        ("cabinet_bar_007", None),
        ("fridge_bar__minus_9999_dot_00_bar__plus_00_dot_00_bar__minus_00_dot_78", None),
        ("fridge_bar__minus_02_dot_48_bar_nan_bar__minus_00_dot_78", None),
        ("fridge_bar__plus_inf_bar__plus_00_dot_00_bar__minus_00_dot_78", None),
        ("fridge_bar__minus_02_dot_48_bar__plus_00_dot_00", None),
    ],
)
def test_points_are_read_off_ids(id: str, point: Point | None) -> None:
    assert read_point(id) == point


@pytest.mark.parametrize(
    ("id", "pose"),
    [
        ("loc_bar__minus_7_bar__minus_11_bar_2_bar_45", Pose(-1.75, -2.75, 180, 45)),
        ("loc_bar_0_bar_5_bar_1_bar__minus_30", Pose(0, 1.25, 90, -30)),
        ("loc_bar_000", None),
        ("loc_bar_1_bar_2_bar_7_bar_30", None),
        ("loc_bar_1_bar_2_bar_3_bar_90", None),
        ("loc_bar_9000_bar_2_bar_3_bar_30", None),
    ],
)
def test_poses_are_read_off_places(id: str, pose: Pose | None) -> None:
    assert read_place(id) == pose


@pytest.mark.parametrize("name", HOUSES)
def test_a_room_has_every_receptacle_once_and_a_floor_under_every_place(name: str) -> None:
    game, room, _ = house(name)
    assert not room.made_up
    assert tuple(one.name for one in room.fixtures) == game.receptacles
    assert room.start.cell in room.floor
    for one in room.fixtures:
        assert one.place is not None and way(room.floor, room.start.cell, one.place.cell)
        assert all(low < high for low, high in zip(one.box[:3], one.box[3:], strict=True))


def test_a_way_is_a_shortest_one_over_free_cells() -> None:
    free = frozenset({(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2)})
    assert way(free, (0, 0), (0, 2)) == ((0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2))
    assert way(free, (0, 0), (5, 5)) == ()


@given(st.data())
def test_strides_lead_over_the_floor_in_even_distances_and_look_ahead(data: st.DataObject) -> None:
    _, room, _ = house(data.draw(st.sampled_from(HOUSES)))
    poses = [room.start, *(one.place for one in room.fixtures if one.place is not None)]
    start, end = (data.draw(st.sampled_from(poses)) for _ in range(2))
    most = data.draw(st.integers(0, 12))
    cells = way(room.floor, start.cell, end.cell)
    walked = strides(room, start, end, most)
    places = [cells.index(pose.cell) for pose in walked]
    gaps = [after - before for before, after in pairwise((0, *places, len(cells) - 1))]
    assert len(walked) == max(0, min(most, len(cells) - 2))
    assert max(gaps) - min(gaps) <= 1
    for pose, place in zip(walked, places, strict=True):
        ahead = cells[place + 1]
        assert (pose.cell[0] + AHEAD[pose.quarter][0], pose.cell[1] + AHEAD[pose.quarter][1]) == ahead


def test_parts_of_a_box_turn_with_its_front() -> None:
    box = Box(0, 0, 0, 4, 1, 2)
    # The left half of its front, for somebody who looks at it.
    assert [box.part(side, 0, 0, 0.5, 0.5, 1, 1) for side in range(4)] == [
        Box(2, 0, 1, 4, 1, 2),
        Box(2, 0, 0, 4, 1, 1),
        Box(0, 0, 0, 2, 1, 1),
        Box(0, 0, 1, 2, 1, 2),
    ]


@given(st.tuples(*[st.integers(0, 6)] * 6), st.tuples(*[st.integers(0, 6)] * 6))
def test_what_is_left_of_a_box_is_what_is_outside_of_the_hole(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    box, hole = (
        Box(*map(min, ends[:3], ends[3:]), *map(lambda a, b: max(a, b) + 1, ends[:3], ends[3:])) for ends in (one, other)
    )

    def cells(box: Box) -> set[tuple[int, ...]]:
        x, y, z = (range(int(low), int(high)) for low, high in zip(box[:3], box[3:], strict=True))
        return {(a, b, c) for a in x for b in y for c in z}

    left = [cells(piece) for piece in box.outside(hole)]
    assert set().union(*left) == cells(box) - cells(hole)
    assert sum(map(len, left)) == len(cells(box) - cells(hole))


def boxes(room: Room, now: Situation, name: str) -> list[Box]:
    return [part.box for part in furniture(room, now) if part.name == name]


def with_holder(now: Situation, name: str, **changed: object) -> Situation:
    holders = tuple(replace(one, **changed) if one.name == name else one for one in now.holders)  # type: ignore[arg-type]
    return replace(now, holders=holders)


def test_a_closed_receptacle_hides_what_is_in_it_and_an_open_one_shows_it() -> None:
    _, room, now = house("kitchen")
    for one in now.holders:
        if one.openness == "closed":
            shown = with_holder(now, one.name, openness="open")
            for thing in one.contents:
                assert not boxes(room, now, thing) and boxes(room, shown, thing)


def test_an_opened_drawer_slides_towards_who_stands_there() -> None:
    _, room, now = house("kitchen")
    drawer = next(one for one in room.fixtures if one.name.startswith("drawer"))
    shut = boxes(room, with_holder(now, drawer.name, openness="closed"), drawer.name)[0].centre
    pulled = [box.centre for box in boxes(room, with_holder(now, drawer.name, openness="open", contents=()), drawer.name)]
    dx, dz = AHEAD[drawer.front]
    moved = sum((box.x - shut.x) * dx + (box.z - shut.z) * dz for box in pulled) / len(pulled)
    assert moved > 0.2


def test_what_was_put_somewhere_lies_on_it_and_not_where_it_was() -> None:
    _, room, now = house("kitchen")
    table = next(one for one in room.fixtures if one.kind.form == "table")
    (box,) = boxes(room, with_holder(now, table.name, contents=("apple 9",)), "apple 9")
    assert table.box.grown(0.2).over(box.centre.x, box.centre.z) and abs(box.y0 - table.box.y1) < 0.01


def test_many_things_on_one_table_lie_apart_while_there_is_room() -> None:
    _, room, now = house("kitchen")
    table = next(one for one in room.fixtures if one.kind.form == "table")
    names = tuple(f"egg {number}" for number in range(5))
    shown = with_holder(now, table.name, contents=names)
    centres = {boxes(room, shown, name)[0].centre for name in names}
    assert len(centres) == 5


def test_a_belief_is_drawn_as_the_state_once_all_is_known() -> None:
    game, room, _ = house("bedroom")
    commands: list[str] = []
    for name in game.receptacles:
        commands += [f"go to {name}", f"open {name}", f"examine {name}"]
    env, belief = played(game, tuple(commands))
    known, true = believed(room, belief), situation(game, env.state, room)
    shared = {holder.name: holder for holder in true.holders}
    assert [replace(one, contents=()) for one in known.holders] == [
        replace(shared[one.name], contents=()) for one in known.holders
    ]
    assert all(set(one.contents) == set(shared[one.name].contents) for one in known.holders)
    assert known.pose == true.pose


def pictures(room: Room, belief: Belief) -> tuple[object, ...]:
    """All that can be drawn from a belief."""
    now = believed(room, belief)
    frames = (
        draw(room, now, now.pose, SIZE),
        draw(room, now, gaze(room, now), SIZE),
        picture("house", room, now, SIZE, came=room.start),
        picture("plan", room, now, SIZE),
    )
    seen = ((frame.rgb.tobytes(), frame.depth.tobytes(), frame.ids.tobytes(), frame.names) for frame in frames)
    return (*seen, text_plan(room, now, (60, 30)))


@pytest.mark.heavy
@settings(max_examples=8)
@given(st.data())
def test_nothing_that_a_belief_does_not_know_changes_a_pixel_of_it(data: st.DataObject) -> None:
    """A thing in one closed receptacle, or in another, with other coordinates: a player who has not looked sees one picture."""
    name = data.draw(st.sampled_from(HOUSES))
    text = problem(name).lower()
    game, room = made(text)
    thing, holder = data.draw(st.sampled_from(list(hidden_things(text))))
    targets = sorted(set(re.findall(r"\(openable (\S+)\)", text)) - {holder})
    point = data.draw(st.tuples(*[st.integers(-300, 300)] * 3))
    changed = hidden_elsewhere(text, thing, holder, data.draw(st.sampled_from(targets)), point)
    assert changed != text
    game_too, room_too = made(changed)
    walk = tuple(f"go to {one}" for one in data.draw(st.permutations(game.receptacles))[:4])
    belief, belief_too = played(game, walk)[1], played(game_too, walk)[1]
    assert belief == belief_too
    assert pictures(room, belief) == pictures(room_too, belief_too)


@pytest.mark.heavy
@settings(max_examples=8)
@given(st.data())
def test_a_house_in_another_state_looks_the_same_to_who_has_not_looked(data: st.DataObject) -> None:
    """All that one does not know who went to some receptacles: where things lie, what is open, hot, clean or lit."""
    text = problem(data.draw(st.sampled_from(HOUSES))).lower()
    game, room = made(text)
    names = dict(zip(numbered(parse_problem(text, "test"))[1], game.receptacles, strict=True))
    visited = data.draw(st.permutations(list(names)))[:4]
    other = unknown_otherwise(text, visited, Random(data.draw(st.integers(0, 999))))
    game_too, room_too = made(other)
    assert game.start != game_too.start
    walk = tuple(f"go to {names[one]}" for one in visited)
    belief, belief_too = played(game, walk)[1], played(game_too, walk)[1]
    assert belief == belief_too
    assert pictures(room, belief) == pictures(room_too, belief_too)


def test_an_unknown_cabinet_looks_like_a_closed_one() -> None:
    _, room, now = house("kitchen")
    name = next(one.name for one in room.fixtures if one.name.startswith("cabinet"))
    closed = boxes(room, with_holder(now, name, openness="closed"), name)
    assert boxes(room, with_holder(now, name, openness=None, contents=()), name) == closed


@pytest.mark.parametrize("number", ["_plus_9999_dot_99", "_plus_nan", "_plus_inf", "_plus_1e9_dot_00", ""])
def test_a_house_with_coordinates_that_are_none_gets_a_made_up_plan(number: str) -> None:
    text = problem("kitchen").lower()
    id = re.search(r"(fridge_bar_\S+) - receptacle", text)
    assert id is not None
    stranger = re.sub(r"(fridge_bar_)_(?:plus|minus)_\d+_dot_\d+", rf"\g<1>{number}", id[1])
    game, room = made(text.replace(id[1], stranger))
    assert room.made_up and {one.name for one in room.fixtures} == set(game.receptacles)
    draw(room, Situation(room.start), room.start, SIZE)


def test_things_far_apart_are_no_room() -> None:
    text = re.sub(r"(fridge_bar_)_(plus|minus)_\d+_dot", r"\g<1>_\2_49_dot", problem("kitchen").lower())
    assert made(text)[1].made_up


@pytest.mark.heavy
def test_thousands_of_things_are_drawn_up_to_a_bound() -> None:
    _, room, now = house("kitchen")
    crowd = tuple(f"laptop {number}" for number in range(2_000))
    now = with_holder(now, "countertop 1", contents=crowd)
    assert len(furniture(room, now)) <= MAX_BOXES
    assert draw(room, now, room.start, (16, 16)).rgb.any()


@pytest.mark.heavy
def test_hundreds_of_basins_and_things_in_the_air_are_drawn_up_to_a_bound() -> None:
    place = Pose(0, 0, 0, 30)
    holders = [
        Located(f"sinkbasin {number}", Point(number % 20 * 0.01, 0.9, 1 + number // 20 * 0.01), place) for number in range(200)
    ]
    homes = {
        (f"mug {number}", "countertop 1"): Point(number % 45 * 0.1, 1 + number % 7 * 0.1, 1 + number // 45)
        for number in range(600)
    }
    room = furnish([Located("countertop 1", Point(0, 0.9, 1), place), *holders], [], place, homes)
    now = Situation(place, "countertop 1", (Holder("countertop 1", True, "surface", tuple(name for name, _ in homes)),))
    assert len(furniture(room, now)) <= MAX_BOXES
    assert draw(room, now, gaze(room, now), (16, 16)).rgb.any()


@pytest.mark.heavy
def test_hundreds_of_receptacles_in_one_place_are_drawn_up_to_a_bound() -> None:
    text = problem("bathroom").lower()
    id = re.search(r"(cabinet_bar_\S+) - receptacle", text)
    place = re.search(r"\(receptacleatlocation cabinet_bar_\S+ (\S+)\)", text)
    assert id is not None and place is not None
    many = [f"{id[1]}_bar_{number}" for number in range(MAX_FIXTURES + 50)]
    text = text.replace(f"{id[1]} - receptacle", " ".join([id[1], *many]) + " - receptacle", 1)
    text = text.replace("(:init", "(:init " + " ".join(f"(receptacleatlocation {one} {place[1]})" for one in many), 1)
    game, room = made(text)
    assert len(game.receptacles) > MAX_FIXTURES >= len(room.fixtures)
    draw(
        room,
        Situation(room.start, holders=tuple(Holder(one.name, True, "open") for one in room.fixtures)),
        room.start,
        (16, 16),
    )


@pytest.mark.heavy
@pytest.mark.parametrize("apart", [0.0, 0.001, 0.05])
@pytest.mark.parametrize(
    "kinds", [("countertop",), ("countertop", "sinkbasin", "toaster"), ("cabinet", "drawer"), ("bed", "fridge")]
)
def test_hundreds_of_receptacles_anywhere_cost_no_more_than_a_bound(kinds: tuple[str, ...], apart: float) -> None:
    """At one point, in a row so close that counters would run between all of them, and in one of twenty metres."""

    def crowd(number: int) -> Located:
        x = number * apart
        return Located(
            f"{kinds[number % len(kinds)]} {number}", Point(x, 0.9, number % 2 * 1.2), Pose(round(x / GRID) * GRID, 3, 180, 30)
        )

    located = [crowd(number) for number in range(MAX_FIXTURES)]
    rooms: list[Room] = []
    assert calls(lambda: rooms.append(furnish(located, located, Pose(0, 3), {}))) < 5_000_000
    room = rooms[0]
    now = Situation(room.start, holders=tuple(Holder(one.name, True, "open", ("mug 1", "egg 2")) for one in located))
    size = (16, 16)
    for drawn in (
        partial(draw, room, now, room.start, size),
        partial(picture, "house", room, now, size),
        partial(picture, "plan", room, now, size),
    ):
        assert calls(drawn) < 5_000_000
    assert len(furniture(room, now)) <= MAX_BOXES


def test_a_negative_zero_is_a_zero() -> None:
    text = problem("kitchen").lower().replace("_plus_00_dot_00_", "_minus_00_dot_00_")
    assert text != problem("kitchen").lower()
    one, other = house("kitchen")[1], made(text)[1]
    assert repr(one.fixtures) == repr(other.fixtures)


@pytest.mark.parametrize("reference", ["example:1", "example:2", "example:3", "generated:1"])
def test_a_task_of_any_split_has_a_room_with_a_way_to_each_place(reference: str) -> None:
    world = make_world("alfworld")
    task = world.task(reference)
    room = world.room(task)
    assert room is not None and room.made_up == (task.split == "generated")
    belief = HOUSEHOLD.begin(world.open(task).reset().observation)
    assert {one.name for one in belief.receptacles} == {one.name for one in room.fixtures}
    assert all(way(room.floor, room.start.cell, one.place.cell) for one in room.fixtures if one.place)


@settings(max_examples=10)
@given(st.lists(st.tuples(*[st.integers(-2_000, 2_000)] * 3), min_size=1, max_size=12), st.integers(0, 3), st.data())
def test_any_coordinates_give_a_room_that_can_be_drawn(
    points: list[tuple[int, int, int]], turn: int, data: st.DataObject
) -> None:
    kinds = ("fridge", "drawer", "cabinet", "countertop", "sinkbasin", "bed", "diningtable", "gizmo", "shelf", "toaster")
    near = points[0]
    located = [
        Located(
            f"{data.draw(st.sampled_from(kinds))} {number}",
            Point(*((a + b / 100) / 100 for a, b in zip(near, point, strict=True))),
            Pose(near[0] / 100 + turn * GRID, near[2] / 100, 90 * turn, 30),
        )
        for number, point in enumerate(points)
    ]
    room = furnish(located, located, located[0].place or Pose(0, 0), {})
    now = Situation(
        room.start, located[0].name, tuple(Holder(one.name, True, "open", ("mug 1",)) for one in located), ("book 1",)
    )
    for frame in (
        draw(room, now, gaze(room, now), (16, 12)),
        picture("house", room, now, (16, 12)),
        picture("plan", room, now, (16, 12)),
    ):
        assert frame.rgb.shape == (12, 16, 3)


def test_an_unknown_kind_has_a_colour_of_its_own_that_stays() -> None:
    assert kind_of("gizmo 1") == kind_of("gizmo 2") != kind_of("gadget 1")
    assert kind_of("\ud800 1").colour


def test_a_world_offers_its_room_and_its_state_to_be_drawn() -> None:
    world = make_world("alfworld")
    task = world.task("example:1")
    room = world.room(task)
    assert room is not None
    env = StepLimit(world.explained(world.open(task)), 9)
    env.reset()
    now = world.situation(env, room)
    assert (
        now is not None and now.pose == room.start and {one.name for one in now.holders} == {one.name for one in room.fixtures}
    )
    assert isinstance(world, Drawable)
    assert not isinstance(make_world("scripted"), Drawable)


def test_the_text_plan_says_where_the_agent_is_and_what_is_known() -> None:
    game, room, _ = house("kitchen")
    _, belief = played(game, ("go to diningtable 1",))
    told = text_plan(room, believed(room, belief), (50, 24))
    assert len(told.rows) <= 24 and {len(row) for row in told.rows} == {len(told.rows[0])} and len(told.rows[0]) <= 50
    assert sum(row.count(arrow) for row in told.rows for arrow in "^>v<") == 1
    keys = {line[2:].partition(",")[0].partition(":")[0]: line for line in told.keys}
    assert keys["fridge 1"].endswith("not seen yet") and "diningtable 1: " in keys["diningtable 1"]


def test_names_can_be_written_where_their_things_are() -> None:
    _, room, now = house("kitchen")
    frame = picture("house", room, now, (160, 96))
    spots = frame.spots()
    assert "you" in spots and "fridge 1" in spots
    assert all(frame.names[int(frame.ids[row, column])] == name for name, (column, row) in spots.items())


@pytest.mark.heavy
def test_numpy_is_not_imported_before_something_is_drawn() -> None:
    code = (
        "import sys, housequest.worlds.rooms.view; from housequest.worlds.registry import make_world; "
        "world = make_world('alfworld');"
        "world.room(world.task('example:1')); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_where_somebody_stands_is_floor_and_so_is_the_shortest_way_to_it() -> None:
    floor = frozenset({(0, 0), (1, 0), (2, 0)})
    walls = Box(0.0, 0.0, 0.0, 1.0, 2.5, 1.0)
    assert with_way(floor, walls, (1, 0)) is floor
    joined = with_way(floor, walls, (2, 3))
    assert joined == floor | {(2, 1), (2, 2), (2, 3)}
    outside = with_way(floor, walls, (2, 7))
    assert way(outside, (0, 0), (2, 7))
