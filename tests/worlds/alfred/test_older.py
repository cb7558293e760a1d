"""AI2-THOR 2.1's client on the stand-in: programs in the style of ALFRED's evaluation run on it, unchanged."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from housequest.worlds.alfred.older import OlderController
from housequest.worlds.alfred.player import REFUSED
from housequest.worlds.alfred.simulator.base import Scene, id_at, kind_in
from housequest.worlds.alfred.world import AlfredWorld
from tests.worlds.alfred.simulator.played import scene

PROGRAM = Path(__file__).with_name("programs") / "mask_evaluation.py"
HOUSE = "example:1"  # heat some egg and put it in diningtable.


def posed(found: Scene) -> list[dict[str, object]]:
    """The poses of a scene's things as a trajectory has them, by names of AI2-THOR's."""
    return [
        {"objectName": f"{kind_in(one.id)}_{number:08x}", "position": one.point._asdict(), "rotation": {"x": 0, "y": 0, "z": 0}}
        for number, one in enumerate(found.things)
        if one.pickupable
    ]


def reaching(controller: OlderController, found: Scene) -> tuple[str, dict[str, object]]:
    """An object that can be picked up, and the start of a trajectory from which it is in reach."""

    def stands(id: str) -> list[dict[str, float]]:
        return controller.step("GetInteractablePoses", objectId=id).metadata["actionReturn"]

    id, poses = next((one.id, there) for one in found.things if one.pickupable and (there := stands(one.id)))
    return id, {
        "action": "TeleportFull",
        "rotateOnTeleport": True,
        **{key: poses[0][key] for key in ("x", "y", "z", "rotation", "horizon")},
    }


@pytest.mark.heavy
def test_a_program_in_the_style_of_alfreds_evaluation_runs(tmp_path: Path) -> None:
    found, controller = scene(HOUSE), OlderController(HOUSE)
    id, start = reaching(controller, found)
    given = {
        "poses": posed(found),
        "toggles": [{"objectType": "DeskLamp", "isOn": False}],
        "start": start,
        "actions": [["PickupObject", id], ["LookUp", None], ["RotateLeft", None], ["Fly", None]],
    }
    file = tmp_path / "given.json"
    file.write_text(json.dumps(given), "utf-8")
    asked = [sys.executable, "-m", "housequest.as_alfworld", "--thor", PROGRAM, HOUSE, file, kind_in(id), "GarbageCan"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    told = [line.removeprefix("told: ") for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert told[0] == "restored True "
    assert kind_in(id) in told[1]
    assert told[2:5] == ["PickupObject PickupObject ", "LookUp TeleportFull ", "RotateLeft RotateLeft "]
    assert told[5].startswith("Fly Fly Fly is not an action of this player; known: ")
    assert told[6] == "won False failed 1 cooled 0"
    assert told[7] == f"reachable True InitialRandomSpawn is refused: {REFUSED['InitialRandomSpawn']}."


def test_things_are_put_by_the_names_of_ai2_thor() -> None:
    found, controller = scene(HOUSE), OlderController(HOUSE)
    first, second, *_ = (one for one in found.things if one.pickupable)
    event = controller.step(
        {
            "action": "SetObjectPoses",
            "objectPoses": [*posed(found)[:1], {"objectName": "Apple_1f", "position": second.point._asdict()}],
        }
    )
    assert event.metadata["lastActionSuccess"]
    things = {one["objectId"]: one for one in event.metadata["objects"] if one["pickupable"]}
    # What is not listed is gone. An id is that of the place, as in ALFRED's annotations.
    assert set(things) == {first.id, id_at("Apple", second.point)}
    assert things[first.id]["parentReceptacles"] == [first.at]
    event = controller.step("SetObjectPoses", objectPoses=[{"objectName": "Unicorn_1f", "position": second.point._asdict()}])
    assert "'Unicorn_1f' is not the name of an object" in event.metadata["errorMessage"]
    for odd in ([{"objectName": "Unicorn", "position": {}}], ["Unicorn"], [{}], 7):
        with pytest.raises(RuntimeError, match="SetObjectPoses"):
            controller.step("SetObjectPoses", objectPoses=odd, raise_for_failure=True)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name",
    [
        *("InitialRandomSpawn", "ThrowObject", "Crouch", "Stand", "AddThirdPartyCamera", "UpdateThirdPartyCamera", "Explore"),
        *("GetMapViewCameraProperties", "ToggleMapView"),
    ],
)
def test_what_is_not_here_is_refused_with_its_reason(name: str) -> None:
    event = OlderController(HOUSE).step(name)
    assert event.metadata["errorMessage"] == f"{name} is refused: {REFUSED[name]}."
    assert (event.metadata["lastActionSuccess"], event.metadata["errorCode"]) == (False, "InvalidAction")


def test_where_people_began_is_floor() -> None:
    found, controller = scene(HOUSE), OlderController(HOUSE)
    cell = next(
        (x, z)
        for x in range(-9, 99)
        for z in range(-9, 99)
        if (x + 1, z) in found.room.floor and (x, z) not in found.room.floor
    )
    start = {"action": "TeleportFull", "x": cell[0] * 0.25, "y": 0.9, "z": cell[1] * 0.25, "rotation": 90.0, "horizon": 30.0}
    assert not controller.step(start).metadata["lastActionSuccess"]
    controller.step("SetObjectPoses", objectPoses=posed(found))
    event = controller.step(start)
    assert event.pose_discrete == (*cell, 1, 30)
    assert controller.step("MoveAhead").pose_discrete == (cell[0] + 1, cell[1], 1, 30)
    assert event.pose == (cell[0] * 250, cell[1] * 250, 90_000, 30_000)


@pytest.mark.heavy
def test_an_embodied_env_finds_receptacles_by_their_colours_and_carries_things_in_a_thread_of_its_own() -> None:
    """As ALFWorld's ``AlfredThorEnv`` with its oracle does: it teleports to known places, and acts by ids, near or not."""
    found, controller = scene(HOUSE), OlderController(HOUSE)

    def before(id: str) -> bool:
        poses = controller.step("GetInteractablePoses", objectId=id).metadata["actionReturn"]
        place = {key: poses[0][key] for key in ("x", "y", "z", "rotation", "horizon")} if poses else {}
        return bool(
            controller.step({"action": "TeleportFull", "rotateOnTeleport": False, **place}).metadata["lastActionSuccess"]
        )

    def played() -> tuple[set[str], bool]:
        controller.step("SetObjectPoses", objectPoses=posed(found))
        seen = set[str]()
        fixed = [one for one in controller.step("Pass").metadata["objects"] if one["receptacle"] and not one["pickupable"]]
        for one in fixed:
            if not before(one["objectId"]):
                continue
            event = controller.step("Pass")
            colours = {tuple(colour) for row in event.instance_segmentation_frame[::3, ::3].tolist() for colour in row}
            seen |= {event.color_to_object_id[colour] for colour in colours if colour in event.color_to_object_id}
        thing = next(one for one in event.metadata["objects"] if one["objectType"] == "Egg")["objectId"]
        microwave = next(id for id in found.ids.values() if id.startswith("Microwave"))
        table = next(id for id in found.ids.values() if id.startswith("DiningTable"))
        for action, arguments in (
            ("PickupObject", {"objectId": thing}),
            ("OpenObject", {"objectId": microwave}),
            ("PutObject", {"objectId": thing, "receptacleObjectId": microwave}),
            ("CloseObject", {"objectId": microwave}),
            ("ToggleObjectOn", {"objectId": microwave}),
            ("Pass", {}),
            ("ToggleObjectOff", {"objectId": microwave}),
            ("OpenObject", {"objectId": microwave}),
            ("PickupObject", {"objectId": thing}),
            ("PutObject", {"objectId": thing, "receptacleObjectId": table}),
        ):
            event = controller.step({"action": action, **arguments, **({"forceAction": True} if arguments else {})})
            assert event.metadata["lastActionSuccess"], (action, event.metadata["errorMessage"])
        egg, there = event.get_object(thing), event.get_object(table)
        assert egg and there
        return seen, thing in there["receptacleObjectIds"] and egg["ObjectTemperature"] == "Hot"

    with ThreadPoolExecutor(1) as own:
        seen, done = own.submit(played).result()
    assert done
    assert {id.partition("|")[0] for id in seen} >= {"Fridge", "Microwave", "DiningTable"}


