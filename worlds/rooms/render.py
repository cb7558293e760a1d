"""Draws boxes with NumPy: colour, depth and owner of each pixel.

For a pixel (u, v), the place where its ray meets a plane is a linear function of u and v if one takes the right measure of
nearness: 1 / depth in perspective, -depth in parallel projection. So a plane is an outer sum of two vectors. A ray is in a box
from the last of the planes through which it enters to the first through which it leaves; the nearest box wins, of equal ones
the first. Only sums, products and comparisons are used, so pictures are equal wherever floats are those of IEEE 754.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import cos, radians, sin, tan
from typing import TYPE_CHECKING

from housequest.worlds.rooms.room import Point
from housequest.worlds.rooms.stage import Part

if TYPE_CHECKING:
    from numpy import bool_, float32, float64, int32, int64, uint8, uint32
    from numpy.typing import NDArray

Size = tuple[int, int]  # columns and rows of pixels
MAX_PIXELS = 4_000_000
_NEAR = 0.05
_FAR = 1e3
_TINY = 1e-7
_BACKGROUND = (24, 26, 30)
_SHADES = (0.84, 1.0, 0.72)
_BELOW = 0.55
_EDGE = 0.62
_SMALL = 120
_TILE = 0.5
_DARKER = 0.93


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture, in read-only arrays, the top row first: ``rgb`` is (height, width, 3); ``depth`` in metres along the camera's
    axis, infinite where nothing is; ``ids`` are indices into ``names``, -1 where there is only the room."""

    rgb: NDArray[uint8]
    depth: NDArray[float32]
    ids: NDArray[int32]
    names: tuple[str, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of pixels."""
        rows, columns = self.ids.shape
        return columns, rows

    def pixels(self, name: str) -> int:
        """The number of pixels of the thing of this name."""
        return int((self.ids == self.names.index(name)).sum()) if name in self.names else 0

    def spots(self) -> dict[str, tuple[int, int]]:
        """A place for each thing's name: the (column, row) of its own pixel nearest to its middle."""
        import numpy as np

        found: dict[str, tuple[int, int]] = {}
        rows, columns = np.nonzero(self.ids >= 0)
        owners = self.ids[rows, columns]
        order = np.argsort(owners, kind="stable")
        rows, columns, owners = rows[order], columns[order], owners[order]
        for group in np.split(np.arange(len(owners)), np.flatnonzero(np.diff(owners)) + 1):
            if len(group):
                across, down = columns[group], rows[group]
                away = (across - across.mean()) ** 2 + (down - down.mean()) ** 2
                best = int(away.argmin())
                found[self.names[int(owners[group[0]])]] = (int(across[best]), int(down[best]))
        return found

    def extent(self) -> tuple[int, int, int, int]:
        """The smallest part with everything drawn: left, top, right and bottom, the last two exclusive."""
        import numpy as np

        there = np.isfinite(self.depth)
        rows, columns = (np.flatnonzero(there.any(axis=axis)) for axis in (1, 0))
        if not len(rows):
            return 0, 0, self.depth.shape[1], self.depth.shape[0]
        return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1

    def part(self, left: int, top: int, right: int, bottom: int) -> Frame:
        """The part of the picture between these columns and rows of pixels."""
        rows, columns = slice(top, bottom), slice(left, right)
        return Frame(self.rgb[rows, columns], self.depth[rows, columns], self.ids[rows, columns], self.names)

    def opaque(self, paper: tuple[int, int, int], holes: Iterable[tuple[int, int, int, int]] = ()) -> Frame:
        """The frame on ``paper``, empty in the ``holes``, given by first column and row, and the ones after the last."""
        import numpy as np

        rgb = np.where(np.isinf(self.depth)[..., None], np.asarray(paper, np.uint8), self.rgb)
        depth = np.zeros_like(self.depth)
        for left, top, right, bottom in holes:
            depth[top:bottom, left:right] = np.inf
        return replace(self, rgb=rgb, depth=depth)

    def resized(self, size: tuple[int, int]) -> Frame:
        """The picture in so many columns and rows, by its nearest pixels."""
        import numpy as np

        if size == self.size:
            return self
        columns, rows = (((np.arange(new) + 0.5) * old / new).astype(np.intp) for new, old in zip(size, self.size, strict=True))
        picked = np.ix_(rows, columns)
        return Frame(self.rgb[picked], self.depth[picked], self.ids[picked], self.names)

    def centred(self, size: tuple[int, int]) -> Frame:
        """The picture in the middle of a larger, otherwise empty one."""
        import numpy as np

        columns, rows = size
        rgb, depth = np.zeros((rows, columns, 3), np.uint8), np.full((rows, columns), np.inf, np.float32)
        ids = np.full((rows, columns), -1, np.int32)
        left, top = (columns - self.size[0]) // 2, (rows - self.size[1]) // 2
        part = np.s_[top : top + self.size[1], left : left + self.size[0]]
        rgb[part], depth[part], ids[part] = self.rgb, self.depth, self.ids
        return Frame(rgb, depth, ids, self.names)

    def png(self, *, over: Frame | None = None, effort: int = 9) -> bytes:
        """The picture as a PNG, with equal bytes from equal zlibs; transparent where it is empty or equals ``over``. ``effort``
        is zlib's level."""
        import numpy as np

        shown = np.isfinite(self.depth) if over is None else (self.rgb != over.rgb).any(axis=2)
        red, green, blue = np.moveaxis(self.rgb.astype(np.uint32), 2, 0)
        pixels = np.where(shown, red << 16 | green << 8 | blue | 0xFF << 24, np.uint32(0)).reshape(-1)
        # Colours come in runs, and sorting takes most of the time.
        starts = np.flatnonzero(np.diff(pixels, prepend=~pixels[:1]))
        colours, places = np.unique(pixels[starts], return_inverse=True)
        channels = colours.astype(">u4").view(np.uint8).reshape(-1, 4)
        if few := len(colours) <= 256:
            samples = np.repeat(places.astype(np.uint8), np.diff(starts, append=len(pixels)))
        else:
            samples = np.roll(pixels.astype(">u4").view(np.uint8).reshape(-1, 4), -1, axis=1)
        height, width = shown.shape
        rows = b"".join(b"\0" + row.tobytes() for row in samples.reshape(height, -1))
        chunks: list[tuple[bytes, bytes]] = []
        if few:
            chunks.append((b"PLTE", channels[:, 1:].tobytes()))
            if not shown.all():
                chunks.append((b"tRNS", b"\0"))  # nothing sorts before every colour
        return png_file((width, height), 3 if few else 6, rows, *chunks, effort=effort)


def png_file(size: tuple[int, int], kind: int, rows: bytes, *chunks: tuple[bytes, bytes], effort: int = 9) -> bytes:
    """A PNG of eight bits a sample and of this kind of colour, from its unfiltered rows; ``chunks`` come before them."""
    header = struct.pack(">IIBBBBB", *size, 8, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), *chunks, (b"IDAT", zlib.compress(rows, effort)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera at ``eye``; ``yaw`` and ``pitch`` in degrees as in a `Pose`. ``scale`` is half the height of the picture: at a
    distance of 1 in perspective (0.577 for 60 degrees), in metres in ``parallel`` projection. ``aspect`` is a pixel's width
    divided by its height."""

    eye: Point
    yaw: float
    pitch: float
    scale: float
    parallel: bool = False
    aspect: float = 1.0

    def axes(self) -> tuple[tuple[float, float, float], ...]:
        """Right, up and ahead of the camera."""
        a, b = radians(self.yaw), radians(self.pitch)
        right = (cos(a), 0.0, -sin(a))
        up = (sin(a) * sin(b), cos(b), cos(a) * sin(b))
        ahead = (sin(a) * cos(b), -sin(b), cos(a) * cos(b))
        return right, up, ahead


def field(degrees: float) -> float:
    """The ``scale`` of a camera that sees so many degrees from top to bottom."""
    return tan(radians(degrees / 2))


def render(parts: Sequence[Part], camera: Camera, size: Size, floor: bool = True) -> Frame:
    """Draw ``parts``, at least one; with ``floor``, the upper side of the first is tiled. Raises ``ValueError``."""
    return _coloured(parts, camera, *_drawn(parts, camera, size), floor)


def grid(camera: Camera, size: Size) -> tuple[NDArray[float32], NDArray[float32]]:
    """The places of pixels in the picture's plane: of columns, and of rows as one column."""
    import numpy as np

    width, height = size
    step = 2 * camera.scale / height
    us = ((np.arange(width) + 0.5 - width / 2) * step * camera.aspect).astype(np.float32)
    return us, ((height / 2 - np.arange(height) - 0.5) * step).astype(np.float32)[:, None]


def depths(parts: Sequence[Part], camera: Camera, size: Size) -> NDArray[float32]:
    """The depth of each pixel, in parallel projection; infinite where it is empty."""
    return -_drawn(parts, camera, size)[0]


def _drawn(
    parts: Sequence[Part], camera: Camera, size: Size
) -> tuple[NDArray[float32], NDArray[int32], tuple[NDArray[float32], NDArray[float32]]]:
    """The nearness and face of each pixel, and the places of columns and rows."""
    import numpy as np

    width, height = size
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise ValueError(f"a picture has 1 to {MAX_PIXELS:,} pixels, not {width} x {height}")
    us, vs = grid(camera, size)
    nearness = np.full((height, width), -np.inf if camera.parallel else 1 / _FAR, np.float32)
    faces = np.full((height, width), 3 * len(parts), np.int32)
    boxes = np.array([part.box for part in parts], np.float64).reshape(-1, 2, 3)
    rectangles = _rectangles(boxes, camera, size)
    planes, axes, enters = _planes(boxes, camera)
    pixels = np.maximum(rectangles[:, 1::2] - rectangles[:, ::2], 0).prod(axis=1) * (enters > 0)
    # Room to compute in, used again for every box: fresh arrays would cost more than the sums.
    scratch = np.empty((8, width * height), np.float32), np.empty((2, width * height), bool)
    for number in np.flatnonzero(pixels).tolist():
        first, last, top, bottom = rectangles[number]
        _draw(
            (3 * number + axes[number, : enters[number]]).tolist(),
            planes[number],
            (us[first:last], vs[top:bottom]),
            (nearness[top:bottom, first:last], faces[top:bottom, first:last]),
            scratch,
        )
    return nearness, faces, (us, vs)


def _draw(
    entered: list[int],
    planes: NDArray[float32],
    grid: tuple[NDArray[float32], NDArray[float32]],
    buffers: tuple[NDArray[float32], NDArray[int32]],
    scratch: tuple[NDArray[float32], NDArray[bool_]],
) -> None:
    """Draw one box into the part of the buffers that it may cover; ``entered`` are the faces of its first planes."""
    import numpy as np

    (us, vs), (nearness, faces) = grid, buffers
    size, enters = nearness.size, len(entered)
    passed = scratch[0][:6, :size].reshape(6, *nearness.shape)
    behind, near = scratch[0][6:, :size].reshape(2, *nearness.shape)
    seen, sooner = scratch[1][:, :size].reshape(2, *nearness.shape)
    u, v, constant = planes.T[:, :, None, None]
    np.add(u * us, v * vs + constant, out=passed)
    np.maximum.reduce(passed[enters:], out=behind)
    np.maximum(behind, nearness, out=behind)
    np.minimum.reduce(passed[:enters], out=near)
    np.greater(near, behind, out=seen)
    if not seen.any():
        return
    np.copyto(nearness, near, where=seen)
    np.copyto(faces, np.int32(entered[0]), where=seen)
    # Where another of its planes was the last to be passed, the side is that one.
    left = passed[0]
    for face, other in zip(entered[1:], passed[1:enters], strict=True):
        np.less(other, left, out=sooner)
        sooner &= seen
        np.copyto(faces, np.int32(face), where=sooner)
        np.minimum(left, other, out=left)


def _planes(boxes: NDArray[float64], camera: Camera) -> tuple[NDArray[float32], NDArray[int64], NDArray[int64]]:
    """For each box, the factors of its planes, those first through which rays enter; their axes; and how many enter."""
    import numpy as np

    right, up, ahead = (np.array(axis) for axis in camera.axes())
    away = boxes - np.array(camera.eye)
    # Never nothing, so that the camera is on one side of each plane.
    away = np.where(np.abs(away) < _TINY, _TINY, away)
    if camera.parallel:
        ahead = np.where(np.abs(ahead) < _TINY, _TINY, ahead)
        planes = np.stack(np.broadcast_arrays(right / ahead, up / ahead, -away / ahead), axis=-1)
        lower = np.broadcast_to(ahead >= 0, (len(boxes), 3))
        upper = ~lower
    else:
        planes = np.stack([right / away, up / away, ahead / away], axis=-1)
        lower, upper = away[:, 0] > 0, away[:, 1] < 0
    # By axes, the lower one first.
    entering = np.stack([lower, upper], axis=2).reshape(-1, 6)
    order = np.argsort(~entering, axis=1, kind="stable")
    by_axis = planes.swapaxes(1, 2).reshape(-1, 6, 3).astype(np.float32)
    return np.take_along_axis(by_axis, order[:, :, None], axis=1), order // 2, entering.sum(axis=1)


def _rectangles(boxes: NDArray[float64], camera: Camera, size: Size) -> NDArray[int32]:
    """For each box, the columns and rows that it may cover, as (first, end, top, end)."""
    import numpy as np

    width, height = size
    corners = np.stack([boxes[:, [x, y, z], [0, 1, 2]] for x in (0, 1) for y in (0, 1) for z in (0, 1)], axis=1)
    corners = corners - np.array(camera.eye)
    u, v, depth = ((corners * np.array(axis)).sum(axis=-1) for axis in camera.axes())
    if not camera.parallel:
        # The points where edges come up from behind the camera are corners as well.
        pairs = [(a, a | bit) for a in range(8) for bit in (1, 2, 4) if not a & bit]
        one, other = [a for a, _ in pairs], [b for _, b in pairs]
        crossing = (depth[:, one] < _NEAR) != (depth[:, other] < _NEAR)
        span = np.where(crossing, depth[:, other] - depth[:, one], 1.0)
        share = np.where(crossing, (_NEAR - depth[:, one]) / span, 0.0)
        u, v, depth = (np.concatenate([of, of[:, one] + share * (of[:, other] - of[:, one])], axis=1) for of in (u, v, depth))
        seen = np.concatenate([depth[:, :8] >= _NEAR, crossing], axis=1)
        safe = np.where(seen, np.maximum(depth, _NEAR), 1.0)
        u, v = u / safe, v / safe
    else:
        seen = np.ones(u.shape, bool)
    step = 2 * camera.scale / height
    columns, rows = u / (step * camera.aspect) + width / 2, height / 2 - v / step
    bounds = [
        np.where(seen, columns, np.inf).min(axis=1) - 1,
        np.where(seen, columns, -np.inf).max(axis=1) + 1,
        np.where(seen, rows, np.inf).min(axis=1) - 1,
        np.where(seen, rows, -np.inf).max(axis=1) + 1,
    ]
    limits = (width, width, height, height)
    return np.stack([np.clip(bound, 0, limit).astype(np.int32) for bound, limit in zip(bounds, limits, strict=True)], axis=1)


def _coloured(
    parts: Sequence[Part],
    camera: Camera,
    nearness: NDArray[float32],
    faces: NDArray[int32],
    grid: tuple[NDArray[float32], NDArray[float32]],
    floor: bool,
) -> Frame:
    """The finished picture: colours by side, tiles on the floor, dark edges between things."""
    import numpy as np

    names = tuple(dict.fromkeys(part.name for part in parts if part.name is not None))
    number = {name: index for index, name in enumerate(names)}
    owners = np.array([*(number.get(part.name or "", -1) for part in parts for _ in range(3)), -1], np.int32)
    # Equal for sides that look alike: those of one thing in one direction and colour, and each wall by itself.
    alike: dict[object, int] = {}
    looks = [alike.setdefault((part.name, part.colour) if part.name else index, index) for index, part in enumerate(parts)]
    edges = np.array([*(3 * look + axis for look in looks for axis in range(3)), -1], np.int32).take(faces)
    line = np.zeros(faces.shape, bool)
    np.not_equal(edges[:, 1:], edges[:, :-1], out=line[:, 1:])
    line[1:] |= edges[1:] != edges[:-1]
    depth = -nearness if camera.parallel else np.float32(1) / nearness
    if not camera.parallel:
        depth[faces == 3 * len(parts)] = np.inf
    paint = np.array([part.colour for part in parts], np.float32)[:, None, :] * np.array(_SHADES, np.float32)[None, :, None]
    for index in (index for index, part in enumerate(parts) if part.box.y0 > camera.eye.y and not camera.parallel):
        paint[index, 1] *= np.float32(_BELOW)
    paint = np.concatenate([paint.reshape(-1, 3), [_BACKGROUND, paint[0, 1] * np.float32(_DARKER)]])
    ids = owners.take(faces)
    if floor:
        _tile(camera, depth, faces, grid, len(paint) - 1)
    factor = np.float32(_EDGE if min(faces.shape) >= _SMALL else (1 + _EDGE) / 2)
    # The colours of edges stand behind all others.
    packed = np.concatenate([_packed(paint), _packed(paint * factor)]).take(faces + line * np.int32(len(paint)))
    rgb = np.empty((*faces.shape, 3), np.uint8)
    rgb[:] = packed.view(np.uint8).reshape(*faces.shape, 4)[:, :, :3]
    for array in (rgb, depth, ids):
        array.flags.writeable = False
    return Frame(rgb, depth, ids, names)


def _packed(paint: NDArray[float32]) -> NDArray[uint32]:
    """Each colour as one number of four bytes, red first."""
    import numpy as np

    red, green, blue = paint.astype(np.uint32).T
    return (red | green << 8 | blue << 16).astype("<u4")


def _tile(
    camera: Camera, depth: NDArray[float32], faces: NDArray[int32], grid: tuple[NDArray[float32], NDArray[float32]], dark: int
) -> None:
    """Make the upper side of the first box a chequered floor: where a tile is dark, the face becomes ``dark``."""
    import numpy as np

    rows = np.flatnonzero((faces == 1).any(axis=1))
    if not len(rows):
        return
    some = slice(int(rows[0]), int(rows[-1]) + 1)
    us, vs, far = grid[0], grid[1][some], np.minimum(depth[some], np.float32(_FAR))
    right, up, ahead = (tuple(map(np.float32, axis)) for axis in camera.axes())
    odd = np.zeros(far.shape, np.int32)
    for axis in (0, 2):
        across = us * right[axis] + vs * up[axis]
        across += far * ahead[axis] if camera.parallel else ahead[axis]
        if not camera.parallel:
            across *= far
        across += np.float32(camera.eye[axis] + 1000)
        across *= np.float32(1 / _TILE)
        odd ^= across.astype(np.int32)
    np.copyto(faces[some], np.int32(dark), where=((odd & 1) == 1) & (faces[some] == 1))
