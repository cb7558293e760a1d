"""Scenes: rooms with AI2-THOR's ids, for those who simulate them."""

from __future__ import annotations

import re

import pytest

from housequest.worlds.alfred.scenes import RoomData, arranged, thor_id
from housequest.worlds.alfred.simulator.base import FLOOR, id_at, kind_in, kind_named
from housequest.worlds.alfred.tasks import AnnotatedRoom, AnnotatedTrajectory
from housequest.worlds.rooms.room import GRID, Point
from tests.worlds.alfred.annotations import placing
from tests.worlds.alfred.simulator.played import scene

ID = re.compile(r"[A-Z][A-Za-z]+(\|[+-]?\d\d\.\d\d){3}(\|[A-Z][A-Za-z]+)?")


@pytest.mark.parametrize("reference", ["example:1", "generated:690"])
def test_everything_has_an_id_of_its_own_and_lies_in_something_that_is_there(reference: str) -> None:
    found = scene(reference)
    ids = [*found.ids.values(), *(one.id for one in found.things)]
    assert len(ids) == len(set(ids))
    assert all(ID.fullmatch(id) for id in ids)
    assert {one.at for one in found.things} <= {*ids, FLOOR}
    assert set(found.ids) == {one.name for one in (*found.room.fixtures, *found.room.scenery) if " " in one.name}
    assert found.openable <= set(ids)


@pytest.mark.parametrize("reference", ["example:1", "generated:690"])
def test_each_sink_has_a_faucet(reference: str) -> None:
    found = scene(reference)
    faucets = [one.box.centre for one in found.room.scenery if one.name.startswith("faucet ")]
    for basin in found.room.fixtures:
        if basin.name.startswith("sinkbasin "):
            middle = basin.box.centre
            assert any(abs(one.x - middle.x) < 1 and abs(one.z - middle.z) < 1 for one in faucets)


def test_ids_are_those_of_ai2thor() -> None:
    assert thor_id("mug_bar__plus_00_dot_10_bar__minus_01_dot_20_bar__plus_12_dot_00") == "Mug|+00.10|-01.20|+12.00"
    assert thor_id("toilet_bar__minus_00_dot_41_bar_00_dot_00_bar__minus_00_dot_55") == "Toilet|-00.41|00.00|-00.55"
    assert (
        thor_id("sink_bar__minus_00_dot_10_bar__plus_00_dot_89_bar__plus_02_dot_00_bar_sinkbasin")
        == "Sink|-00.10|+00.89|+02.00|SinkBasin"
    )
    assert id_at("CD", Point(-0.001, 0.0, 1.006)) == "CD|00.00|+00.00|+01.01"
    # An annotated place, and the id in the same annotation: .NET rounds twice.
    assert id_at("SoapBar", Point(-1.06499982, 0.12026535, 3.64031482)) == "SoapBar|-01.07|+00.12|+03.64"
    assert id_at("Mug", Point(0.125, -0.125, 11.0)) == "Mug|+00.13|-00.13|+11.00"
    assert [kind_named(word) for word in ("tvstand", "cd", "remotecontrol", "gizmo")] == [
        "TVStand",
        "CD",
        "RemoteControl",
        "Gizmo",
    ]


def annotated_room(*things: tuple[str, Point]) -> AnnotatedRoom:
    return AnnotatedRoom("", scene("example:1").start, 0.9, things, frozenset(), False)


def test_what_is_in_no_furniture_is_in_the_cup_at_its_place() -> None:
    found = scene("example:1")
    x, z = next(iter(sorted(found.room.floor)))
    cup = Point(x * GRID, 3.0, z * GRID)  # above all furniture
    room = annotated_room(
        ("Cup", cup), ("Spoon", cup._replace(x=cup.x + 0.1)), ("Fork", cup._replace(x=cup.x + 0.5)), ("Apple", cup)
    )
    lying = {kind_in(one.id): one.at for one in arranged(found, room).things if one.pickupable}
    assert lying == {"Cup": FLOOR, "Spoon": id_at("Cup", cup), "Fork": FLOOR, "Apple": FLOOR}


def test_where_people_walked_is_floor_but_not_by_their_own_walk() -> None:
    content = placing("mug", "cabinet", "coffeemachine", ["Bring it."])
    content["scene"] |= {
        "floor_plan": "FloorPlan5",
        "init_action": {"x": 1.0, "y": 0.9, "z": -0.5, "rotation": 270, "horizon": 30},
        "object_poses": [{"objectName": "Mug_1a2b", "position": {"x": 0.1, "y": 0.9, "z": 0.3}}],
        "object_toggles": [],
        "dirty_and_empty": False,
    }
    moves = ["MoveAhead", "RotateLeft", "MoveAhead", "MoveAhead", "RotateRight", "RotateRight", "LookDown", "MoveAhead"]
    content["plan"]["low_actions"] = [{"api_action": {"action": move}} for move in moves]
    trajectory = AnnotatedTrajectory(content)
    assert list(trajectory.walked()) == [(4, -2), (3, -2), (3, -3), (3, -4), (3, -3)]
    mine, others = frozenset(trajectory.walked()), frozenset({(9, 9)})
    data = RoomData((), ((trajectory.room.things, mine), ((("Cup", Point(0, 0, 0)),), others)))
    assert data.walked(trajectory.room.things) == others
    found = arranged(scene("example:1"), annotated_room(), walked=data.walked())
    assert mine | others | scene("example:1").room.floor == found.room.floor
    assert all(found.room.walls.over(x * GRID, z * GRID) for x, z in found.room.floor)
