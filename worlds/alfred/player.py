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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, cast

from housequest.worlds.alfred.engine import scene_in
from housequest.worlds.alfred.simulator.base import SimulatedObject, SimulatorEvent
from housequest.worlds.alfred.simulator.boxes import ACTIONS, Boxes
from housequest.worlds.alfred.simulator.thor import written
from housequest.worlds.base import Task, World
from housequest.worlds.errors import HousequestError, Unsupported, WorldError
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.render import Frame

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


LOOK = 30.0  # Degrees of LookUp and LookDown in AI2-THOR 5.
FIELD_OF_VIEW = 90.0
FAR = 20.0  # Depth in metres is no greater than this.
_PLAN = re.compile(r"-(\d+)/[^/]*$")
_OURS = ("action", "sequenceId", "renderImage", "agentId")


class Player:
    """Answers the actions of a client one by one; ``tasks`` are the scenes that it offers, by name."""

    def __init__(self, world: World, tasks: Mapping[str, Task]) -> None:
        self._world, self._tasks = world, tasks
        self._size, self._field = (300, 300), FIELD_OF_VIEW
        self._images: tuple[int, ...] = (RGB,)
        self._boxes = Boxes()
        self._begin(next(iter(tasks)))

    def _begin(self, name: str) -> None:
        self._name, self._scene = name, scene_in(self._world, self._tasks[name])
        self._event = self._boxes.begin(self._scene)

    def first(self) -> Answer:
        return self._answer(self._event, 0, "")

    def answer(self, action: Mapping[str, Any]) -> Answer:
        name, number = str(action.get("action")), int(action.get("sequenceId", 0))
        arguments = {key: value for key, value in action.items() if key not in _OURS}
        code, draw = "", action.get("renderImage", True) is not False
        try:
            self._event = self._done(name, arguments)
        except HousequestError as error:
            code = "InvalidAction" if isinstance(error, Unsupported) else "InvalidArgument"
            self._event = self._same(name, ok=False, message=str(error))
        return self._answer(self._event, number, code, draw=draw)

    def _done(self, name: str, arguments: Mapping[str, Any]) -> SimulatorEvent:
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
                asked = {DEPTH: "renderDepthImage", IDS: "renderInstanceSegmentation", CLASSES: "renderSemanticSegmentation"}
                self._images = (RGB, *(image for image, key in asked.items() if arguments.get(key)))
                return self._same(name, returned={"cameraNearPlane": 0.1, "cameraFarPlane": FAR})
            case "ChangeResolution":
                self._size = int(arguments["x"]), int(arguments["y"])
                return self._same(name)
            case "ChangeQuality" | "ChangeTimeScale":
                return self._same(name)
            case "LookUp" | "LookDown":
                return self._boxes.act(name, **{"degrees": LOOK, **arguments})
            case _ if name in ACTIONS:
                return self._boxes.act(name, **arguments)
            case _:
                raise Unsupported(f"{name} is not an action of this player; known: {', '.join(sorted(ACTIONS))}")

    def _same(self, action: str, *, ok: bool = True, message: str = "", returned: object = None) -> SimulatorEvent:
        return replace(self._event, action=action, ok=ok, message=message, returned=returned)

    def _answer(self, event: SimulatorEvent, number: int, code: str, *, draw: bool = True) -> Answer:
        colours = colours_of(event.objects) if IDS in self._images or CLASSES in self._images else {}
        view: dict[str, Any] = {"scene": self._name, "size": self._size, "field": self._field, "eye": self._scene.eye}
        agent = written(event, **view, walls=self._scene.room.walls, colours=colours)
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