def test_an_object_is_named_by_a_pixel() -> None:
    found, controller = scene(HOUSE), OlderController(HOUSE)
    id, start = reaching(controller, found)
    event = controller.step(start)
    left, top, right, bottom = event.instance_detections2D[id]
    x, y = next((x, y) for y in range(top, bottom + 1) for x in range(left, right + 1) if event.instance_masks[id][y, x])
    event = controller.step("PickupObject", x=(x + 0.5) / 300, y=(y + 0.5) / 300)
    assert [one["objectId"] for one in event.metadata["inventoryObjects"]] == [id]
    for wrong in (-0.1, 1.5, "middle", None):
        assert "shares of the picture" in controller.step("OpenObject", x=wrong, y=0.5).metadata["errorMessage"]


@pytest.mark.heavy
def test_a_shortest_path_goes_over_the_floor_to_an_object() -> None:
    found, controller = scene(HOUSE), OlderController(HOUSE)
    for id in found.ids.values():
        corners = controller.step("GetShortestPath", objectId=id).metadata["actionReturn"]["corners"]
        cells = [(round(one["x"] / 0.25), round(one["z"] / 0.25)) for one in corners]
        assert cells[0] == found.start.cell
        assert all(cell in found.room.floor for cell in cells)
        assert all(one[0] == other[0] or one[1] == other[1] for one, other in pairwise(cells))
        again = controller.step("GetShortestPath", objectId=id, position=corners[-1]).metadata["actionReturn"]["corners"]
        assert {tuple(one.values()) for one in again} == {tuple(corners[-1].values())}
    event = controller.step("GetShortestPath", objectId=id, position={"x": 99.0, "z": 99.0})
    assert "could not be computed" in event.metadata["errorMessage"]


