"""What somebody sees in a simulated household: the frame, and, without drawing one, which objects stand in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from housequest.worlds.alfred.simulator.base import (
    ENCLOSING,
    FIELD,
    FLOOR,
    LAMPS,
    SIZE,
    VISIBLE,
    Scene,
    SimulatedObject,
    kind_in,
)
from housequest.worlds.alfred.simulator.layout import HAND, Layout, State, apart, listed
from housequest.worlds.rooms.render import Camera, Frame, Size, field, render
from housequest.worlds.rooms.room import Fixture, Holder, Point, Pose, Room, Situation
from housequest.worlds.rooms.stage import Part, furniture, inner

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

LEAST = 8
"""An object is in the picture if so many of the 90,000 pixels of ALFRED's camera are its own."""
_GROUND = "floor 1"
_RAYS = 10
"""So many rays are cast across and down at an object that is larger in the picture."""
_NEAR = 0.05
_REACHED = 0.98
_LAYOUTS = 64


@dataclass(frozen=True)
class Sight:
    """A `View` of a state; what is listed is listed once."""

    scene: Scene
    state: State

    @cached_property
    def objects(self) -> tuple[SimulatedObject, ...]:
        return listed(self.scene, self.state)

    @cached_property
    def visible(self) -> frozenset[str]:
        return visible(self.scene, self.state)

    def frame(self, size: Size, field: float) -> Frame:
        """What the camera sees; names are ids. What is held is not in it."""
        return render(_drawn(self.scene, self.state.layout).parts, _camera(self.scene, self.state.pose, field), size)


def visible(scene: Scene, state: State, ids: Iterable[str] | None = None) -> frozenset[str]:
    """Which of the objects, or of these ``ids``, one sees in ALFRED's picture near enough to act on; what is held counts."""
    drawn, pose = _drawn(scene, state.layout), state.pose
    held = frozenset(state.layout.within(HAND))
    wanted = drawn.owners.keys() if ids is None else set(ids)
    near = [id for id in wanted if any(apart(pose, drawn.parts[part].box) <= VISIBLE for part in drawn.owners.get(id, ()))]
    return frozenset(_shown(drawn, _camera(scene, pose), near)) | (held if ids is None else held & wanted)


def unhidden(scene: Scene, state: State, points: Sequence[Point]) -> list[bool]:
    """For each point, whether it is in ALFRED's picture and nothing is before it."""
    import numpy as np

    camera = _camera(scene, state.pose)
    rays = np.array(points, np.float64).reshape(-1, 3) - np.array(camera.eye)
    u, v, depth = ((rays * np.array(axis)).sum(axis=1) for axis in camera.axes())
    limit = camera.scale * np.maximum(depth, _NEAR)
    inside = (depth > _NEAR) & (np.abs(u) <= limit * SIZE[0] / SIZE[1]) & (np.abs(v) <= limit)
    enters = _crossed(_drawn(scene, state.layout).boxes, camera, rays)
    return [bool(one) for one in inside & ~(enters < _REACHED).any(axis=1)]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The boxes of a layout, those of walls and floor first; ``owners`` has the indices of each object's own."""

    parts: tuple[Part, ...]
    boxes: NDArray[float64]
    owners: Mapping[str, tuple[int, ...]]


@lru_cache(maxsize=_LAYOUTS)
def _drawn(scene: Scene, layout: Layout) -> _Drawn:
    import numpy as np

    names = {**scene.ids, **{one.name: one.id for one in layout.things}}
    room, situation = _known(scene, layout)
    parts = [*inner(scene.room)]
    for part in furniture(room, situation):
        id = names.get(part.name or "")
        # What lies on the floor is drawn on boards of a receptacle that is not there.
        parts.append(Part(part.box, part.colour, id))
    owners: dict[str, list[int]] = {}
    for index, part in enumerate(parts):
        if part.name is not None:
            owners.setdefault(part.name, []).append(index)
    boxes = np.array([part.box for part in parts], np.float64).reshape(-1, 2, 3)
    return _Drawn(tuple(parts), boxes, {id: tuple(found) for id, found in owners.items()})


