"""A picture with the depth and the owner of each pixel, and its PNG."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float32, int32, uint8
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture. The arrays are read-only, the top row first.

    ``rgb`` is (height, width, 3); ``depth`` in metres along the camera's axis, infinite where nothing is; ``ids`` are indices
    into ``names``, -1 where there is only the room.
    """

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
        """How many pixels belong to the thing of this name."""
        return int((self.ids == self.names.index(name)).sum()) if name in self.names else 0

    def spots(self) -> dict[str, tuple[int, int]]:
        """For each thing in the picture, the pixel (column, row) of its own nearest to its middle: where a name can stand."""
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
        """The smallest part that has all that is in the picture: left, top, right and bottom, the last two exclusive."""
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

    def resized(self, size: tuple[int, int]) -> Frame:
        """The picture in so many columns and rows of pixels, each of them one of its own."""
        import numpy as np

        if size == self.size:
            return self
        columns, rows = (((np.arange(new) + 0.5) * old / new).astype(np.intp) for new, old in zip(size, self.size, strict=True))
        picked = np.ix_(rows, columns)
        return Frame(self.rgb[picked], self.depth[picked], self.ids[picked], self.names)

    def centred(self, size: tuple[int, int]) -> Frame:
        """The picture in the middle of a larger one, in which nothing else is."""
        import numpy as np

        columns, rows = size
        rgb, depth = np.zeros((rows, columns, 3), np.uint8), np.full((rows, columns), np.inf, np.float32)
        ids = np.full((rows, columns), -1, np.int32)
        left, top = (columns - self.size[0]) // 2, (rows - self.size[1]) // 2
        part = np.s_[top : top + self.size[1], left : left + self.size[0]]
        rgb[part], depth[part], ids[part] = self.rgb, self.depth, self.ids
        return Frame(rgb, depth, ids, self.names)

    def in_rows(self, count: int) -> Frame:
        """The picture in so many rows of pixels, each of them one of its own."""
        return self.resized((self.size[0], count))

    def png(self, *, over: Frame | None = None) -> bytes:
        """The picture as a PNG, the same bytes wherever zlib is the same; it is transparent where nothing is.

        With ``over``, a picture of the same size, it is made to be laid over that one: transparent where the two are equal.
        """
        import numpy as np

        shown = np.isfinite(self.depth) if over is None else (self.rgb != over.rgb).any(axis=2)
        red, green, blue = np.moveaxis(self.rgb.astype(np.uint32), 2, 0)
        pixels = np.where(shown, red << 16 | green << 8 | blue | 0xFF << 24, np.uint32(0)).reshape(-1)
        # A colour mostly goes on for some pixels, and sorting is what takes time.
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
        return png_file((width, height), 3 if few else 6, rows, *chunks)


def png_file(size: tuple[int, int], kind: int, rows: bytes, *chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG of eight bits a sample and of this kind of colour, from its unfiltered rows; ``chunks`` come before them."""
    header = struct.pack(">IIBBBBB", *size, 8, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), *chunks, (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
