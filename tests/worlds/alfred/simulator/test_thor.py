"""The real client of AI2-THOR 5 drives our player, whose events are those of the stand-in in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from housequest.worlds.alfred.simulator.base import Scene, SimulatorEvent
from housequest.worlds.alfred.simulator.boxes import ACTIONS, Boxes
from housequest.worlds.alfred.simulator.thor import Thor
from housequest.worlds.errors import Unsupported, WorldError
from tests.worlds.alfred.simulator.played import scene

pytest.importorskip("ai2thor", reason="needs AI2-THOR's client: pip install 'housequest[thor]'")

pytestmark = pytest.mark.slow

SIZE = (96, 64)
PLAYER = f"{sys.executable} -P -m housequest.worlds.alfred.player"
SCENE = "example:1"

Step = tuple[str, dict[str, object]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client writes its log below the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))


def floor_plan() -> Scene:
    """The scene of the example by the name that the player has for it."""
    return replace(scene(SCENE), floor_plan=SCENE)


def script() -> Iterator[Step]:
    """Steps that use every action, some of them refused."""
    known = Boxes()
    objects = {one.kind: one.id for one in known.begin(scene(SCENE)).objects}

    def before(id: str) -> Step:
        poses: Any = known.act("GetInteractablePoses", objectId=id).returned
        position = {"x": poses[0]["x"], "y": 0.9, "z": poses[0]["z"]}
        turn = {"x": 0.0, "y": poses[0]["rotation"], "z": 0.0}
        return then("TeleportFull", position=position, rotation=turn, horizon=poses[0]["horizon"], standing=True)

    def then(action: str, **arguments: object) -> Step:
        known.act(action, **arguments)
        return action, arguments

    for move in ("MoveAhead", "MoveBack", "MoveLeft", "MoveRight", "RotateLeft", "RotateRight", "LookUp", "LookDown", "Pass"):
        yield then(move)
    yield then("RotateRight", degrees=180)
    yield then("GetReachablePositions")
    yield then("PickupObject", objectId="Kite|+09.00|+09.00|+09.00")
    for kind, actions in (
        ("Knife", ("PickupObject",)),
        ("Bread", ("SliceObject",)),
        ("Fridge", ("OpenObject", "PutObject", "CloseObject", "OpenObject")),
    ):
        yield before(objects[kind])
        for action in actions:
            yield then(action, objectId=objects[kind])
    food = next(one.id for one in known.act("Pass").objects if one.pickupable and objects["Fridge"] in one.parents)
    yield then("PickupObject", objectId=food)
    yield then("PutObject", objectId=objects["Fridge"])
    yield then("PickupObject", objectId=food)
    yield then("DropHandObject")
    yield before(objects["Faucet"])
    for action in ("ToggleObjectOn", "ToggleObjectOn", "ToggleObjectOff"):
        yield then(action, objectId=objects["Faucet"])
    plate = objects["Plate"]
    yield then("DirtyObject", objectId=plate, forceAction=True)
    yield then("CleanObject", objectId=plate, forceAction=True)
    yield then("SetStateOfAllObjects", StateChange="CanBeDirty")
    yield then("SetObjectToggles", objectToggles=[{"objectType": "Faucet", "isOn": True}])
    yield then("GetInteractablePoses", objectId=objects["Microwave"])
    for action in ("GetShortestPath", "GetSpawnCoordinatesAboveReceptacle"):
        yield then(action, objectId=objects["Microwave"])
    for action in ("DisableObject", "DisableObject", "EnableObject"):
        yield then(action, objectId=plate)
    yield then("Teleport", position={"x": 90.0, "y": 0.9, "z": 90.0})
    yield then("Done")


def same(one: SimulatorEvent, other: SimulatorEvent) -> None:
    """Every field of two events, and their frames, are equal."""
    assert (one.action, one.ok, one.message, one.pose, one.held) == (
        other.action,
        other.ok,
        other.message,
        other.pose,
        other.held,
    )
    assert one.objects == other.objects
    assert one.visible() == other.visible()
    assert one.returned == other.returned
    assert one.treated == other.treated
    frame, theirs = one.frame(SIZE, 60.0), other.frame(SIZE, 60.0)
    assert (frame.rgb == theirs.rgb).all()
    assert (frame.depth == theirs.depth).all()
    owners, others = ([*of.names, None] for of in (frame, theirs))
    for row, column in ((row, column) for row in range(0, SIZE[1], 7) for column in range(0, SIZE[0], 7)):
        assert owners[frame.ids[row, column]] == others[theirs.ids[row, column]]


def test_the_real_client_drives_our_player_through_all_actions_and_each_event_is_ours() -> None:
    boxes, thor = Boxes(), Thor(PLAYER, size=SIZE, starting=120, seconds=60)
    try:
        same(thor.begin(floor_plan()), boxes.begin(floor_plan()))
        assert thor.version.startswith("ai2thor 5.")
        used: set[str] = set()
        refused = 0
        for action, arguments in script():
            event = boxes.act(action, **arguments)
            same(thor.act(action, **arguments), event)
            used.add(action)
            refused += not event.ok
        assert used == set(ACTIONS)
        assert refused > 3
        with pytest.raises(WorldError, match="Jump is not an action"):
            thor.act("Jump")
        same(thor.begin(floor_plan()), boxes.begin(floor_plan()))
    finally:
        thor.close()


def test_another_scene_is_set_up_by_ai2thors_names_and_keeps_the_names_of_alfworld() -> None:
    found, thor = floor_plan(), Thor(PLAYER, size=SIZE, starting=120, seconds=60)
    gone = next(one for one in found.things if one.pickupable)
    wanted = replace(found, things=tuple(one for one in found.things if one != gone))
    try:
        event = thor.begin(wanted)
        assert {one.name for one in event.objects} == {one.name for one in wanted.things} | wanted.ids.keys()
        assert not any(one.label == one.name for one in event.objects)
    finally:
        thor.close()


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("die", "the player ended with status 7"),
        ("hang", "within 5 seconds"),
        ("lie", "something that is not an event"),
        ("babble", "does not answer as AI2-THOR 5 does"),
        ("skip", "does not answer as AI2-THOR 5 does: ValueError.*Sequence id mismatch"),
    ],
)
def test_a_player_that_dies_hangs_or_lies_is_an_error_of_the_world(how: str, told: str) -> None:
    player = f"{sys.executable} {Path(__file__).with_name('bad_player.py')} {how}"
    thor = Thor(player, size=SIZE, starting=120, seconds=5)
    try:
        assert thor.begin(floor_plan()).ok
        assert thor.act("RotateLeft").ok
        with pytest.raises(WorldError, match=told):
            thor.act("RotateRight")
        with pytest.raises(WorldError):
            thor.act("RotateLeft")
        assert thor.begin(floor_plan()).ok, "a new episode starts another process"
    finally:
        thor.close()


def test_images_of_another_size_are_an_error_of_the_world() -> None:
    player = f"{sys.executable} {Path(__file__).with_name('bad_player.py')} shrink"
    thor = Thor(player, size=SIZE, starting=120, seconds=60)
    try:
        assert thor.begin(floor_plan()).frame(SIZE, 60.0).size == SIZE
        with pytest.raises(WorldError, match="its player sent 3 bytes as the image rgb"):
            thor.act("RotateRight").frame(SIZE, 60.0)
    finally:
        thor.close()


def test_a_player_that_ends_at_once_is_not_waited_for() -> None:
    thor = Thor("false", starting=3600, seconds=5)
    with pytest.raises(WorldError, match=r"the player ended with status 1.*--world-option player=PATH"):
        thor.begin(floor_plan())
    thor.close()


def test_a_player_that_cannot_be_started_is_an_error_of_the_world() -> None:
    thor = Thor("/no/such/player", starting=60, seconds=5)
    with pytest.raises(WorldError, match=r"No such file.*--world-option player=PATH"):
        thor.begin(floor_plan())
    thor.close()


def test_a_made_up_house_and_a_copy_are_refused_with_the_reason() -> None:
    thor = Thor(PLAYER)
    with pytest.raises(Unsupported, match="boxes"):
        thor.begin(scene(SCENE))
    with pytest.raises(Unsupported, match="copied"):
        thor.copy()
    thor.close()
