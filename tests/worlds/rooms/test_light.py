"""The doll's house by sunlight: the same things in the same places, with shadows where the sun does not reach."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from housequest.worlds.rooms.light import lighten
from housequest.worlds.rooms.render import Camera, render
from housequest.worlds.rooms.room import Box, Point
from housequest.worlds.rooms.stage import Part

WALLS = Box(0, 0, 0, 4, 2.5, 4)
FLOOR = Part(Box(0, -0.08, 0, 4, 0, 4), (171, 150, 124))
CRATE = Part(Box(1.7, 0, 1.7, 2.3, 1.2, 2.3), (200, 60, 60), "crate 1")
ABOVE = Camera(Point(-55.5, 78.0, -55.5), 45.0, 45.0, 3.2, parallel=True)
SIZE = (240, 200)


def test_light_changes_colours_alone() -> None:
    plain = render([FLOOR, CRATE], ABOVE, SIZE)
    lit = lighten(plain, [FLOOR, CRATE], ABOVE, WALLS)
    assert (lit.ids == plain.ids).all() and (lit.depth == plain.depth).all() and lit.names == plain.names
    nothing = np.isinf(plain.depth)
    assert nothing.any() and (lit.rgb[nothing] == plain.rgb[nothing]).all()
    assert (lit.rgb[~nothing] != plain.rgb[~nothing]).any()
    assert not lit.rgb.flags.writeable


def test_a_crate_throws_a_shadow_on_the_boards_and_an_empty_floor_has_none() -> None:
    bare = lighten(render([FLOOR], ABOVE, SIZE), [FLOOR], ABOVE, WALLS).rgb.astype(int)
    frame = render([FLOOR, CRATE], ABOVE, SIZE)
    lit = lighten(frame, [FLOOR, CRATE], ABOVE, WALLS).rgb.astype(int)
    floor = np.isfinite(frame.depth) & (frame.ids < 0)
    darker = bare.sum(axis=2) - lit.sum(axis=2) > 60
    assert 0.02 < darker[floor].mean() < 0.4
    # It lies on one side of the crate: the sun is on the other.
    crate, shadow = (np.nonzero(where)[1].mean() for where in (frame.ids == 0, darker & floor))
    assert abs(crate - shadow) > 10


def test_a_picture_is_the_same_on_every_machine() -> None:
    frame = lighten(render([FLOOR, CRATE], ABOVE, SIZE), [FLOOR, CRATE], ABOVE, WALLS)
    assert sha256(frame.rgb.tobytes()).hexdigest()[:16] == "7f588326ad1a96e2"


def test_where_nothing_is_seen_nothing_is_lit() -> None:
    away = Camera(Point(0, 500, 0), 45.0, 45.0, 1.0, parallel=True)
    frame = render([FLOOR], away, (20, 20))
    assert (lighten(frame, [FLOOR], away, WALLS).rgb == frame.rgb).all()
