"""A second renderer, plainer than the first: the ray of each pixel against each box, by slabs, in double precision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from housequest.worlds.rooms.render import Camera, Size
from housequest.worlds.rooms.stage import Part


def slabs(parts: Sequence[Part], camera: Camera, size: Size) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Depth of each pixel, and the number of the box that is seen there, -1 for none."""
    width, height = size
    right, up, ahead = (np.array(axis) for axis in camera.axes())
    step = 2 * camera.scale / height
    u = (np.arange(width) + 0.5 - width / 2)[None, :, None] * step * camera.aspect
    v = (height / 2 - np.arange(height) - 0.5)[:, None, None] * step
    if camera.parallel:
        origin = np.array(camera.eye) + u * right + v * up
        ray = np.broadcast_to(ahead, origin.shape)
    else:
        origin = np.broadcast_to(np.array(camera.eye), (height, width, 3))
        ray = ahead + u * right + v * up
    nearest = np.full((height, width), np.inf)
    owner = np.full((height, width), -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        for number, part in enumerate(parts):
            one = (np.array(part.box[:3]) - origin) / ray
            other = (np.array(part.box[3:]) - origin) / ray
            enters, leaves = np.minimum(one, other).max(axis=-1), np.maximum(one, other).min(axis=-1)
            hit = (enters < leaves) & (enters > 0) & (enters < nearest)
            nearest[hit], owner[hit] = enters[hit], number
    return nearest, owner
