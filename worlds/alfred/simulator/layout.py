"""The state of a simulated household as an immutable value: its objects, free spots, frames, and visible objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from math import hypot
from typing import TYPE_CHECKING

from housequest.worlds.alfred.simulator import base
from housequest.worlds.rooms import stage
from housequest.worlds.rooms.render import Camera, Frame, Size, field, render
from housequest.worlds.rooms.room import AHEAD, Box, Fixture, Holder, Point, Pose, Room, Situation, kind_of
from housequest.worlds.rooms.stage import BOARD, Part, furniture, inner

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


HAND = "hand"  # The place of a held object.


@dataclass(frozen=True)
class Layout:
    """Everything that can change in a scene except the agent's pose. Sets are of ids; ``hot`` and ``cold`` are temperatures,
    and ``disabled`` things are removed until they are enabled."""

    things: tuple[base.Lying, ...]
    open: frozenset[str]
    on: frozenset[str]
    dirty: frozenset[str]
    hot: frozenset[str] = frozenset()
    cold: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()

    @cached_property
    def thing(self) -> Mapping[str, base.Lying]:
        return {one.id: one for one in self.things if one.id not in self.disabled}

    @cached_property
    def contents(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the objects directly in each receptacle."""
        found: dict[str, list[str]] = {}
        for one in self.thing.values():
            found.setdefault(one.at, []).append(one.id)
        return {at: tuple(ids) for at, ids in found.items()}

    @property
    def held(self) -> str | None:
        return next(iter(self.contents.get(HAND, ())), None)

    def around(self, id: str) -> Iterator[str]:
        """The ids of the receptacles around an object, innermost first, including ``HAND`` and ``FLOOR``."""
        while (one := self.thing.get(id)) is not None:
            yield one.at
            id = one.at

    def within(self, id: str) -> Iterator[str]:
        """The ids of all objects in a receptacle, at any depth."""
        for one in self.contents.get(id, ()):
            yield one
            yield from self.within(one)

    def moved(self, id: str, at: str, point: Point) -> Layout:
        """The layout with an object and its contents moved; it becomes the last in its new receptacle."""
        one = self.thing[id]
        dx, dy, dz = (a - b for a, b in zip(point, one.point, strict=True))
        along = frozenset(self.within(id))
        rest = [
            replace(other, point=Point(other.point.x + dx, other.point.y + dy, other.point.z + dz))
            if other.id in along
            else other
            for other in self.things
            if other.id != id
        ]
        return replace(self, things=(*rest, replace(one, at=at, point=point)))


@dataclass(frozen=True, slots=True)
class LayoutState:
    pose: Pose
    layout: Layout
    treated: base.Treated = frozenset()


def begun(scene: base.Scene) -> LayoutState:
    """The state at the start of an episode, with objects moved in front of coffee machines and within the rims of basins."""
    fixtures = {scene.ids[one.name]: one for one in scene.room.fixtures}
    things: list[base.Lying] = []
    for one in scene.things:
        at, point = fixtures.get(one.at), one.point
        if at is not None and at.kind.form == "basin":
            # The basin here is smaller than the game's.
            kind, rim = kind_of(one.name), at.box
            x = _rimmed(point.x, rim.x0, rim.x1, kind.width / 2 + BOARD)
            point = point._replace(x=x, z=_rimmed(point.z, rim.z0, rim.z1, kind.depth / 2 + BOARD))
        elif at is not None and at.name.startswith("coffeemachine "):
            point = before(at, one.name)
        things.append(one if point is one.point else replace(one, point=point))
    return LayoutState(scene.start, Layout(tuple(things), scene.open, scene.on, scene.dirty))


def _rimmed(at: float, low: float, high: float, share: float) -> float:
    return min(max(at, low + share), high - share) if high - low > 2 * share else (low + high) / 2


def before(machine: Fixture, name: str) -> Point:
    """The point of an object of this name in front of a machine without an inside."""
    middle, (dx, dz) = machine.box.centre, AHEAD[machine.front]
    out = machine.box.spans(machine.front)[1] / 2 + kind_of(name).depth / 2
    return stage.pivot(name, middle.x + dx * out, machine.box.y0, middle.z + dz * out)


