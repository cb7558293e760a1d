"""AI2-THOR 2.1's client on the stand-in, for ALFRED's and ALFWorld's unchanged code.

Their ``ThorEnv`` is a subclass of ``ai2thor.controller.Controller`` 2.1, which does not install beside AI2-THOR 5. ``python -m
housequest.as_alfworld --thor SCRIPT`` puts `OlderController` in its place; the rest stays the user's own. There is no Unity, no
server and no other process. Figures are the stand-in's, not AI2-THOR's, ALFRED's or ALFWorld's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

from housequest.worlds.alfred.player import FAR, Player, colours_of, scenes
from housequest.worlds.alfred.simulator.base import FIELD, LOOK, SimulatorEvent
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.registry import DEFAULT_WORLD, make_world
from housequest.worlds.rooms.room import GRID

if TYPE_CHECKING:
    from numpy import bool_, float32, uint8
    from numpy.typing import NDArray

    from housequest.worlds.rooms.render import Frame

_SIZE = (300, 300)
_WITHOUT_EFFECT = frozenset(
    {
        *("cameraY", "makeAgentsVisible", "visibility_distance", "rotateOnTeleport", "tempRenderChange", "continuous"),
        *("renderNormalsImage", "renderFlowImage", "placeStationary", "standing", "sequenceId"),
    }
)
"""Arguments of ALFRED's and ALFWorld's code that change nothing in a room of boxes."""
_FORCED = ("MoveAhead", "MoveBack", "MoveLeft", "MoveRight", "RotateLeft", "RotateRight", "LookUp", "LookDown")
_COUNTED = {
    "OpenObject": ("moveMagnitude",),
    **dict.fromkeys(_FORCED, ("forceAction",)),
    "SetStateOfAllObjects": ("forceAction",),
}
"""Arguments that these actions do not need here: everything opens wide."""


class OlderEvent:
    """AI2-THOR 2.1's answer to an action. Images are drawn on demand; depth is in metres."""

    def __init__(self, event: SimulatorEvent, metadata: dict[str, Any], size: tuple[int, int], field: float) -> None:
        self.metadata, self._event, self._size, self._field = metadata, event, size, field
        self.screen_width, self.screen_height = size
        if event.action == "GetReachablePositions":
            metadata["reachablePositions"] = event.returned
        for one in metadata["objects"]:
            one["receptacleObjectIds"] = one["receptacleObjectIds"] or []

    @cached_property
    def _frame(self) -> Frame:
        return self._event.frame(self._size, self._field)

    @cached_property
    def _colours(self) -> dict[str, tuple[int, int, int]]:
        return colours_of(self._event.objects)

    @property
    def frame(self) -> NDArray[uint8]:
        return self._frame.rgb

    @property
    def cv2img(self) -> NDArray[uint8]:
        return self._frame.rgb[..., ::-1]

    @property
    def depth_frame(self) -> NDArray[float32]:
        import numpy as np

        return np.minimum(self._frame.depth, np.float32(FAR))

    @property
    def color_to_object_id(self) -> dict[tuple[int, int, int], str]:
        return {colour: name for name, colour in self._colours.items()}

    @property
    def object_id_to_color(self) -> dict[str, tuple[int, int, int]]:
        return self._colours

    @cached_property
    def instance_segmentation_frame(self) -> NDArray[uint8]:
        return self._painted(kinds=False)

    @cached_property
    def class_segmentation_frame(self) -> NDArray[uint8]:
        return self._painted(kinds=True)

    def _painted(self, *, kinds: bool) -> NDArray[uint8]:
        import numpy as np

        # The last colour is for pixels without an object, whose number is -1.
        names = [name.partition("|")[0] if kinds else name for name in self._frame.names]
        return np.array([*(self._colours.get(name, (0, 0, 0)) for name in names), (0, 0, 0)], np.uint8)[self._frame.ids]

    @cached_property
    def instance_masks(self) -> dict[str, NDArray[bool_]]:
        import numpy as np

        ids = self._frame.ids
        masks = {self._frame.names[number]: ids == number for number in map(int, np.unique(ids)) if number >= 0}
        return {name: mask for name, mask in masks.items() if name in self._colours}

    @property
    def class_masks(self) -> dict[str, NDArray[bool_]]:
        found: dict[str, NDArray[bool_]] = {}
        for name, mask in self.instance_masks.items():
            kind = name.partition("|")[0]
            found[kind] = found[kind] | mask if kind in found else mask
        return found

    @property
    def instance_detections2D(self) -> dict[str, Sequence[int]]:
        import numpy as np

        found: dict[str, Sequence[int]] = {}
        for name, mask in self.instance_masks.items():
            rows, columns = np.nonzero(mask)
            found[name] = (int(columns.min()), int(rows.min()), int(columns.max()), int(rows.max()))
        return found

    @property
    def class_detections2D(self) -> dict[str, list[Sequence[int]]]:
        found: dict[str, list[Sequence[int]]] = {}
        for name, box in self.instance_detections2D.items():
            found.setdefault(name.partition("|")[0], []).append(box)
        return found

    @property
    def pose(self) -> tuple[int, int, int, int]:
        """The agent's place in millimetres, and its turn and tilt in thousandths of a degree."""
        at = self._event.pose
        x, z, yaw, pitch = (round(1_000 * part) for part in (at.x, at.z, at.yaw, at.pitch))
        return x, z, yaw, pitch

    @property
    def pose_discrete(self) -> tuple[int, int, int, int]:
        """The agent's place in steps, its quarter turns, and the tilt of its head in degrees."""
        at = self._event.pose
        return round(at.x / GRID), round(at.z / GRID), round(at.yaw / 90) % 4, round(at.pitch)

    def get_object(self, object_id: str) -> dict[str, Any] | None:
        return next((one for one in self.metadata["objects"] if one["objectId"] == object_id), None)

    def objects_by_type(self, object_type: str) -> list[dict[str, Any]]:
        return [one for one in self.metadata["objects"] if one["objectType"] == object_type]


