"""Makes a room from coordinates: boxes for its receptacles and scenery, walls round them, and the floor between. It uses no
coordinate of a movable thing, so that no picture tells where one lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice
from typing import NamedTuple

from housequest.worlds.rooms.room import AHEAD, GRID, Box, Cell, Fixture, Kind, Point, Pose, Room, Side, kind_of, walkable

BODY = 0.2  # free space round a cell where somebody stands, in metres
_COUNTER = 2.5
_MARGIN = 0.06
_DEEPEST = 0.4
_WORKTOP = 1.05
_GAP = 0.9
_LONGEST_RUN = 80
_MOST_HOLES = 12
_MOST_PIECES = 400


def clear(box: Box, point: Point, stood: frozenset[Cell]) -> Box:
    """The box cut so that it touches nobody on the ``stood`` cells; each cut takes the cheapest side, never the point
    itself."""
    for x, z in sorted((x * GRID, z * GRID) for x, z in stood):
        if not box.grown(BODY).over(x, z):
            continue
        cuts = (
            (x + BODY - box.x0, box._replace(x0=min(x + BODY, point.x - 0.05))),
            (box.x1 - (x - BODY), box._replace(x1=max(x - BODY, point.x + 0.05))),
            (z + BODY - box.z0, box._replace(z0=min(z + BODY, point.z - 0.05))),
            (box.z1 - (z - BODY), box._replace(z1=max(z - BODY, point.z + 0.05))),
        )
        box = min(cuts, key=lambda cut: cut[0])[1]
    return box


def _lifted(fixtures: Sequence[Fixture]) -> list[Fixture]:
    """Lift things that stand on a counter or are let into it to its top, if the counter would swallow them."""
    tops = [one.box for one in fixtures if one.kind.form == "counter"]
    found: list[Fixture] = []
    for one in fixtures:
        box = one.box
        if one.kind.stands == "counter":
            over = [top.y1 for top in tops if _apart(top, box) < _COUNTER and 0 < top.y1 - (box.y1 - 0.02) < 0.3]
            if over:
                box = box.moved(y=max(over) + 0.02 - box.y1)
        found.append(replace(one, box=box))
    return found


def _joined(fixtures: list[Fixture], stood: frozenset[Cell]) -> list[Fixture]:
    """Extend counters under and over built-in things and across small gaps, and cut holes for basins."""
    counters = [one for one in fixtures if one.kind.form == "counter"]
    if not counters:
        return fixtures
    chests = [one.box for one in fixtures if one.kind.stands == "floor" and one.kind.form != "counter"]
    runs: dict[str, list[Fixture]] = {one.name: [one] for one in counters}
    for one in fixtures:
        box = one.box
        over = one.kind.stands == "counter" and 0.5 < box.y1 < 1.5
        under = one.kind.form in ("drawer", "cupboard") and one.kind.stands != "floor" and box.y1 < _WORKTOP
        if not (over or under) or any(chest.over(box.centre.x, box.centre.z) for chest in chests):
            continue
        nearest = min(counters, key=lambda counter: _apart(counter.box, box))
        run = (box if under else box.grown(_MARGIN))._replace(y0=0.0, y1=max(nearest.box.y1, box.y1 if under else 0.0))
        if over and one.kind.form != "basin":
            run = run._replace(y1=box.y0)
        runs[nearest.name].append(replace(one, box=clear(run, box.centre, stood)))
    holes = [one.box for one in fixtures if one.kind.form == "basin" and one.kind.stands == "counter"][:_MOST_HOLES]
    barred = [*chests, *(Box(x * GRID, 0, z * GRID, x * GRID, 0, z * GRID).grown(BODY) for x, z in stood)]

    def pieces(run: list[Fixture]) -> tuple[Box, ...]:
        boxes = [one.box for one in run]
        if len(run) <= _LONGEST_RUN:
            boxes += islice(_between(boxes, barred), _LONGEST_RUN)
        for hole in holes:
            boxes = [left for box in boxes for left in (box.without(hole) if box.y1 > hole.y0 else (box,))][:_MOST_PIECES]
        return tuple(boxes)

    return [replace(one, pieces=pieces(runs[one.name])) if one.name in runs else one for one in fixtures]


def _between(boxes: Sequence[Box], barred: Sequence[Box]) -> Iterator[Box]:
    """Boxes that fill the small gaps of a counter, between two of its boxes along one wall."""
    for one, other in combinations(boxes, 2):
        for axis, along in ((0, 2), (2, 0)):
            low, high = max(one[axis], other[axis]), min(one[axis + 3], other[axis + 3])
            begins, ends = min(one[along + 3], other[along + 3]), max(one[along], other[along])
            if high - low > 0.25 and 0 < ends - begins < _GAP:
                sides = {axis: low, axis + 3: high, along: begins, along + 3: ends, 1: 0.0, 4: min(one.y1, other.y1)}
                box = Box(*(sides[place] for place in range(6)))
                if not any(box.meets(bar) for bar in barred):
                    yield box


def _apart(one: Box, other: Box) -> float:
    """The distance between two boxes, seen from above."""
    dx = max(0.0, one.x0 - other.x1, other.x0 - one.x1)
    dz = max(0.0, one.z0 - other.z1, other.z0 - one.z1)
    return (dx * dx + dz * dz) ** 0.5


def _protruding(fixtures: list[Fixture]) -> list[Fixture]:
    """Let drawers and doors reach just out of the furniture that they are in."""
    solid = [box for one in fixtures if one.kind.form in ("solid", "counter", "table") for box in one.boxes]
    found: list[Fixture] = []
    for one in fixtures:
        box = one.box
        if one.kind.form in ("drawer", "cupboard") and one.kind.stands != "floor":
            around = (other for other in solid if other.y0 < box.centre.y < other.y1 and other.meets(box))
            ahead = box.ahead(one.front)
            behind = [by for other in around if 0 <= (by := other.ahead(one.front) - ahead) < _DEEPEST]
            if behind:
                box = box.extended(one.front, max(behind) + 0.012)
        found.append(replace(one, box=box))
    return found


ON_FLOOR = 0.25  # a standing thing's pivot below this is at its bottom; a higher one is at its top
BEYOND = 0.5  # the floor beyond the outermost standing places, in metres
ASIDE = 0.3  # the floor ends this far from the walls, in metres
WALLS = 2.6  # the least height of a room, in metres
MAX_FIXTURES = 400  # receptacles that are drawn, and pieces of scenery: several times what a published game has
_NEAR_SINK = 0.05
_THIN = 0.15
_BACKED = ("sofa", "armchair", "bed")
_FACING = ("dresser", "tvstand", "toilet", "fridge")
_HINGES_MEET = 1.1
_BACK_TO_BACK = 0.12


class Located(NamedTuple):
    """A receptacle or a piece of scenery with its point in the game, and the standing place before it."""

    name: str
    point: Point
    place: Pose | None = None


def furnish(
    receptacles: Sequence[Located], scenery: Sequence[Located], start: Pose, homes: Mapping[tuple[str, str], Point]
) -> Room:
    """The room of things with coordinates. Each receptacle has a place, or is taken to face the middle."""
    receptacles, scenery = receptacles[:MAX_FIXTURES], scenery[:MAX_FIXTURES]
    stood = frozenset({start.cell, *(one.place.cell for one in receptacles if one.place)})
    cells = [(x * GRID, z * GRID) for x, z in stood]
    points = [(one.point.x, one.point.z) for one in (*receptacles, *scenery)]
    xs, zs = zip(*points, *((x + by, z + by) for x, z in cells for by in (-BODY, BODY)), strict=True)
    bounds = Box(min(xs), 0.0, min(zs), max(xs), WALLS, max(zs)).grown(0.02)
    basins = [one.point for one in receptacles if kind_of(one.name).form == "basin"]
    scenery = [
        one for one in scenery if not any(max(abs(one.point.x - at.x), abs(one.point.z - at.z)) < _NEAR_SINK for at in basins)
    ]
    fixtures = [_fixture(one, receptacles, bounds, stood) for one in receptacles]
    fixtures = _protruding(_joined(_lifted(fixtures), stood))
    drawn = [_fixture(one, receptacles, bounds, stood) for one in scenery]
    walls = bounds
    for one in fixtures:
        for box in (one.box, *one.pieces):
            walls = walls.united(box)
    walls = walls._replace(y0=0.0, y1=max(WALLS, walls.y1 + 0.1))
    xs, zs = zip(*cells, strict=True)
    wide, within = Box(min(xs), 0.0, min(zs), max(xs), 0.0, max(zs)).grown(BEYOND + 0.01), walls.grown(-ASIDE)
    reach = Box(max(wide.x0, within.x0), 0.0, max(wide.z0, within.z0), min(wide.x1, within.x1), 0.0, min(wide.z1, within.z1))
    floor = walkable(reach, (*fixtures, *drawn), stood, start.cell)
    return Room(walls, tuple(fixtures), tuple(drawn), start, floor, homes)


def _fixture(one: Located, others: Sequence[Located], bounds: Box, stood: frozenset[Cell]) -> Fixture:
    kind, point = kind_of(one.name), one.point
    width, height, depth = (kind.width, kind.height, kind.depth) if kind.known else (0.6, 0.8, 0.5)
    front = (one.place.quarter + 2) % 4 if one.place else _inward(point, bounds)
    if one.place and (kind.form == "drawer" or (kind.form == "cupboard" and kind.stands == "wall")):
        front = _in_row(one, one.place, front, others)
    low, high = _upright(kind, point.y, height)
    if kind.stands == "wall":
        # A thin thing's point is at the wall, a shelf's in its middle.
        depth = 2 * depth if depth < _THIN and kind.form != "cupboard" else depth
    elif kind.stands == "floor" and kind.form != "basin":
        around = [other.point for other in others if other is not one and kind_of(other.name).form != "drawer"]
        turns = (0, 1, 3, 2) if kind.form in ("table", "counter", "solid") and not one.name.startswith(_FACING) else (0,)
        # Preferably with its back to the nearest wall.
        inward = _inward(point, bounds) if one.name.startswith(_BACKED) else None

        def cost(turn: int) -> float:
            """The number of standing places and other things that it covers so turned, and its reach out of bounds."""
            side = (front + turn) % 4
            box = _box(point.x, point.z, side, width, depth, low, high)
            covered = sum(box.grown(0.1).over(x * GRID, z * GRID) for x, z in stood)
            swallowed = sum(box.over(other.x, other.z) and other.y < high for other in around)
            beyond = (bounds.x0 - box.x0, bounds.z0 - box.z0, box.x1 - bounds.x1, box.z1 - bounds.z1)
            outside = 2 * max(0.0, sum(max(0.0, by) for by in beyond) - 0.1)
            return covered + swallowed + outside + 0.02 * (turn != 0) + 0.2 * (inward not in (None, side))

        front = (front + min(turns, key=cost)) % 4
    if kind.form == "cupboard" and kind.stands == "wall":
        box = _cupboard(one, others, front, width, depth, low, high)
    else:
        box = _box(point.x, point.z, front, width, depth, low, high)
    if low < 1.2 and high > 0.05:
        box = clear(box, point, stood)
    return Fixture(one.name, box, front, one.place)


def _upright(kind: Kind, y: float, height: float) -> tuple[float, float]:
    """Bottom and top of a thing with its pivot at ``y``."""
    if kind.stands == "floor":
        if kind.form == "counter":
            return 0.0, y if y >= ON_FLOOR else height
        if kind.form == "basin" or kind.scenery or kind.form == "cupboard":
            return 0.0, height
        top = y / kind.surface if y >= ON_FLOOR else height
        # A bed as high as that is a loft.
        return (0.0, top) if top < 2 * height else (y - kind.surface * height, y + (1 - kind.surface) * height)
    if kind.form == "basin":
        # The point is that of the whole sink: its rim, unless it stands on the floor.
        top = y if y >= ON_FLOOR else 0.92
        return max(0.0, top - max(height, 0.22)), top + 0.02
    low = y - kind.pivot * height
    return low, low + height


def _box(x: float, z: float, front: Side, width: float, depth: float, low: float, high: float) -> Box:
    across, along = (width / 2, depth / 2) if front % 2 == 0 else (depth / 2, width / 2)
    return Box(x - across, low, z - along, x + across, high, z + along)


def _inward(point: Point, bounds: Box) -> Side:
    """The side away from the nearest wall."""
    distances = (point.z - bounds.z0, point.x - bounds.x0, bounds.z1 - point.z, bounds.x1 - point.x)
    return min(range(4), key=lambda side: distances[side])


def _in_row(one: Located, place: Pose, front: Side, others: Sequence[Located]) -> Side:
    """The front of a drawer or cabinet: the side of its standing place, unless its row of neighbours faces another way."""
    rows = [0, 0]
    for other in others:
        apart = abs(other.point.x - one.point.x), abs(other.point.z - one.point.z)
        if kind_of(other.name) is kind_of(one.name):
            for axis in (0, 1):
                rows[axis] += apart[axis] < 0.04 and 0.1 < apart[1 - axis] < 1.5
    from_x, from_z = place.x - one.point.x, place.z - one.point.z
    # A row along z faces +x or -x.
    if front % 2 == 0 and rows[0] > rows[1] and abs(from_x) > 0.2:
        return 1 if from_x > 0 else 3
    if front % 2 == 1 and rows[1] > rows[0] and abs(from_z) > 0.2:
        return 0 if from_z > 0 else 2
    return front


def _cupboard(one: Located, others: Sequence[Located], front: Side, width: float, depth: float, low: float, high: float) -> Box:
    """A cabinet. Its point is the hinge at an edge of the door; the doors of neighbours meet in the middle between hinges."""
    dx, dz = AHEAD[front]
    back = Point(one.point.x - dx * depth / 2, 0, one.point.z - dz * depth / 2)
    # Left and right along the wall.
    ax, az = AHEAD[(front + 1) % 4]
    near: list[tuple[float, float]] = []
    for other in others:
        if other is one or kind_of(other.name) is not kind_of(one.name) or abs(other.point.y - one.point.y) > 0.3:
            continue
        along = (other.point.x - one.point.x) * ax + (other.point.z - one.point.z) * az
        apart = (other.point.x - one.point.x) * dx + (other.point.z - one.point.z) * dz
        if abs(apart) < 0.3 and abs(along) < _HINGES_MEET:
            near.append((abs(along), along))
    side, span = 1.0, width
    if near:
        distance, along = min(near)
        towards = 1.0 if along > 0 else -1.0
        if distance < _BACK_TO_BACK:
            side = -towards or (1.0 if one.name < "cabinet" else -1.0)
        else:
            side, span = towards, min(max(distance / 2, 0.25), 0.55)
    return _box(back.x + side * ax * span / 2, back.z + side * az * span / 2, front, span, depth, low, high)