def fixtures(scene: base.Scene) -> Iterator[tuple[str, Fixture]]:
    """The id of each fixture and piece of scenery that is an object."""
    for one in (*scene.room.fixtures, *scene.room.scenery):
        if (id := scene.ids.get(one.name)) is not None:
            yield id, one


def box_at(one: base.Lying) -> Box:
    return stage.box_at(one.name, one.point)


def apart(pose: Pose, box: Box) -> float:
    """The distance along the floor from ``pose`` to the nearest point of a box."""
    return hypot(max(0.0, box.x0 - pose.x, pose.x - box.x1), max(0.0, box.z0 - pose.z, pose.z - box.z1))


def listed(scene: base.Scene, state: LayoutState) -> tuple[base.SimulatedObject, ...]:
    """All objects, sorted by id."""
    layout, receptacles = state.layout, {scene.ids[one.name] for one in scene.room.fixtures}
    there: list[tuple[str, str, Point, Box, base.Lying | None]] = []
    for id, one in fixtures(scene):
        # For a counter, the piece nearest to the agent.
        there.append((id, one.name, one.box.centre, min(one.boxes, key=lambda box: apart(state.pose, box)), None))
    there += [(thing.id, thing.name, thing.point, box_at(thing), thing) for thing in layout.thing.values()]
    found: list[base.SimulatedObject] = []
    for id, name, point, box, thing in there:
        kind = base.kind_in(id)
        one = base.SimulatedObject(
            id,
            kind,
            name,
            base.label_of(id),
            point,
            box,
            0.0 if HAND in layout.around(id) else apart(state.pose, box),
            pickupable=thing is not None and thing.pickupable,
            receptacle=id in receptacles if thing is None else kind in base.MOVABLE,
            openable=id in scene.openable,
            toggleable=kind in base.TOGGLEABLE,
            sliceable=kind in base.SLICES,
            dirtyable=kind in base.DIRTYABLE,
            open=id in layout.open,
            on=id in layout.on,
            sliced=id.count("|") > 3 and thing is not None,
            dirty=id in layout.dirty,
            temperature="Hot" if id in layout.hot else "Cold" if id in layout.cold else "RoomTemp",
            parents=tuple(at for at in layout.around(id) if at not in (HAND, base.FLOOR)),
            contents=layout.contents.get(id, ()),
        )
        found.append(one)
    return tuple(sorted(found, key=lambda one: one.id))


_BESIDE = 0.12
_BELOW = 0.25
_ABOVE = 0.6
_STEP = 0.06
_MOST = 300
_SHELF = 0.12
_APART, _CLEAR = 0.1, 0.05
_PILES = ("cupboard", "drawer", "basin")


def holder(scene: base.Scene, kind: str, point: Point) -> str:
    """The id of the receptacle that holds an object at ``point``: the nearest, preferably one for its kind, or the floor."""
    x, y, z = point

    def away(one: Fixture, box: Box) -> float:
        """The cost of the point for a box of a receptacle; infinite if it is neither in nor on it."""
        if not box.grown(_BESIDE).over(x, z) or not box.y0 - _BELOW < y < box.y1 + _ABOVE:
            return float("inf")
        top = box.y0 + one.kind.surface * (box.y1 - box.y0)
        low, high = (box.y0, box.y1) if one.kind.form in _PILES else (top, top)
        beside = max(0.0, box.x0 - x, x - box.x1) + max(0.0, box.z0 - z, z - box.z1)
        # If two receptacles fit, the smaller one is cheaper.
        return max(0.0, low - y, y - high) + 2 * beside + 0.02 * min(3.0, (box.x1 - box.x0) * (box.z1 - box.z0))

    costs: dict[str, float] = {}
    for one in scene.room.fixtures:
        takes = kind in scene.accepts.get(base.kind_in(scene.ids[one.name]), frozenset[str]())
        costs[scene.ids[one.name]] = min(away(one, box) for box in one.boxes) + (0.0 if takes else 0.3)
    best = min(costs, key=lambda id: costs[id], default=base.FLOOR)
    return best if costs.get(best, 0.0) < float("inf") else base.FLOOR


