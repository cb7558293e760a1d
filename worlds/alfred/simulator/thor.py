"""AI2-THOR itself as a `Simulator`: the real client of version 5, in its own process, with any player that it starts.

It is written for the client of ai2thor 5.0.0. Its scenes differ from those of ALFRED's build, with many objects elsewhere, so
ids are matched by kind and nearest place, and results cannot be compared with those on ALFRED's build. Run as a program, this
module is that process: it takes actions and answers with metadata and images. If the client or its player crashes, only this
process ends. It watches the player, because the client waits for a dead one until its timeout.

Metadata is AI2-THOR's description of the agent and the objects after each action. It is read here, and written for the
stand-in. The keys are those of AI2-THOR's own schema (``metadata-schema.json``). ``metadata.json`` has the default values of
all that boxes do not simulate, such as liquids, breaking and mass.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from time import sleep
from typing import Any, NoReturn, Self, cast

from housequest.worlds.alfred.simulator import base
from housequest.worlds.errors import Unsupported, WorldError, shown
from housequest.worlds.rooms.render import Frame, Size
from housequest.worlds.rooms.room import EYE, Box, Point, Pose
from housequest.worlds.workers import Handler, Refused, WorkerError, WorkerProcess, serve

MOST_OBJECTS = 5_000
_TEMPERATURES = ("Cold", "Hot", "RoomTemp")
_ALWAYS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("metadata.json").read_text("utf-8"))
_FLAGS = {
    **{name: name for name in ("pickupable", "moveable", "receptacle", "openable", "toggleable", "sliceable", "dirtyable")},
    **{"isOpen": "open", "isToggled": "on", "isSliced": "sliced", "isDirty": "dirty"},
}
"""The boolean properties of an object, by AI2-THOR's key, with the field of a `SimulatedObject`."""


