"""Where one can walk: the cells of the grid that no furniture covers, and the ways between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from math import ceil, floor

from housequest.worlds.rooms.poses import GRID
from housequest.worlds.rooms.room import AHEAD, Box, Cell, Fixture

LOW = 1.2
"""Somebody walks below what hangs higher, in metres."""
MAX_CELLS = 40_000
"""Cells of a room at most: 50 by 50 metres."""
_FLAT = 0.1


def walkable(reach: Box, fixtures: Iterable[Fixture], stood: frozenset[Cell], start: Cell) -> frozenset[Cell]:
    """The cells in ``reach`` that can be reached from ``start``. All of ``stood`` are among them: somebody did stand there, so
    where furniture is in the way it is the furniture's box that is too large, and the way through the least of it is free.
    """
    inside = set(_cells(reach)) | stood
    free = uncovered(reach, fixtures) | stood
    came = _ways(free, inside, start)
    for cell in stood:
        at: Cell | None = cell
        while at is not None:
            free.add(at)
            at = came.get(at)
    return frozenset(_ways(free, free, start))


def uncovered(reach: Box, fixtures: Iterable[Fixture]) -> set[Cell]:
    """The cells in ``reach`` where no furniture stands. Boxes are a little too large, so nothing is added for a body."""
    covered: set[Cell] = set()
    for one in fixtures:
        for box in one.boxes:
            if box.y0 < LOW and box.y1 > _FLAT:
                covered.update(_cells(box))
    return set(_cells(reach)) - covered


def with_way(floor: frozenset[Cell], walls: Box, cell: Cell) -> frozenset[Cell]:
    """``floor`` with a ``cell`` where somebody stands, and the way to it within ``walls`` that needs the fewest other cells."""
    if cell in floor or not floor:
        return floor
    at = walls.united(Box(cell[0] * GRID, 0.0, cell[1] * GRID, cell[0] * GRID, 0.0, cell[1] * GRID))
    came = _ways({*floor, cell}, {*floor, *_cells(at), cell}, min(floor))
    way = {cell}
    here = came.get(cell)
    while here is not None:
        way.add(here)
        here = came[here]
    return floor | way


def reached(free: set[Cell], start: Cell) -> set[Cell]:
    """The cells among ``free`` that can be reached from ``start``."""
    return set(_ways(free, free, start))


def _ways(free: set[Cell], inside: set[Cell], start: Cell) -> dict[Cell, Cell | None]:
    """For each cell ``inside``, the one before it on the way from ``start`` that has the fewest cells that are not free."""
    came: dict[Cell, Cell | None] = {start: None}
    cost = {start: 0}
    waiting = deque([start])
    done: set[Cell] = set()
    while waiting:
        here = waiting.popleft()
        if here in done:
            continue
        done.add(here)
        for cell in _around(here):
            if cell not in inside:
                continue
            extra = cell not in free
            if cell not in cost or cost[here] + extra < cost[cell]:
                cost[cell], came[cell] = cost[here] + extra, here
                (waiting.append if extra else waiting.appendleft)(cell)
    return came


def way(free: frozenset[Cell], start: Cell, end: Cell) -> tuple[Cell, ...]:
    """A shortest way over free cells, with both ends; empty if there is none."""
    came: dict[Cell, Cell | None] = {start: None}
    waiting = deque([start])
    while waiting and end not in came:
        here = waiting.popleft()
        for cell in _around(here):
            if cell in free and cell not in came:
                came[cell] = here
                waiting.append(cell)
    back: list[Cell] = []
    at: Cell | None = end if end in came else None
    while at is not None:
        back.append(at)
        at = came[at]
    return tuple(reversed(back))


def _cells(box: Box) -> Iterator[Cell]:
    """The cells whose middle is in the box, ``MAX_CELLS`` at most."""
    xs = range(ceil(box.x0 / GRID), floor(box.x1 / GRID) + 1)
    zs = range(ceil(box.z0 / GRID), floor(box.z1 / GRID) + 1)
    if len(xs) * len(zs) <= MAX_CELLS:
        for x in xs:
            for z in zs:
                yield x, z


def _around(cell: Cell) -> Iterator[Cell]:
    for x, z in AHEAD:
        yield cell[0] + x, cell[1] + z
