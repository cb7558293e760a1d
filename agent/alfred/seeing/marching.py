"""How far it is to the nearest goal over free cells: the fast marching method (Sethian 1996), first order.

A front spreads from the goals; a cell's distance solves ``|grad d| = 1`` from those of its neighbours that the front has
passed. So ways are measured at any angle, and not by the turns of a grid.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from math import inf, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import bool_, float64
    from numpy.typing import NDArray


def distances(free: NDArray[bool_], goals: Iterable[tuple[int, int]]) -> NDArray[float64]:
    """The distance of each cell to the nearest of ``goals`` over cells that are ``free``, in cells; infinite where no way is.

    Goals that are not free, or outside, do not count.
    """
    import numpy as np

    rows: int = free.shape[0]
    columns: int = free.shape[1]
    # A border that is never free saves asking where the grid ends.
    width = columns + 2
    bordered = np.zeros((rows + 2, width), bool)
    bordered[1:-1, 1:-1] = free
    passable: list[bool] = bordered.ravel().tolist()
    far = [inf] * len(passable)
    passed = [inf] * len(passable)
    front: list[tuple[float, int]] = []
    for row, column in goals:
        cell = (row + 1) * width + column + 1
        if 0 <= row < rows and 0 <= column < columns and passable[cell]:
            far[cell] = 0.0
            heappush(front, (0.0, cell))
    while front:
        distance, cell = heappop(front)
        if passed[cell] <= distance:
            continue
        passed[cell] = distance
        for beside in (cell - 1, cell + 1, cell - width, cell + width):
            if passable[beside] and passed[beside] == inf:
                across = min(passed[beside - 1], passed[beside + 1])
                along = min(passed[beside - width], passed[beside + width])
                found = _solved(across, along)
                if found < far[beside]:
                    far[beside] = found
                    heappush(front, (found, beside))
    return np.array(passed).reshape(rows + 2, width)[1:-1, 1:-1]


def _solved(across: float, along: float) -> float:
    """The greater solution d of (d - across)^2 + (d - along)^2 = 1, of the terms that are less than d."""
    apart = across - along
    if apart >= 1 or apart <= -1 or across == along == inf:
        return min(across, along) + 1
    return (across + along + sqrt(2 - apart * apart)) / 2
