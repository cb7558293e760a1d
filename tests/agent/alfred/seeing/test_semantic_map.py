"""M and M': by hand arithmetic over a few pixels, and over drawn rooms against where things are."""

from __future__ import annotations

import numpy as np
import pytest

from housequest.agent.alfred.seeing.perception import Detection, Percept, Truth
from housequest.agent.alfred.seeing.semantic_map import CELL, SIDE, SemanticMap, points
from housequest.worlds.rooms.render import field
from housequest.worlds.rooms.room import EYE, Box, Pose
from tests.agent.alfred.seeing.frames import drawn

HERE = Pose(0.0, 0.0)
MUG = Box(0.3, 0.8, 1.2, 0.4, 0.95, 1.3)
TABLE = Box(0.0, 0.0, 1.1, 0.8, 0.8, 1.6)


def look(*claims: tuple[str, float], depth: float = 2.0) -> Percept:
    """One pixel, straight ahead: it is claimed to be of these kinds, at this score."""
    mask = np.ones((1, 1), bool)
    return Percept(np.full((1, 1), depth, np.float32), tuple(Detection(kind, score, mask) for kind, score in claims))


def cell(x: float, z: float, origin: Pose) -> tuple[int, int]:
    """The cell of a point on a map that begins at ``origin``."""
    return int((x - origin.x) / CELL + SIDE / 2), int((z - origin.z) / CELL + SIDE / 2)


def test_a_pixel_becomes_the_point_that_it_shows() -> None:
    # One pixel two metres ahead of somebody who faces +x and looks level.
    x, y, z = (float(part[0, 0]) for part in points(np.full((1, 1), 2.0), Pose(0.5, 1.0, 90.0, 0.0)))
    assert (x, y, z) == pytest.approx((2.5, EYE, 1.0))
    # The right of two pixels, 60 degrees from top to bottom: half a row's height to the right.
    x, y, z = (float(part[0, 1]) for part in points(np.full((1, 2), 2.0), Pose(0, 0, 0, 0)))
    assert (x, y, z) == pytest.approx((2.0 * field(60), EYE, 2.0))
    # Looking down by 45 degrees.
    _, y, z = (float(part[0, 0]) for part in points(np.full((1, 1), 1.0), Pose(0, 0, 0, 45)))
    assert (y, z) == pytest.approx((EYE - 0.5**0.5, 0.5**0.5))


def test_one_pixel_is_one_cell_at_its_height() -> None:
    seen = SemanticMap.empty(HERE).seen(look(("mug", 1.0)), HERE)
    # x = 0 begins the cell of [0, 0.05), z = 2 that of [2, 2.05); 1.576 is in the layer from 1.5 to 1.6.
    assert seen.points("mug", voted=False).tolist() == [pytest.approx([0.025, 2.025, 1.55])]
    assert seen.found == ("mug",)
    in_the_way, explored = seen.grid(voted=False)
    assert np.argwhere(in_the_way).tolist() == np.argwhere(explored).tolist() == [[120, 160]]
    assert cell(0.0, 2.0, HERE) == (120, 160)


def test_m_has_what_any_frame_claimed_and_m_prime_what_most_viewpoints_did() -> None:
    ahead = SemanticMap.empty(HERE).seen(look(("fridge", 1.0)), HERE)
    assert not len(ahead.points("fridge", voted=True)), "one viewpoint is not enough"
    # The same point from a metre further back, from the left and from the right.
    back, left, right = Pose(0.0, -1.0), Pose(-2.0, 2.01, 90.0), Pose(2.01, 2.01, 270.0)
    second = ahead.seen(look(("fridge", 1.0), depth=3.0), back)
    third = second.seen(look(("safe", 1.0), depth=2.01), left)
    assert [len(third.points(kind, voted=False)) for kind in ("fridge", "safe")] == [1, 1]
    assert [len(third.points(kind, voted=True)) for kind in ("fridge", "safe")] == [1, 0]
    # A draw counts for both.
    fourth = third.seen(look(("safe", 1.0), depth=2.0), right)
    assert [len(fourth.points(kind, voted=True)) for kind in ("fridge", "safe")] == [1, 1]
    assert len(ahead.points("safe", voted=False)) == 0, "a map is a value"


def test_a_viewpoint_votes_once() -> None:
    seen = SemanticMap.empty(HERE)
    for _ in range(5):
        seen = seen.seen(look(("mug", 1.0)), HERE)
    assert not len(seen.points("mug", voted=True))
    assert len(seen.seen(look(("cup", 1.0)), HERE).points("cup", voted=False)) == 1


def test_floor_is_free_and_furniture_in_the_way() -> None:
    pose = Pose(0.4, 0.0, 0.0, 30.0)
    frame = drawn(pose, ("table 1", TABLE), ("mug 1", MUG))
    seen = SemanticMap.empty(pose).seen(Truth().see(frame, 0), pose)
    in_the_way, explored = seen.grid(voted=False)
    assert in_the_way[cell(0.4, 1.12, pose)]
    assert explored[cell(0.4, 0.95, pose)] and not in_the_way[cell(0.4, 0.95, pose)]
    assert not explored[cell(0.4, -1.0, pose)]


def test_a_map_without_noise_has_things_where_they_are() -> None:
    at = Pose(0.0, 0.0, 0.0, 30.0)
    seen = SemanticMap.empty(at)
    for x in (-0.5, 0.0, 0.5, 1.0):
        for z in (-0.5, 0.0, 0.5):
            pose = Pose(x, z, 0.0, 30.0)
            seen = seen.seen(Truth().see(drawn(pose, ("table 1", TABLE), ("mug 1", MUG)), 0), pose)
    for kind, box in (("table", TABLE), ("mug", MUG)):
        for voted in (False, True):
            rows = seen.points(kind, voted=voted)
            assert len(rows)
            grown = box.grown(0.1)
            assert all(grown.over(x, z) and box.y0 - 0.1 < y < box.y1 + 0.1 for x, z, y in rows.tolist())


def test_what_was_picked_up_leaves_the_map_and_the_rest_stays() -> None:
    pose = Pose(0.4, 0.0, 0.0, 30.0)
    seen = SemanticMap.empty(pose).seen(Truth().see(drawn(pose, ("table 1", TABLE), ("mug 1", MUG)), 0), pose)
    gone = seen.without("mug", 0.35, 1.25, 0.25)
    assert gone.found == ("table",)
    assert len(gone.points("table", voted=False)) == len(seen.points("table", voted=False))
    assert len(seen.points("mug", voted=False))
    assert seen.without("mug", 5.0, 5.0, 0.25).found == seen.found
    assert seen.without("spoon", 0, 0, 1) is seen


def test_what_lies_beyond_the_map_is_left_out() -> None:
    edge = Pose(0.0, SIDE * CELL / 2 - 1)
    seen = SemanticMap.empty(HERE).seen(look(("mug", 1.0), depth=2.0), edge)
    assert seen.found == ()
    assert SemanticMap.empty(HERE).seen(look(("mug", 1.0), depth=np.inf), HERE).found == ()


def test_arrays_of_a_map_cannot_be_written() -> None:
    seen = SemanticMap.empty(HERE).seen(look(("mug", 1.0)), HERE)
    with pytest.raises(ValueError, match="read-only"):
        seen.votes[0] = 7
