"""The stand-in: AI2-THOR's actions in a room of boxes, without Unity.

Each action is a pure function over an immutable `LayoutState`; `Boxes` is the `Simulator` around them. Refusals are worded
like AI2-THOR's messages. Not simulated: physics, liquids, breaking objects, and collisions of the held object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import inf
from typing import Self, cast

from housequest.worlds.alfred.simulator import base
from housequest.worlds.alfred.simulator import layout as layouts
from housequest.worlds.errors import WorldError
from housequest.worlds.errors import nearest as hint
from housequest.worlds.rooms.room import AHEAD, GRID, Pose, way, with_way
from housequest.worlds.rooms.stage import pivot

VERSION = 3  # Increase it whenever the answer to an action or the pixels of a frame change.
HIGHEST, LOWEST = -30.0, 60.0  # The range of the head's tilt, in degrees downwards.
_SLICE = 0.04


class _Refused(Exception):
    """An action that is not possible; its text is the message."""


class Boxes:
    """The stand-in as a `Simulator`."""

    name = "boxes"
    version = f"boxes {VERSION}"

    _scene: base.Scene | None = None
    _state: layouts.LayoutState | None = None

    def begin(self, scene: base.Scene, /) -> base.SimulatorEvent:
        self._scene, self._state = scene, layouts.begun(scene)
        return self._event("Initialize")

    def act(self, action: str, /, **arguments: object) -> base.SimulatorEvent:
        scene, state = self._now()
        if action not in ACTIONS:
            unknown = f"{action!r} is not an action of AI2-THOR's that the stand-in knows.{hint(action, tuple(ACTIONS))}"
            raise WorldError(f"boxes: {action}: {unknown}")
        try:
            done = ACTIONS[action](_Asked(scene, state, arguments))
        except _Refused as refused:
            return self._event(action, str(refused), ok=False)
        except (TypeError, ValueError, LookupError, AttributeError) as error:  # arguments of another shape
            raise WorldError(f"boxes: {action}: {type(error).__name__}: {error}") from error
        self._state, returned = done if isinstance(done, tuple) else (done, None)
        return self._event(action, returned=returned)

    def clear(self, cell: tuple[int, int]) -> None:
        """Let the floor lead to a cell. Raises ``WorldError`` before ``begin``."""
        scene, _ = self._now()
        room = scene.room
        self._scene = replace(scene, room=replace(room, floor=with_way(room.floor, room.walls, cell)))

    @property
    def state(self) -> layouts.LayoutState:
        """Hidden: the state. Raises ``WorldError`` before ``begin``."""
        return self._now()[1]

    def copy(self) -> Self:
        return copy(self)  # its parts are immutable

    def close(self) -> None:
        self._state = None

    def _now(self) -> tuple[base.Scene, layouts.LayoutState]:
        if self._scene is None or self._state is None:
            raise WorldError("boxes: no scene has begun.")
        return self._scene, self._state

    def _event(self, action: str, message: str = "", *, ok: bool = True, returned: object = None) -> base.SimulatorEvent:
        scene, state = self._now()
        sight = layouts.Sight(scene, state)
        return base.SimulatorEvent(action, ok, message, state.pose, state.layout.held, sight, returned, state.treated)


@dataclass(frozen=True, slots=True)
class _Asked:
    scene: base.Scene
    state: layouts.LayoutState
    arguments: Mapping[str, object]

    @property
    def layout(self) -> layouts.Layout:
        return self.state.layout

    def number(self, name: str, default: float) -> float:
        value = self.arguments.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{name} is a number, not {value!r}")
        return float(value)

    def id(self, name: str = "objectId") -> str:
        value = self.arguments.get(name)
        if not isinstance(value, str):
            raise TypeError(f"{name} is the id of an object, not {value!r}")
        if value not in self.every():
            raise _Refused(f"{value} is not the objectId on any object in the scene")
        return value

    def reached(self, id: str, what: str = "Target object") -> str:
        """Return the id, or refuse if the object is out of the picture or too far away."""
        if not self.arguments.get("forceAction") and id not in layouts.visible(self.scene, self.state, [id]):
            raise _Refused(f"NullReferenceException: {what} not found within the specified visibility.")
        return id

    def after(self, **changes: object) -> layouts.LayoutState:
        """The state with ``changes`` to its layout."""
        return replace(self.state, layout=replace(self.layout, **changes))  # type: ignore[arg-type]

    def every(self) -> Iterator[str]:
        yield from self.layout.thing
        yield from (id for id, _ in layouts.fixtures(self.scene))


_Done = layouts.LayoutState | tuple[layouts.LayoutState, object]  # The state after an action, with the result of a query.


def _move(quarters: int, asked: _Asked) -> _Done:
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
            room, at = asked.scene.room, (cell[0] * GRID, cell[1] * GRID)
            there = (one.name for one in room.fixtures if any(box.grown(0.01).over(*at) for box in one.boxes))
            barring = asked.scene.ids.get(next(there, ""), "StructureObject")
            raise _Refused(f"{barring} is blocking Agent 0 from moving by {by}.")
    return replace(asked.state, pose=replace(pose, x=(x + dx * steps) * GRID, z=(z + dz * steps) * GRID))


def _turn(by: float, asked: _Asked) -> _Done:
    pose = asked.state.pose
    return replace(asked.state, pose=replace(pose, yaw=(pose.yaw + by * asked.number("degrees", 90.0)) % 360))


def _tilt(by: float, beyond: str, asked: _Asked) -> _Done:
    pose = asked.state.pose
    pitch = pose.pitch + by * asked.number("degrees", base.LOOK)
    if not HIGHEST - 1e-6 <= pitch <= LOWEST + 1e-6:
        raise _Refused(f"can't look {beyond} the {'max' if by < 0 else 'min'} angle")
    return replace(asked.state, pose=replace(pose, pitch=pitch))


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


def _poses(asked: _Asked) -> _Done:
    """The poses from which an object is visible, among all cells, the four sides and four tilts."""
    id, found = asked.id(), list[dict[str, object]]()
    for (x, z), turn, pitch in product(sorted(asked.scene.room.floor), range(4), (-30.0, 0.0, 30.0, 60.0)):
        pose = Pose(x * GRID, z * GRID, 90.0 * turn, pitch)
        if id in layouts.visible(asked.scene, replace(asked.state, pose=pose), [id]):
            found.append({"x": pose.x, "y": base.HEIGHT, "z": pose.z, "rotation": pose.yaw, "horizon": pitch, "standing": True})
    return asked.state, found


def _path(asked: _Asked) -> _Done:
    """The corners of a shortest way over the floor, from a position or from here to the cell nearest to an object."""
    pose, id = asked.state.pose, asked.id()
    start = replace(asked, arguments=cast("Mapping[str, object]", asked.arguments.get("position") or {}))
    at, floor = Pose(start.number("x", pose.x), start.number("z", pose.z)).cell, asked.scene.room.floor
    box = next(one.box for one in layouts.listed(asked.scene, asked.state) if one.id == id)
    near = min(floor, key=lambda cell: (layouts.apart(Pose(cell[0] * GRID, cell[1] * GRID), box), cell))
    cells = way(floor, at, near) if at in floor else ()
    if not cells:
        raise _Refused(f"Path to {id} could not be computed")
    turns = [
        cell
        for before, cell, after in zip(cells, cells[1:], cells[2:], strict=False)
        if (cell[0] - before[0], cell[1] - before[1]) != (after[0] - cell[0], after[1] - cell[1])
    ]
    corners = [cells[0], *turns, cells[-1]]
    return asked.state, {"corners": [{"x": x * GRID, "y": base.HEIGHT, "z": z * GRID} for x, z in corners]}


def _above(asked: _Asked) -> _Done:
    """The points on a receptacle, anywhere in the room, to set something down."""
    id = asked.id()
    if not next(one for one in layouts.listed(asked.scene, asked.state) if one.id == id).receptacle:
        raise _Refused(f"{id} is not a receptacle")
    return asked.state, [point._asdict() for point in layouts.above(asked.scene, asked.layout, id)]


def _disable(asked: _Asked) -> _Done:
    """Remove a thing, with its contents, until it is enabled."""
    id, layout = asked.id(), asked.layout
    if id not in layout.thing:
        raise _Refused(f"{id} is furniture, which cannot be disabled here")
    return asked.after(disabled=layout.disabled | {id, *layout.within(id)})


def _enable(asked: _Asked) -> _Done:
    id, layout = asked.arguments.get("objectId"), asked.layout
    if not isinstance(id, str) or id not in layout.disabled:
        raise _Refused(f"{id} is not the objectId on any disabled object in the scene")
    if layout.held and next(one for one in layout.things if one.id == id).at == layouts.HAND:
        raise _Refused("Agent hand has something in it already!")
    back = {id, *replace(layout, disabled=frozenset()).within(id)}
    return asked.after(disabled=layout.disabled - back)


def _pick_up(asked: _Asked) -> _Done:
    id = asked.id()
    if (one := asked.layout.thing.get(id)) is None or not one.pickupable:
        raise _Refused(f"{id} must have the property CanPickup to be picked up.")
    if asked.layout.held is not None:
        raise _Refused("Agent hand has something in it already! Can't pick up anything else")
    asked.reached(id)
    return replace(asked.state, layout=asked.layout.moved(id, layouts.HAND, one.point))


def _put(asked: _Asked) -> _Done:
    scene, layout = asked.scene, asked.layout
    at = asked.id("receptacleObjectId" if asked.arguments.get("receptacleObjectId") is not None else "objectId")
    held = layout.held
    if held is None:
        raise _Refused("Can't place an object if Agent isn't holding anything")
    kind, target = base.kind_in(held), base.kind_in(at)
    if at == held or at in layout.within(held):
        raise _Refused(f"{at} is held, so nothing can be placed in it")
    if (at in layout.thing and target not in base.MOVABLE) or any(at == scene.ids.get(one.name) for one in scene.room.scenery):
        raise _Refused("This target object is NOT a receptacle!")
    if target in base.ENCLOSING and at in scene.openable and at not in layout.open:
        raise _Refused("Target openable Receptacle is CLOSED, can't place if target is not open!")
    if kind not in scene.accepts.get(target, frozenset[str]()):
        raise _Refused(f"{kind} is not a valid Object Type to be placed in {target}")
    asked.reached(at, "Target receptacle")
    arm = inf if asked.arguments.get("forceAction") else layouts.ARM
    found = layouts.spots(scene, layout, asked.state.pose, layout.thing[held].name, at, arm)
    if not found:
        raise _Refused("No valid positions to place object found")
    # The nearest visible spot, or else one that is visible from elsewhere.
    points = [point for point, _ in found]
    seen = zip(points, layouts.unhidden(scene, asked.state, [middle for _, middle in found]), strict=True)
    spot = next((point for point, clear in seen if clear), layouts.deepest(scene, at, points))
    return replace(asked.state, layout=layout.moved(held, at, spot))


def _drop(asked: _Asked) -> _Done:
    held, layout, pose = asked.layout.held, asked.layout, asked.state.pose
    if held is None:
        raise _Refused("Agent isn't holding anything")
    dx, dz = AHEAD[pose.quarter]
    x, z = pose.x + 0.4 * dx, pose.z + 0.4 * dz
    below = [box.y1 for one in asked.scene.room.fixtures for box in one.boxes if box.over(x, z) and box.y1 < asked.scene.eye]
    point = pivot(layout.thing[held].name, x, max([0.0, *below]), z)
    at = layouts.settled(asked.scene, layout.thing[held], point).at if below else base.FLOOR
    return replace(asked.state, layout=layout.moved(held, at, point))


def _mark(mark: str, wanted: bool, action: str, asked: _Asked) -> _Done:
    """Open, close, switch or dirty an object, with the effects on its contents."""
    id, layout = asked.id(), asked.layout
    kind, found = base.kind_in(id), getattr(layout, mark)
    unable, *already = base.TABLE["marks"][mark]["refusals"]
    able = id in asked.scene.openable if mark == "open" else kind in (base.TOGGLEABLE if mark == "on" else base.DIRTYABLE)
    if not able:
        raise _Refused(unable.format(id))
    if (id in found) == wanted:
        raise _Refused(already[wanted].format(id))
    if kind == "Microwave" and action == "OpenObject" and id in layout.on:
        raise _Refused("Target must be OFF to open!")
    if kind == "Microwave" and action == "ToggleObjectOn" and id in layout.open:
        raise _Refused("Target must be CLOSED to toggle on!")
    asked.reached(id)
    layout = replace(layout, **{mark: found | {id} if wanted else found - {id}})
    holder = basin_of(asked.scene, id) or "" if kind == "Faucet" else id
    inside = frozenset(layout.within(holder))
    match action, kind:
        case "CloseObject", "Fridge":
            layout = replace(layout, cold=layout.cold | inside, hot=layout.hot - inside)
        case "ToggleObjectOn", "Microwave":
            layout = replace(layout, hot=layout.hot | inside, cold=layout.cold - inside)
        case "ToggleObjectOn", "Faucet":
            layout = replace(layout, dirty=layout.dirty - inside)
        case _:
            pass
    treated = base.grown(asked.state.treated, action, id, layout.contents.get(holder, ()))
    return replace(asked.state, layout=layout, treated=treated)


def basin_of(scene: base.Scene, faucet: str) -> str | None:
    """The id of the basin nearest to a faucet, found as in ALFRED."""
    tap = next((one.box.centre for id, one in layouts.fixtures(scene) if id == faucet), None)
    every = {scene.ids[one.name]: one.box.centre for one in scene.room.fixtures}
    basins = {id: middle for id, middle in every.items() if base.kind_in(id) == "SinkBasin"}
    return tap and base.nearest(tap, basins)


def _slice(asked: _Asked) -> _Done:
    id, held, layout = asked.id(), asked.layout.held, asked.layout
    if base.kind_in(id) not in base.SLICES or id not in layout.thing:
        raise _Refused(f"{id} Does not have the CanBeSliced property!")
    if held is None or base.kind_in(held) not in base.KNIVES:
        raise _Refused("Slice: ObjectInteraction only supported for held object Knife")
    asked.reached(id)
    whole, (kind, number) = layout.thing[id], base.SLICES[base.kind_in(id)]
    there, low = sum(one.name.startswith(f"{kind.lower()} ") for one in layout.things), layouts.box_at(whole).y0
    pieces: list[base.Lying] = []
    for piece in range(number):
        # Slices lie side by side at the object's place, as seen from the agent.
        name, aside = f"{kind.lower()} {there + piece + 1}", (piece + 0.5 - number / 2) * _SLICE
        x, z = (aside, 0.0) if asked.state.pose.quarter % 2 == 0 else (0.0, aside)
        point = pivot(name, whole.point.x + x, low, whole.point.z + z)
        pieces.append(base.Lying(f"{id}|{kind}_{piece + 1}", name, whole.at, point))
    ids = {one.id for one in pieces}
    sets = {name: getattr(layout, name) for name in ("dirty", "hot", "cold")}
    marks = {name: (found | ids) - {id} if id in found else found for name, found in sets.items()}
    return asked.after(things=(*(one for one in layout.things if one.id != id), *pieces), **marks)


def _all_set(asked: _Asked) -> _Done:
    """Make all dishes dirty, as ALFRED does with ``CanBeDirty``; other states, such as liquids, are not simulated."""
    if asked.arguments.get("StateChange") != "CanBeDirty":
        return asked.state
    return asked.after(dirty=frozenset(id for id in asked.every() if base.kind_in(id) in base.DIRTYABLE))


def _toggles_set(asked: _Asked) -> _Done:
    on = asked.layout.on
    for one in cast("list[Mapping[str, object]]", asked.arguments.get("objectToggles") or []):
        those = {id for id in asked.every() if base.kind_in(id) == one["objectType"]}
        on = on | those if one["isOn"] else on - those
    return asked.after(on=on)


ACTIONS: Mapping[str, Callable[[_Asked], _Done]] = {
    **{name: partial(_move, quarter) for quarter, name in enumerate(("MoveAhead", "MoveRight", "MoveBack", "MoveLeft"))},
    "RotateRight": partial(_turn, 1.0),
    "RotateLeft": partial(_turn, -1.0),
    "LookUp": partial(_tilt, -1.0, "up beyond"),
    "LookDown": partial(_tilt, 1.0, "down beyond"),
    "Teleport": _teleport,
    "TeleportFull": _teleport,
    "GetReachablePositions": lambda asked: (
        asked.state,
        [{"x": x * GRID, "y": base.HEIGHT, "z": z * GRID} for x, z in sorted(asked.scene.room.floor)],
    ),
    "GetInteractablePoses": _poses,
    "GetShortestPath": _path,
    "GetSpawnCoordinatesAboveReceptacle": _above,
    "DisableObject": _disable,
    "EnableObject": _enable,
    "PickupObject": _pick_up,
    "PutObject": _put,
    "DropHandObject": _drop,
    "SliceObject": _slice,
    **{
        name: partial(_mark, mark, bool(wanted), name)
        for mark, of in base.TABLE["marks"].items()
        for wanted, name in enumerate(of["actions"])
    },
    "SetStateOfAllObjects": _all_set,
    "SetObjectToggles": _toggles_set,
    "Pass": lambda asked: asked.state,
    "Done": lambda asked: asked.state,
}
"""The actions of AI2-THOR that the stand-in has, by name."""
