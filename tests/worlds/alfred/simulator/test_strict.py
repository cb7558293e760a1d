"""A simulator as strict as AI2-THOR is documented to be: it removes what is not listed, has ids of its own, and refuses
arguments that it does not know. No client is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from housequest.worlds.alfred.player import Player, scenes
from housequest.worlds.alfred.simulator.base import Scene, SimulatedObject, SimulatorEvent
from housequest.worlds.alfred.simulator.boxes import ACTIONS, Boxes
from housequest.worlds.alfred.simulator.thor import paired, read_metadata, restoring
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.room import Point
from tests.worlds.alfred.simulator.played import scene


def elsewhere(one: SimulatedObject) -> SimulatedObject:
    """The object as another build has it, a little aside and turned; furniture without a door can be pushed."""
    x, y, z = one.position
    at = Point(x + 0.03, y, z)
    id = f"{one.kind}|{at.x:+06.2f}|{at.y:+06.2f}|{at.z:+06.2f}"
    push = one.receptacle and not (one.pickupable or one.openable or one.toggleable)
    return replace(
        one, id=id, label=f"{one.kind}_{abs(hash(id)) % 16**8:08x}", position=at, moveable=push, rotation=Point(0, 90, 0)
    )


def strict(scene: Scene) -> tuple[SimulatorEvent, SimulatorEvent]:
    """The objects of another build before and after it is set up as a scene."""
    event = Boxes().begin(replace(scene, on=frozenset(), start=replace(scene.start, yaw=(scene.start.yaw + 90) % 360)))
    objects = {one.label: one for one in map(elsewhere, event.objects)}
    now = replace(event, view=SimpleNamespace(objects=tuple(objects.values())))
    for action, arguments in restoring(now, scene):
        match action:
            case "SetObjectPoses":
                # "Any objects not explicitly included are removed from the scene" (ai2thor#1278), moveable ones too (#619).
                fixed = {name: one for name, one in objects.items() if not (one.moveable or one.pickupable)}
                for pose in cast("list[Mapping[str, Any]]", arguments["objectPoses"]):
                    one = objects[pose["objectName"]]
                    assert one.moveable or one.pickupable, "no Pickupable or Moveable object of this name"
                    fixed[one.label] = replace(one, position=Point(**pose["position"]), rotation=Point(**pose["rotation"]))
                objects = fixed
            case "SetObjectToggles":
                kinds = {one["objectType"]: one["isOn"] for one in cast("list[Mapping[str, Any]]", arguments["objectToggles"])}
                objects = {name: replace(one, on=kinds.get(one.kind, one.on)) for name, one in objects.items()}
            case _:
                assert action in ACTIONS
    names = paired(scene, objects.values())
    objects = {label: replace(one, name=names.get(one.id, "")) for label, one in objects.items()}
    return now, replace(now, view=SimpleNamespace(objects=tuple(objects.values())))


@pytest.mark.parametrize("reference", ["example:1", "example:2", "example:3"])
def test_furniture_stays_where_it_is_when_things_are_set_up(reference: str) -> None:
    wanted = scene(reference)
    before, after = strict(wanted)
    pushed = {one.label: one for one in before.objects if one.moveable}
    assert pushed
    assert {one.label: one for one in after.objects if one.moveable} == pushed
    assert not {one.label for one in before.objects if not one.pickupable} - {one.label for one in after.objects}
    kinds = sorted(one.id.partition("|")[0] for one in wanted.things if one.pickupable)
    assert sorted(one.kind for one in after.objects if one.pickupable) == kinds
    points = {(round(one.point.x, 3), round(one.point.z, 3)) for one in wanted.things if one.pickupable}
    assert {(round(one.position.x, 3), round(one.position.z, 3)) for one in after.objects if one.pickupable} == points


def test_things_of_another_build_have_the_names_of_the_scene() -> None:
    """Commands name things as ALFWorld does ("mug 1"), and never as AI2-THOR does."""
    wanted = scene("example:1")
    _, after = strict(wanted)
    there = {one.name for one in after.objects}
    assert {one.name for one in wanted.things} | wanted.ids.keys() == there
    for one in after.objects:
        assert one.name.rpartition(" ")[0] == one.kind.lower()


def test_lamps_are_switched_by_kind_since_ids_are_others() -> None:
    wanted = scene("example:1")
    switched = {one.kind for one in Boxes().begin(wanted).objects if one.toggleable}
    kind = sorted(switched)[0]
    on = frozenset(one.id for one in Boxes().begin(wanted).objects if one.kind == kind)
    _, after = strict(replace(wanted, on=on))
    assert {one.kind for one in after.objects if one.on} == {kind}


def player() -> Player:
    world = make_world("alfworld")
    return Player(world, scenes(world, []))


def asked(one: Player, action: str, **arguments: object) -> dict[str, Any]:
    return one.answer({"action": action, **arguments})[0]["agents"][0]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("action", "arguments", "told"),
    [
        ("Initialize", {"gridSize": 0.1}, "this player has gridSize=0.25 alone, and so not '0.1'"),
        ("Initialize", {"visibilityDistance": 10}, "visibilityDistance=1.5 alone"),
        ("Initialize", {"agentCount": 2}, "agentCount=1 alone"),
        ("Initialize", {"agentMode": "locobot"}, "agentMode='default' alone"),
        ("Initialize", {"gridsize": 0.25}, "does not know the argument 'gridsize'"),
        ("OpenObject", {"objectId": "Fridge|+00.00|+00.00|+00.00", "openness": 0.5}, "openness=1 alone"),
        ("MoveAhead", {"magnitude": 0.25}, "does not know the argument 'magnitude'; known: moveMagnitude"),
        ("PickupObject", {"x": 0.5, "y": 2.5}, "x and y are shares of the picture"),
        ("GetReachablePositions", {"gridSize": 0.5}, "gridSize=0.25 alone"),
        ("Done", {"odd": 1}, "known: none"),
        ("SetObjectFilter", {"objectIds": ["Kite|1"]}, "'Kite|1' is not in the scene"),
        ("SetObjectFilter", {"objectIds": "Mug"}, "takes a list of texts"),
        ("SetObjectFilter", {}, "takes a list of texts"),
        ("SetObjectFilter", {"objectTypes": ["Mug"]}, "does not know the argument 'objectTypes'; known: objectIds"),
        ("SetObjectFilterForType", {"objectTypes": [7]}, "takes a list of texts"),
        ("ResetObjectFilter", {"objectIds": []}, "known: none"),
        ("GetSpawnCoordinatesAboveReceptacle", {"objectId": "a", "anywhere": False}, "anywhere=True alone"),
        ("DisableObject", {"objectID": "a"}, "does not know the argument 'objectID'"),
    ],
)
def test_what_is_not_honoured_is_refused_by_name(action: str, arguments: dict[str, object], told: str) -> None:
    one = player()
    before = read_metadata(one.first()[0]["agents"][0])
    answer = asked(one, action, **arguments)
    assert (answer["lastActionSuccess"], answer["errorCode"]) == (False, "InvalidArgument")
    assert told in answer["errorMessage"]
    assert read_metadata(answer) == before


def test_what_is_said_to_be_honoured_is() -> None:
    one = player()
    assert asked(one, "Initialize", gridSize=0.25, visibilityDistance=1.5, rotateStepDegrees=30, agentMode="default")[
        "lastActionSuccess"
    ]
    turns = [asked(one, "RotateRight")["agent"]["rotation"]["y"] for _ in range(3)]
    assert [(after - before) % 360 for before, after in pairwise(turns)] == [30.0, 30.0]
    back = asked(one, "RotateLeft", degrees=60)
    assert (turns[-1] - back["agent"]["rotation"]["y"]) % 360 == 60.0
    assert back["errorCode"] == ""


def test_where_thor_draws_is_an_option_and_nonsense_is_refused() -> None:
    for wrong in ({"platform": "Windows"}, {"gpu": "first"}, {"starting": "soon"}):
        with pytest.raises(ConfigurationError):
            make_world("alfred", **wrong)


def test_a_filter_leaves_the_rest_out_of_metadata_until_it_is_reset() -> None:
    one = player()
    whole = asked(one, "Pass")["objects"]
    ids = [found["objectId"] for found in whole]
    assert [found["objectId"] for found in asked(one, "SetObjectFilter", objectIds=ids[3:5])["objects"]] == ids[3:5]
    assert asked(one, "RotateLeft")["objects"][0]["objectId"] == ids[3]
    assert asked(one, "SetObjectFilter", objectIds=[])["objects"] == []
    kinds = {found["objectType"] for found in asked(one, "SetObjectFilterForType", objectTypes=["Cabinet", "Mug"])["objects"]}
    assert kinds <= {"Cabinet", "Mug"} and kinds
    assert len(asked(one, "ResetObjectFilter")["objects"]) == len(whole)


def test_a_disabled_thing_is_nowhere_until_it_is_enabled() -> None:
    one = player()
    whole = asked(one, "Pass")["objects"]
    thing = next(found for found in whole if found["pickupable"] and found["parentReceptacles"])
    fixed = next(found["objectId"] for found in whole if not found["pickupable"])
    id, holder = thing["objectId"], thing["parentReceptacles"][0]
    gone = asked(one, "DisableObject", objectId=id)
    assert gone["lastActionSuccess"] and id not in {found["objectId"] for found in gone["objects"]}
    assert id not in next(found for found in gone["objects"] if found["objectId"] == holder)["receptacleObjectIds"]
    for action in ("DisableObject", "PickupObject"):
        assert "is not the objectId on any object" in asked(one, action, objectId=id)["errorMessage"]
    assert asked(one, "EnableObject", objectId=id)["objects"] == whole
    assert "is not the objectId on any disabled object" in asked(one, "EnableObject", objectId=id)["errorMessage"]
    assert "furniture, which cannot be disabled here" in asked(one, "DisableObject", objectId=fixed)["errorMessage"]


def test_spawn_coordinates_are_on_the_receptacle() -> None:
    one = player()
    whole = asked(one, "Pass")["objects"]
    for found in (found for found in whole if found["receptacle"]):
        box, said = (
            found["axisAlignedBoundingBox"],
            asked(one, "GetSpawnCoordinatesAboveReceptacle", objectId=found["objectId"]),
        )
        assert said["lastActionSuccess"] and said["actionReturn"], found["objectId"]
        if "CounterTop" not in found["objectType"]:  # which has several boxes
            for point, axis in ((point, axis) for point in said["actionReturn"] for axis in "xz"):
                assert abs(point[axis] - box["center"][axis]) <= box["size"][axis] / 2 + 1e-6
    apple = next(found["objectId"] for found in whole if not found["receptacle"])
    assert "is not a receptacle" in asked(one, "GetSpawnCoordinatesAboveReceptacle", objectId=apple)["errorMessage"]
