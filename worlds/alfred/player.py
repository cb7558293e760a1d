"""The stand-in as a player: any client of AI2-THOR 5 drives it over its FIFO protocol, without Unity.

``Controller(local_executable_path="python -m housequest.worlds.alfred.player", scene="FloorPlan28", x_display=":0")``

Its scenes are the tasks of a world by their references (``example:1``), and ``FloorPlanN`` for the first task in each of
AI2-THOR's rooms that is installed. ``--world NAME`` and other tasks may follow ``player``.

The protocol uses two named pipes, whose paths are environment variables. The client sends actions as JSON; the player answers
with metadata as MessagePack, and with images. A message is a list of fields, each with a type, a length and a body.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import struct
import sys
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from math import dist
from pathlib import Path
from typing import IO, Any, cast

from housequest.worlds.alfred.engine import scene_in
from housequest.worlds.alfred.scenes import RoomData, data_on, rearranged, with_floor
from housequest.worlds.alfred.simulator.base import KINDS, TABLE, VISIBLE, SimulatedObject, SimulatorEvent
from housequest.worlds.alfred.simulator.boxes import ACTIONS, Boxes
from housequest.worlds.alfred.simulator.thor import written
from housequest.worlds.alfred.tasks import posed
from housequest.worlds.base import Task, World
from housequest.worlds.errors import HousequestError, Unsupported, WorldError, shown
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.render import Frame
from housequest.worlds.rooms.room import GRID, Point, Pose

SERVER_PIPE = "AI2THOR_FIFO_SERVER_PIPE_PATH"
CLIENT_PIPE = "AI2THOR_FIFO_CLIENT_PIPE_PATH"
"""The environment variables with the paths of the pipes that the player writes and reads."""
METADATA, ACTION, RGB, DEPTH, CLASSES, IDS, END = 1, 2, 4, 5, 8, 9, 255  # Types of field.
LONGEST = 64_000_000
_HEADER = struct.Struct("!BI")


Answer = tuple[dict[str, Any], list[tuple[int, bytes]]]  # Metadata, and images by their type.


def read_action(pipe: IO[bytes]) -> dict[str, Any] | None:
    """Read the next action; None once the client has closed the pipe. Raises ``ValueError`` for a bad message."""
    action: dict[str, Any] | None = None
    while True:
        header = pipe.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        field, length = _HEADER.unpack(header)
        if length > LONGEST:
            raise ValueError(f"a field of {length:,} bytes; at most {LONGEST:,} are read")
        body = pipe.read(length)
        if len(body) < length:
            return None
        if field == END:
            if action is None:
                raise ValueError("a message without an action")
            return action
        if field == ACTION:
            action = json.loads(body)
            if not isinstance(action, dict):
                raise ValueError("an action is a JSON object")


def write_answer(pipe: IO[bytes], metadata: Mapping[str, Any], images: Iterable[tuple[int, bytes]]) -> None:
    for field, body in ((METADATA, packed(metadata)), *images, (END, b"")):
        pipe.write(_HEADER.pack(field, len(body)) + body)
    pipe.flush()


def packed(value: object) -> bytes:
    """``value`` as MessagePack: None, truth values, numbers, text, lists, tuples and mappings."""
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return bytes((value,)) if 0 <= value < 128 else b"\xd3" + struct.pack("!q", value)
        case float():
            return b"\xcb" + struct.pack("!d", value)
        case str():
            body = value.encode("utf-8", "surrogatepass")
            return b"\xdb" + struct.pack("!I", len(body)) + body
        case list() | tuple():
            items = cast("list[object] | tuple[object, ...]", value)
            return b"\xdd" + struct.pack("!I", len(items)) + b"".join(map(packed, items))
        case Mapping():
            pairs = cast("Mapping[object, object]", value)
            content = b"".join(packed(part) for pair in pairs.items() for part in pair)
            return b"\xdf" + struct.pack("!I", len(pairs)) + content
        case _:
            raise TypeError(f"{type(value).__name__} cannot be packed")


_STILL = 0.05  # Furniture within this many metres of its place did not move.
LOOK = 30.0  # Degrees of LookUp and LookDown in AI2-THOR 5.
FIELD_OF_VIEW = 90.0
FAR = 20.0  # Depth in metres is no greater than this.
_PLAN = re.compile(r"-(\d+)/[^/]*$")
_OURS = ("action", "sequenceId", "renderImage", "agentId")
_IMAGES = {
    **{"renderDepthImage": DEPTH, "renderInstanceSegmentation": IDS, "renderObjectImage": IDS},
    **{"renderSemanticSegmentation": CLASSES, "renderClassImage": CLASSES},
}
"""The images that a client may ask for, by AI2-THOR's arguments and their older names."""
_ON_OBJECT = frozenset({"objectId", "forceAction", "x", "y"})
_TAKES: Mapping[str, frozenset[str]] = {
    "Initialize": frozenset({"fieldOfView", "rotateStepDegrees", *_IMAGES}),
    "Reset": frozenset({"sceneName"}),
    "ChangeResolution": frozenset({"x", "y"}),
    "ChangeQuality": frozenset({"quality"}),
    "ChangeTimeScale": frozenset({"timeScale"}),
    **{f"Move{way}": frozenset({"moveMagnitude"}) for way in ("Ahead", "Back", "Left", "Right")},
    **dict.fromkeys(("RotateLeft", "RotateRight", "LookUp", "LookDown"), frozenset({"degrees"})),
    **dict.fromkeys(("Teleport", "TeleportFull"), frozenset({*"xyz", "position", "rotation", "horizon", "forceAction"})),
    "GetInteractablePoses": frozenset({"objectId"}),
    "GetShortestPath": frozenset({"objectId", "position"}),
    **dict.fromkeys(("GetSpawnCoordinatesAboveReceptacle", "DisableObject", "EnableObject"), frozenset({"objectId"})),
    "SetObjectFilter": frozenset({"objectIds"}),
    "SetObjectFilterForType": frozenset({"objectTypes"}),
    "ResetObjectFilter": frozenset(),
    **dict.fromkeys(("PickupObject", "OpenObject", "CloseObject", "SliceObject", "CleanObject", "DirtyObject"), _ON_OBJECT),
    **dict.fromkeys(("ToggleObjectOn", "ToggleObjectOff"), _ON_OBJECT),
    "PutObject": _ON_OBJECT | {"receptacleObjectId"},
    "DropHandObject": frozenset({"forceAction"}),
    "SetStateOfAllObjects": frozenset({"StateChange", "forceAction"}),
    "SetObjectToggles": frozenset({"objectToggles"}),
    "SetObjectPoses": frozenset({"objectPoses"}),
}
"""The arguments that each action honours; all other actions take none."""
_ONLY: Mapping[str, object] = {
    **{"gridSize": GRID, "visibilityDistance": VISIBLE, "snapToGrid": True, "agentCount": 1, "agentMode": "default"},
    **{"standing": True, "openness": 1, "placeStationary": True, "manualInteract": False, "forceAction": False},
    "anywhere": True,
}
"""Arguments that are accepted only with their one fixed value."""


