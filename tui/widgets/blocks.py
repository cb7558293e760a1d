"""Pictures in block characters: a cell of the terminal shows two by two pixels in two colours.

The two colours are those that come closest to its four pixels. Colours are made few, so that neighbours are equal and a line is
a few runs, not a style for each cell: that is what a terminal takes long to draw. NumPy is imported with the first picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

if TYPE_CHECKING:
    from numpy import float32, int64, uint8
    from numpy.typing import NDArray

ColourDepth = Literal["truecolor", "256"]
"""The colours of a terminal: any, or a cube of 6 x 6 x 6 with 24 greys."""
ASPECT = 0.5
"""The width of a pixel for its height, as a cell is twice as high as it is wide."""
_BLOCKS = " ▘▝▀▖▌▞▛"
"""For each way to part four pixels in two, the character: bit 0 is the pixel at the upper left, then right, then lower left."""
_TONE = 0.6
_ALIKE = 300.0
"""The squared distances of four pixels from their mean up to which they are one colour."""
_CUBE = (0, 95, 135, 175, 215, 255)
_GREYS = tuple(range(8, 239, 10))


class Overlay(NamedTuple):
    """Text over a picture, from the cell ``x`` of line ``y`` on; with a style without background, the picture shows through."""

    x: int
    y: int
    text: str
    style: Style

    @property
    def end(self) -> int:
        """The cell after its last one."""
        return self.x + cell_len(self.text)


def by_line(overlays: Sequence[Overlay]) -> dict[int, list[Overlay]]:
    """The ``overlays`` of each line that has any, from left to right."""
    lines: dict[int, list[Overlay]] = {}
    for overlay in sorted(overlays, key=lambda one: one.x):
        lines.setdefault(overlay.y, []).append(overlay)
    return lines


def block_lines(
    rgb: NDArray[uint8],
    depth: ColourDepth = "truecolor",
    overlays: Sequence[Overlay] = (),
    paper: tuple[int, int, int] = (0, 0, 0),
) -> list[Strip]:
    """A picture as lines, of two by two pixels a cell (`ASPECT`); beneath ``overlays`` it is toned towards ``paper``."""
    import numpy as np

    height, width = rgb.shape[0] // 2, rgb.shape[1] // 2
    four = rgb.reshape(height, 2, width, 2, 3).transpose(0, 2, 1, 3, 4)
    pixels = four.astype(np.float32).reshape(height, width, 4, 3)
    for overlay in overlays:
        if overlay.style.bgcolor is None:
            beneath = pixels[overlay.y, overlay.x : overlay.end]
            beneath[:] = beneath.mean(axis=(0, 1)) * (1 - _TONE) + np.asarray(paper) * _TONE
    block, ink, ground = _parted(pixels)
    few = (quantised(colours.round().astype(np.uint8), depth) for colours in (ink, ground))
    inks, grounds = (colours.astype(np.int64) @ np.array((1 << 16, 1 << 8, 1)) for colours in few)
    block[inks == grounds] = 0
    cells = block << 48 | np.where(block, inks, 0) << 24 | grounds
    lines = by_line(overlays)
    return [Strip(_line(row, lines.get(y, ())), len(row)) for y, row in enumerate(cells)]


def _parted(pixels: NDArray[float32]) -> tuple[NDArray[int64], NDArray[float32], NDArray[float32]]:
    """For each cell, which of its four pixels are ink, and the colours of ink and ground that come closest to them."""
    import numpy as np

    ground = pixels.mean(2)
    ink, block = ground.copy(), np.zeros(ground.shape[:2], np.int64)
    several = ((pixels - ground[:, :, None]) ** 2).sum((2, 3)) > _ALIKE
    some = pixels[several]
    ways = np.array([[way >> bit & 1 for bit in range(4)] for way in range(len(_BLOCKS))], np.float32)
    count = ways.sum(1)
    inks = np.matmul(ways, some)
    grounds = some.sum(1)[:, None] - inks
    # What two colours leave of the squared distances is least where this is most.
    kept = (inks**2).sum(-1) / np.maximum(count, 1) + (grounds**2).sum(-1) / (4 - count)
    best = kept.argmax(1)
    at = np.arange(len(best))
    block[several] = best
    ink[several] = inks[at, best] / np.maximum(count[best], 1)[:, None]
    ground[several] = grounds[at, best] / (4 - count[best])[:, None]
    return block, ink, ground


def quantised(rgb: NDArray[uint8], depth: ColourDepth) -> NDArray[uint8]:
    """The picture in few colours: of 32 for each of red, green and blue, or those that a terminal of 256 colours has."""
    import numpy as np

    if depth == "truecolor":
        return (rgb & np.uint8(0xF8)) | np.uint8(0x04)
    tones = (np.asarray(each, np.int32) for each in (_CUBE, _GREYS))
    nearest, greys = (each[np.abs(np.arange(256)[:, None] - each).argmin(1)] for each in tones)
    cube = nearest[rgb]
    grey = np.repeat(greys[rgb.mean(-1).round().astype(np.int32)][..., None], 3, -1)
    off_cube, off_grey = (((rgb.astype(np.int32) - one) ** 2).sum(-1, keepdims=True) for one in (cube, grey))
    return np.where(off_grey < off_cube, grey, cube).astype(np.uint8)


def _line(row: NDArray[int64], overlays: Sequence[Overlay]) -> Iterator[Segment]:
    done = 0
    for overlay in overlays:
        yield from _runs(row[done : overlay.x])
        yield Segment(overlay.text, _style(None, int(row[overlay.x]) & 0xFFFFFF) + overlay.style)
        done = overlay.end
    yield from _runs(row[done:])


def _runs(row: NDArray[int64]) -> Iterator[Segment]:
    cells: list[int] = row.tolist()
    starts = [at for at, cell in enumerate(cells) if at == 0 or cell != cells[at - 1]]
    for start, end in pairwise((*starts, len(cells))):
        block, ink, ground = cells[start] >> 48, cells[start] >> 24 & 0xFFFFFF, cells[start] & 0xFFFFFF
        yield Segment(_BLOCKS[block] * (end - start), _style(ink if block else None, ground))


@lru_cache(maxsize=1 << 13)
def _style(*inks: int | None) -> Style:
    """Of the ink, if there is any, and of the ground."""
    ink, ground = (None if rgb is None else Color.from_rgb(rgb >> 16, rgb >> 8 & 0xFF, rgb & 0xFF) for rgb in inks)
    return Style(color=ink, bgcolor=ground)
