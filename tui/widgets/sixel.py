"""Pictures as DEC's sixels: six rows at a time, a line for each of 255 colours at most. NumPy is imported with the first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import bool_, float64, int64, uint8
    from numpy.typing import NDArray

_COLOURS = 255
_RUN = re.compile(rb"(.)\1{3,}")


def sixels(rgb: NDArray[uint8], shown: NDArray[bool_]) -> str:
    """The command that shows a picture at the cursor; pixels that are not ``shown`` keep what lies below."""
    import numpy as np

    height, width = shown.shape
    places, palette = _few(rgb)
    places[~shown] = -1
    parts = [f'\x1bP0;1;0q"1;1;{width};{height}'.encode()]
    parts += [b"#%d;2;%d;%d;%d" % (number, *colour) for number, colour in enumerate((palette / 2.55).round().astype(int))]
    bits = (1 << np.arange(6, dtype=np.uint8))[:, None]
    for top in range(0, height, 6):
        band = places[top : top + 6]
        for colour in np.unique(band[band >= 0]).tolist():
            line = ((band == colour) * bits[: len(band)]).sum(0, dtype=np.uint8) + np.uint8(63)
            parts.append(b"#%d%s$" % (colour, _RUN.sub(_shorter, line.tobytes().rstrip(b"?"))))
        parts.append(b"-")
    return b"".join((*parts, b"\x1b\\")).decode("ascii")


def _shorter(run: re.Match[bytes]) -> bytes:
    return b"!%d%s" % (len(run[0]), run[1])


def _few(rgb: NDArray[uint8]) -> tuple[NDArray[int64], NDArray[float64]]:
    """For each pixel, the number of the nearest frequent colour; and these colours."""
    import numpy as np

    coarse = ((rgb >> 4).astype(np.int64) @ np.array((256, 16, 1))).reshape(-1)
    counts = np.bincount(coarse, minlength=4096)
    # Similar colours are drawn as their mean.
    sums = [np.bincount(coarse, weights=channel.reshape(-1), minlength=4096) for channel in np.moveaxis(rgb, 2, 0)]
    means = np.stack(sums, 1) / np.maximum(counts, 1)[:, None]
    there = np.flatnonzero(counts)
    kept = np.sort(there[np.argsort(-counts[there], kind="stable")[:_COLOURS]])
    nearest = np.zeros(4096, np.int64)
    nearest[there] = ((means[there, None] - means[kept]) ** 2).sum(-1).argmin(1)
    return nearest[coarse].reshape(rgb.shape[:2]), means[kept]