class OlderController:
    """``ai2thor.controller.Controller`` of 2.1, as ALFRED's and ALFWorld's ``ThorEnv`` call it. Arguments about Unity (a build,
    a display, quality) have no effect.

    Args:
        scene: The scene to begin in; see `reset`.
        world: The world whose tasks are the scenes.
    """

    local_executable_path: str | None = None
    docker_enabled = False

    def __init__(
        self, scene: str | None = None, *, world: str = DEFAULT_WORLD, width: int = 300, height: int = 300, **unity: Any
    ) -> None:
        del unity
        found = make_world(world)
        self._player, self._size, self._field = Player(found, scenes(found, [])), (width, height), FIELD
        self.last_event: OlderEvent | None = None
        self._restored = False
        self._send({"action": "Initialize", "fieldOfView": self._field})
        if scene is not None:
            self.reset(scene)

    def start(
        self,
        port: int = 0,
        start_unity: bool = True,
        player_screen_width: int = 300,
        player_screen_height: int = 300,
        **unity: Any,
    ) -> None:
        """Take the size of its pictures; there is nothing to start."""
        del port, start_unity, unity
        self._size = player_screen_width, player_screen_height
        self._send({"action": "ChangeResolution", "x": player_screen_width, "y": player_screen_height})

    def stop(self) -> None:
        """Do nothing; there is nothing to stop."""

    stop_unity = stop

    def reset(self, scene: str = "FloorPlan1") -> OlderEvent:
        """Begin in a scene: ``FloorPlanN`` of a room with an installed game, or a task's reference. Raises ``ValueError`` for
        an unknown scene."""
        known = self._player.scenes
        name = next((one for one in (scene, f"{scene}_physics") if one in known), None)
        if name is None:
            raise ValueError(
                f"There is no scene {shown(scene)} here: it needs a game in that room.{nearest(scene, tuple(known))}"
            )
        return self._send({"action": "Reset", "sceneName": name})

    def step(self, action: str | Mapping[str, Any], raise_for_failure: bool = False, **arguments: Any) -> OlderEvent:
        """Carry out an action, by name with arguments or as a dictionary. Raises ``RuntimeError`` if it fails and
        ``raise_for_failure``."""
        asked = {"action": action, **arguments} if isinstance(action, str) else {**action, **arguments}
        event = self._send(asked)
        if raise_for_failure and not event.metadata["lastActionSuccess"]:
            raise RuntimeError(event.metadata["errorMessage"])
        return event

    def _send(self, asked: Mapping[str, Any]) -> OlderEvent:
        name = str(asked.get("action"))
        vain = {*_WITHOUT_EFFECT, *_COUNTED.get(name, ())}
        given = {key: self._plain(value) for key, value in asked.items() if key not in vain}
        if name != "Initialize":
            given = {key: value for key, value in given.items() if not key.startswith("render")}
        else:
            self._field = float(given.setdefault("fieldOfView", self._field))
        if name in ("LookUp", "LookDown"):
            given.setdefault("degrees", LOOK)
        if name == "PutObject":
            given["objectId"] = given.pop("receptacleObjectId", given.get("objectId"))
        if name.startswith("Teleport") and self._restored:
            # Start poses are free floor, whatever our room has there.
            self._player.clear(float(given.get("x", 0.0)), float(given.get("z", 0.0)))
        self._restored = name == "SetObjectPoses"
        event, code = self._player.carried_out(given)
        metadata = self._player.metadata(event, {})
        metadata["errorCode"] = code
        self.last_event = OlderEvent(event, metadata, self._size, self._field)
        return self.last_event

    @staticmethod
    def _plain(value: Any) -> Any:
        """A NumPy number as a Python number."""
        return value.item() if hasattr(value, "item") else value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"ai2thor.controller.Controller.{name} is not on the stand-in, which has start, reset, step and stop."
        )


def stand_in_for_thor() -> None:
    """Put `OlderController` where ``import ai2thor`` looks first. Raises ``ConfigurationError`` if the real one is imported."""
    real = sys.modules.get("ai2thor")
    if real is not None and getattr(real, "__version__", "") != _VERSION:
        raise ConfigurationError("ai2thor is imported already; run the program by `python -m housequest.as_alfworld --thor`.")
    package, controller, server = (ModuleType(name) for name in ("ai2thor", "ai2thor.controller", "ai2thor.server"))
    package.__path__ = []  # a package without files, so its other modules are missing
    vars(package).update(controller=controller, server=server, __version__=_VERSION)
    vars(controller).update(Controller=OlderController)
    vars(server).update(Event=OlderEvent)
    for module in (package, controller, server):
        sys.modules[module.__name__] = module


_VERSION = "2.1.0"  # The version that this stands in for.
