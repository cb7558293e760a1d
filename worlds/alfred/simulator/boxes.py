"""The stand-in: AI2-THOR's actions carried out in a room of boxes, without Unity.

Each action is a pure function over an immutable `State`; `Boxes` is the `Simulator` around them. What is refused is refused in
the style of AI2-THOR's messages. Not simulated: physics, liquids, things that break, and what bumps into what is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, cast

from housequest.worlds.alfred.simulator.affordances import DIRTYABLE, ENCLOSING, KNIVES, MOVABLE, SLICES, TOGGLEABLE, kind_in
from housequest.worlds.alfred.simulator.base import FLOOR, HEIGHT, LOOK, Event, Lying, Scene, grown, nearest
from housequest.worlds.alfred.simulator.layout import HAND, Layout, State, begun, box_at, fixtures
from housequest.worlds.alfred.simulator.placing import deepest, settled, spots
from housequest.worlds.alfred.simulator.sight import Sight, unhidden, visible
from housequest.worlds.errors import WorldError
from housequest.worlds.errors import nearest as hint
from housequest.worlds.rooms.room import AHEAD, GRID, Point, Pose
from housequest.worlds.rooms.stage import pivot

VERSION = 2
"""Increased whenever an action gets another answer or a frame other pixels."""
HIGHEST, LOWEST = -30.0, 60.0
"""How far the head tilts: degrees downwards."""
_SLICE = 0.04

Arguments = Mapping[str, object]


class _Refused(Exception):
    """An action that is not possible; its text is the message."""


class Boxes:
    """The stand-in as a `Simulator`; ``look`` is by how many degrees the head tilts if an action does not say."""

    name = "boxes"
    version = f"boxes {VERSION}"

    def __init__(self, *, look: float = LOOK) -> None:
        self._look = look
        self._scene: Scene | None = None
        self._state: State | None = None

    def begin(self, scene: Scene, /) -> Event:
        self._scene, self._state = scene, begun(scene)
        return self._event("Initialize")

    def act(self, action: str, /, **arguments: object) -> Event:
        scene, state = self._now()
        if action not in ACTIONS:
            unknown = f"{action!r} is not an action of AI2-THOR's that the stand-in knows.{hint(action, tuple(ACTIONS))}"
            raise WorldError(f"boxes: {action}: {unknown}")
        if action in ("LookUp", "LookDown"):
            arguments = {"degrees": self._look, **arguments}
        try:
            done = ACTIONS[action](_Asked(scene, state, arguments))
        except _Refused as refused:
            return self._event(action, str(refused), ok=False)
        except (TypeError, ValueError) as error:
            raise WorldError(f"boxes: {action}: {error}") from error
        self._state, returned = done if isinstance(done, tuple) else (done, None)
        return self._event(action, returned=returned)

    @property
    def state(self) -> State:
        """Hidden: all that can change. Raises ``WorldError`` before ``begin``."""
        return self._now()[1]

    def copy(self) -> Self:
        other = type(self)(look=self._look)
        other._scene, other._state = self._scene, self._state
        return other

    def close(self) -> None:
        self._state = None

    def _now(self) -> tuple[Scene, State]:
        if self._scene is None or self._state is None:
            raise WorldError("boxes: no scene has begun.")
        return self._scene, self._state

    def _event(self, action: str, message: str = "", *, ok: bool = True, returned: object = None) -> Event:
        scene, state = self._now()
        view: Any = Sight(scene, state)  # whose cached properties pyright takes for no properties
        return Event(action, ok, message, state.pose, state.layout.held, view, returned, state.treated)


@dataclass(frozen=True, slots=True)
class _Asked:
    """An action with its arguments, and the state that it meets."""

    scene: Scene
    state: State
    arguments: Arguments

    @property
    def layout(self) -> Layout:
        return self.state.layout

    def number(self, name: str, default: float) -> float:
        value = self.arguments.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{name} is a number, not {value!r}")
        return float(value)

    def id(self, name: str = "objectId") -> str:
        """The id of an object that there is."""
        value = self.arguments.get(name)
        if not isinstance(value, str):
            raise TypeError(f"{name} is the id of an object, not {value!r}")
        if value not in self.every():
            raise _Refused(f"{value} is not the objectId on any object in the scene")
        return value

    def reached(self, id: str, what: str = "Target object") -> str:
        """The id, if the object is in the picture and near enough."""
        if not self.arguments.get("forceAction") and id not in visible(self.scene, self.state, [id]):
            raise _Refused(f"NullReferenceException: {what} not found within the specified visibility.")
        return id

    def after(self, **changes: object) -> State:
        """The state with a layout in which some sets are others."""
        return replace(self.state, layout=replace(self.layout, **changes))  # type: ignore[arg-type]

    def treating(self, action: str, id: str, layout: Layout, inside: tuple[str, ...]) -> State:
        """The state with this layout, in which the action has treated what the object held ``inside``."""
        return replace(self.state, layout=layout, treated=grown(self.state.treated, action, id, inside))

    def every(self) -> Iterator[str]:
        """The ids of all objects."""
        yield from self.layout.thing
        yield from (id for id, _ in fixtures(self.scene))


_Done = State | tuple[State, object]
"""The state after an action, with what it was asked for, if there is something."""


def _moved(quarters: int) -> Callable[[_Asked], _Done]:
    def move(asked: _Asked) -> _Done:
        pose, size = asked.state.pose, asked.number("moveMagnitude", GRID)
        steps = round(size / GRID)
        if steps < 1 or abs(steps * GRID - size) > 1e-6:
            raise _Refused(f"Move magnitude {size} is not a multiple of the grid, {GRID}")
        dx, dz = AHEAD[(pose.quarter + quarters) % 4]
        x, z = pose.cell
        for step in range(1, steps + 1):
            cell = x + dx * step, z + dz * step
            if cell not in asked.scene.room.floor:
                by = f"({dx * size:.4f}, 0.0000, {dz * size:.4f})"
                raise _Refused(f"{_barring(asked.scene, cell)} is blocking Agent 0 from moving by {by}.")
        return replace(asked.state, pose=replace(pose, x=(x + dx * steps) * GRID, z=(z + dz * steps) * GRID))

    return move


def _barring(scene: Scene, cell: tuple[int, int]) -> str:
    """What stands where somebody would go."""
    x, z = cell[0] * GRID, cell[1] * GRID
    for one in scene.room.fixtures:
        if any(box.grown(0.01).over(x, z) for box in one.boxes):
            return scene.ids[one.name]
    return "StructureObject"


def _turned(by: float) -> Callable[[_Asked], _Done]:
    def turn(asked: _Asked) -> _Done:
        degrees = asked.number("degrees", 90.0)
        pose = asked.state.pose
        return replace(asked.state, pose=replace(pose, yaw=(pose.yaw + by * degrees) % 360))

    return turn


def _tilted(by: float, beyond: str) -> Callable[[_Asked], _Done]:
    def tilt(asked: _Asked) -> _Done:
        pose = asked.state.pose
        pitch = pose.pitch + by * asked.number("degrees", LOOK)
        if not HIGHEST - 1e-6 <= pitch <= LOWEST + 1e-6:
            raise _Refused(f"can't look {beyond} the {'max' if by < 0 else 'min'} angle")
        return replace(asked.state, pose=replace(pose, pitch=pitch))

    return tilt


def _teleport(asked: _Asked) -> _Done:
    pose = asked.state.pose
    position = cast("Mapping[str, object]", asked.arguments.get("position") or asked.arguments)
    turn = asked.arguments.get("rotation")
    if isinstance(turn, Mapping):
        asked = replace(asked, arguments={**asked.arguments, "rotation": cast("Mapping[str, object]", turn).get("y")})
    there = replace(asked, arguments=position)
    found = Pose(
        there.number("x", pose.x),
        there.number("z", pose.z),
        asked.number("rotation", pose.yaw) % 360,
        asked.number("horizon", pose.pitch),
    )
    on_grid = max(abs(found.x - found.cell[0] * GRID), abs(found.z - found.cell[1] * GRID)) < GRID / 4
    standing = found.cell in asked.scene.room.floor or asked.arguments.get("forceAction") is True
    if not on_grid or not standing or not HIGHEST <= found.pitch <= LOWEST:
        raise _Refused(f"Teleport target ({found.x:.2f}, {found.z:.2f}) is not reachable")
    return replace(asked.state, pose=found)


def _positions(asked: _Asked) -> _Done:
    """The points on the floor, in metres."""
    return asked.state, [{"x": x * GRID, "y": HEIGHT, "z": z * GRID} for x, z in sorted(asked.scene.room.floor)]


def _poses(asked: _Asked) -> _Done:
    """From where an object is visible: cells near it, each of the four sides and the tilts that the head can have."""
    id, found = asked.id(), list[dict[str, object]]()
    for x, z in sorted(asked.scene.room.floor):
        for turn in range(4):
            for pitch in (-30.0, 0.0, 30.0, 60.0):
                state = replace(asked.state, pose=Pose(x * GRID, z * GRID, 90.0 * turn, pitch))
                if id in visible(asked.scene, state, [id]):
                    found.append(
                        {"x": x * GRID, "y": HEIGHT, "z": z * GRID, "rotation": 90.0 * turn, "horizon": pitch, "standing": True}
                    )
    return asked.state, found


def _pick_up(asked: _Asked) -> _Done:
    id = asked.id()
    if (one := asked.layout.thing.get(id)) is None or not one.pickupable:
        raise _Refused(f"{id} must have the property CanPickup to be picked up.")
    if asked.layout.held is not None:
        raise _Refused("Agent hand has something in it already! Can't pick up anything else")
    asked.reached(id)
    return replace(asked.state, layout=asked.layout.moved(id, HAND, one.point))


def _put(asked: _Asked) -> _Done:
    scene, layout = asked.scene, asked.layout
    at = asked.id("receptacleObjectId" if asked.arguments.get("receptacleObjectId") is not None else "objectId")
    held = layout.held
    if held is None:
        raise _Refused("Can't place an object if Agent isn't holding anything")
    kind, target = kind_in(held), kind_in(at)
    if at == held or at in layout.within(held):
        raise _Refused(f"{at} is held, so nothing can be placed in it")
    if (at in layout.thing and target not in MOVABLE) or any(at == scene.ids.get(one.name) for one in scene.room.scenery):
        raise _Refused("This target object is NOT a receptacle!")
    if target in ENCLOSING and at in scene.openable and at not in layout.open:
        raise _Refused("Target openable Receptacle is CLOSED, can't place if target is not open!")
    if kind not in scene.accepts.get(target, frozenset[str]()):
        raise _Refused(f"{kind} is not a valid Object Type to be placed in {target}")
    asked.reached(at, "Target receptacle")
    return replace(asked.state, layout=layout.moved(held, at, _spot(asked, held, at)))


def _spot(asked: _Asked, held: str, at: str) -> Point:
    """The free spot of a receptacle that is nearest among those that can be seen; else one that can be seen from elsewhere."""
    name = asked.layout.thing[held].name
    found = spots(asked.scene, asked.layout, asked.state.pose, name, at)
    if not found:
        raise _Refused("No valid positions to place object found")
    seen = unhidden(asked.scene, asked.state, [middle for _, middle in found])
    points = [point for point, _ in found]
    return next((point for point, clear in zip(points, seen, strict=True) if clear), deepest(asked.scene, at, points))


def _drop(asked: _Asked) -> _Done:
    held, layout, pose = asked.layout.held, asked.layout, asked.state.pose
    if held is None:
        raise _Refused("Agent isn't holding anything")
    dx, dz = AHEAD[pose.quarter]
    x, z = pose.x + 0.4 * dx, pose.z + 0.4 * dz
    below = [box.y1 for one in asked.scene.room.fixtures for box in one.boxes if box.over(x, z) and box.y1 < asked.scene.eye]
    point = pivot(layout.thing[held].name, x, max([0.0, *below]), z)
    at = settled(asked.scene, layout.thing[held], point).at if below else FLOOR
    return replace(asked.state, layout=layout.moved(held, at, point))


def _open(asked: _Asked) -> _Done:
    id = _openable(asked)
    if id in asked.layout.open:
        raise _Refused("object is already open")
    if id in asked.layout.on and kind_in(id) == "Microwave":
        raise _Refused("Target must be OFF to open!")
    asked.reached(id)
    return asked.after(open=asked.layout.open | {id})


def _close(asked: _Asked) -> _Done:
    id = _openable(asked)
    if id not in asked.layout.open:
        raise _Refused("object is already closed")
    asked.reached(id)
    layout = replace(asked.layout, open=asked.layout.open - {id})
    if kind_in(id) == "Fridge":
        inside = frozenset(layout.within(id))
        layout = replace(layout, cold=layout.cold | inside, hot=layout.hot - inside)
    return asked.treating("CloseObject", id, layout, layout.contents.get(id, ()))


def _openable(asked: _Asked) -> str:
    id = asked.id()
    if id not in asked.scene.openable:
        raise _Refused(f"{id} is not an Openable object")
    return id


def _on(asked: _Asked) -> _Done:
    id = _toggleable(asked)
    if id in asked.layout.on:
        raise _Refused("can't toggle object on if it's already on!")
    if id in asked.layout.open and kind_in(id) == "Microwave":
        raise _Refused("Target must be CLOSED to toggle on!")
    asked.reached(id)
    layout = replace(asked.layout, on=asked.layout.on | {id})
    inside: tuple[str, ...] = ()
    if kind_in(id) == "Microwave":
        inside = layout.contents.get(id, ())
        warm = frozenset(layout.within(id))
        layout = replace(layout, hot=layout.hot | warm, cold=layout.cold - warm)
    elif kind_in(id) == "Faucet" and (basin := basin_of(asked.scene, id)) is not None:
        inside = layout.contents.get(basin, ())
        layout = replace(layout, dirty=layout.dirty - frozenset(layout.within(basin)))
    return asked.treating("ToggleObjectOn", id, layout, inside)


def _off(asked: _Asked) -> _Done:
    id = _toggleable(asked)
    if id not in asked.layout.on:
        raise _Refused("can't toggle object off if it's already off!")
    asked.reached(id)
    return asked.after(on=asked.layout.on - {id})


def _toggleable(asked: _Asked) -> str:
    id = asked.id()
    if kind_in(id) not in TOGGLEABLE:
        raise _Refused("object is not toggleable")
    return id


def basin_of(scene: Scene, faucet: str) -> str | None:
    """The id of the basin that is nearest to a faucet, as ALFRED finds it."""
    tap = next((one.box.centre for id, one in fixtures(scene) if id == faucet), None)
    every = {scene.ids[one.name]: one.box.centre for one in scene.room.fixtures}
    basins = {id: middle for id, middle in every.items() if kind_in(id) == "SinkBasin"}
    return tap and nearest(tap, basins)


def _slice(asked: _Asked) -> _Done:
    id, held = asked.id(), asked.layout.held
    if kind_in(id) not in SLICES or id not in asked.layout.thing:
        raise _Refused(f"{id} Does not have the CanBeSliced property!")
    if held is None or kind_in(held) not in KNIVES:
        raise _Refused("Slice: ObjectInteraction only supported for held object Knife")
    asked.reached(id)
    layout = asked.layout
    whole = layout.thing[id]
    pieces = tuple(_pieces(layout, whole, asked.state.pose))
    marks = {
        name: (found | {one.id for one in pieces}) - {id} if id in found else found
        for name, found in (("dirty", layout.dirty), ("hot", layout.hot), ("cold", layout.cold))
    }
    things = tuple(one for one in layout.things if one.id != id) + pieces
    return replace(asked.state, layout=replace(layout, things=things, **marks))


def _pieces(layout: Layout, whole: Lying, pose: Pose) -> Iterator[Lying]:
    """The slices of a thing, side by side where it lay for somebody who stands at ``pose``."""
    kind, number = SLICES[kind_in(whole.id)]
    there = sum(one.name.startswith(f"{kind.lower()} ") for one in layout.things)
    low = box_at(whole).y0
    for piece in range(number):
        name = f"{kind.lower()} {there + piece + 1}"
        aside = (piece + 0.5 - number / 2) * _SLICE
        x, z = (aside, 0.0) if pose.quarter % 2 == 0 else (0.0, aside)
        point = pivot(name, whole.point.x + x, low, whole.point.z + z)
        yield Lying(f"{whole.id}|{kind}_{piece + 1}", name, whole.at, point)


def _dirtied(dirty: bool) -> Callable[[_Asked], _Done]:
    def mark(asked: _Asked) -> _Done:
        id = asked.id()
        if kind_in(id) not in DIRTYABLE:
            raise _Refused(f"{id} does not have dirtyable property!")
        found = asked.layout.dirty
        if (id in found) == dirty:
            raise _Refused(f"{id} is already {'dirty' if dirty else 'clean'}!")
        asked.reached(id)
        return asked.after(dirty=found | {id} if dirty else found - {id})

    return mark


def _all_set(asked: _Asked) -> _Done:
    """ALFRED's way to make a room dirty: SetStateOfAllObjects with ``CanBeDirty``; liquids are not simulated."""
    if asked.arguments.get("StateChange") != "CanBeDirty":
        return asked.state
    return asked.after(dirty=frozenset(id for id in asked.every() if kind_in(id) in DIRTYABLE))