def settled(scene: base.Scene, one: base.Lying, point: Point) -> base.Lying:
    """The object at a new point, in the receptacle that is there."""
    return replace(one, point=point, at=holder(scene, base.kind_in(one.id), point))


ARM = 1.6  # An agent's reach, in metres.


def spots(scene: base.Scene, layout: Layout, pose: Pose, name: str, at: str, arm: float = ARM) -> list[tuple[Point, Point]]:
    """The free spots for an object of this name in a receptacle within ``arm`` metres, nearest to the camera first: the
    object's point, and its middle as drawn, which in an open drawer is farther out."""
    kind, thing = kind_of(name), stage.box_of(kind_of(name))
    wide, long = thing.x1 - thing.x0, thing.z1 - thing.z0
    laid = [box_at(layout.thing[id]) for id in layout.contents.get(at, ())]
    fixture, out = _fixture(scene, at), (0.0, 0.0)
    if fixture is not None and fixture.name.startswith("coffeemachine "):
        point = before(fixture, name)
        return [] if laid else [(point, point)]
    if fixture is not None and fixture.kind.form == "drawer" and at in layout.open:
        deep = fixture.box.spans(fixture.front)[1]
        out = AHEAD[fixture.front][0] * deep, AHEAD[fixture.front][1] * deep
    piles = fixture is not None and fixture.kind.form in _PILES
    found: list[tuple[Point, Point]] = []
    for share in (1.0, 0.5, 0.0) if piles else (1.0, 0.5):
        margin = max(share, 0.3)
        for area, level in _surfaces(scene, layout, fixture, at):
            for x, z in product(_steps(area.x0, area.x1, wide * margin), _steps(area.z0, area.z1, long * margin)):
                if hypot(x + out[0] - pose.x, z + out[1] - pose.z) >= arm:
                    continue
                box = thing.moved(x, level, z).grown(-(1 - share) * min(wide, long) / 2)
                if not share or not any(box.meets(other) and abs(box.y0 - other.y0) < 0.3 for other in laid):
                    middle = Point(x + out[0], level + 0.6 * kind.height, z + out[1])
                    found.append((stage.pivot(name, x, level, z), middle))
        if found:
            break
    found.sort(key=lambda one: hypot(one[1].x - pose.x, one[1].y - scene.eye, one[1].z - pose.z))
    return found[:_MOST]


def _surfaces(scene: base.Scene, layout: Layout, fixture: Fixture | None, at: str) -> Iterator[tuple[Box, float]]:
    if fixture is None:
        outer = layout.thing.get(at)
        yield from () if outer is None else ((box_at(outer), box_at(outer).y1),)
        return
    kind = fixture.kind
    for box in fixture.boxes:
        yield box, box.y0 + (BOARD if kind.form in _PILES else kind.surface * (box.y1 - box.y0))
    if kind.form == "cupboard":
        # The cupboard's boards are at the heights of its first objects.
        levels = sorted(box_at(one).y0 for one in scene.things if one.at == at)
        for number, level in enumerate(levels):
            if not number or level - levels[number - 1] > _SHELF:
                yield fixture.box, level


def above(scene: base.Scene, layout: Layout, at: str) -> list[Point]:
    """Points just above the surfaces of a receptacle, for `GetSpawnCoordinatesAboveReceptacle`."""
    surfaces = _surfaces(scene, layout, _fixture(scene, at), at)
    return [
        Point(x, level + _CLEAR, z)
        for area, level in surfaces
        for x, z in product(_steps(area.x0, area.x1, _APART), _steps(area.z0, area.z1, _APART))
    ]