@pytest.mark.heavy
def test_images_agree_with_each_other() -> None:
    event = OlderController(HOUSE).step("RotateRight")
    assert event.frame.shape == event.instance_segmentation_frame.shape == event.class_segmentation_frame.shape == (300, 300, 3)
    for id, mask in event.instance_masks.items():
        assert {event.color_to_object_id[tuple(colour)] for colour in event.instance_segmentation_frame[mask].tolist()} == {id}
        left, top, right, bottom = event.instance_detections2D[id]
        assert mask[top : bottom + 1, left : right + 1].sum() == mask.sum()
        assert event.class_masks[id.partition("|")[0]][mask].all()
    assert (event.cv2img[..., ::-1] == event.frame).all()


def test_a_scene_without_a_game_and_a_missing_call_say_so() -> None:
    controller = OlderController(HOUSE)
    with pytest.raises(ValueError, match="There is no scene 'FloorPlan9999' here"):
        controller.reset("FloorPlan9999")
    with pytest.raises(AttributeError, match=r"Controller\.docker is not on the stand-in"):
        assert controller.docker


@pytest.mark.games
def test_annotated_actions_run_through_it(alfworld_games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_games))
    task = AlfredWorld(data=alfworld_games).tasks("valid_seen")[0]
    content = json.loads(Path(str(task.source)).read_text("utf-8"))
    controller, poses = OlderController(), content["scene"]["object_poses"]
    controller.reset(content["scene"]["floor_plan"])
    assert controller.step("SetObjectPoses", objectPoses=poses).metadata["lastActionSuccess"]
    assert controller.step(content["scene"]["init_action"]).metadata["lastActionSuccess"]
    done = [controller.step(one["api_action"]).metadata["lastActionSuccess"] for one in content["plan"]["low_actions"]]
    assert sum(done) > 0.8 * len(done)