def _toggles_set(asked: _Asked) -> _Done:
    on = asked.layout.on
    for one in cast("list[Mapping[str, object]]", asked.arguments.get("objectToggles") or []):
        those = {id for id in asked.every() if kind_in(id) == one["objectType"]}
        on = on | those if one["isOn"] else on - those
    return asked.after(on=on)


def _poses_set(asked: _Asked) -> _Done:
    """Put things where ``objectPoses`` says, by names or ids; what can be carried off and is not listed is gone."""
    listed = cast("list[Mapping[str, object]]", asked.arguments.get("objectPoses") or [])
    named = {**{one.name: one for one in asked.layout.things}, **asked.layout.thing}
    placed: dict[str, Lying] = {one.id: one for one in asked.layout.things if not one.pickupable}
    for pose in listed:
        one = named.get(str(pose["objectName"]))
        if one is None:
            raise _Refused(f"{pose['objectName']} is not the name of an object in the scene")
        at = cast("Mapping[str, float]", pose["position"])
        placed[one.id] = settled(asked.scene, one, Point(at["x"], at["y"], at["z"]))
    return asked.after(things=tuple(placed.values()))


def _nothing(asked: _Asked) -> _Done:
    return asked.state


ACTIONS: Mapping[str, Callable[[_Asked], _Done]] = {
    "MoveAhead": _moved(0),
    "MoveRight": _moved(1),
    "MoveBack": _moved(2),
    "MoveLeft": _moved(3),
    "RotateRight": _turned(1.0),
    "RotateLeft": _turned(-1.0),
    "LookUp": _tilted(-1.0, "up beyond"),
    "LookDown": _tilted(1.0, "down beyond"),
    "Teleport": _teleport,
    "TeleportFull": _teleport,
    "GetReachablePositions": _positions,
    "GetInteractablePoses": _poses,
    "PickupObject": _pick_up,
    "PutObject": _put,
    "DropHandObject": _drop,
    "OpenObject": _open,
    "CloseObject": _close,
    "ToggleObjectOn": _on,
    "ToggleObjectOff": _off,
    "SliceObject": _slice,
    "DirtyObject": _dirtied(True),
    "CleanObject": _dirtied(False),
    "SetStateOfAllObjects": _all_set,
    "SetObjectToggles": _toggles_set,
    "SetObjectPoses": _poses_set,
    "Pass": _nothing,
    "Done": _nothing,
}
"""AI2-THOR's actions by name, as far as the stand-in has them."""