def refused_argument(action: str, arguments: Mapping[str, Any]) -> str | None:
    """The reason why an action refuses these arguments, as AI2-THOR refuses unknown ones; None if it honours all."""
    takes = _TAKES.get(action, frozenset[str]())
    for name, value in arguments.items():
        if name in takes or (name in _ONLY and value == _ONLY[name]):
            continue
        if name in _ONLY:
            return f"{action}: this player has {name}={_ONLY[name]!r} alone, and so not {shown(str(value))}"
        return f"{action}: this player does not know the argument {shown(name)}; known: {', '.join(sorted(takes)) or 'none'}"
    return None


REFUSED: Mapping[str, str] = {name: why for why, names in TABLE["refused"].items() for name in names.split()}
"""Actions that public code sends to AI2-THOR and that this player lacks, each with the reason."""


class Player:
    """Answers the actions of a client one by one; ``tasks`` are the scenes that it offers, by name."""

    def __init__(self, world: World, tasks: Mapping[str, Task]) -> None:
        self._world, self._tasks = world, tasks
        self._size, self._field, self._turn = (300, 300), FIELD_OF_VIEW, 90.0
        self._images: tuple[int, ...] = (RGB,)
        self._filter: frozenset[str] | None = None  # the ids or the kinds of the objects in the metadata
        self._boxes = Boxes()
        self._begin(next(iter(tasks)))

    def _begin(self, name: str) -> None:
        task = self._tasks[name]
        plan = _PLAN.search(task.id)
        self._data = data_on(task.source.parents[2], f"FloorPlan{plan[1]}") if plan and task.source else RoomData((), ())
        self._name, self._scene = name, with_floor(scene_in(self._world, task), self._data.walked())
        self._event, self._filter = self._boxes.begin(self._scene), None

    def clear(self, x: float, z: float) -> None:
        """Let the floor lead to a point."""
        self._boxes.clear(Pose(x, z).cell)

    def _arranged(self, poses: Any) -> SimulatorEvent:
        """Put objects at their poses, by AI2-THOR's names ("Pan_fee30bc3"), and remove movable ones that are not listed. Only
        the kind in a name counts, since the rest differs from build to build; ids follow the new place, as in ALFRED's
        annotations. Furniture stays, and may be listed where it stands."""
        try:
            listed = list(zip((pose["objectName"] for pose in poses), posed(poses), strict=True))
        except (KeyError, TypeError, ValueError) as error:
            raise WorldError(f"SetObjectPoses: objectPoses is a list of names and positions: {error!r}") from error
        fixed = {one.label: one for one in self._event.objects if not one.pickupable}
        kinds, things = {one.kind for one in fixed.values()}, list[tuple[str, Point]]()
        for name, (kind, point) in listed:
            if name in fixed:
                if dist(fixed[name].position, point) > _STILL:
                    raise WorldError(f"SetObjectPoses: {name} cannot be moved here")
            elif kind in kinds or kind not in KINDS or "_" not in name:
                raise WorldError(f"SetObjectPoses: {shown(name)} is not the name of an object in the scene")
            else:
                things.append((kind, point))
        self._scene = rearranged(self._scene, self._boxes.state, self._data, tuple(things))
        return replace(self._boxes.begin(self._scene), action="SetObjectPoses")

    @property
    def scenes(self) -> Collection[str]:
        """The names of its scenes."""
        return self._tasks.keys()

    def first(self) -> Answer:
        return self._answer(self._event, 0, "")

    def answer(self, action: Mapping[str, Any]) -> Answer:
        event, code = self.carried_out(action)
        return self._answer(event, int(action.get("sequenceId", 0)), code, draw=action.get("renderImage", True) is not False)

    def carried_out(self, action: Mapping[str, Any]) -> tuple[SimulatorEvent, str]:
        """The event after an action, and AI2-THOR's error code."""
        name = str(action.get("action"))
        try:
            self._event = self._done(name, {key: value for key, value in action.items() if key not in _OURS})
        except HousequestError as error:
            self._event = self._same(name, ok=False, message=str(error))
            return self._event, "InvalidAction" if isinstance(error, Unsupported) else "InvalidArgument"
        return self._event, ""

    def metadata(self, event: SimulatorEvent, colours: Mapping[str, tuple[int, int, int]]) -> dict[str, Any]:
        """AI2-THOR's metadata of an agent; ``colours`` are those of `colours_of`."""
        view: dict[str, Any] = {"scene": self._name, "size": self._size, "field": self._field, "eye": self._scene.eye}
        whole = written(event, **view, walls=self._scene.room.walls, colours=colours)
        if self._filter is not None:
            whole["objects"] = [one for one in whole["objects"] if self._filter & {one["objectId"], one["objectType"]}]
        return whole

    def _done(self, name: str, arguments: Mapping[str, Any]) -> SimulatorEvent:
        if (name in ACTIONS or name in _TAKES) and (why := refused_argument(name, arguments)) is not None:
            raise WorldError(why)
        if _TAKES.get(name, frozenset[str]()) >= _ON_OBJECT and {"x", "y"} <= arguments.keys():
            arguments = self._aimed(arguments)
        match name:
            case "GetScenesInBuild":
                return self._same(name, returned=sorted(self._tasks))
            case "Reset":
                scene = str(arguments.get("sceneName"))
                if scene not in self._tasks:
                    raise WorldError(f"{scene} is not a scene of this player")
                self._begin(scene)
                return self._same(name)
            case "Initialize":
                self._field = float(arguments.get("fieldOfView") or FIELD_OF_VIEW)
                self._turn = float(arguments.get("rotateStepDegrees") or 90.0)
                asked = dict.fromkeys(image for key, image in _IMAGES.items() if arguments.get(key))
                self._images = (RGB, *sorted(asked))
                return self._same(name, returned={"cameraNearPlane": 0.1, "cameraFarPlane": FAR})
            case "ChangeResolution":
                self._size = int(arguments["x"]), int(arguments["y"])
                return self._same(name)
            case "ChangeQuality" | "ChangeTimeScale":
                return self._same(name)
            case "SetObjectFilter" | "SetObjectFilterForType" | "ResetObjectFilter":
                self._filter = (
                    None if name == "ResetObjectFilter" else self._filtering(name, next(iter(arguments.values()), None))
                )
                return self._same(name)
            case "SetObjectPoses":
                return self._arranged(arguments.get("objectPoses") or [])
            case "RotateLeft" | "RotateRight":
                return self._boxes.act(name, **{"degrees": self._turn, **arguments})
            case "LookUp" | "LookDown":
                return self._boxes.act(name, **{"degrees": LOOK, **arguments})
            case _ if name in ACTIONS:
                return self._boxes.act(name, **arguments)
            case _ if name in REFUSED:
                raise Unsupported(f"{name} is refused: {REFUSED[name]}.")
            case _:
                raise Unsupported(f"{name} is not an action of this player; known: {', '.join(sorted(ACTIONS))}")

    def _filtering(self, name: str, wanted: Any) -> frozenset[str]:
        """The ids or kinds that a filter lets through. Raises ``WorldError`` for one that is not in the scene."""
        there = {one.kind if name.endswith("Type") else one.id for one in self._event.objects}
        if not isinstance(wanted, list) or not all(isinstance(one, str) for one in cast("list[Any]", wanted)):
            raise WorldError(f"{name} takes a list of texts")
        found = frozenset(cast("list[str]", wanted))
        if missing := found - there:
            raise WorldError(f"{name}: {shown(min(missing))} is not in the scene")
        return found

    def _aimed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with the object at a pixel, given as shares of the picture from its upper left corner."""
        given = dict(arguments)
        x, y = given.pop("x"), given.pop("y")
        if not all(isinstance(share, int | float) and 0 <= share <= 1 for share in (x, y)):
            raise WorldError("x and y are shares of the picture, from 0 to 1")
        frame = self._event.frame(self._size, self._field)
        rows, columns = frame.ids.shape
        number = int(frame.ids[min(int(y * rows), rows - 1), min(int(x * columns), columns - 1)])
        if number < 0:
            raise WorldError(f"there is no object at x {x}, y {y}")
        return {**given, "objectId": frame.names[number]}

    def _same(self, action: str, *, ok: bool = True, message: str = "", returned: object = None) -> SimulatorEvent:
        return replace(self._event, action=action, ok=ok, message=message, returned=returned)

    def _answer(self, event: SimulatorEvent, number: int, code: str, *, draw: bool = True) -> Answer:
        colours = colours_of(event.objects) if IDS in self._images or CLASSES in self._images else {}
        agent = self.metadata(event, colours)
        agent["errorCode"] = code
        images = list(_images(event.frame(self._size, self._field), self._images, colours)) if draw else []
        return {"agents": [agent], "thirdPartyCameras": [], "activeAgentId": 0, "sequenceId": number}, images


def colours_of(objects: tuple[SimulatedObject, ...]) -> dict[str, tuple[int, int, int]]:
    """A colour for each object's id and for each kind: none twice, and never black, which means no object."""
    found: dict[str, tuple[int, int, int]] = {}
    taken = {0}
    for name in sorted({one.id for one in objects} | {one.kind for one in objects}):
        code = zlib.crc32(name.encode()) & 0xFFFFFF
        while code in taken:
            code = (code + 1) & 0xFFFFFF
        taken.add(code)
        found[name] = code >> 16, code >> 8 & 255, code & 255
    return found