def written(
    event: base.SimulatorEvent,
    *,
    scene: str,
    size: Size,
    field: float,
    eye: float,
    walls: Box,
    colours: Mapping[str, Sequence[int]],
) -> dict[str, Any]:
    """The metadata of an agent after ``event``; ``colours`` are those of objects and kinds in segmentation images."""
    pose, visible = event.pose, event.visible()
    return {
        **_ALWAYS["agent"],
        "objects": [_object(one, visible, event.held) for one in event.objects],
        "agent": {
            "name": "agent",
            "position": _vector(pose.x, base.HEIGHT + eye - EYE, pose.z),
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


def _object(one: base.SimulatedObject, visible: frozenset[str], held: str | None) -> dict[str, Any]:
    return {
        **_ALWAYS["object"],
        "name": one.label,
        "position": _vector(*one.position),
        "rotation": _vector(*one.rotation),
        "visible": one.id in visible,
        "isInteractable": one.id in visible,
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


def read_metadata(metadata: Any) -> tuple[tuple[base.SimulatedObject, ...], frozenset[str], Pose, str | None]:
    """Read an agent's metadata: the objects, sorted by id and without ALFWorld's names, the ids of the visible ones, the pose,
    and the id of the held object. Raises ``ValueError`` for bad metadata."""
    try:
        found = cast("list[Any]", metadata["objects"])[:MOST_OBJECTS]
        objects = tuple(sorted((_read(one) for one in found), key=lambda one: one.id))
        visible = frozenset(_text(one["objectId"]) for one in found if one["visible"] is True)
        agent, held = metadata["agent"], cast("list[Any]", metadata["inventoryObjects"])
        at, turn = agent["position"], agent["rotation"]
        pose = Pose(_number(at["x"]), _number(at["z"]), _number(turn["y"]) % 360, _number(agent["cameraHorizon"]))
        return objects, visible, pose, _text(held[0]["objectId"]) if held else None
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"its metadata is not AI2-THOR's: {error!r}") from error


def _read(one: Any) -> base.SimulatedObject:
    corners = cast("list[list[float]]", one["axisAlignedBoundingBox"]["cornerPoints"])
    low, high = ([pick(_number(corner[axis]) for corner in corners) for axis in range(3)] for pick in (min, max))
    at, turn, warmth = one["position"], one["rotation"], one.get("temperature", one.get("ObjectTemperature"))
    if warmth not in _TEMPERATURES:
        raise ValueError(f"{warmth!r} is not a temperature of AI2-THOR's")
    return base.SimulatedObject(
        _text(one["objectId"]),
        _text(one["objectType"]),
        "",
        _text(one["name"]),
        Point(*(_number(at[axis]) for axis in "xyz")),
        Box(*low, *high),
        _number(one["distance"]),
        rotation=Point(*(_number(turn[axis]) for axis in "xyz")),
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


PLATFORMS = ("CloudRendering", "Linux64", "OSXIntel64")
"""AI2-THOR's own names of its builds; the first draws by Vulkan, and needs no display."""
MAJOR = "5."  # The beginning of known versions of the client.
STARTING = 300.0  # Seconds for AI2-THOR to start.
DOWNLOADING = 3_600.0  # Seconds for its client to download a build before the first start.
_WAYS = (
    "Without a display, use --world-option platform=CloudRendering (it needs Vulkan), or name one with display=:N; a slow "
    "start gets more time with starting=SECONDS; to use your own build, give --world-option player=PATH. `python -m "
    "housequest.worlds.alfred.download` fetches AI2-THOR's build before it is started, and says what is missing here."
)
SECONDS = 60.0  # Seconds for an action.
LONGEST_MESSAGE = 1_000  # Characters of AI2-THOR's message that are kept.
_WORKER = "housequest.worlds.alfred.simulator.thor"
_IMAGES = {"rgb": 3, "depth": 4, "ids": 3}  # The images of a frame, with their bytes per pixel.


@dataclass(frozen=True, slots=True)
class _Said:
    objects: tuple[base.SimulatedObject, ...]
    visible: frozenset[str]
    images: Mapping[str, bytes]
    colours: Mapping[tuple[int, int, int], str]
    size: Size

    def frame(self, size: Size, field: float) -> Frame:
        """The images that were sent, resized. Raises ``Unsupported`` for another shape or field of view, and ``WorldError`` for
        images of the wrong size."""
        import numpy as np

        if size[0] * self.size[1] != size[1] * self.size[0] or field != base.FIELD:
            raise Unsupported(
                f"AI2-THOR was started for frames of {self.size[0]} x {self.size[1]} and {base.FIELD:g} degrees, "
                f"not {size[0]} x {size[1]} and {field:g}; say so when it is made."
            )
        for name, of_a_pixel in _IMAGES.items():
            sent = len(self.images.get(name, b""))
            if sent != of_a_pixel * self.size[0] * self.size[1]:
                wanted = f"{self.size[0]} x {self.size[1]} pixels"
                raise WorldError(f"thor: its player sent {sent:,} bytes as the image {name}, which is not {wanted}.")
        shape = self.size[1], self.size[0]
        rgb = np.frombuffer(self.images["rgb"], np.uint8).reshape(*shape, 3)
        depth = np.frombuffer(self.images["depth"], np.float32).reshape(shape)
        paint = np.frombuffer(self.images["ids"], np.uint8).reshape(*shape, 3).astype(np.int32)
        codes, places = np.unique(paint[:, :, 0] << 16 | paint[:, :, 1] << 8 | paint[:, :, 2], return_inverse=True)
        owners = [self.colours.get((code >> 16, code >> 8 & 255, code & 255)) for code in map(int, codes)]
        names = tuple(sorted({name for name in owners if name is not None}))
        numbers = np.array([-1 if name is None else names.index(name) for name in owners], np.int32)
        ids = numbers[places.reshape(shape)]
        ids.flags.writeable = False
        return Frame(rgb, depth, ids, names).resized(size)


class Thor:
    """AI2-THOR as a `Simulator`. ``player`` is the program that its client starts, such as a Unity build or ``python -m
    housequest.worlds.alfred.player``; without one, the client downloads its own build, for ``platform``, one of `PLATFORMS`.
    ``display`` is an X display ($DISPLAY, or :0), and ``gpu`` the number of a device. ``size`` is that of all frames."""

    name = "thor"

    def __init__(
        self,
        player: str | None = None,
        *,
        platform: str | None = None,
        display: str | None = None,
        gpu: int | None = None,
        size: Size = base.SIZE,
        starting: float = STARTING,
        seconds: float = SECONDS,
    ) -> None:
        self._player, self._size, self._starting, self._seconds = player, size, starting, seconds
        self._machine = {"platform": platform, "display": display, "gpu": gpu}
        self._worker: WorkerProcess | None = None
        self._last: base.SimulatorEvent | None = None
        self._version: str | None = None
        self._names: dict[str, str] = {}  # ALFWorld's, by the object's id

    @property
    def version(self) -> str:
        """The client and build, known once a scene has begun."""
        return self._version or "ai2thor"

    def begin(self, scene: base.Scene, /) -> base.SimulatorEvent:
        """Load the scene's floor plan, and set up objects, lamps and the agent as in the scene. Raises ``Unsupported`` for a
        made-up house, and ``WorldError`` if AI2-THOR fails."""
        if not scene.floor_plan:
            raise Unsupported("AI2-THOR has no such house: a made-up one is played with the engine boxes.")
        self._last, self._names = None, {}
        if self._worker is None or not self._worker.alive:
            self._start(scene.floor_plan)
        else:
            self._ask({"scene": scene.floor_plan}, "Reset")
        for action, arguments in restoring(self._now(), scene):
            done = self._ask({"action": action, **arguments}, action)
            if not done.ok:
                raise WorldError(f"thor: {scene.floor_plan} cannot be set up: {action}: {shown(done.message)}")
        done = self._now()
        self._names = paired(scene, done.objects)
        view = replace(done.view, objects=self._named(done.objects))
        self._last = replace(done, action="Initialize", message="", view=view, returned=None, treated=frozenset())
        return self._last

    def act(self, action: str, /, **arguments: object) -> base.SimulatorEvent:
        before = self._now()
        if action in ("LookUp", "LookDown"):
            arguments = {"degrees": base.LOOK, **arguments}
        ids = {one.id for one in before.objects}
        meant = {
            # An id of this build means that object, even once it is gone.
            key: base.closest(ids, value) or value
            if key in ("objectId", "receptacleObjectId") and isinstance(value, str) and value not in self._names
            else value
            for key, value in arguments.items()
        }
        event = self._ask({"action": action, **meant}, action)
        if event.ok and isinstance(id := meant.get("objectId"), str):
            holder = event.object(id)
            if holder and action == "ToggleObjectOn" and base.kind_in(id) == "Faucet":
                # A faucet treats the objects in the nearest sink.
                sinks = {one.id: one.position for one in event.objects if one.kind == "SinkBasin"}
                holder = event.object(base.nearest(holder.position, sinks) or "")
            treated = base.grown(before.treated, action, id, holder.contents if holder else ())
            event = self._last = replace(event, treated=treated)
        return event

    def copy(self) -> Self:
        raise Unsupported("AI2-THOR cannot be copied; an episode is played again instead.")

    def close(self) -> None:
        if self._worker is not None:
            self._worker.stop()  # with its player
        self._worker, self._last = None, None

    def _now(self) -> base.SimulatorEvent:
        if self._last is None:
            raise WorldError("thor: no scene has begun.")
        return self._last

    def _start(self, floor_plan: str) -> None:
        self.close()
        settings = {"player": self._player, "scene": floor_plan, "size": list(self._size), "field": base.FIELD, **self._machine}
        self._worker = WorkerProcess(_WORKER, {**settings, "seconds": self._seconds, "starting": self._starting})
        # Once it has its build, the client itself counts the seconds of the start.
        whole = self._starting + (0.0 if self._player else DOWNLOADING)
        self._answered("Initialize", lambda worker: worker.ready().result(whole), whole)

    def _ask(self, request: Mapping[str, object], action: str) -> base.SimulatorEvent:
        return self._answered(action, lambda worker: worker.call(request, self._seconds, self._starting), self._seconds)

    def _answered(self, action: str, answer: Callable[[WorkerProcess], Any], seconds: float) -> base.SimulatorEvent:
        if self._worker is None:
            raise WorldError("thor: its process has ended.")
        try:
            said = answer(self._worker)
            self._version = said.get("version", self._version)
            self._last = self._event(action, said, self._last.treated if self._last else frozenset())
        except Refused as refused:
            if refused.fatal:
                self.close()
            what = str(refused) if refused.fatal else f"{action}: {shown(str(refused), 200)}"
            raise WorldError(f"thor: {what}. {refused.way_out}") from refused
        except BaseException as error:
            self.close()
            raise _failed(error, seconds) from error
        return self._last

    def _event(self, action: str, said: Any, treated: base.Treated) -> base.SimulatorEvent:
        metadata: Any = said["metadata"]
        objects, seen, pose, held = read_metadata(metadata)
        images = {name: base64.b64decode(image) for name, image in cast("dict[str, str]", said["images"]).items()}
        painted = (one for one in cast("list[Any]", metadata["colors"] or []) if "|" in one["name"])
        colours: Any = {tuple(int(part) for part in one["color"]): str(one["name"]) for one in painted}
        view = _Said(self._named(objects), seen, images, colours, self._size)
        ok, message = metadata["lastActionSuccess"] is True, str(metadata["errorMessage"])[:LONGEST_MESSAGE]
        return base.SimulatorEvent(action, ok, message, pose, held, view, metadata["actionReturn"], treated)

    def _named(self, objects: Iterable[base.SimulatedObject]) -> tuple[base.SimulatedObject, ...]:
        """The objects with ALFWorld's names. An object keeps its name; a new one gets the next number of its kind."""
        for one in objects:
            if one.id not in self._names:
                stem = one.kind.lower()
                numbers = (int(name.rpartition(" ")[2]) for name in self._names.values() if name.rpartition(" ")[0] == stem)
                self._names[one.id] = f"{stem} {1 + max(numbers, default=0)}"
        return tuple(replace(one, name=self._names[one.id]) for one in objects)


def _failed(error: BaseException, seconds: float) -> BaseException:
    """The world's error for a failure, or the interruption itself."""
    match error:
        case WorkerError():
            return WorldError(f"thor: its process {error}. {_WAYS}")
        case TimeoutError():
            return WorldError(f"thor: its process gave no answer within {seconds:g} seconds.")
        case KeyError() | ValueError() | TypeError() | IndexError() | AttributeError():
            return WorldError(f"thor: its player answers with something that is not an event: {shown(str(error), 200)}.")
        case _:
            return error


def restoring(now: base.SimulatorEvent, scene: base.Scene) -> list[tuple[str, dict[str, object]]]:
    """The actions that set up a scene, without those for parts that are right already. AI2-THOR removes all portable or
    pushable objects without a listed pose, so furniture is listed where it stands. Lamps have other ids than ALFRED's, so they
    are switched by kind, as ALFRED does."""
    actions: list[tuple[str, dict[str, object]]] = []
    wanted = [one for one in scene.things if one.pickupable]
    there = {one.id: one for one in now.objects if one.pickupable}
    if {one.id for one in wanted} != set(there):
        left: dict[str, list[base.SimulatedObject]] = {}
        for one in there.values():
            left.setdefault(one.kind, []).append(one)
        placed = [(left[kind].pop(0), one.point) for one in wanted if left.get(kind := base.kind_in(one.id))]
        placed += [(one, one.position) for one in now.objects if one.moveable and not one.pickupable]
        poses = [
            {"objectName": one.label, "position": point._asdict(), "rotation": one.rotation._asdict()} for one, point in placed
        ]
        actions.append(("SetObjectPoses", {"objectPoses": poses}))
    on = {base.kind_in(id) for id in scene.on}
    lamps = {one.kind: one.kind in on for one in now.objects if one.toggleable and one.on != (one.kind in on)}
    if lamps:
        toggles = [{"objectType": kind, "isOn": on} for kind, on in sorted(lamps.items())]
        actions.append(("SetObjectToggles", {"objectToggles": toggles}))
    if scene.dirty and not any(one.dirty for one in now.objects):
        actions.append(("SetStateOfAllObjects", {"StateChange": "CanBeDirty", "forceAction": True}))
    start = scene.start
    if now.pose != start:
        at = {"x": start.x, "y": scene.eye - 0.675, "z": start.z}
        pose = {"position": at, "rotation": {"x": 0.0, "y": start.yaw, "z": 0.0}, "horizon": start.pitch}
        actions.append(("TeleportFull", {**pose, "standing": True, "forceAction": True}))
    return actions


def paired(scene: base.Scene, objects: Iterable[base.SimulatedObject]) -> dict[str, str]:
    """The scene's names for AI2-THOR's objects, by id: each that of the nearest thing of its kind."""
    names = {**{id: name for name, id in scene.ids.items()}, **{one.id: one.name for one in scene.things}}
    left, found = {one.id for one in objects}, dict[str, str]()
    for id in sorted(names, key=lambda id: (id not in left, id)):
        if (meant := base.closest(left, id)) is not None:
            left.remove(meant)
            found[meant] = names[id]
    return found


_POLL = 0.2


def start(settings: Mapping[str, Any]) -> tuple[dict[str, Any], Handler]:
    try:
        ai2thor: Any = importlib.import_module("ai2thor")
        controllers: Any = importlib.import_module("ai2thor.controller")
    except ImportError as error:
        raise Refused(
            f"the package ai2thor cannot be imported ({error})", "Install it: pip install 'housequest[thor]'.", fatal=True
        ) from error
    version = str(ai2thor.__version__)
    if not version.startswith(MAJOR):
        raise Refused(f"this is ai2thor {version}, not {MAJOR}x", "Install it: pip install 'housequest[thor]'.", fatal=True)
    width, height = settings["size"]
    starting = threading.Event()
    # Python for macOS lacks it before 3.13; then a player that dies at the start is noticed only at the timeout.
    if hasattr(os, "waitid"):
        threading.Thread(target=_watch_start, args=(starting,), daemon=True).start()
    given: dict[str, Any] = {"local_executable_path": settings["player"]} if settings["player"] else {}
    if settings["platform"]:
        given["platform"] = getattr(importlib.import_module("ai2thor.platform"), settings["platform"])
    if settings["gpu"] is not None:
        given["gpu_device"] = settings["gpu"]
    if settings["platform"] != PLATFORMS[0]:
        given["x_display"] = settings["display"] or os.environ.get("DISPLAY") or ":0"
    controller: Any = controllers.Controller(
        **given,
        scene=settings["scene"],
        width=width,
        height=height,
        fieldOfView=settings["field"],
        gridSize=0.25,
        visibilityDistance=1.5,
        renderDepthImage=True,
        renderInstanceSegmentation=True,
        server_timeout=settings["seconds"],
        server_start_timeout=settings["starting"],
    )
    starting.set()
    threading.Thread(target=_watch, args=(controller.server.unity_proc,), daemon=True).start()

    def handle(request: Mapping[str, Any], _cancelled: threading.Event) -> dict[str, Any]:
        if "scene" in request:
            return _said(controller.reset(request["scene"]))
        try:
            return _said(controller.step(dict(request)))
        except ValueError as error:
            raise Refused(str(error), "Ask for an action that this build has.") from error
        except RuntimeError as error:
            # The client's own message only names the action.
            raise RuntimeError(f"its player does not answer as AI2-THOR 5 does: {error.__context__!r}") from error

    build = getattr(getattr(controller, "_build", None), "commit_id", None) or "a local player"
    return {"version": f"ai2thor {version} ({build})", **_said(controller.last_event)}, handle


def _watch_start(started: threading.Event) -> None:
    """End this process if the player ends before its first answer; the client would wait until its timeout."""
    ended: int | None = None
    while not started.wait(_POLL):
        try:
            child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # there is no player yet
            continue
        # Other children, which the client waits for itself, are gone by the next look.
        if child is not None and child.si_pid == ended:
            _end(-child.si_status if child.si_code in (os.CLD_KILLED, os.CLD_DUMPED) else child.si_status)
        ended = child.si_pid if child is not None else None


def _watch(player: Any) -> None:
    while player.poll() is None:
        sleep(_POLL)
    _end(player.poll())


def _end(status: int) -> NoReturn:
    print(f"the player ended with status {status}", file=sys.stderr, flush=True)
    os._exit(1)


def _said(event: Any) -> dict[str, Any]:
    """An event as JSON; images as base64, the top row first."""
    images = {"rgb": event.frame, "depth": event.depth_frame, "ids": event.instance_segmentation_frame}
    sent = {name: base64.b64encode(image.copy(order="C").tobytes()) for name, image in images.items() if image is not None}
    return {"metadata": event.metadata, "images": {name: image.decode() for name, image in sent.items()}}


if __name__ == "__main__":
    serve(start)
