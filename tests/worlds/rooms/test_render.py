"""The renderer against a plainer one, and that a picture is the same wherever and whenever it is drawn."""

from __future__ import annotations

import hashlib
import os
import string
import struct
import subprocess
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from housequest.worlds.rooms.render import MAX_PIXELS, Camera, Frame, field, render
from housequest.worlds.rooms.room import EYE, Box, Point, Pose, Room, Situation, believed
from housequest.worlds.rooms.stage import Part, furniture, inner, outer
from housequest.worlds.rooms.view import draw, gaze, picture
from tests.worlds.rooms.houses import HOUSES, house, played
from tests.worlds.rooms.reference import slabs

SIZE = (64, 48)
GOLDEN = Path(__file__).with_name("golden.txt")


def parts_of(room: Room, now: Situation) -> list[Part]:
    return [*inner(room), *furniture(room, now)]


def agrees(parts: list[Part], camera: Camera) -> None:
    """Raise where the two renderers differ: each box is a thing of its own here, so that the owner says which box is seen."""
    parts = [replace(part, name=str(number)) for number, part in enumerate(parts)]
    frame = render(parts, camera, SIZE)
    depth, owners = slabs(parts, camera, SIZE)
    seen = np.array([*map(int, frame.names), -1]).take(frame.ids)
    same = seen == owners
    assert same.mean() >= 0.995
    assert np.array_equal(np.isfinite(frame.depth)[same], np.isfinite(depth)[same])
    hit = same & (owners >= 0)
    assert (np.abs(frame.depth[hit] - depth[hit]) <= 1e-5 * np.maximum(1, depth[hit])).all()