def _images(frame: Frame, wanted: tuple[int, ...], colours: Mapping[str, tuple[int, int, int]]) -> Iterator[tuple[int, bytes]]:
    """The images of a frame for a client, the lowest row first."""
    import numpy as np

    for image in wanted:
        match image:
            case 4:
                yield RGB, np.flipud(frame.rgb).tobytes()
            case 5:
                yield DEPTH, np.flipud(np.minimum(frame.depth, np.float32(FAR))).astype("<f4").tobytes()
            case _:
                # The last colour is for pixels without an object, whose number is -1.
                names = [name if image == IDS else name.partition("|")[0] for name in frame.names]
                paint = np.array([(*colours.get(name, (0, 0, 0)), 255) for name in [*names, ""]], np.uint8)
                yield image, np.flipud(paint[frame.ids]).tobytes()


def scenes(world: World, references: list[str]) -> dict[str, Task]:
    """The tasks offered as scenes, by name: those of these references, and the first of each floor plan."""
    found = {reference: world.task(reference) for reference in references}
    for task in world.tasks(world.split_for("play")):
        found.setdefault(f"{task.split}:{task.number}", task)
    for split in world.splits():
        for task in world.tasks(split):
            if plan := _PLAN.search(task.id):
                found.setdefault(f"FloorPlan{plan[1]}_physics", task)
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m housequest.worlds.alfred.player", description=__doc__)
    parser.add_argument("--world", default="alfworld", help="the world whose tasks are the scenes")
    parser.add_argument("task", nargs="*", help="a task to offer beside the examples and the floor plans")
    # A client adds Unity's own options, such as -screen-width 300, which have one dash.
    known, _ = parser.parse_known_args(takewhile(lambda one: one.startswith("--") or not one.startswith("-"), arguments))
    paths = os.environ.get(SERVER_PIPE), os.environ.get(CLIENT_PIPE)
    if None in paths:
        print(
            f"This is started by a client of AI2-THOR, which sets {SERVER_PIPE} and {CLIENT_PIPE}: "
            'Controller(local_executable_path="python -m housequest.worlds.alfred.player", x_display=":0").',
            file=sys.stderr,
        )
        return 2
    world = make_world(known.world)
    player = Player(world, scenes(world, known.task))
    # The client opens the pipe that we read only once it sends, and it sends only once it has read this.
    with Path(str(paths[0])).open("wb") as answers:
        write_answer(answers, *player.first())
        with Path(str(paths[1])).open("rb") as actions:
            try:
                while (action := read_action(actions)) is not None:
                    write_answer(answers, *player.answer(action))
            except BrokenPipeError:
                os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
