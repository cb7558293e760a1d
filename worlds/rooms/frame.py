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

    def png(self) -> bytes:
        """The picture as a PNG, the same bytes wherever zlib is the same."""
        height, width = self.rgb.shape[:2]
        rows = b"".join(b"\0" + row.tobytes() for row in self.rgb)
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
        )
