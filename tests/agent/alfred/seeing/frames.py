"""Frames made by hand and drawn of boxes, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from housequest.worlds.rooms.render import Camera, Frame, field, render
from housequest.worlds.rooms.room import EYE, Box, Point, Pose
from housequest.worlds.rooms.stage import Part

VIEW = 60.0
ROOM = (
    Part(Box(-3, -1, -3, 3, 0, 3), (170, 150, 120)),
    *(Part(box, (210, 205, 200)) for box in (Box(-3, 0, 2, 3, 3, 3), Box(-3, 0, -3, 3, 3, -2))),
    *(Part(box, (210, 205, 200)) for box in (Box(2, 0, -3, 3, 3, 3), Box(-3, 0, -3, -2, 3, 3))),
)
"""A room of four by four metres, its middle at (0, 0)."""


def by_hand(rows: Sequence[str], names: Sequence[str], depth: float = 1.0) -> Frame:
    """A frame with a thing's number at each of its pixels, and a dot where there is none; everything is ``depth`` away."""
    ids = np.array([[-1 if one == "." else int(one) for one in row] for row in rows], np.int32)
    return Frame(np.zeros((*ids.shape, 3), np.uint8), np.full(ids.shape, depth, np.float32), ids, tuple(names))


def drawn(pose: Pose, *things: tuple[str, Box], size: int = 90) -> Frame:
    """The room with these things, as somebody at ``pose`` sees it."""
    parts = [*ROOM, *(Part(box, (200, 40, 40), name) for name, box in things)]
    return render(parts, Camera(Point(pose.x, EYE, pose.z), pose.yaw, pose.pitch, field(VIEW)), (size, size))