def _steps(low: float, high: float, size: float) -> Sequence[float]:
    """The places between two ends for the middle of an object of this size; at least the middle."""
    low, high = low + size / 2, high - size / 2
    number = max(1, round((high - low) / _STEP))
    return [low + (high - low) * step / number for step in range(number + 1)] if high > low else [(low + high) / 2]


def deepest(scene: base.Scene, at: str, points: Sequence[Point]) -> Point:
    """The first of ``points`` in a receptacle; in a basin the one farthest back, since its front hides the nearer ones."""
    fixture = _fixture(scene, at)
    if fixture is None or fixture.kind.form != "basin":
        return points[0]
    dx, dz = AHEAD[fixture.front]
    return min(points, key=lambda point: dx * point.x + dz * point.z)


def _fixture(scene: base.Scene, id: str) -> Fixture | None:
    return next((one for one in scene.room.fixtures if scene.ids[one.name] == id), None)


LEAST = 8  # The pixels that an object in the picture has, of the 90,000 of ALFRED's camera.
_GROUND = "floor 1"
_RAYS = 10  # The most rays cast at an object, across and down.
_NEAR = 0.05
_REACHED = 0.98
_LAYOUTS = 64


@dataclass(frozen=True)
class Sight:
    """The view of a state in an event, computed once when it is needed."""

    scene: base.Scene
    state: LayoutState

    @cached_property
    def objects(self) -> tuple[base.SimulatedObject, ...]:
        return listed(self.scene, self.state)

    @cached_property
    def visible(self) -> frozenset[str]:
        return visible(self.scene, self.state)

    def frame(self, size: Size, field: float) -> Frame:
        """The camera's frame, named by ids. The held object is not drawn."""
        return render(_drawn(self.scene, self.state.layout)[0], _camera(self.scene, self.state.pose, field), size)


def visible(scene: base.Scene, state: LayoutState, ids: Iterable[str] | None = None) -> frozenset[str]:
    """The objects, among ``ids`` if given, that are in ALFRED's picture and near enough to act on, or held."""
    (parts, boxes, owners), pose = _drawn(scene, state.layout), state.pose
    held = frozenset(state.layout.within(HAND))
    wanted = owners.keys() if ids is None else set(ids)
    near = {id: owners[id] for id in wanted if any(apart(pose, parts[part].box) <= base.VISIBLE for part in owners.get(id, ()))}
    return frozenset(_shown(boxes, _camera(scene, pose), near)) | (held if ids is None else held & wanted)


def unhidden(scene: base.Scene, state: LayoutState, points: Sequence[Point]) -> list[bool]:
    """For each point, True if it is in ALFRED's picture with nothing in front of it."""
    import numpy as np

    camera = _camera(scene, state.pose)
    rays = np.array(points, np.float64).reshape(-1, 3) - np.array(camera.eye)
    u, v, depth = ((rays * np.array(axis)).sum(axis=1) for axis in camera.axes())
    limit = camera.scale * np.maximum(depth, _NEAR)
    inside = (depth > _NEAR) & (np.abs(u) <= limit * base.SIZE[0] / base.SIZE[1]) & (np.abs(v) <= limit)
    enters = _crossed(_drawn(scene, state.layout)[1], camera, rays)
    return [bool(one) for one in inside & ~(enters < _REACHED).any(axis=1)]


@lru_cache(maxsize=_LAYOUTS)
def _drawn(scene: base.Scene, layout: Layout) -> tuple[tuple[Part, ...], NDArray[float64], Mapping[str, list[int]]]:
    """The boxes of a layout, walls and floor first; the same as an array; and the indices of each object's boxes."""
    import numpy as np

    names = {**scene.ids, **{one.name: one.id for one in layout.things}}
    # Objects on the floor are drawn as if in a receptacle, which has no box itself.
    furnished = (Part(part.box, part.colour, names.get(part.name or "")) for part in furniture(*_known(scene, layout)))
    parts, owners = (*inner(scene.room), *furnished), dict[str, list[int]]()
    for index, part in enumerate(parts):
        if part.name is not None:
            owners.setdefault(part.name, []).append(index)
    return parts, np.array([part.box for part in parts], np.float64).reshape(-1, 2, 3), owners


