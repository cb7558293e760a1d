"""AI2-THOR's metadata and its protocol, as far as they need no client."""

from __future__ import annotations

import io
import json
import re
import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfred.player import ACTION, END, METADATA, colours_of, packed, read_action, write_answer
from housequest.worlds.alfred.simulator.base import closest
from housequest.worlds.alfred.simulator.thor import read_metadata, written
from tests.worlds.alfred.simulator.played import begun, scene

AGENT = """actionFloatReturn actionFloatsReturn actionIntReturn actionReturn actionStringsReturn actionVector3sReturn agent
agentId cameraOrthSize cameraPosition collided collidedObjects colorBounds colors currentTime distances errorCode errorMessage
flatSurfacesOnGrid fov heldObjectPose inventoryObjects isOpenableGrid isSceneAtRest lastAction lastActionSuccess normals
objectIdsInBox objects sceneBounds sceneName screenHeight screenWidth segmentedObjectIds thirdPartyCameras visibleRange"""
OBJECT = """ObjectTemperature axisAlignedBoundingBox breakable canBeUsedUp isColdSource isHeatSource canFillWithLiquid cookable
dirtyable distance isBroken isCooked isDirty isFilledWithLiquid isMoving isOpen isPickedUp fillLiquid isSliced isToggled
isUsedUp mass moveable name objectId objectOrientedBoundingBox objectType obstructed openable parentReceptacles pickupable
position receptacle receptacleObjectIds rotation salientMaterials sliceable toggleable visible
isInteractable assetId controlledObjects temperature"""
INSIDE = {
    "agent": "cameraHorizon inHighFrictionArea isStanding name position rotation",
    "heldObjectPose": "localPosition localRotation position rotation",
    "sceneBounds": "center cornerPoints size",
}
"""The fields that AI2-THOR's own schema requires (``ai2thor/tests/data/metadata-schema.json``), and those that version 5
adds."""


def said() -> dict[str, Any]:
    event, room = begun().act("RotateLeft"), scene("example:1").room
    return written(event, scene="s", size=(9, 9), field=90.0, eye=1.576, walls=room.walls, colours=colours_of(event.objects))


def test_metadata_has_the_keys_of_ai2thors_own_schema() -> None:
    metadata = said()
    assert set(AGENT.split()) <= metadata.keys()
    assert all(set(keys.split()) <= metadata[name].keys() for name, keys in INSIDE.items())
    assert metadata["objects"]
    assert all(set(OBJECT.split()) <= one.keys() for one in metadata["objects"])
    json.dumps(metadata, allow_nan=False)


def test_what_is_written_is_read_back() -> None:
    event = begun().act("RotateLeft")
    # ALFWorld's names are not in AI2-THOR's metadata.
    objects = tuple(replace(one, name="") for one in event.objects)
    assert read_metadata(said()) == (objects, event.visible(), event.pose, event.held)


def test_names_have_ai2thors_own_form() -> None:
    assert all(re.fullmatch(rf"{one['objectType']}_[0-9a-f]{{8}}", one["name"]) for one in said()["objects"])
    assert len({one["name"] for one in said()["objects"]}) == len(said()["objects"])


@pytest.mark.parametrize(
    "text",
    [
        *('{"objects": 7}', '{"objects": [{}]}', "{}", "null", '{"objects": [{"objectId": "a"}]}', '{"objects": []}'),
        '{"objects": [], "agent": {}, "inventoryObjects": []}',
    ],
)
def test_what_is_no_metadata_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"metadata|number|name"):
        read_metadata(json.loads(text))


def test_no_two_objects_have_one_colour() -> None:
    colours = colours_of(begun().act("Pass").objects)
    assert len(set(colours.values())) == len(colours)
    assert (0, 0, 0) not in colours.values()


def test_values_are_packed_as_messagepack_says() -> None:
    assert packed([None, True, False, 1, -1]) == b"\xdd\x00\x00\x00\x05\xc0\xc3\xc2\x01\xd3" + struct.pack("!q", -1)
    assert packed({"a": 1.5}) == b"\xdf\x00\x00\x00\x01\xdb\x00\x00\x00\x01a\xcb" + struct.pack("!d", 1.5)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_any_metadata_that_is_packed_is_unpacked_by_the_package_that_clients_use(value: object) -> None:
    msgpack = pytest.importorskip("msgpack", reason="comes with AI2-THOR's client: pip install 'housequest[thor]'")
    assert msgpack.loads(packed(value), raw=False, strict_map_key=False) == value


def test_messages_are_fields_up_to_an_end() -> None:
    body = json.dumps({"action": "Pass", "sequenceId": 3}).encode()
    wire = struct.pack("!BI", ACTION, len(body)) + body + struct.pack("!BI", END, 0)
    assert read_action(io.BytesIO(wire * 2)) == {"action": "Pass", "sequenceId": 3}
    assert read_action(io.BytesIO(wire[:-3])) is None
    answers = io.BytesIO()
    write_answer(answers, {"a": 1}, [(4, b"rgb")])
    assert answers.getvalue().startswith(struct.pack("!BI", METADATA, len(packed({"a": 1}))))
    assert answers.getvalue().endswith(struct.pack("!BI", 4, 3) + b"rgb" + struct.pack("!BI", END, 0))


@pytest.mark.parametrize("wire", [struct.pack("!BI", END, 0), struct.pack("!BI", ACTION, 2) + b"[]", b"\x02\xff\xff\xff\xff"])
def test_what_is_no_message_is_an_error(wire: bytes) -> None:
    with pytest.raises(ValueError, match=r"action|field"):
        read_action(io.BytesIO(wire))


def test_an_id_of_another_build_means_the_nearest_of_its_kind() -> None:
    ids = ["Mug|+01.00|+00.00|+00.00", "Mug|+02.00|+00.00|+00.00", "Cup|+01.50|+00.00|+00.00"]
    assert closest(ids, "Mug|+01.90|+00.10|+00.00") == ids[1]
    assert closest(ids, ids[0]) == ids[0]
    assert closest(ids, "Pan|+01.90|+00.10|+00.00") is None
    assert closest(ids, "Mug|here") is None
