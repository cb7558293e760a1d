"""AI2-THOR's metadata: what it says of an agent and of objects after each action, written and read.

The keys are those of the schema that AI2-THOR tests its own metadata against (``metadata-schema.json``). What boxes do not
simulate (liquids, breaking, mass) has the value of something to which nothing of the kind has happened: ``metadata.json`` has
these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, cast

from housequest.worlds.alfred.simulator.base import HEIGHT, Event, SimulatedObject
from housequest.worlds.rooms.render import Size
from housequest.worlds.rooms.room import EYE, Box, Point, Pose

MOST_OBJECTS = 5_000
_TEMPERATURES = ("Cold", "Hot", "RoomTemp")
_ALWAYS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("metadata.json").read_text("utf-8"))
_FLAGS = {
    **{name: name for name in ("pickupable", "receptacle", "openable", "toggleable", "sliceable", "dirtyable")},
    **{"isOpen": "open", "isToggled": "on", "isSliced": "sliced", "isDirty": "dirty"},
}
"""What is true or false of an object, by AI2-THOR's key and by the field of a `SimulatedObject`."""


def written(
    event: Event, *, scene: str, size: Size, field: float, eye: float, walls: Box, colours: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    """The metadata of an agent after ``event``; ``colours`` are those in which objects and kinds are drawn by themselves."""
    pose, visible = event.pose, event.visible()
    return {
        **_ALWAYS["agent"],
        "objects": [_object(one, visible, event.held) for one in event.objects],
        "agent": {
            "name": "agent",
            "position": _vector(pose.x, HEIGHT + eye - EYE, pose.z),
            "rotation": _vector(0.0, pose.yaw, 0.0),
            "cameraHorizon": pose.pitch,
            "isStanding": True,
            "inHighFrictionArea": False,
        },
        "fov": field,
        "cameraPosition": _vector(pose.x, eye, pose.z),
        "collided": event.action.startswith("Move") and not event.ok,
        "inventoryObjects": [{"objectId": one.id, "objectType": one.kind} for one in event.objects if one.id == event.held],
        "sceneName": scene,
        "lastAction": event.action,
        "errorMessage": event.message,
        "lastActionSuccess": event.ok,
        "screenWidth": size[0],
        "screenHeight": size[1],
        "colors": [{"name": name, "color": list(colour)} for name, colour in colours.items()],
        "actionReturn": event.returned,
        "sceneBounds": _bounds(walls),
    }


def _object(one: SimulatedObject, visible: frozenset[str], held: str | None) -> dict[str, Any]:
    return {
        **_ALWAYS["object"],
        "name": one.name,
        "position": _vector(*one.position),
        "visible": one.id in visible,
        "obstructed": one.id not in visible,
        # The schema has the first, builds of version 5 the second.
        "ObjectTemperature": one.temperature,
        "temperature": one.temperature,
        "isHeatSource": one.kind == "Microwave",
        "isColdSource": one.kind == "Fridge",
        "openness": 1.0 if one.open else 0.0,
        "isPickedUp": one.id == held,
        "receptacleObjectIds": list(one.contents) if one.receptacle else None,
        "distance": one.distance,
        "objectType": one.kind,
        "objectId": one.id,
        "parentReceptacles": list(one.parents) or None,
        "axisAlignedBoundingBox": _bounds(one.box),
        **{key: getattr(one, field) for key, field in _FLAGS.items()},
    }


def _vector(x: float, y: float, z: float) -> dict[str, float]:
    return {"x": float(x), "y": float(y), "z": float(z)}


def _bounds(box: Box) -> dict[str, Any]:
    x0, y0, z0, x1, y1, z1 = map(float, box)
    return {
        "cornerPoints": [[x, y, z] for x in (x0, x1) for y in (y0, y1) for z in (z0, z1)],
        "center": _vector(*box.centre),
        "size": _vector(x1 - x0, y1 - y0, z1 - z0),
    }


def read_objects(metadata: Any) -> tuple[tuple[SimulatedObject, ...], frozenset[str]]:
    """The objects in an agent's metadata, by their ids, and the ids of the visible ones. Raises ``ValueError``."""
    try:
        found = cast("list[Any]", metadata["objects"])[:MOST_OBJECTS]
        objects = tuple(sorted((_read(one) for one in found), key=lambda one: one.id))
        return objects, frozenset(_text(one["objectId"]) for one in found if one["visible"] is True)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"its metadata has other objects than AI2-THOR's: {error!r}") from error


def read_pose(metadata: Any) -> tuple[Pose, str | None]:
    """Where the agent stands, and the id of what it holds. Raises ``ValueError`` for what is no metadata."""
    try:
        agent, held = metadata["agent"], cast("list[Any]", metadata["inventoryObjects"])
        at, turn = agent["position"], agent["rotation"]
        pose = Pose(_number(at["x"]), _number(at["z"]), _number(turn["y"]) % 360, _number(agent["cameraHorizon"]))
        return pose, _text(held[0]["objectId"]) if held else None
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"its metadata has another agent than AI2-THOR's: {error!r}") from error


def _read(one: Any) -> SimulatedObject:
    corners = cast("list[list[float]]", one["axisAlignedBoundingBox"]["cornerPoints"])
    low, high = ([pick(_number(corner[axis]) for corner in corners) for axis in range(3)] for pick in (min, max))
    at, warmth = one["position"], one.get("temperature", one.get("ObjectTemperature"))
    if warmth not in _TEMPERATURES:
        raise ValueError(f"{warmth!r} is not a temperature of AI2-THOR's")
    return SimulatedObject(
        _text(one["objectId"]),
        _text(one["objectType"]),
        _text(one["name"]),
        Point(*(_number(at[axis]) for axis in "xyz")),
        Box(*low, *high),
        _number(one["distance"]),
        temperature=warmth,
        parents=tuple(map(_text, one["parentReceptacles"] or ())),
        contents=tuple(map(_text, one["receptacleObjectIds"] or ())),
        **{field: one[key] is True for key, field in _FLAGS.items()},
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 200:
        raise ValueError(f"{value!r} is not a name")
    return value