@pytest.mark.heavy
@pytest.mark.parametrize("name", HOUSES)
def test_what_is_seen_from_every_place_agrees_with_the_plainer_renderer(name: str) -> None:
    _, room, now = house(name)
    parts = parts_of(room, now)
    for one in room.fixtures[:: max(1, len(room.fixtures) // 6)]:
        pose = one.place or room.start
        for turn in (0.0, 30.0):
            agrees(parts, Camera(Point(pose.x, EYE, pose.z), pose.yaw + turn, pose.pitch, field(90)))


def test_what_is_seen_from_the_start_agrees_with_the_plainer_renderer() -> None:
    _, room, now = house("kitchen")
    pose = room.start
    agrees(parts_of(room, now), Camera(Point(pose.x, EYE, pose.z), pose.yaw, pose.pitch, field(60)))


@pytest.mark.parametrize(("yaw", "pitch"), [(45.0, 50.0), (222.0, 30.0), (315.0, 80.0)])
def test_parallel_projection_agrees_with_the_plainer_renderer(yaw: float, pitch: float) -> None:
    _, room, now = house("kitchen")
    parts = [*outer(room, ()), *furniture(room, now)]
    camera = Camera(Point(0, 0, 0), yaw, pitch, 3.0, parallel=True, aspect=0.5)
    _, _, ahead = camera.axes()
    middle = room.walls.centre
    eye = Point(*(at - 20 * way for at, way in zip(middle, ahead, strict=True)))
    agrees(parts, replace(camera, eye=eye))


@pytest.mark.parametrize(("one", "other"), [(1.0, 1.0), (0.1, 0.1), (1.0, 0.1), (0.1, 1.0)])
def test_of_two_sides_at_one_place_the_first_is_seen(one: float, other: float) -> None:
    """Boxes of few pixels are drawn together, apart from large ones."""
    camera = Camera(Point(0, 0, 0), 0, 0, field(60))
    boxes = [Box(-half, -half, 2, half, half, 3) for half in (one, other)]
    frame = render([Part(box, (200, 0, 0), str(number)) for number, box in enumerate(boxes)], camera, SIZE)
    alone = render([Part(boxes[0], (200, 0, 0), "0")], camera, SIZE)
    assert frame.pixels("0") == alone.pixels("0") > 0
    assert (frame.pixels("1") > 0) == (one < other)


def test_a_box_round_the_camera_is_not_drawn_and_one_behind_it_neither() -> None:
    camera = Camera(Point(0, 0, 0), 0, 0, field(60))
    frame = render(
        [Part(Box(-1, -1, -1, 1, 1, 1), (9, 9, 9), "a"), Part(Box(-1, -1, -3, 1, 1, -2), (9, 9, 9), "b")], camera, SIZE
    )
    assert (frame.ids == -1).all() and np.isinf(frame.depth).all()


def test_depth_is_along_the_axis_of_the_camera() -> None:
    frame = render([Part(Box(-9, -9, 2, 9, 9, 3), (9, 9, 9), "wall")], Camera(Point(0, 0, 0), 0, 0, field(90)), SIZE)
    assert np.allclose(frame.depth, 2.0, atol=1e-6)


@pytest.mark.parametrize("size", [(0, 5), (5, -1), (MAX_PIXELS, 2)])
def test_a_picture_of_no_or_too_many_pixels_is_refused(size: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="pixels"):
        draw(*house("kitchen")[1:], Pose(0, 0), size)


@pytest.mark.parametrize("size", [(1, 1), (7, 3), (80, 48)])
def test_every_size_is_drawn(size: tuple[int, int]) -> None:
    _, room, now = house("kitchen")
    for frame in (draw(room, now, room.start, size), picture("house", room, now, size), picture("plan", room, now, size)):
        assert frame.rgb.shape == (size[1], size[0], 3) and frame.depth.shape == frame.ids.shape == (size[1], size[0])


def test_arrays_cannot_be_written() -> None:
    _, room, now = house("bathroom")
    frame = draw(room, now, room.start, SIZE)
    for array in (frame.rgb, frame.depth, frame.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0


def read_png(content: bytes) -> np.ndarray:
    """The pixels of a PNG of ours as red, green, blue and opacity."""
    at, found = 8, {}
    while at < len(content):
        length, name = struct.unpack(">I4s", content[at : at + 8])
        body = content[at + 8 : at + 8 + length]
        assert struct.unpack(">I", content[at + 8 + length : at + 12 + length])[0] == zlib.crc32(name + body)
        found[name] = body
        at += 12 + length
    width, height, depth, kind = struct.unpack(">IIBB", found[b"IHDR"][:10])
    assert depth == 8
    rows = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    if kind == 6:
        return rows[:, 1:].reshape(height, width, 4)
    assert kind == 3
    colours = np.frombuffer(found[b"PLTE"], np.uint8).reshape(-1, 3)
    opacity = np.full(len(colours), 255, np.uint8)
    opacity[: len(found.get(b"tRNS", b""))] = list(found.get(b"tRNS", b""))
    return np.column_stack([colours, opacity])[rows[:, 1:]]


def test_a_png_says_what_the_picture_says() -> None:
    _, room, now = house("bathroom")
    for frame in (draw(room, now, room.start, (20, 10)), picture("house", room, now, (40, 30))):
        pixels, there = read_png(frame.png()), np.isfinite(frame.depth)
        assert np.array_equal(pixels[:, :, 3], there * 255)
        assert np.array_equal(pixels[there][:, :3], frame.rgb[there])


def test_a_png_of_many_colours_says_it_too() -> None:
    colours = np.arange(20 * 30 * 3, dtype=np.uint32).astype(np.uint8).reshape(20, 30, 3)
    depth = np.ones((20, 30), np.float32)
    depth[3:5] = np.inf
    pixels = read_png(Frame(colours, depth, np.full((20, 30), -1, np.int32), ()).png())
    assert np.array_equal(pixels[:, :, 3] > 0, np.isfinite(depth))
    assert np.array_equal(pixels[:3, :, :3], colours[:3])


def test_a_png_laid_over_another_picture_makes_this_one() -> None:
    _, room, now = house("kitchen")
    base = picture("house", room, now, (80, 60))
    frame = picture("house", room, replace(now, pose=room.pose(room.fixtures[0].name)), (80, 60))
    above = read_png(frame.png(over=base))
    laid = np.where(above[:, :, 3:] > 0, above[:, :, :3], base.rgb)
    assert np.array_equal(laid, frame.rgb)
    assert 0 < (above[:, :, 3] > 0).mean() < 0.2 and len(frame.png(over=base)) < len(frame.png()) / 2


def test_the_extent_leaves_out_what_is_empty() -> None:
    _, room, now = house("kitchen")
    frame = picture("house", room, now, (120, 60))
    left, top, right, bottom = frame.extent()
    part = frame.part(left, top, right, bottom)
    assert part.rgb.shape[:2] == (bottom - top, right - left) and part.rgb.shape[1] < 120
    assert np.isfinite(part.depth).sum() == np.isfinite(frame.depth).sum()
    assert all(np.isfinite(part.depth[edge]).any() for edge in ((0,), (-1,), (..., 0), (..., -1)))


def digest(name: str) -> str:
    """A digest of pictures of a house."""
    found = hashlib.sha256()
    _, room, now = house(name)
    for frame in (draw(room, now, room.start, SIZE), picture("house", room, now, SIZE), picture("plan", room, now, SIZE)):
        for array in (frame.rgb, frame.depth, frame.ids):
            found.update(array.tobytes())
        found.update("\n".join(frame.names).encode() + frame.png())
    return found.hexdigest()


@pytest.mark.heavy
def test_pictures_are_equal_bytes_with_one_thread_and_with_eight() -> None:
    names = HOUSES * 4
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(digest, names)) == [digest(name) for name in names]


@pytest.mark.heavy
def test_pictures_are_equal_bytes_with_one_process_and_with_eight() -> None:
    names = HOUSES * 4
    with ProcessPoolExecutor(8, get_context("spawn")) as pool:
        assert list(pool.map(digest, names)) == [digest(name) for name in names]


@pytest.mark.heavy
def test_pictures_are_equal_bytes_whatever_the_order_of_sets() -> None:
    code = "from tests.worlds.rooms.test_render import HOUSES, digest; print(*map(digest, HOUSES))"
    told = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.split()
        == [digest(name) for name in HOUSES]
        for seed in ("1", "2")
    }
    assert told == {True}


def test_pictures_are_those_that_were_looked_at() -> None:
    """The golden pictures, a character for each thing; an edge may fall differently where sines are computed differently."""
    golden, drawn = GOLDEN.read_text("utf-8").splitlines(), golden_rows()
    assert len(golden) == len(drawn)
    same = [a == b for one, other in zip(golden, drawn, strict=True) for a, b in zip(one, other, strict=True)]
    assert sum(same) >= 0.995 * len(same), f"if that is as it should be: python -m {__name__}"


def golden_rows() -> list[str]:
    """The kitchen before its fridge, from the eyes and as a doll's house, in 64 x 64."""
    game, room, _ = house("kitchen")
    now = believed(room, played(game, ("go to fridge 1", "open fridge 1"))[1])
    rows: list[str] = []
    for frame in (draw(room, now, gaze(room, now), (64, 64)), picture("house", room, now, (64, 64), came=room.start)):
        shown = sorted({frame.names[index] for index in frame.ids.ravel().tolist() if index >= 0})
        letters = dict(zip(shown, string.ascii_letters + string.digits, strict=False))
        rows += [f"{letter} {name}" for name, letter in letters.items()]
        rows += ["".join("." if index < 0 else letters[frame.names[index]] for index in row) for row in frame.ids.tolist()]
    return rows


if __name__ == "__main__":
    GOLDEN.write_text("\n".join([*golden_rows(), ""]), "utf-8")
