"""How large things of a kind are, what they look like, and where they stand.

Sizes are medians over AI2's asset database (``assets``) and over the boxes of the iTHOR scenes (``iTHOR``), both in procthor
0.0.1.dev2 (allenai/procthor, Apache-2.0), else our own estimates (``own``).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

Form = Literal["solid", "table", "counter", "cupboard", "drawer", "basin"]
"""``cupboard`` opens at its front, ``drawer`` slides out, ``basin`` is open above; the others hold things on top."""
Stands = Literal["floor", "wall", "counter", "anywhere"]
Colour = tuple[int, int, int]
Fractions = tuple[float, float, float, float, float, float]

_FILE = Path(__file__).with_name("kinds.json")
_PALE = 90


@dataclass(frozen=True, slots=True)
class Kind:
    """What holds of all things of a kind.

    ``width``, ``height`` and ``depth`` are in metres, ``pivot`` the share of the height that is below the point in an id, and
    ``surface`` the share of the height at which things are put. ``parts`` are boxes as shares of the whole from left, below
    and behind to right, above and in front, each with its colour. ``scenery`` is no goal's and drawn before it was seen.
    """

    width: float
    height: float
    depth: float
    source: str
    form: Form = "solid"
    colour: Colour = (128, 128, 128)
    pivot: float = 0.0
    stands: Stands = "anywhere"
    surface: float = 1.0
    scenery: bool = False
    known: bool = True
    parts: tuple[tuple[Fractions, Colour], ...] = ()


@lru_cache(maxsize=1024)
def kind_of(name: str) -> Kind:
    """The kind of a thing or receptacle by its name, such as "drawer 2"; an unknown one is a box with a colour of its own."""
    word = name.rpartition(" ")[0] or name
    known = _kinds().get(word)
    if known is not None:
        return known
    mixed = zlib.crc32(word.encode("utf-8", "surrogatepass"))
    red, green, blue = (_PALE + (mixed >> shift & 127) for shift in (0, 8, 16))
    return Kind(0.2, 0.2, 0.2, "own", colour=(red, green, blue), known=False)


@cache
def _kinds() -> Mapping[str, Kind]:
    rows: dict[str, dict[str, Any]] = json.loads(_FILE.read_text("utf-8"))
    return {word: _kind(row) for word, row in rows.items()}


def _kind(row: dict[str, Any]) -> Kind:
    colour = _colour(row.pop("colour"))
    width, height, depth = row.pop("size")
    parts = tuple((tuple(part[:6]), _colour(part[6]) if len(part) > 6 else colour) for part in row.pop("parts", ()))
    return Kind(width, height, depth, colour=colour, parts=parts, **row)


def _colour(code: str) -> Colour:
    red, green, blue = bytes.fromhex(code[1:])
    return red, green, blue
