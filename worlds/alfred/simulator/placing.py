"""Where things lie in a simulated household: which receptacle is around a point, and where on one there is room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import hypot

from housequest.worlds.alfred.simulator.affordances import kind_in
from housequest.worlds.alfred.simulator.base import FLOOR, Lying, Scene
from housequest.worlds.alfred.simulator.layout import Layout, before, box_at
from housequest.worlds.rooms.room import AHEAD, Box, Fixture, Point, Pose, kind_of
from housequest.worlds.rooms.stage import BOARD, box_of, pivot

_BESIDE = 0.12
_BELOW = 0.25
_ABOVE = 0.6
_STEP = 0.06
_ARM = 1.6
_MOST = 300
_SHELF = 0.12
_PILES = ("cupboard", "drawer", "basin")


def holder(scene: Scene, kind: str, point: Point) -> str:
    """The id of the receptacle that holds what lies at ``point``: the nearest that takes its kind, else that of the floor."""
    best, least = FLOOR, float("inf")
    for one in scene.room.fixtures:
        id = scene.ids[one.name]
        takes = scene.accepts.get(kind_in(id), frozenset[str]())
        away = min(_away(one, box, point) for box in one.boxes)
        cost = away + (0.0 if kind in takes else 0.3)
        if cost < least:
            best, least = id, cost
    return best


def _away(one: Fixture, box: Box, point: Point) -> float:
    """How far a point is from where things lie in a box of a receptacle; infinite if it is not in or on it."""
    if not box.grown(_BESIDE).over(point.x, point.z) or not box.y0 - _BELOW < point.y < box.y1 + _ABOVE:
        return float("inf")
    top = box.y0 + one.kind.surface * (box.y1 - box.y0)
    low, high = (box.y0, box.y1) if one.kind.form in _PILES else (top, top)
    upright = max(0.0, low - point.y, point.y - high)
    beside = max(0.0, box.x0 - point.x, point.x - box.x1) + max(0.0, box.z0 - point.z, point.z - box.z1)
    # Of two that hold it, the smaller one does.
    return upright + 2 * beside + 0.02 * min(3.0, (box.x1 - box.x0) * (box.z1 - box.z0))


def spots(scene: Scene, layout: Layout, pose: Pose, name: str, at: str) -> list[tuple[Point, Point]]:
    """Where a thing of this name can be put in a receptacle, the nearest to the agent's eyes first.

    Each is the point of the thing and the middle of it as it is drawn, which in a drawer that is open is farther out.
    """
    kind, thing = kind_of(name), box_of(kind_of(name))
    wide, long = thing.x1 - thing.x0, thing.z1 - thing.z0
    laid = [box_at(layout.thing[id]) for id in layout.contents.get(at, ())]
    fixture = _fixture(scene, at)
    if fixture is not None and fixture.name.startswith("coffeemachine "):
        point = before(fixture, name)
        return [] if laid else [(point, point)]
    piles = fixture is not None and fixture.kind.form in _PILES
    found: list[tuple[Point, Point]] = []
    for share in (1.0, 0.5, 0.0) if piles else (1.0, 0.5):
        for area, level in _surfaces(scene, layout, fixture, at):
            shift = _slid(fixture, at in layout.open)
            for x, z in _grid(area, wide * max(share, 0.3), long * max(share, 0.3), pose, shift):
                box = thing.moved(x, level, z).grown(-(1 - share) * min(wide, long) / 2)
                if share and any(box.meets(other) and abs(box.y0 - other.y0) < 0.3 for other in laid):
                    continue
                found.append((pivot(name, x, level, z), Point(x + shift[0], level + 0.6 * kind.height, z + shift[1])))
        if found:
            break
    found.sort(key=lambda one: hypot(one[1].x - pose.x, one[1].y - scene.eye, one[1].z - pose.z))
    return found[:_MOST]


def deepest(scene: Scene, at: str, points: Sequence[Point]) -> Point:
    """The first of ``points`` in a receptacle; in a basin the one farthest back, since its front hides what lies behind it."""
    fixture = _fixture(scene, at)
    if fixture is None or fixture.kind.form != "basin":
        return points[0]
    dx, dz = AHEAD[fixture.front]
    return min(points, key=lambda point: dx * point.x + dz * point.z)


def _fixture(scene: Scene, id: str) -> Fixture | None:
    return next((one for one in scene.room.fixtures if scene.ids[one.name] == id), None)


def _slid(fixture: Fixture | None, opened: bool) -> tuple[float, float]:
    """How far a drawer is pulled out."""
    if fixture is None or fixture.kind.form != "drawer" or not opened:
        return 0.0, 0.0
    dx, dz = AHEAD[fixture.front]
    deep = fixture.box.spans(fixture.front)[1]
    return dx * deep, dz * deep


def _surfaces(scene: Scene, layout: Layout, fixture: Fixture | None, at: str) -> Iterator[tuple[Box, float]]:
    """The areas of a receptacle on which things are put, each with its height."""
    if fixture is None:
        if (outer := layout.thing.get(at)) is not None:
            box = box_at(outer)
            yield box, box.y1
        return
    kind = fixture.kind
    for box in fixture.boxes:
        if kind.form in _PILES:
            yield box, box.y0 + BOARD
        else:
            yield box, box.y0 + kind.surface * (box.y1 - box.y0)
    if kind.form == "cupboard":
        # On boards where something lay at the start.
        levels = sorted(box_at(one).y0 for one in scene.things if one.at == at)
        for number, level in enumerate(levels):
            if not number or level - levels[number - 1] > _SHELF:
                yield fixture.box, level


def _grid(area: Box, wide: float, deep: float, pose: Pose, shift: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """Points of an area that are within an arm's length, with a margin for what is put there; at least its middle."""
    for x in _steps(area.x0, area.x1, wide):
        for z in _steps(area.z0, area.z1, deep):
            if hypot(x + shift[0] - pose.x, z + shift[1] - pose.z) < _ARM:
                yield x, z


def _steps(low: float, high: float, size: float) -> Sequence[float]:
    low, high = low + size / 2, high - size / 2
    if high <= low:
        return ((low + high) / 2,)
    number = max(1, round((high - low) / _STEP))
    return [low + (high - low) * step / number for step in range(number + 1)]


def settled(scene: Scene, one: Lying, point: Point) -> Lying:
    """A thing that was put at a point, with the receptacle that is there."""
    return replace(one, point=point, at=holder(scene, kind_in(one.id), point))
