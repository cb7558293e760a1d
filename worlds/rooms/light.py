"""Light in the doll's house: a low sun, wooden boards, and the darkness where things touch.

It recolours a finished picture by its depths, and shows and hides nothing. Shadows come from a second picture, drawn from the
sun (Williams, "Casting Curved Shadows on Curved Surfaces", SIGGRAPH 1978); contact shadows darken pixels that lie deeper than
those around them (Luft, Colditz and Deussen, "Image Enhancement by Unsharp Masking the Depth Buffer", SIGGRAPH 2006). It uses
only sums, products, comparisons and integers, so pictures are equal wherever floats are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from housequest.worlds.rooms.render import Camera, Frame, depths, grid
from housequest.worlds.rooms.room import Box, Point
from housequest.worlds.rooms.stage import Part

if TYPE_CHECKING:
    from numpy import bool_, float32, int64
    from numpy.typing import NDArray

_SUN = -62.0, 50.0
"""The sun's direction: degrees right of the camera, and above the floor."""
_MAP = 400
"""The most pixels of the sun's picture, across and down."""
_BIAS = 0.05  # metres; a side does not shade itself
_LIT, _SHADED = (1.06, 1.01, 0.92), (0.68, 0.69, 0.79)
_BOARD, _LENGTH, _SEAM = 0.2, 1.3, 0.018  # metres of the floor's boards, and of the gaps between them
_WOOD, _TONES, _GAP = (196, 150, 102), 0.09, 0.84
_NEAR, _CONTACT, _RADIUS = 0.12, 0.36, 110
"""Contact shadows: the greatest difference of depth in metres, the darkness, and the picture's height over their radius."""


def lighten(frame: Frame, parts: Sequence[Part], camera: Camera, walls: Box) -> Frame:
    """The same picture by sunlight.

    Args:
        frame: The picture of ``parts`` by `render`; the first part is the floor.
        parts: The boxes.
        camera: A camera in parallel projection.
        walls: The house.

    Returns:
        A picture with the same depths and things.
    """
    import numpy as np

    there = np.isfinite(frame.depth)
    depth = np.where(there, frame.depth, frame.depth[there].max() if there.any() else np.float32(0))
    us, vs = grid(camera, frame.size)
    places = us[None], vs
    factors = np.where(
        _shaded(parts, camera, walls, places, depth)[..., None], np.array(_SHADED, np.float32), np.array(_LIT, np.float32)
    )
    factors *= _contact(depth)[..., None]
    rgb = frame.rgb * factors
    rows, columns = np.nonzero(
        there & (frame.ids < 0) & (np.abs(_along(1, places, depth, camera) - np.float32(walls.y0)) < 0.004)
    )
    on_floor = places[0][:, columns], places[1][rows].T, depth[rows, columns]
    x, z = (_along(axis, on_floor[:2], on_floor[2], camera)[0] for axis in (0, 2))
    rgb[rows, columns] = _boards(x, z) * factors[rows, columns]
    lit = np.minimum(rgb, 255).astype(np.uint8) & np.uint8(0xFC)
    lit = np.where(there[..., None], lit, frame.rgb)
    lit.flags.writeable = False
    return replace(frame, rgb=lit)


Grid = tuple["NDArray[float32]", "NDArray[float32]"]
"""Metres to the right and upwards in a picture: a row for its columns, a column for its rows."""


def _along(axis: int, places: Grid, depth: NDArray[float32], camera: Camera) -> NDArray[float32]:
    """The x, y or z of the points that pixels show, in metres."""
    return _seen(places, depth, camera, tuple(float(n == axis) for n in range(3)), (0.0, 0.0, 0.0))


def _seen(
    places: Grid, depth: NDArray[float32], camera: Camera, axis: Sequence[float], origin: Sequence[float]
) -> NDArray[float32]:
    """The distances along ``axis`` from ``origin`` of the points that pixels show: linear in their places and depths."""
    import numpy as np

    across, up, ahead = (np.float32(sum(a * b for a, b in zip(one, axis, strict=True))) for one in camera.axes())
    begin = np.float32(sum((a - b) * c for a, b, c in zip(camera.eye, origin, axis, strict=True)))
    return (places[0] * across + (places[1] * up + begin) + depth * ahead).astype(np.float32, copy=False)


def _shaded(parts: Sequence[Part], camera: Camera, walls: Box, places: Grid, depth: NDArray[float32]) -> NDArray[bool_]:
    """True for each pixel that the sun does not reach."""
    import numpy as np

    across = min(_MAP, 2 * max(depth.shape))
    sun = Camera(Point(0, 0, 0), camera.yaw + _SUN[0], _SUN[1], 1.0, parallel=True)
    right, up, ahead = sun.axes()
    half = max(sum(abs(b - a) / 2 * abs(c) for a, b, c in zip(walls[:3], walls[3:], axis, strict=True)) for axis in (right, up))
    sun = replace(
        sun, eye=Point(*(part - 100 * axis for part, axis in zip(walls.centre, ahead, strict=True))), scale=1.04 * half
    )
    reached = depths(parts, sun, (across, across))
    step = np.float32(across / (2 * sun.scale))
    columns, rows = (
        np.clip(_seen(places, depth, camera, axis, sun.eye) * (way * step) + np.float32(across / 2), 0, across - 1).astype(
            np.intp
        )
        for axis, way in ((right, 1), (up, -1))
    )
    return _seen(places, depth, camera, ahead, sun.eye) > reached[rows, columns] + np.float32(_BIAS)


def _boards(x: NDArray[float32], z: NDArray[float32]) -> NDArray[float32]:
    """The colour of a wooden floor at these points."""
    import numpy as np

    row = np.floor(x * np.float32(1 / _BOARD)).astype(np.int64)
    along = (z + _noise(row, 0 * row) * np.float32(_LENGTH)) * np.float32(1 / _LENGTH)
    board = np.floor(along).astype(np.int64)
    tone = 1 + np.float32(2 * _TONES) * (_noise(row, board) - np.float32(0.5))
    gap = (x - row.astype(np.float32) * np.float32(_BOARD) < _SEAM) | (along - board.astype(np.float32) < _SEAM / _LENGTH)
    return np.where(gap, tone * np.float32(_GAP), tone)[:, None] * np.array(_WOOD, np.float32)


def _noise(one: NDArray[int64], other: NDArray[int64]) -> NDArray[float32]:
    """A number from 0 to 1 for each pair, the same on every machine."""
    import numpy as np

    mixed = one * 73_856_093 ^ other * 19_349_663
    mixed = (mixed ^ mixed >> 13) * 1_274_126_177
    return (mixed >> 8 & 0xFF).astype(np.float32) * np.float32(1 / 255)


def _contact(depth: NDArray[float32]) -> NDArray[float32]:
    """The factor of each pixel's colour, by how far it lies behind its surroundings."""
    import numpy as np

    reach = max(1, depth.shape[0] // _RADIUS)
    around = depth.astype(np.float64)
    for axis in (0, 1):
        padded = np.pad(around, [(reach + 1, reach) if one == axis else (0, 0) for one in (0, 1)], "edge")
        sums = padded.cumsum(axis)
        ahead, behind = (
            (sums[2 * reach + 1 :], sums[: -2 * reach - 1])
            if axis == 0
            else (sums[:, 2 * reach + 1 :], sums[:, : -2 * reach - 1])
        )
        around = (ahead - behind) * (1 / (2 * reach + 1))
    return 1 - np.float32(_CONTACT / _NEAR) * np.clip(depth - around, 0, _NEAR).astype(np.float32)
