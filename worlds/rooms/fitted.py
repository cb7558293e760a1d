"""Fixtures that are built into one another: counters over drawers and cabinets, and what stands on them or is let into them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice

from housequest.worlds.rooms.poses import GRID, Point
from housequest.worlds.rooms.room import Box, Cell, Fixture

BODY = 0.2
"""Nothing stands closer than this to a cell where somebody stands, in metres."""
_COUNTER = 2.5
_MARGIN = 0.06
_DEEPEST = 0.4
_WORKTOP = 1.05
_GAP = 0.9
_LONGEST_RUN = 80
_MOST_HOLES = 12
_MOST_PIECES = 400


def fitted(fixtures: Sequence[Fixture], stood: frozenset[Cell]) -> list[Fixture]:
    """The fixtures as they fit together, clear of the cells where somebody ``stood``."""
    return _protruding(_joined(_lifted(fixtures), stood))


def clear(box: Box, point: Point, stood: frozenset[Cell]) -> Box:
    """The box cut so that nobody who stands touches it; each cut takes the side that costs least, never the point itself."""
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
    """What stands on a counter, or is let into it, is lifted to its top where the counter would swallow it."""
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
    """Counters as they run: under what stands on them, over the drawers and cabinets below, and on through small gaps; clear
    of who stands there, and open where a basin is.
    """
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
    """What fills the small gaps of a counter, between two of its boxes along one wall."""
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
    """How far two boxes are from each other, seen from above."""
    dx = max(0.0, one.x0 - other.x1, other.x0 - one.x1)
    dz = max(0.0, one.z0 - other.z1, other.z0 - one.z1)
    return (dx * dx + dz * dz) ** 0.5


def _protruding(fixtures: list[Fixture]) -> list[Fixture]:
    """Drawers and doors reach just out of the furniture in which they are."""
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