def _camera(scene: base.Scene, pose: Pose, degrees: float = base.FIELD) -> Camera:
    return Camera(Point(pose.x, scene.eye, pose.z), pose.yaw, pose.pitch, field(degrees))


def _known(scene: base.Scene, layout: Layout) -> tuple[Room, Situation]:
    """The room and situation for `housequest.worlds.rooms` to draw: everything is known, each object at its own point."""
    room = scene.room
    ground = Fixture(_GROUND, room.walls._replace(y0=-0.05, y1=0.0))
    holders: list[Holder] = []
    homes: dict[tuple[str, str], Point] = {}
    for one in (*room.fixtures, ground):
        id = scene.ids.get(one.name, base.FLOOR)
        inside = [layout.thing[thing] for thing in layout.within(id)]
        homes.update({(thing.name, one.name): thing.point for thing in inside})
        opens = id in scene.openable and base.kind_in(id) in base.ENCLOSING
        openness = ("open" if id in layout.open else "closed") if opens else "surface"
        holders.append(Holder(one.name, True, openness, tuple(thing.name for thing in inside)))
    lamps = (one for one in layout.thing.values() if one.id in layout.on and base.kind_in(one.id) in base.LAMPS)
    situation = Situation(room.start, None, tuple(holders), states=frozenset((one.name, "on") for one in lamps))
    fixtures = (*room.fixtures, ground) if layout.contents.get(base.FLOOR) else room.fixtures
    return replace(room, fixtures=fixtures, homes=homes), situation


def _shown(boxes: NDArray[float64], camera: Camera, owners: Mapping[str, list[int]]) -> list[str]:
    """The objects with at least ``LEAST`` pixels in ALFRED's picture, estimated by rays through some of its pixels."""
    import numpy as np

    step = 2 * camera.scale / base.SIZE[1]
    right, up, ahead = (np.array(axis) for axis in camera.axes())
    rays: list[NDArray[float64]] = []
    asked: list[tuple[str, float]] = []
    for id, own in owners.items():
        found = _rectangle(boxes[own], camera)
        if found is not None:
            columns, rows, weight = found
            us, vs = (columns + 0.5 - base.SIZE[0] / 2) * step, (base.SIZE[1] / 2 - rows - 0.5) * step
            rays.append((ahead + us[None, :, None] * right + vs[:, None, None] * up).reshape(-1, 3))
            asked.append((id, weight))
    if not rays:
        return []
    first = _crossed(boxes, camera, np.concatenate(rays)).argmin(axis=1)
    hits = np.split(first, np.cumsum([len(one) for one in rays])[:-1])
    return [id for (id, weight), hit in zip(asked, hits, strict=True) if weight * np.isin(hit, owners[id]).sum() >= LEAST]


def _rectangle(boxes: NDArray[float64], camera: Camera) -> tuple[NDArray[float64], NDArray[float64], float] | None:
    """A sample of the pixels that boxes may cover: columns, rows, and the weight of each pixel; None if there are none."""
    import numpy as np

    corners = np.stack([boxes[:, [x, y, z], [0, 1, 2]] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) - np.array(camera.eye)
    u, v, depth = ((corners * np.array(axis)).sum(axis=-1).ravel() for axis in camera.axes())
    if (depth <= _NEAR).all():
        return None
    width, height = base.SIZE
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
    """For each ray and box, the distance at which the ray enters it; infinite if it does not."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / np.where(rays == 0, 1e-12, rays)
    near, far = np.full((len(rays), len(boxes)), -np.inf), np.full((len(rays), len(boxes)), np.inf)
    for axis, eye in enumerate(camera.eye):
        one, other = ((boxes[:, side, axis] - eye)[None, :] * inverse[:, axis, None] for side in (0, 1))
        np.maximum(near, np.minimum(one, other), out=near)
        np.minimum(far, np.maximum(one, other), out=far)
    return np.where((near <= far) & (near > _NEAR), near, np.inf)