def _known(scene: Scene, layout: Layout) -> tuple[Room, Situation]:
    """The room and its situation as `housequest.worlds.rooms` draws them: everything known, each thing at its own point."""
    room = scene.room
    ground = Fixture(_GROUND, room.walls._replace(y0=-0.05, y1=0.0))
    holders: list[Holder] = []
    homes: dict[tuple[str, str], Point] = {}
    for one in (*room.fixtures, ground):
        id = scene.ids.get(one.name, FLOOR)
        inside = [layout.thing[thing] for thing in layout.within(id)]
        homes.update({(thing.name, one.name): thing.point for thing in inside})
        opens = id in scene.openable and kind_in(id) in ENCLOSING
        openness = ("open" if id in layout.open else "closed") if opens else "surface"
        holders.append(Holder(one.name, True, openness, tuple(thing.name for thing in inside)))
    lit = frozenset(one.name for one in layout.things if one.id in layout.on and kind_in(one.id) in LAMPS)
    situation = Situation(room.start, None, tuple(holders), None, lit)
    fixtures = (*room.fixtures, ground) if layout.contents.get(FLOOR) else room.fixtures
    return replace(room, fixtures=fixtures, homes=homes), situation


def _camera(scene: Scene, pose: Pose, degrees: float = FIELD) -> Camera:
    return Camera(Point(pose.x, scene.eye, pose.z), pose.yaw, pose.pitch, field(degrees))


def _shown(drawn: _Drawn, camera: Camera, ids: Sequence[str]) -> list[str]:
    """Which of the objects have at least ``LEAST`` pixels in ALFRED's picture, by rays through some of its pixels."""
    import numpy as np

    step = 2 * camera.scale / SIZE[1]
    right, up, ahead = (np.array(axis) for axis in camera.axes())
    rays: list[NDArray[float64]] = []
    asked: list[tuple[str, float, int]] = []
    for id in ids:
        found = _rectangle(drawn.boxes[list(drawn.owners[id])], camera)
        if found is None:
            continue
        columns, rows, weight = found
        us, vs = (columns + 0.5 - SIZE[0] / 2) * step, (SIZE[1] / 2 - rows - 0.5) * step
        rays.append((ahead + us[None, :, None] * right + vs[:, None, None] * up).reshape(-1, 3))
        asked.append((id, weight, len(rays[-1])))
    if not rays:
        return []
    first = _crossed(drawn.boxes, camera, np.concatenate(rays)).argmin(axis=1)
    seen: list[str] = []
    at = 0
    for id, weight, number in asked:
        if weight * np.isin(first[at : at + number], drawn.owners[id]).sum() >= LEAST:
            seen.append(id)
        at += number
    return seen


def _rectangle(boxes: NDArray[float64], camera: Camera) -> tuple[NDArray[float64], NDArray[float64], float] | None:
    """Columns and rows of pixels that stand for those which boxes may cover, and for how many each stands; None for none."""
    import numpy as np

    corners = np.stack([boxes[:, [x, y, z], [0, 1, 2]] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) - np.array(camera.eye)
    u, v, depth = ((corners * np.array(axis)).sum(axis=-1).ravel() for axis in camera.axes())
    if (depth <= _NEAR).all():
        return None
    width, height = SIZE
    step = 2 * camera.scale / height
    if (depth <= _NEAR).any():
        left, right, top, bottom = 0.0, float(width), 0.0, float(height)
    else:
        columns, rows = u / depth / step + width / 2, height / 2 - v / depth / step
        left, right = max(0.0, float(columns.min())), min(float(width), float(columns.max()))
        top, bottom = max(0.0, float(rows.min())), min(float(height), float(rows.max()))
    if right <= left or bottom <= top:
        return None
    across = np.unique(np.floor(np.linspace(left, right, _RAYS + 2)[1:-1]))
    down = np.unique(np.floor(np.linspace(top, bottom, _RAYS + 2)[1:-1]))
    pixels = max(1.0, right - left) * max(1.0, bottom - top)
    return across, down, pixels / (len(across) * len(down))


def _crossed(boxes: NDArray[float64], camera: Camera, rays: NDArray[float64]) -> NDArray[float64]:
    """For each ray and box, where the ray enters it, infinite where it does not."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / np.where(rays == 0, 1e-12, rays)
    near, far = np.full((len(rays), len(boxes)), -np.inf), np.full((len(rays), len(boxes)), np.inf)
    for axis, eye in enumerate(camera.eye):
        one, other = ((boxes[:, side, axis] - eye)[None, :] * inverse[:, axis, None] for side in (0, 1))
        np.maximum(near, np.minimum(one, other), out=near)
        np.minimum(far, np.maximum(one, other), out=far)
    return np.where((near <= far) & (near > _NEAR), near, np.inf)
